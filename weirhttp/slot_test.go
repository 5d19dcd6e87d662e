package weirhttp_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front/fronttest"
	"github.com/weir-go/weir/weirhttp"
)

func TestSlotsComeBackHoweverTheHandlerEnds(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("jobs", 1))
	guard := weirhttp.Handler(e, fronttest.By(t, e, "jobs"))
	recoverAll := func(h http.Handler) {
		defer func() { _ = recover() }()
		h.ServeHTTP(httptest.NewRecorder(), mustRequest(t))
	}
	ends := map[string]http.HandlerFunc{
		"return": func(http.ResponseWriter, *http.Request) {},
		"panic":  func(http.ResponseWriter, *http.Request) { panic("bug") },
		"abort":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"goexit": func(http.ResponseWriter, *http.Request) { runtime.Goexit() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			runs := 0
			h := guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				runs++
				end(w, r)
			}))
			var wg sync.WaitGroup
			for range 1000 {
				wg.Go(func() { recoverAll(h) }) // a goroutine of its own, for Goexit
				wg.Wait()
			}
			require.Equal(t, 1000, runs, "every request found the slot free")
			require.Zero(t, fronttest.Inside(t, e, "jobs"))
		})
	}
	require.Zero(t, e.Snapshot().Misuse.DoubleDone)
}

func mustRequest(t testing.TB) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
	require.NoError(t, err)
	return r
}

func TestServerPanicGivesTheSlotBack(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("jobs", 1))
	h, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "jobs"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})))
	s := serve(t, h)
	for range 20 {
		_, err := s.Client().Get(s.URL)
		require.Error(t, err, "the server cuts the connection")
		<-ended
		require.Zero(t, fronttest.Inside(t, e, "jobs"))
	}
}

func TestAbortedUploadsGiveTheirSlotsBackOnce(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("uploads", 2))
	inside, release := make(chan struct{}), make(chan struct{})
	h, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "uploads"))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inside <- struct{}{}
		if r.Method == http.MethodPost {
			_, err := io.Copy(io.Discard, r.Body)
			if err != nil {
				return // the client went away
			}
		}
		<-release
	})))
	s := serve(t, h)
	for range 2 {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
		require.NoError(t, err)
		<-inside
		require.NoError(t, c.Close())
	}
	<-ended
	<-ended
	require.Zero(t, fronttest.Inside(t, e, "uploads"))

	// Three at once: two get in, and the gauge is not below zero from before.
	codes := make(chan int, 3)
	for range 3 {
		go func() {
			resp, _ := get(t, s, "/")
			codes <- resp.StatusCode
		}()
	}
	<-inside
	<-inside
	require.Equal(t, http.StatusTooManyRequests, <-codes)
	require.EqualValues(t, 2, fronttest.Inside(t, e, "uploads"))
	close(release)
	require.Equal(t, http.StatusOK, <-codes)
	require.Equal(t, http.StatusOK, <-codes)
	require.Zero(t, e.Snapshot().Misuse.DoubleDone)
}

func TestSlotIsHeldWhileWorkGoesOnAfterTheClientLeft(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("jobs", 2))
	started, finish := make(chan struct{}), make(chan struct{})
	h, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "jobs"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		started <- struct{}{}
		<-finish // heeds no cancellation
	})))
	s := serve(t, h)
	for range 2 {
		ctx, abort := context.WithCancel(context.Background())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		require.NoError(t, err)
		failed := make(chan error)
		go func() {
			_, err := s.Client().Do(r)
			failed <- err
		}()
		<-started
		abort()
		require.ErrorIs(t, <-failed, context.Canceled)
	}
	resp, _ := get(t, s, "/")
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode, "both jobs are still running")
	<-ended
	close(finish)
	<-ended
	<-ended
	go func() { <-started }()
	resp, _ = get(t, s, "/")
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

func TestTimeoutOutsideKeepsTheSlotUntilTheWorkEnds(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("jobs", 1))
	finish := make(chan struct{})
	inner, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "jobs"))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done() // the timeout has come
		<-finish
	})))
	s := serve(t, http.TimeoutHandler(inner, time.Millisecond, "too late"))
	resp, body := get(t, s, "/")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Equal(t, "too late", body)
	require.EqualValues(t, 1, fronttest.Inside(t, e, "jobs"), "the work goes on")

	_, body = get(t, s, "/")
	require.Contains(t, body, `"reason":"full"`)
	<-ended
	close(finish)
	<-ended
	require.Zero(t, fronttest.Inside(t, e, "jobs"))
}

func TestTimeoutInsideEndsTheSlotWithTheResponseUnlessDetached(t *testing.T) {
	for _, detach := range []bool{false, true} {
		e := fronttest.Engine(t, fronttest.InFlight("jobs", 1))
		finish, done := make(chan struct{}), make(chan struct{})
		work := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			defer close(done)
			if detach {
				w := weirhttp.Detach(r.Context())
				defer w.Done(engine.Success)
			}
			<-finish
		})
		h, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "jobs"))(http.TimeoutHandler(work, 10*time.Millisecond, "too late")))
		s := serve(t, h)
		_, body := get(t, s, "/")
		require.Equal(t, "too late", body)
		<-ended
		held := int64(0)
		if detach {
			held = 1
		}
		require.Equal(t, held, fronttest.Inside(t, e, "jobs"))
		close(finish)
		<-done
		require.Eventually(t, func() bool { return fronttest.Inside(t, e, "jobs") == 0 }, 5*time.Second, time.Millisecond)
		require.Zero(t, e.Snapshot().Misuse.DoubleDone)
	}
}

// upgrade takes the connection over and hands its end to the returned channel.
func upgrade(conns chan<- net.Conn, works chan<- weirhttp.Work) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			_, _ = io.WriteString(w, "plain")
			return
		}
		if works != nil {
			works <- weirhttp.Detach(r.Context())
		}
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		conns <- c
	})
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	return c
}

func TestUpgradedConnections(t *testing.T) {
	t.Run("a slot ends when the handler returns", func(t *testing.T) {
		e := fronttest.Engine(t, fronttest.InFlight("requests", 3))
		conns := make(chan net.Conn, 3)
		h, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "requests"))(upgrade(conns, nil)))
		s := serve(t, h)
		for range 3 {
			dial(t, s.Listener.Addr().String())
			<-ended
		}
		require.Zero(t, fronttest.Inside(t, e, "requests"))
		resp, body := get(t, s, "/")
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, "plain", body)
	})
	t.Run("detached it ends when the connection does, once", func(t *testing.T) {
		e := fronttest.Engine(t, fronttest.InFlight("requests", 3))
		conns, works := make(chan net.Conn, 3), make(chan weirhttp.Work, 3)
		h, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "requests"))(upgrade(conns, works)))
		s := serve(t, h)
		for range 3 {
			dial(t, s.Listener.Addr().String())
			<-ended
		}
		require.EqualValues(t, 3, fronttest.Inside(t, e, "requests"), "the sockets are open")
		resp, _ := get(t, s, "/")
		require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
		for range 3 {
			w := <-works
			_ = (<-conns).Close()
			var wg sync.WaitGroup
			for range 4 { // reader, writer, pinger, janitor: all see the end
				wg.Go(func() { w.Done(engine.Success) })
			}
			wg.Wait()
		}
		require.Zero(t, fronttest.Inside(t, e, "requests"))
		require.EqualValues(t, 9, e.Snapshot().Misuse.DoubleDone)
		resp, _ = get(t, s, "/")
		require.Equal(t, http.StatusOK, resp.StatusCode)
	})
}

func TestDetachTwiceIsOneTicket(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("jobs", 1))
	var a, b weirhttp.Work
	weirhttp.Handler(e, fronttest.By(t, e, "jobs"))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		a, b = weirhttp.Detach(r.Context()), weirhttp.Detach(r.Context())
	})).ServeHTTP(httptest.NewRecorder(), mustRequest(t))
	require.EqualValues(t, 1, fronttest.Inside(t, e, "jobs"))
	a.Done(engine.Success)
	require.Zero(t, fronttest.Inside(t, e, "jobs"))
	b.Done(engine.Success)
	require.EqualValues(t, 1, e.Snapshot().Misuse.DoubleDone)
}

func TestDetachWithoutATicketIsHarmless(t *testing.T) {
	w := weirhttp.Detach(context.Background())
	require.Zero(t, w)
	w.Done(engine.Success)
	w.Settle(1, 1)
	weirhttp.Settle(context.Background(), 1, 1)
}

func TestStreamsWhoseTailRunsElsewhere(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("streams", 10))
	h, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "streams"))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ticket := weirhttp.Detach(r.Context())
		written := make(chan struct{})
		go func() { // in a context that knows nothing of the request's
			defer close(written)
			defer ticket.Done(engine.Success)
			_, _ = io.WriteString(w, "head ")
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, "tail")
		}()
		<-written
	})))
	s := serve(t, h)
	for range 100 {
		_, body := get(t, s, "/")
		require.Equal(t, "head tail", body)
		<-ended
	}
	require.Zero(t, fronttest.Inside(t, e, "streams"))
	require.Zero(t, e.Snapshot().Misuse.DoubleDone)
}

func TestLongStreamsDoNotStarveOtherWork(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{
		{Name: "normal", Kind: engine.InFlight, Max: 10},
		{Name: "streams", Kind: engine.InFlight, Max: 10},
	}})
	started, finish := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("/watch", weirhttp.Handler(e, fronttest.By(t, e, "streams"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		started <- struct{}{}
		<-finish
	})))
	h, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "normal"))(ok))
	mux.Handle("/", h)
	s := serve(t, mux)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { get(t, s, "/watch") })
		<-started
	}
	resp, _ := get(t, s, "/")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	<-ended
	require.Zero(t, fronttest.Inside(t, e, "normal"))
	require.EqualValues(t, 10, fronttest.Inside(t, e, "streams"))
	close(finish)
	wg.Wait()
}

func TestSlotSurvivesTheRemovalOfItsLimit(t *testing.T) {
	cfg := fronttest.InFlight("jobs", 1)
	e := fronttest.Engine(t, cfg)
	started, finish := make(chan struct{}), make(chan struct{})
	h, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "jobs"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		started <- struct{}{}
		<-finish
	})))
	s := serve(t, h)
	go get(t, s, "/")
	<-started
	require.NoError(t, e.Swap(engine.Config{MaxEntries: cfg.MaxEntries}))
	close(finish)
	<-ended
	require.NoError(t, e.Swap(cfg))
	go func() { <-started }()
	resp, _ := get(t, s, "/")
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

func TestSettleReachesTheTicket(t *testing.T) {
	l := fronttest.Bucket("tokens", 1, time.Hour, 100)
	l.PostPaid = true
	e := fronttest.Engine(t, engine.Config{Limits: []engine.Limit{l}, MaxEntries: 1000, Clock: fronttest.Still()})
	id, _ := e.Limit("tokens")
	h := weirhttp.Handler(e, fronttest.By(t, e, "tokens"))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		weirhttp.Settle(r.Context(), id, 60)
	}))
	h.ServeHTTP(httptest.NewRecorder(), mustRequest(t))
	ticket := e.Admit(engine.Request{Claims: []engine.Claim{id.Claim(e.Key(""))}})
	left := ticket.Decision().Remaining
	ticket.Done(engine.Success)
	require.EqualValues(t, 39, left)
	require.Zero(t, e.Snapshot().Misuse.Settle)
}
