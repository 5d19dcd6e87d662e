package weirhttp_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front/fronttest"
	"github.com/weir-go/weir/weirhttp"
)

func TestRemainingCountsDownToZero(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{fronttest.Bucket("api", 3, time.Hour, 3)}, Clock: fronttest.Still()})
	s := serve(t, weirhttp.Handler(e, fronttest.By(t, e, "api"), weirhttp.Fields(weirhttp.Draft11))(ok))
	var remaining []string
	var codes []int
	for range 5 {
		resp, _ := get(t, s, "/", "X-Key", "one by one")
		remaining = append(remaining, resp.Header.Get("RateLimit"))
		codes = append(codes, resp.StatusCode)
		require.Equal(t, `"api";q=3;w=3600`, resp.Header.Get("RateLimit-Policy"))
	}
	require.Equal(t, []int{200, 200, 200, 429, 429}, codes)
	require.Equal(t, []string{`"api";r=2;t=1200`, `"api";r=1;t=1200`, `"api";r=0;t=1200`, `"api";r=0;t=1200`, `"api";r=0;t=1200`}, remaining)

	var (
		mu   sync.Mutex
		seen = map[string]int{}
		wg   sync.WaitGroup
	)
	for range 64 {
		wg.Go(func() {
			resp, _ := get(t, s, "/", "X-Key", "all at once")
			mu.Lock()
			defer mu.Unlock()
			seen[resp.Status[:3]+" "+strings.Split(resp.Header.Get("RateLimit"), ";")[1]]++
		})
	}
	wg.Wait()
	require.Equal(t, map[string]int{"200 r=2": 1, "200 r=1": 1, "200 r=0": 1, "429 r=0": 61}, seen)
}

// A revision that nobody knows is not taken for the one that is known.
func TestARevisionThatIsNotKnownIsRefused(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{fronttest.Bucket("api", 3, time.Hour, 3)}})
	for _, d := range []weirhttp.Draft{weirhttp.DraftNone, weirhttp.Draft11, weirhttp.Draft11 + 1, 255} {
		says := fmt.Sprintf("fields: draft %d: is not known; DraftNone and Draft11 are", d)
		base := &answers{list: []answer{{status: 204}}}
		resp, err := (&weirhttp.Transport{Base: base, Fields: d}).RoundTrip(mustRequest(t))
		if d <= weirhttp.Draft11 {
			require.NotPanics(t, func() { weirhttp.Handler(e, nil, weirhttp.Fields(d)) })
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			continue
		}
		require.PanicsWithValue(t, "weirhttp: Handler: "+says, func() { weirhttp.Handler(e, nil, weirhttp.Fields(d)) })
		require.EqualError(t, err, "weirhttp: Transport: "+says)
		require.Zero(t, base.calls, "nothing is sent")
	}
}

func TestFieldsDescribeEveryKind(t *testing.T) {
	limits := []engine.Limit{
		fronttest.Bucket("per_tenth", 10, 100*time.Millisecond, 20),
		fronttest.Bucket("odd", 7, 1500*time.Millisecond, 9),
		{Name: "daily", Kind: engine.Quota, Rate: 1000, Window: engine.Day},
		{Name: "monthly", Kind: engine.Quota, Rate: 5000, Window: engine.Month},
		{Name: "reset", Kind: engine.Sliding, Rate: 5, Per: time.Hour},
		{Name: "jobs", Kind: engine.InFlight, Max: 4},
		{Name: "banned", Kind: engine.Block},
	}
	for k := engine.TokenBucket; k <= engine.Block; k++ {
		require.True(t, slices.ContainsFunc(limits, func(l engine.Limit) bool { return l.Kind == k }), "%v", k)
	}
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Clock: fronttest.Still(), Limits: limits})
	for limit, want := range map[string][2]string{
		"per_tenth": {`"per_tenth";q=100;w=1`, `"per_tenth";r=19;t=1`},
		"odd":       {`"odd";q=70;w=15`, `"odd";r=8;t=1`},
		"daily":     {`"daily";q=1000;w=86400`, `"daily";r=999`},
		"monthly":   {`"monthly";q=5000`, `"monthly";r=4999`},
		"reset":     {`"reset";q=5;w=3600`, `"reset";r=4`},
		"jobs":      {`"jobs";q=4;qu="concurrent-requests"`, `"jobs";r=3`},
	} {
		s := serve(t, weirhttp.Handler(e, fronttest.By(t, e, limit), weirhttp.Fields(weirhttp.Draft11))(ok))
		resp, _ := get(t, s, "/")
		require.Equal(t, want, [2]string{resp.Header.Get("RateLimit-Policy"), resp.Header.Get("RateLimit")}, limit)
	}
	s := serve(t, weirhttp.Handler(e, fronttest.By(t, e, "banned"), weirhttp.Fields(weirhttp.Draft11))(ok))
	_, body := get(t, s, "/")
	p := parse(t, body)
	require.Equal(t, []string{"banned"}, p.Violated)
	require.Equal(t, "https://iana.org/assignments/http-problem-types#quota-exceeded", p.Type)
}

func TestNoDraftFieldsUnlessAskedFor(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{fronttest.Bucket("api", 1, time.Hour, 1)}})
	s := serve(t, weirhttp.Handler(e, fronttest.By(t, e, "api"))(ok))
	for range 2 {
		resp, body := get(t, s, "/")
		require.NotContains(t, resp.Header, "Ratelimit")
		require.NotContains(t, resp.Header, "Ratelimit-Policy")
		require.NotContains(t, body, "iana.org")
	}
}
