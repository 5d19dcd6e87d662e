package weirprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/series"
)

// Collector presents one engine's metrics. It is safe for concurrent use. To
// register several engines in one process, tell them apart with
// [prometheus.WrapRegistererWith].
type Collector struct{ engine *engine.Engine }

// NewCollector returns a Collector for e, to be registered with a
// [prometheus.Registerer]. The metrics are:
//
//	weir_decisions_total{limit,layer,class,reason}     requests decided; admitted ones have the layer "none"
//	weir_would_refuse_total{limit,layer,class,reason}  requests that a shadow limit or layer would have refused
//	weir_overflow_total{limit}                         decisions on keys that the table had no room for
//	weir_unclassified_total                            requests that came without a class
//	weir_unguarded_seconds_total                       time during which a fault of weir's own let requests pass or refused them
//	weir_misuse_total{kind}                            calls that broke the API's contract
//	weir_inflight{limit,layer,class}                   requests that hold a place; layer "fleet" has class "critical" and "other"
//	weir_held_tokens{limit}                            what post-paid claims on a token bucket hold until settled
//	weir_oldest_ticket_seconds{limit}                  age of the oldest sampled open ticket: a leak shows here
//	weir_enabled_ratio{limit,layer}                    share of the keys for which a limit or a layer is enabled
//	weir_enforced_ratio{limit,layer}                   share of those for which it is enforced
//	weir_capacity, weir_allocation                     requests in flight that layer 3 allows, in all and without a critical class
//	weir_ladder_level                                  what layer 4 sheds, in classes
//	weir_ladder_exhausted                              1 while it sheds all it may and the signal is still bad
//	weir_ladder_reading_ratio                          the signal's last reading; 1 is every worker busy
//	weir_ladder_reading_age_seconds                    its age; both are absent before the first
//	weir_entries, weir_max_entries                     states in the key table, and how many fit
//	weir_table_bytes                                   memory of the key table
func NewCollector(e *engine.Engine) *Collector { return &Collector{e} }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("weir_"+name, help, labels, nil)
}

var (
	decisions    = desc("decisions_total", "Requests decided, by what decided them.", "limit", "layer", "class", "reason")
	wouldRefuse  = desc("would_refuse_total", "Requests that a limit or a layer in shadow would have refused.", "limit", "layer", "class", "reason")
	overflow     = desc("overflow_total", "Decisions on keys that the key table had no room for.", "limit")
	unclassified = desc("unclassified_total", "Requests that came without a class and counted as the default one.")
	unguarded    = desc("unguarded_seconds_total", "Time during which a fault of the limiter's own let requests pass or refused them.")
	misuse       = desc("misuse_total", "Calls that broke the contract of the API.", "kind")
	inflight     = desc("inflight", "Requests that hold a place now.", "limit", "layer", "class")
	held         = desc("held_tokens", "Tokens that post-paid claims hold until they are settled.", "limit")
	oldestTicket = desc("oldest_ticket_seconds", "Age of the oldest sampled ticket that is still open.", "limit")
	enabled      = desc("enabled_ratio", "Share of the keys for which a limit or a layer is enabled.", "limit", "layer")
	enforced     = desc("enforced_ratio", "Share of the enabled keys for which a limit or a layer is enforced.", "limit", "layer")
	capacity     = desc("capacity", "Requests in flight that the process can work on.")
	allocation   = desc("allocation", "Requests in flight that may be of a class below critical.")
	ladderLevel  = desc("ladder_level", "What the ladder sheds, in classes: 1.4 is all test traffic and 40 % of the reads.")
	exhausted    = desc("ladder_exhausted", "1 while the ladder sheds all it may and its signal is still bad.")
	reading      = desc("ladder_reading_ratio", "The last reading of the ladder's signal; 1 is every worker busy.")
	readingAge   = desc("ladder_reading_age_seconds", "Age of the last reading of the ladder's signal.")
	entries      = desc("entries", "States of a limit and a key in the key table.")
	maxEntries   = desc("max_entries", "States of a limit and a key that fit in the key table.")
	tableBytes   = desc("table_bytes", "Memory of the key table.")
	descriptors  = []*prometheus.Desc{decisions, wouldRefuse, overflow, unclassified, unguarded, misuse, inflight, held, oldestTicket, enabled, enforced, capacity, allocation, ladderLevel, exhausted, reading, readingAge, entries, maxEntries, tableBytes}
)

// Describe sends the descriptors of all metrics.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descriptors {
		ch <- d
	}
}

// Collect sends the metrics as they are now.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := c.engine.Snapshot()
	count := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}

	for l, n := range series.Decisions(&s) {
		count(decisions, float64(n), l.Limit, l.Layer.String(), l.Class.String(), l.Reason.String())
	}
	for l, n := range series.WouldRefuse(&s) {
		count(wouldRefuse, float64(n), l.Limit, l.Layer.String(), l.Class.String(), l.Reason.String())
	}
	count(unclassified, float64(s.Unclassified))
	count(unguarded, s.Unguarded.Seconds())
	for kind, n := range series.Misuse(&s) {
		count(misuse, float64(n), kind)
	}

	for i := range s.Limits {
		l := &s.Limits[i]
		layer := l.Layer.String()
		count(overflow, float64(l.Overflow), l.Name)
		gauge(enabled, l.Mode.Enabled(), l.Name, layer)
		gauge(enforced, l.Mode.Enforced(), l.Name, layer)
		gauge(oldestTicket, l.OldestTicket.Seconds(), l.Name)
		switch l.Kind {
		case engine.InFlight:
			gauge(inflight, float64(l.InFlight), l.Name, layer, "")
		case engine.TokenBucket:
			gauge(held, float64(l.InFlight), l.Name)
		}
	}

	fleet, worker := engine.Fleet.String(), engine.Worker.String()
	gauge(inflight, float64(s.Gate.Critical), "", fleet, "critical")
	gauge(inflight, float64(s.Gate.Other), "", fleet, "other")
	gauge(enabled, s.Gate.Mode.Enabled(), "", fleet)
	gauge(enforced, s.Gate.Mode.Enforced(), "", fleet)
	gauge(capacity, float64(s.Gate.Capacity))
	gauge(allocation, float64(s.Gate.Allocation))

	gauge(enabled, s.Ladder.Mode.Enabled(), "", worker)
	gauge(enforced, s.Ladder.Mode.Enforced(), "", worker)
	gauge(ladderLevel, s.Ladder.Level)
	gauge(exhausted, flag(s.Ladder.Exhausted))
	if s.Ladder.ReadingAge >= 0 {
		gauge(reading, s.Ladder.Reading)
		gauge(readingAge, s.Ladder.ReadingAge.Seconds())
	}

	gauge(entries, float64(s.Table.Entries))
	gauge(maxEntries, float64(s.Table.MaxEntries))
	gauge(tableBytes, float64(s.Table.Bytes))
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
