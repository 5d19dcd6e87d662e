package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/arrival"
	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/shop"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/ladder"
)

// One act from end to end, on a real server: the others differ in their data.
func TestTheRequestLimitersActIsTrue(t *testing.T) {
	if underRace {
		t.Skip("measures; runs without the race detector")
	}
	file := filepath.Join(t.TempDir(), "out.json")
	code, out, stderr := loadgen(t.Context(), "story", "-acts", "rate", "-json", file)
	require.Equal(t, exitOK, code, "%s%s", out, stderr)
	require.Contains(t, out, "The story is true.")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var f storyFigures
	require.NoError(t, json.Unmarshal(b, &f))
	require.True(t, f.True)
	without, with := f.Acts[0].Halves[0], f.Acts[0].Halves[1]
	require.Less(t, without.ChargesShare, 0.7)
	require.GreaterOrEqual(t, with.ChargesShare, 0.99)
	for i, r := range with.Rows {
		require.Equal(t, without.Rows[i].Offered, r.Offered, "both halves are offered the same")
		sum := r.Served + r.TimedOut + r.Failed + r.Stopped + r.Skipped
		for _, how := range r.Refused {
			require.Equal(t, refuseFigures{"rate", http.StatusTooManyRequests, how.Count}, how)
			sum += how.Count
		}
		require.Equal(t, r.Offered, sum, "%s %s", r.Class, r.Group)
	}
	require.NotEmpty(t, f.Report.Sections[0].Charts)
}

func TestStoryStopsWithWhatWasShown(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer stop()
	code, out, _ := loadgen(ctx, "story", "-acts", "fleet,worker")
	require.Equal(t, exitFail, code, "a story that was not told to its end is not shown to be true")
	require.Contains(t, out, "Stopped in act fleet")
	require.Contains(t, out, "critical")
	require.NotContains(t, out, "Act 4")
}

func TestStoryRefusesNonsense(t *testing.T) {
	for args, want := range map[string]string{
		"-acts rate,dance": `no act "dance"`, "-scale 1": "-scale 1", "-scale NaN": "-scale NaN", "-seed x": "invalid value", "act": "unexpected argument",
		"-json /nowhere/out.json": "/nowhere/out.json",
	} {
		code, _, stderr := loadgen(t.Context(), append([]string{"story"}, strings.Fields(args)...)...)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, stderr, want)
	}
}

// Everything that a half adds stays for the acts after it, and nothing else
// does.
func TestLayersAreArmedOneAfterTheOther(t *testing.T) {
	s := setting{seed: 1, scale: storyScale}
	c := baseConfig(shop.New(1, 1, 1))
	layers := func() (names []string) {
		for _, l := range c.Limits {
			names = append(names, l.Name)
		}
		if c.Gate.Capacity > 0 {
			names = append(names, "gate")
		}
		if c.Ladder.Mode == engine.Enforce {
			names = append(names, "ladder")
		}
		return names
	}
	want := []string{limitRequests, limitInFlight, "gate", "ladder"}
	require.Empty(t, layers())
	for i, a := range story() {
		require.Nil(t, a.halves[0].arm)
		a.halves[1].arm(&c, s)
		require.Equal(t, want[:i+1], layers())
	}
	require.Equal(t, 25*time.Millisecond, c.Ladder.Law.Tick)
	require.NoError(t, c.Ladder.Law.Validate())
}

func TestTrafficIsTheSameForASeedAndInOrder(t *testing.T) {
	for _, a := range story() {
		s := setting{seed: 3, scale: storyScale}
		one, two := inOrder(a.traffic(s)), inOrder(a.traffic(s))
		require.Equal(t, one, two, a.name)
		ids := map[string]bool{}
		for i, r := range one {
			require.False(t, ids[r.ID], "%s: %s twice", a.name, r.ID)
			ids[r.ID] = true
			require.Less(t, r.Due, a.times(s).over)
			require.False(t, i > 0 && r.Due < one[i-1].Due)
		}
		other := inOrder(a.traffic(setting{seed: 4, scale: storyScale}))
		require.NotEqual(t, one, other, a.name)
	}
}

func TestCompressedLawIsTheSameLawFaster(t *testing.T) {
	law, fast := ladder.Default(), ladder.Default().Faster(10)
	require.Equal(t, law.Tick/10, fast.Tick)
	require.Equal(t, law.Hold/10, fast.Hold)
	require.InEpsilon(t, law.ShedRate[1]*10, fast.ShedRate[1], 1e-9)
	require.Equal(t, law.StepUp, fast.StepUp, "per tick, so it stays")
	require.Equal(t, ladder.Default(), law)
	require.NoError(t, ladder.Flap().Faster(10).Validate())
}

// attrs are a request's as far as the story's binder asks.
func classOf(method, route, key string) engine.Class {
	return storyClass(fakeAttrs{target.Attrs{R: &target.Request{Method: method, Path: route, Token: key}}, method + " " + route})
}

type fakeAttrs struct {
	target.Attrs
	route string
}

func (a fakeAttrs) Route() string { return a.route }

func TestRequestsAreClassifiedByKeyAndRoute(t *testing.T) {
	require.Equal(t, engine.Critical, classOf("POST", "/v1/charges", "sk_live_a"))
	require.Equal(t, engine.Write, classOf("POST", "/v1/refunds", "sk_live_a"))
	require.Equal(t, engine.Read, classOf("GET", "/v1/charges", "sk_live_a"))
	for _, r := range []string{"/v1/charges", "/v1/refunds"} {
		require.Equal(t, engine.Test, classOf("POST", r, "sk_test_a"))
	}
	require.Equal(t, engine.Write, classOf("DELETE", "/v1/charges", "sk_live_a"))
}

// takeOf is a take whose charges and script have these ends.
func takeOf(add func(t *take)) *take {
	a := rateAct()
	t := newTake(&a, 0, times{end: time.Second, over: 3 * time.Second}, 3*time.Second)
	add(t)
	return t
}

func (t *take) put(n int, class engine.Class, group string, due time.Duration, res target.Result) {
	for range n {
		t.add(drive.Event{Request: &target.Request{Class: class, Group: group, Due: due}, Sent: due, Ended: due, Result: res})
	}
}

func TestVerdictSaysWhatIsNotTrue(t *testing.T) {
	served, timedOut := target.Result{End: target.Served, Status: 200}, target.Result{End: target.TimedOut}
	refused := func(layer string, status int) target.Result {
		return target.Result{End: target.Refused, Layer: layer, Status: status}
	}
	bad := takeOf(func(t *take) {
		t.put(69, engine.Critical, "", 0, served)
		t.put(31, engine.Critical, "", 0, timedOut)
	})
	good := func(add ...func(t *take)) *take {
		return takeOf(func(t *take) {
			t.put(99, engine.Critical, "", 0, served)
			t.put(1, engine.Critical, "", 0, timedOut)
			t.put(10, engine.Read, "", 0, served)
			t.put(5, engine.Test, "script", 0, refused("rate", 429))
			t.put(5, engine.Test, "", 2500*time.Millisecond, served)
			for _, a := range add {
				a(t)
			}
		})
	}
	v := verdict{chargesWith: 0.99, by: engine.Rate, status: 429, caught: "script", others: 0.99, reopens: true}
	require.Empty(t, v.check(bad, good()))

	for want, take := range map[string]*take{
		"only 98.0 % of charges":  good(func(t *take) { t.put(1, engine.Critical, "", 0, timedOut) }),
		"everyone else's read":    good(func(t *take) { t.put(1, engine.Read, "", 0, timedOut) }),
		"refuses with 503":        good(func(t *take) { t.put(1, engine.Test, "script", 0, refused("rate", 503)) }),
		"test requests are still": good(func(t *take) { t.put(1, engine.Test, "", 2500*time.Millisecond, refused("worker", 503)) }),
		"the ladder still stands": good(func(t *take) { t.snapshot.Ladder.Level = 0.1 }),
		"refused nothing of what": takeOf(func(t *take) {
			t.put(100, engine.Critical, "", 0, served)
			t.put(1, engine.Test, "", 0, refused("rate", 429))
		}),
		"nothing was offered in t": takeOf(func(t *take) { t.put(100, engine.Critical, "", 0, served) }),
	} {
		require.Contains(t, strings.Join(v.check(bad, take), "\n"), want)
	}
	require.Contains(t, strings.Join(v.check(good(), good()), "\n"), "no incident")
}

// An act that is not true on a machine that could not hold the rate is played
// once more; on one that could, it is not.
func TestAnActIsPlayedAgainOnlyWhenTheMachineWasTooBusy(t *testing.T) {
	for _, c := range []struct {
		name string
		from time.Duration
		want int
	}{{"busy", -100 * time.Millisecond, 4}, {"calm", 50 * time.Millisecond, 2}} {
		t.Run(c.name, func(t *testing.T) {
			plays := 0
			at := times{begin: -time.Second, end: 200 * time.Millisecond, over: 200 * time.Millisecond}
			p := &played{number: 1, act: act{
				name: "test", title: "a test", halves: [2]half{{name: "without it"}, {name: "with it"}},
				times: func(setting) times { return at },
				traffic: func(s setting) []*target.Request {
					plays++ // what was due before the start is late
					return crowd{class: engine.Critical, ask: charge, accounts: []string{"a"}, from: c.from, plan: arrival.Even(perSecond(100), 150*time.Millisecond)}.requests(s)
				},
				verdict: func(_, _ *take) []string { return []string{"never"} },
			}}
			var out strings.Builder
			require.NoError(t, p.play(t.Context(), nil, setting{seed: 1, scale: storyScale}, &out, newStatus(io.Discard)))
			if c.want == 2 && p.late() > maxLate {
				t.Skip("this machine is too busy to show calm")
			}
			require.Equal(t, c.want, plays)
			require.Len(t, p.takes, 2)
			require.Equal(t, []string{"never"}, p.untrue)
			require.Equal(t, c.want == 4, strings.Contains(out.String(), "too busy to tell"))
		})
	}
}
