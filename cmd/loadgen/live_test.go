package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/redistest"
)

// browser returns a context of a real Chromium. Without one the test is
// skipped, but never in CI.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := os.Getenv("CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no Chromium: install the package chromium, or name one in CHROMIUM")
		}
		t.Skip("no Chromium")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath(path), chromedp.Flag("disable-quic", true))
	actx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(actx)
	t.Cleanup(stop)
	return ctx
}

// startShow runs a show until the test ends and returns the page's address;
// redis is where its fleet meets, "" for none.
func startShow(t *testing.T, redis string) string {
	t.Helper()
	sh, err := newShow(setting{seed: 1, scale: maxScale}, redis)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sh.run(ctx, l) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return "http://" + l.Addr().String()
}

// A person watches charges die in a flood, arms a layer and sees them recover;
// then takes the dampers out and sees the ladder oscillate.
func TestThePageShowsALayerSaveChargesAndFlapModeOscillate(t *testing.T) {
	if underRace {
		t.Skip("measures; runs without the race detector")
	}
	ctx := browser(t)
	url := startShow(t, "")

	var mu sync.Mutex
	var console []string
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			mu.Lock()
			console = append(console, m.Text)
			mu.Unlock()
		}
	}()
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(url)))
	until := func(what, js string) {
		t.Helper()
		ok, err := chromedp.Run(ctx, chromedp.Poll[bool](js, chromedp.WithPollingTimeout(time.Minute), chromedp.WithPollingInterval(100*time.Millisecond)))
		if err != nil || !ok {
			text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText + JSON.stringify(samples.slice(-3))`))
			require.Fail(t, what, "%v\n%s", err, text)
		}
	}
	click := func(selector string) {
		t.Helper()
		require.NoError(t, chromedp.Do(ctx, chromedp.Click(selector)))
	}
	until("charges succeed on a quiet day", `samples.length > 6 && samples.at(-1).success === 100`)
	until("every chart is drawn", `[...document.querySelectorAll("canvas")].length === 9 && [...document.querySelectorAll("canvas")].every(c => c.width > 100)`)

	// The slider, as a keyboard turns it.
	require.NoError(t, chromedp.Do(ctx, chromedp.Focus("#flood"), chromedp.KeyEvent(kb.End))) // End: 1000 a second
	until("charges die in the flood", `samples.at(-1).success < 60`)
	click(`input[data-knob=rate]`)
	until("the layer catches the flood", `samples.at(-1).classes.test.limited > 100`)
	until("charges recover", `samples.at(-1).success > 98`)

	// The ladder, first damped and then not, on what capacity is left.
	click(`input[data-knob=worker]`)
	click(`button[data-knob=loss]`)
	until("the ladder sheds", `samples.at(-1).level > 1.5 && samples.at(-1).classes.read.shed > 0`)
	click(`button[data-knob=flap]`)
	const turns = `(() => { const l = samples.slice(-80).map(s => s.level); let n = 0, dir = 0;
		for (let i = 1; i < l.length; i++) { const d = Math.sign(l[i] - l[i-1]); if (Math.abs(l[i] - l[i-1]) > 0.5 && d !== dir) { n++; dir = d; } } return n; })()`
	until("flap mode oscillates", turns+` >= 4`)

	// Reloaded, the page shows how things stand and what was.
	require.NoError(t, chromedp.Do(ctx, chromedp.Reload()))
	until("a reloaded page has the past and the controls", `samples.length > 20
		&& document.querySelector("input[data-knob=rate]").checked
		&& document.querySelector("button[data-knob=flap]").getAttribute("aria-pressed") === "true"`)
	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, console, "the console stays clean:\n%s", strings.Join(console, "\n"))
}

// With a fleet the page can take its store away and give it back; the knobs are
// what the page uses.
func TestAShowWithAFleetLosesItsStoreAndFindsItAgain(t *testing.T) {
	url := startShow(t, redistest.Start(t).Addr)
	resp, err := http.Get(url + "/events")
	require.NoError(t, err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	until := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); lines.Scan(); {
			if regexp.MustCompile(want).MatchString(lines.Text()) {
				return
			}
			require.Less(t, time.Now(), deadline, want)
		}
		require.Fail(t, "the stream ended", want)
	}
	turn := func(name string, value int) {
		t.Helper()
		resp, err := http.Post(url+"/knobs", "application/json", strings.NewReader(fmt.Sprintf(`{"name":%q,"value":%d}`, name, value)))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusNoContent, resp.StatusCode)
	}
	until(`"fleet":true`)
	turn("rate", 1)
	turn("flood", 200)
	until(`2 instances share the request limit; last exchange 0\.`)
	turn("outage", 1)
	until(`last exchange [2-9]\.`)
	until(`"limited":[1-9]`) // the limit goes on
	turn("outage", 0)
	until(`last exchange 0\.`)
}
