package drive

import (
	"context"
	"sync"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/target"
)

// Late is how long after its due time a request may be sent without counting
// as late, and TooLate when it is not sent at all: a generator that cannot hold
// the rate says so instead of stretching the load.
const (
	Late    = 10 * time.Millisecond
	TooLate = time.Second
)

// Skip is why a request was never sent.
type Skip uint8

// The reasons.
const (
	NotSkipped Skip = iota
	AtCap           // as many were on their way as may be
	Behind          // its turn came later than TooLate
)

// Event is what became of one offered request. Times are since the start.
type Event struct {
	Request *target.Request
	Skipped Skip          // why it was never sent; NotSkipped when it was
	Sent    time.Duration // when it was sent
	Ended   time.Duration // when its end was known
	Result  target.Result
}

// Response is the latency that the user saw: from when the request was due.
func (e *Event) Response() time.Duration { return e.Ended - e.Request.Due }

// Service is the latency from when the request was sent.
func (e *Event) Service() time.Duration { return e.Ended - e.Sent }

// Late reports whether the generator sent the request late.
func (e *Event) Late() bool { return e.Skipped == NotSkipped && e.Sent-e.Request.Due > Late }

// Options are the bounds of a run.
type Options struct {
	MaxInFlight int // requests on their way at once, above 0; what is due beyond that is skipped
	// Start is when the first request is due; zero is now.
	Start time.Time
	// Grace is how long requests on their way may go on when ctx ends.
	Grace time.Duration
}

// Run sends what next gives, in order of Due, until next has no more or ctx
// ends, and waits for what is on its way. It calls sink for every offered
// request, from one goroutine at a time and never after it returned.
func Run(ctx context.Context, next func() (*target.Request, bool), to target.Target, o Options, sink func(Event)) {
	var (
		start  = o.Start
		events = make(chan Event, 1024)
		done   = make(chan struct{})
		flying sync.WaitGroup
		places = make(chan struct{}, o.MaxInFlight)
	)
	if start.IsZero() {
		start = time.Now()
	}
	// Requests outlive ctx by the grace.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(o.Grace, stop) })()
	go func() {
		defer close(done)
		for e := range events {
			sink(e)
		}
	}()
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		r, ok := next()
		if !ok {
			break
		}
		if d := r.Due - time.Since(start); d > 0 {
			wait.Reset(d)
			select {
			case <-wait.C:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			break
		}
		if time.Since(start)-r.Due > TooLate {
			events <- Event{Request: r, Skipped: Behind}
			continue
		}
		select {
		case places <- struct{}{}:
		default:
			events <- Event{Request: r, Skipped: AtCap}
			continue
		}
		flying.Add(1)
		go func() {
			defer flying.Done()
			sent := time.Since(start)
			res := to.Do(work, r)
			e := Event{Request: r, Sent: sent, Ended: time.Since(start), Result: res}
			<-places
			events <- e
		}()
	}
	flying.Wait()
	close(events)
	<-done
}
