package shop_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/shop"
)

func TestPoolServesInOrderAndRefusesWhenItsQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := shop.NewPool(1, 2)
		require.NoError(t, p.Acquire(t.Context()))
		var order []int
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				require.NoError(t, p.Acquire(t.Context()))
				order = append(order, i)
				time.Sleep(time.Second)
				p.Release()
			})
			synctest.Wait()
		}
		require.ErrorIs(t, p.Acquire(t.Context()), shop.ErrQueueFull)
		s := p.Stats()
		require.Equal(t, [3]int{1, 2, 1}, [3]int{s.Busy, s.Queued, s.Live})
		p.Release()
		wg.Wait()
		require.Equal(t, []int{0, 1}, order)
		require.Zero(t, p.Stats().Busy)
	})
}

func TestWhoeverLeavesTheQueueCostsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := shop.NewPool(1, 10)
		require.NoError(t, p.Acquire(t.Context()))
		left, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		require.ErrorIs(t, p.Acquire(left), context.DeadlineExceeded)
		require.Zero(t, p.Stats().Queued)
		p.Release()
		require.NoError(t, p.Acquire(t.Context()))
	})
}

// A worker that is handed over at the moment at which its client leaves must
// neither be lost nor given twice.
func TestLeavingWhileBeingServedLosesNoWorker(t *testing.T) {
	p := shop.NewPool(2, 1000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 2000 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*time.Microsecond)
				if p.Acquire(ctx) == nil {
					p.Release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	s := p.Stats()
	require.Zero(t, s.Busy+s.Queued)
	require.NoError(t, p.Acquire(t.Context()))
	require.NoError(t, p.Acquire(t.Context()))
}

// The same, aimed: the client leaves, and its worker comes before it has woken.
func TestAWorkerForSomeoneWhoHasJustLeftIsPassedOn(t *testing.T) {
	for range 2000 {
		p := shop.NewPool(1, 10)
		require.NoError(t, p.Acquire(t.Context()))
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() { gone <- p.Acquire(ctx) }()
		for p.Stats().Queued == 0 {
			runtime.Gosched()
		}
		leave()
		p.Release()
		if <-gone == nil {
			p.Release()
		}
		require.Zero(t, p.Stats().Busy)
		require.NoError(t, p.Acquire(t.Context()), "the worker is free again")
	}
}

func TestLostWorkersFinishAndNewOnesBeginAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := shop.NewPool(2, 10)
		require.NoError(t, p.Acquire(t.Context()))
		require.NoError(t, p.Acquire(t.Context()))
		p.Resize(1)
		got := make(chan struct{})
		go func() {
			require.NoError(t, p.Acquire(t.Context()))
			close(got)
		}()
		synctest.Wait()
		p.Release() // the lost one: nobody gets it
		synctest.Wait()
		require.Equal(t, 1, p.Stats().Queued)
		p.Resize(2)
		<-got
	})
}

// serve asks a shop directly and returns the status and how long it took.
func serve(t *testing.T, s *shop.Shop, method, path, key, body string) (int, time.Duration) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Request-Id", method+path)
	w, start := httptest.NewRecorder(), time.Now()
	s.Mux().ServeHTTP(w, r)
	return w.Code, time.Since(start)
}

func TestWorkIsDrawnFromTheRequestAndSlowsWithTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shop.New(4, 10, 1)
		code, quiet := serve(t, s, "GET", "/v1/charges", "sk_live_a", "")
		require.Equal(t, http.StatusOK, code)
		require.Greater(t, quiet, shop.ListTime/2)
		_, again := serve(t, shop.New(4, 10, 1), "GET", "/v1/charges", "sk_live_a", "")
		require.Equal(t, quiet, again, "the same request is the same work")
		_, other := serve(t, shop.New(4, 10, 2), "GET", "/v1/charges", "sk_live_a", "")
		require.NotEqual(t, quiet, other)

		_, charge := serve(t, s, "POST", "/v1/charges", "sk_live_a", "amount=5")
		s.Slow(10)
		_, slow := serve(t, s, "GET", "/v1/charges", "sk_live_a", "")
		require.InEpsilon(t, 10*quiet, slow, 0.001)
		_, slowCharge := serve(t, s, "POST", "/v1/charges", "sk_live_a", "amount=5")
		require.InEpsilon(t, 1.9, float64(slowCharge)/float64(charge), 0.001)
		_, export := serve(t, shop.New(4, 10, 1), "GET", "/v1/charges?limit=1200", "sk_live_a", "")
		require.Greater(t, export, 600*shop.RowTime)
	})
}

func TestEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shop.New(4, 10, 1)
		for _, c := range []struct {
			method, path, key, body string
			want                    int
		}{
			{"POST", "/v1/charges", "sk_live_a", "amount=100", 200},
			{"POST", "/v1/charges", "sk_test_a", "amount=100", 200},
			{"POST", "/v1/charges", "sk_live_a", "amount=-1", 400},
			{"POST", "/v1/charges", "sk_live_a", "amount=x", 400},
			{"POST", "/v1/charges", "pk_live_a", "amount=100", 401},
			{"POST", "/v1/charges", "sk_live_", "amount=100", 401},
			{"POST", "/v1/charges", "sk_gone_a", "amount=100", 401},
			{"POST", "/v1/refunds", "sk_live_a", "", 200},
			{"POST", "/v1/refunds", "sk_live_a", "", 200},
			{"GET", "/v1/charges?limit=x", "sk_live_a", "", 200},
			{"DELETE", "/v1/charges", "sk_live_a", "", 405},
			{"GET", "/v2", "sk_live_a", "", 404},
		} {
			code, _ := serve(t, s, c.method, c.path, c.key, c.body)
			require.Equal(t, c.want, code, "%s %s %s", c.method, c.path, c.key)
		}
		require.Zero(t, s.Pool.Stats().Busy)
	})
}
