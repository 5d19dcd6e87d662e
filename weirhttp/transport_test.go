package weirhttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front/fronttest"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

// answers is a RoundTripper whose answers are given beforehand; the last one
// repeats.
type answers struct {
	list  []answer
	calls int
}

type answer struct {
	status int
	header [2]string
	body   io.ReadCloser
	err    error
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	n := a.list[min(a.calls, len(a.list)-1)]
	a.calls++
	if n.err != nil {
		return nil, n.err
	}
	h := http.Header{}
	if n.header[0] != "" {
		h.Set(n.header[0], n.header[1])
	}
	body := n.body
	if body == nil {
		body = http.NoBody
	}
	return &http.Response{StatusCode: n.status, Header: h, Body: body, Request: r}, nil
}

func TestClientGivesBackWhenTheBodyIsClosed(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("backend", 1))
	s := serve(t, ok)
	c := &http.Client{Transport: &weirhttp.Transport{Base: s.Client().Transport, Engine: e, Binder: fronttest.By(t, e, "backend")}}
	resp, err := c.Get(s.URL)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "ok", string(body))
	require.EqualValues(t, 1, fronttest.Inside(t, e, "backend"))

	_, err = c.Get(s.URL)
	var rejected *weirhttp.RejectedError
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, "backend", rejected.Limit)
	require.Equal(t, engine.Full, rejected.Decision.Reason)
	require.Equal(t, time.Second, rejected.RetryAfter)
	require.ErrorContains(t, err, `limit "backend": full; retry after 1s`)

	require.NoError(t, resp.Body.Close())
	require.NoError(t, resp.Body.Close(), "closing twice is common")
	require.Zero(t, fronttest.Inside(t, e, "backend"))
	require.Zero(t, e.Snapshot().Misuse.DoubleDone)
}

func TestClientGivesBackWithoutABody(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("backend", 1))
	b := fronttest.By(t, e, "backend")
	for name, a := range map[string]answer{
		"no body": {status: 204},
		"failure": {err: errors.New("connection refused")},
	} {
		tr := &weirhttp.Transport{Base: &answers{list: []answer{a}}, Engine: e, Binder: b}
		resp, err := tr.RoundTrip(mustRequest(t))
		require.Equal(t, a.err, err, name)
		if err == nil {
			require.NoError(t, resp.Body.Close())
		}
		require.Zero(t, fronttest.Inside(t, e, "backend"), name)
	}
	tr := &weirhttp.Transport{Base: panicking{}, Engine: e, Binder: b}
	require.Panics(t, func() { _, _ = tr.RoundTrip(mustRequest(t)) })
	require.Zero(t, fronttest.Inside(t, e, "backend"))
}

type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) { panic("bug") }

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

func TestARejectedRequestsBodyIsClosed(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{{Name: "banned", Kind: engine.Block}}})
	base := &answers{list: []answer{{status: 200}}}
	tr := &weirhttp.Transport{Base: base, Engine: e, Binder: fronttest.By(t, e, "banned"), Wait: true}
	r := mustRequest(t)
	body := &closing{Reader: strings.NewReader("x")}
	r.Body = body
	_, err := tr.RoundTrip(r)
	var rejected *weirhttp.RejectedError
	require.ErrorAs(t, err, &rejected, "waiting does not help, so there is no wait")
	require.EqualValues(t, -1, rejected.RetryAfter)
	require.True(t, body.closed)
	require.Zero(t, base.calls)
}

func TestClientHeedsRetryAfter(t *testing.T) {
	for name, first := range map[string]answer{
		"seconds": {status: 429, header: [2]string{"Retry-After", "5"}},
		"date":    {status: 503, header: [2]string{"Retry-After", "Sat, 01 Jan 2000 00:00:05 GMT"}},
		"field":   {status: 200, header: [2]string{"RateLimit", `"a";r=9;t=100, "b";r=0;t=5`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // starts at midnight, 1 January 2000 UTC
				base := &answers{list: []answer{first, {status: 200}}}
				tr := &weirhttp.Transport{Base: base, Fields: weirhttp.Draft11}
				_, err := tr.RoundTrip(mustRequest(t))
				require.NoError(t, err)
				_, err = tr.RoundTrip(mustRequest(t))
				var rejected *weirhttp.RejectedError
				require.ErrorAs(t, err, &rejected)
				require.Equal(t, 5*time.Second, rejected.RetryAfter)
				require.ErrorContains(t, err, "the host asked for a pause")
				require.Equal(t, 1, base.calls)

				other := mustRequest(t)
				other.URL.Host = "other.example"
				_, err = tr.RoundTrip(other)
				require.NoError(t, err, "another host has asked for nothing")

				start := time.Now()
				tr.Wait = true
				_, err = tr.RoundTrip(mustRequest(t))
				require.NoError(t, err)
				require.Equal(t, 5*time.Second, time.Since(start))
			})
		})
	}
}

func TestWhatAClientDoesNotHeed(t *testing.T) {
	for name, a := range map[string]answer{
		"success with Retry-After": {status: 201, header: [2]string{"Retry-After", "5"}},
		"nonsense":                 {status: 429, header: [2]string{"Retry-After", "soon"}},
		"negative":                 {status: 429, header: [2]string{"Retry-After", "-5"}},
		"past":                     {status: 429, header: [2]string{"Retry-After", "Sat, 01 Jan 1999 00:00:05 GMT"}},
		"malformed field":          {status: 200, header: [2]string{"RateLimit", `"a";r=0;t=5, (`}},
		"inner list":               {status: 200, header: [2]string{"RateLimit", `("a" "b");r=0;t=5`}},
		"something remains":        {status: 200, header: [2]string{"RateLimit", `"a";r=1;t=5`}},
	} {
		synctest.Test(t, func(t *testing.T) {
			tr := &weirhttp.Transport{Base: &answers{list: []answer{a}}, Fields: weirhttp.Draft11}
			for range 2 {
				_, err := tr.RoundTrip(mustRequest(t))
				require.NoError(t, err, name)
			}
		})
	}
}

func TestAPauseHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &weirhttp.Transport{Base: &answers{list: []answer{
			{status: 429, header: [2]string{"Retry-After", "4000000000"}}, {status: 200},
		}}}
		_, err := tr.RoundTrip(mustRequest(t))
		require.NoError(t, err)
		_, err = tr.RoundTrip(mustRequest(t))
		var rejected *weirhttp.RejectedError
		require.ErrorAs(t, err, &rejected)
		require.Equal(t, time.Minute, rejected.RetryAfter)
	})
}

func TestClientWaitsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine.Must(engine.New(engine.Config{MaxEntries: 1000, Limits: []engine.Limit{fronttest.Bucket("partner", 1, time.Second, 1)}}))
		defer e.Close()
		base := &answers{list: []answer{{status: 200}}}
		tr := &weirhttp.Transport{Base: base, Engine: e, Binder: fronttest.By(t, e, "partner"), Wait: true}
		start := time.Now()
		for range 4 {
			_, err := tr.RoundTrip(mustRequest(t))
			require.NoError(t, err)
		}
		require.InDelta(t, 3, time.Since(start).Seconds(), 0.01)

		// A deadline that cannot be met is told at once.
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		before := time.Now()
		_, err := tr.RoundTrip(mustRequest(t).WithContext(ctx))
		var rejected *weirhttp.RejectedError
		require.ErrorAs(t, err, &rejected)
		require.Equal(t, before, time.Now())

		// A caller who gives up leaves nothing behind.
		ctx, cancel = context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := tr.RoundTrip(mustRequest(t).WithContext(ctx))
			failed <- err
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		time.Sleep(time.Second) // of the bubble's own time
		calls := base.calls
		_, err = tr.RoundTrip(mustRequest(t))
		require.NoError(t, err)
		require.Equal(t, calls+1, base.calls)
	})
}

func TestClientDescribesItsRequest(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000})
	var got []string
	b := policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		got = []string{a.Route(), a.Method(), a.Header("Host"), a.Query("q"), a.Identity()}
		require.False(t, a.Peer().IsValid())
		return engine.Request{Claims: dst}
	})
	tr := &weirhttp.Transport{Base: &answers{list: []answer{{status: 200}}}, Engine: e, Binder: b}
	r := httptest.NewRequest(http.MethodPost, "http://api.example/v1/7?q=2", nil)
	r.RemoteAddr, r.Pattern = "", "POST /v1/{id}"
	_, err := tr.RoundTrip(r)
	require.NoError(t, err)
	require.Equal(t, []string{"POST /v1/{id}", "POST", "api.example", "2", ""}, got)
}

func TestASwitchedConnectionStaysWritable(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("sockets", 1))
	var sent bytes.Buffer
	tr := &weirhttp.Transport{
		Base:   &answers{list: []answer{{status: 101, body: &conn{Buffer: &sent}}}},
		Engine: e, Binder: fronttest.By(t, e, "sockets"),
	}
	resp, err := tr.RoundTrip(mustRequest(t))
	require.NoError(t, err)
	w, isWriter := resp.Body.(io.Writer)
	require.True(t, isWriter)
	_, err = io.WriteString(w, "hello")
	require.NoError(t, err)
	require.Equal(t, "hello", sent.String())
	require.EqualValues(t, 1, fronttest.Inside(t, e, "sockets"))
	require.NoError(t, resp.Body.Close())
	require.Zero(t, fronttest.Inside(t, e, "sockets"))
}

type conn struct{ *bytes.Buffer }

func (*conn) Close() error { return nil }
