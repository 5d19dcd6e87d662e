package engine_test

import (
	"cmp"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

func postPaid(name string, rate int64, per time.Duration, burst int64) engine.Limit {
	l := tokens(name, rate, per, burst)
	l.PostPaid = true
	return l
}

// An estimate is held until the real cost is known; then that is charged, more
// or less, and the rest is free again.
func TestSettleChargesWhatWasUsed(t *testing.T) {
	f := start(t, limits(postPaid("llm", 10, time.Second, 100)))
	id, _ := f.Limit("llm")
	ask := func(estimate int64) *engine.Ticket {
		tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("llm", "u", estimate)}})
		return &tk
	}
	a := ask(60)
	require.True(t, a.OK())
	require.EqualValues(t, 40, a.Decision().Remaining)
	require.EqualValues(t, 60, f.inUse("llm"))
	b := ask(50)
	require.Equal(t, engine.Decision{Reason: engine.Limited, Layer: engine.Rate, Limit: 1, RetryAfter: time.Second, Remaining: 40}, b.Decision(),
		"held tokens do not drain")
	f.clock.Advance(10 * time.Second)
	require.EqualValues(t, 40, f.left("llm", "u"))

	a.Settle(id, 20)
	require.EqualValues(t, 80, f.left("llm", "u"))
	a.Done(engine.Success)
	require.EqualValues(t, 80, f.left("llm", "u"))
	require.Zero(t, f.inUse("llm"))

	c := ask(10)
	c.Settle(id, 130) // more than estimated and than there is: the key owes 50
	c.Done(engine.Success)
	require.Zero(t, f.left("llm", "u"))
	d := ask(1)
	require.Equal(t, 5100*time.Millisecond, d.Decision().RetryAfter)
	require.Zero(t, d.Decision().Remaining)
	f.clock.Advance(5100 * time.Millisecond)
	e := ask(1)
	require.True(t, e.OK())
	e.Done(engine.Success) // without Settle the estimate is the truth
	require.Equal(t, 100*time.Millisecond, ask(1).Decision().RetryAfter)
}

// What is settled wrongly changes nothing and is counted.
func TestWrongSettlementsAreCounted(t *testing.T) {
	f := start(t, limits(postPaid("llm", 10, time.Second, 100), tokens("api", 1, time.Hour, 10)))
	llm, _ := f.Limit("llm")
	api, _ := f.Limit("api")
	tk := f.request(engine.Read, "u", "llm", "api")
	tk.Settle(api, 3)
	tk.Settle(99, 3)
	tk.Settle(llm, -1)
	tk.Settle(llm, 5)
	tk.Settle(llm, 5)
	tk.Done(engine.Success)
	tk.Settle(llm, 5)
	require.EqualValues(t, 5, f.Snapshot().Misuse.Settle)
	require.EqualValues(t, 95, f.left("llm", "u"))
	require.EqualValues(t, 9, f.left("api", "u"))
	var refused engine.Ticket
	refused.Settle(llm, 1)
	refused.Done(engine.Success)
}

// A settlement after its limit has changed, gone or come back finds its way.
func TestSettleAfterSwap(t *testing.T) {
	f := start(t, limits(postPaid("llm", 10, time.Second, 100)))
	id, _ := f.Limit("llm")
	open := func() *engine.Ticket {
		tk := f.request(engine.Read, "u", "llm")
		require.True(t, tk.OK())
		return &tk
	}
	a := open()
	require.NoError(t, f.swap(postPaid("llm", 20, time.Second, 50)))
	a.Settle(id, 30)
	a.Done(engine.Success)
	require.EqualValues(t, 20, f.left("llm", "u"))
	b := open()
	require.NoError(t, f.swap())
	b.Settle(id, 30)
	b.Done(engine.Success)
	require.NoError(t, f.swap(postPaid("llm", 20, time.Second, 50)))
	require.EqualValues(t, 50, f.left("llm", "u"))
	c := open()
	require.NoError(t, f.swap(tokens("llm", 20, time.Second, 50))) // prepaid now
	c.Settle(id, 30)
	c.Done(engine.Success)
	require.Zero(t, f.Snapshot().Faults)
	require.EqualValues(t, 50, f.left("llm", "u"))
}

// Whatever settles when, the sum of what was used never passes what the bucket
// has given by more than what the settlements added to their estimates.
func TestConcurrentSettlementsHoldTheLimit(t *testing.T) {
	f := start(t, limits(postPaid("llm", 1, time.Hour, 1000)))
	id, _ := f.Limit("llm")
	k := f.Key("u")
	var used atomic.Int64
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range int64(2000) {
				tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.ClaimN(k, 3+i%5)}})
				if tk.OK() {
					actual := (int64(g) + i) % 3 // below every estimate
					tk.Settle(id, actual)
					used.Add(actual)
				}
				tk.Done(engine.Success)
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, used.Load(), int64(1000))
	require.Greater(t, used.Load(), int64(990), "and it is used up")
	require.Zero(t, f.inUse("llm"))
	require.EqualValues(t, 1000-used.Load(), f.left("llm", "u"))
}

// ending is a request of the trace that is under way.
type ending struct {
	call
	end time.Duration
	tk  *engine.Ticket
}

// An hour of a real service: every request claims its context and settles with
// the total. A limit of tokens per minute, below the demand, holds over every
// interval of the hour, to within what the requests in flight settle above their
// estimates: what is used, seen as a bucket, never passes the burst by more.
func TestTokensPerMinuteOverATrace(t *testing.T) {
	dir := os.Getenv("WEIR_DATA")
	if dir == "" {
		t.Skip("WEIR_DATA is not set")
	}
	trace := readTrace(t, filepath.Join(dir, "llm-inference-code-2023.csv"))
	t.Run("claiming the context", func(t *testing.T) {
		r := playTrace(t, trace, func(q call) int64 { return q.context })
		require.Greater(t, r.used, r.known*9/10, "about as much passes as if all costs were known beforehand")
	})
	t.Run("claiming next to nothing", func(t *testing.T) {
		r := playTrace(t, trace, func(call) int64 { return 1 })
		require.Positive(t, r.above, "what is settled above the estimate makes debt")
	})
}

// call is a request of the trace.
type call struct {
	at                 time.Duration
	context, generated int64
}

func readTrace(t *testing.T, path string) (calls []call) {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	var first time.Time
	for _, row := range rows[1:] {
		at, err := time.Parse("2006-01-02 15:04:05.0000000", row[0])
		require.NoError(t, err)
		if first.IsZero() {
			first = at
		}
		context, err := strconv.ParseInt(row[1], 10, 64)
		require.NoError(t, err)
		generated, err := strconv.ParseInt(row[2], 10, 64)
		require.NoError(t, err)
		calls = append(calls, call{at.Sub(first), context, generated})
	}
	require.Greater(t, len(calls), 8000)
	return calls
}

// played is what came of the trace.
type played struct {
	used  int64   // by the requests that passed
	known int64   // by those that pass when the total is charged beforehand
	above float64 // the most that what was used, seen as a bucket, was above the burst
}

func playTrace(t *testing.T, calls []call, estimate func(call) int64) (r played) {
	const perMinute, burst = 150_000, 10_000
	f := start(t, limits(postPaid("llm", perMinute, time.Minute, burst), tokens("known", perMinute, time.Minute, burst)))
	id, _ := f.Limit("llm")
	var (
		open     []ending // by their end
		now      time.Duration
		debt     float64 // what was used and has not dripped in since, as of
		last     time.Duration
		admitted int
		extra    int64 // by how much the open requests will pass their estimates
		most     int64 // the most of that
	)
	advance := func(to time.Duration) {
		f.clock.Advance(to - now)
		now = to
	}
	finish := func(until time.Duration) {
		for len(open) > 0 && open[0].end <= until {
			e := open[0]
			open = open[1:]
			advance(e.end)
			total := e.context + e.generated
			e.tk.Settle(id, total)
			e.tk.Done(engine.Success)
			r.used += total
			extra -= total - estimate(e.call)
			debt = max(0, debt-(now-last).Minutes()*perMinute) + float64(total)
			last, r.above = now, max(r.above, debt-burst)
		}
	}
	for _, q := range calls {
		finish(q.at)
		advance(q.at)
		if f.take("known", "service", q.context+q.generated).OK() {
			r.known += q.context + q.generated
		}
		tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("llm", "service", estimate(q))}})
		if !tk.OK() {
			continue
		}
		admitted++
		extra += q.context + q.generated - estimate(q)
		most = max(most, extra)
		end := q.at + time.Second + time.Duration(q.generated)*30*time.Millisecond
		i, _ := slices.BinarySearchFunc(open, end, func(e ending, at time.Duration) int { return cmp.Compare(e.end, at) })
		open = slices.Insert(open, i, ending{q, end, &tk})
	}
	finish(1 << 62)
	t.Logf("admitted %d of %d; used %d; known beforehand %d; most above: %.0f, of %d", admitted, len(calls), r.used, r.known, r.above, most)
	require.Less(t, admitted, len(calls), "the demand is above the limit")
	require.LessOrEqual(t, r.above, float64(most))
	require.Zero(t, f.inUse("llm"))
	return r
}
