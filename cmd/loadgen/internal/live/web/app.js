"use strict";
// The page keeps the last samples, draws them when they come, and sends knobs.
const KEEP = 600;
const samples = [];
const charts = [];
const $ = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const dashes = { solid: [], long: [8, 4], short: [3, 3], dot: [1, 4], mixed: [8, 3, 2, 3] };
const line = (label, colour, dash, of) => ({ label, colour, dash: dashes[dash], of });

const ofClass = (name) => [
  line("offered", "--fg", "dot", (s) => s.classes[name].offered),
  line("served", "--blue", "solid", (s) => s.classes[name].served),
  line("429", "--orange", "long", (s) => s.classes[name].limited),
  line("503", "--red", "short", (s) => s.classes[name].shed),
  line("timed out", "--purple", "mixed", (s) => s.classes[name].timed_out),
];

const plans = {
  "c-success": { lines: [line("charges", "--blue", "solid", (s) => s.success)], range: [0, 100] },
  "c-level": { lines: [line("level", "--red", "solid", (s) => s.level)], range: [0, 3] },
  "c-critical": { lines: ofClass("critical") },
  "c-write": { lines: ofClass("write") },
  "c-read": { lines: ofClass("read") },
  "c-test": { lines: ofClass("test") },
  "c-workers": {
    lines: [
      line("live", "--fg", "dot", (s) => s.live),
      line("busy", "--blue", "solid", (s) => s.busy),
      line("waiting", "--red", "short", (s) => s.queued),
    ],
  },
  "c-flight": {
    lines: [
      line("critical", "--blue", "solid", (s) => s.critical),
      line("other", "--orange", "long", (s) => s.other),
      line("may hold", "--fg", "dot", (s) => s.allocation),
    ],
  },
  "c-latency": {
    lines: [
      line("p50", "--blue", "solid", (s) => s.p50),
      line("p99", "--red", "short", (s) => s.p99),
    ],
  },
};

function data(plan) {
  return [samples.map((s) => s.at), ...plan.lines.map((l) => samples.map((s) => l.of(s)))];
}

function build() {
  for (const c of charts.splice(0)) c.plot.destroy();
  for (const [id, plan] of Object.entries(plans)) {
    const box = $(id);
    const axis = { stroke: css("--quiet"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 } };
    const plot = new uPlot({
      width: Math.max(box.clientWidth, 200), height: 170,
      cursor: { sync: { key: "weir" } },
      scales: {
        x: { time: false },
        y: { range: plan.range ? () => plan.range : (_, lo, hi) => [0, Math.max(hi || 0, 1) * 1.1] },
      },
      axes: [{ ...axis, values: (_, v) => v.map((t) => t + " s") }, { ...axis, size: 50 }],
      series: [
        { label: "at", value: (_, v) => v == null ? "" : v.toFixed(1) + " s" },
        ...plan.lines.map((l) => ({
          label: l.label, stroke: css(l.colour), width: 2, dash: l.dash, points: { show: false }, spanGaps: true,
          value: (_, v) => v == null ? "" : String(Math.round(v * 100) / 100),
        })),
      ],
    }, data(plan), box);
    charts.push({ plot, plan, box });
  }
}

let due = false;
function redraw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    for (const c of charts) c.plot.setData(data(c.plan));
    const last = samples[samples.length - 1];
    if (!last || last.success == null) return;
    $("success").textContent = last.success.toFixed(0) + " %";
    $("success").classList.toggle("bad", last.success < 90);
  });
}

// The controls follow the server, so that a second page, or a reload, shows
// how things stand.
function show(state) {
  for (const el of document.querySelectorAll("[data-knob]")) {
    const v = state.knobs[el.dataset.knob];
    if (v === undefined) continue;
    if (el.type === "checkbox") el.checked = v !== 0;
    else if (el.type === "range") { if (document.activeElement !== el) el.value = v; }
    else el.setAttribute("aria-pressed", String(v !== 0));
  }
  $("flood-value").textContent = state.knobs.flood;
  $("redis").hidden = !state.fleet;
  $("news").textContent = state.news;
}

async function turn(name, value) {
  try {
    const r = await fetch("/knobs", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name, value }) });
    if (!r.ok) $("news").textContent = await r.text();
  } catch {
    $("news").textContent = "the server is gone";
  }
}

for (const el of document.querySelectorAll("[data-knob]")) {
  const name = el.dataset.knob;
  if (el.type === "checkbox") el.addEventListener("change", () => turn(name, el.checked ? 1 : 0));
  else if (el.type === "range") {
    el.addEventListener("input", () => { $("flood-value").textContent = el.value; });
    el.addEventListener("change", () => turn(name, Number(el.value)));
  } else el.addEventListener("click", () => turn(name, el.getAttribute("aria-pressed") === "true" ? 0 : 1));
}

const events = new EventSource("/events");
events.addEventListener("sample", (e) => {
  const s = JSON.parse(e.data);
  if (samples.length && s.at <= samples[samples.length - 1].at) samples.length = 0; // another run
  samples.push(s);
  if (samples.length > KEEP) samples.shift();
  if (s.sync !== undefined) $("sync").textContent = s.sync;
  redraw();
});
events.addEventListener("state", (e) => show(JSON.parse(e.data)));
events.onerror = () => { $("news").textContent = "no connection; trying again"; };

build();
new ResizeObserver(() => {
  for (const c of charts) c.plot.setSize({ width: Math.max(c.box.clientWidth, 200), height: 170 });
}).observe($("charts"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", build);
