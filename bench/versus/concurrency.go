package main

import (
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"golang.org/x/sync/semaphore"
)

// perKey is the most that a contestant lets inside for one key while it is
// timed: a bulkhead's channel has a place for each, so a large figure would
// charge it with memory that no one needs.
const perKey = 100

var keyedConcurrency = []contestant{
	{name: "weir", module: weirModule, weir: true, make: weirInFlight,
		note: "one in-flight claim, no other layer; Key, Admit, Done"},
	{name: "x/sync semaphore in xsync", module: "golang.org/x/sync", make: semaphoreXsync,
		note: "xsync.MapOf of *semaphore.Weighted, presized; never evicts"},
	{name: "failsafe bulkhead in xsync", module: "github.com/failsafe-go/failsafe-go", make: bulkheadXsync,
		note: "xsync.MapOf of bulkheads, presized; never evicts"},
}

var processConcurrency = []contestant{
	{name: "weir gate", module: weirModule, weir: true, make: weirGate,
		note: "the gate alone, with a share kept for critical requests; Admit, Done"},
	{name: "x/sync semaphore", module: "golang.org/x/sync", make: oneSemaphore,
		note: "one *semaphore.Weighted"},
	{name: "failsafe bulkhead", module: "github.com/failsafe-go/failsafe-go", make: oneBulkhead,
		note: "one bulkhead"},
}

// inside is how many may be inside at once.
func inside(l limit) int64 {
	if l == generous {
		return perKey
	}
	return l.count
}

// inAndOut is a subject that enters with take and leaves with give.
func inAndOut(take func(key string) bool, give func(key string)) subject {
	return subject{take: take, decide: func(key string) bool {
		ok := take(key)
		if ok {
			give(key)
		}
		return ok
	}}
}

func semaphoreXsync(l limit, keys int) (subject, error) {
	of := keyed(keys, func() *semaphore.Weighted { return semaphore.NewWeighted(inside(l)) })
	return subject{
		take: func(key string) bool { return of(key).TryAcquire(1) },
		decide: func(key string) bool {
			s := of(key) // looked up once, as a caller would
			ok := s.TryAcquire(1)
			if ok {
				s.Release(1)
			}
			return ok
		},
	}, nil
}

func bulkheadXsync(l limit, keys int) (subject, error) {
	of := keyed(keys, func() bulkhead.Bulkhead[any] { return bulkhead.New[any](uint(inside(l))) })
	return subject{
		take: func(key string) bool { return of(key).TryAcquirePermit() },
		decide: func(key string) bool {
			b := of(key)
			ok := b.TryAcquirePermit()
			if ok {
				b.ReleasePermit()
			}
			return ok
		},
	}, nil
}

func oneSemaphore(l limit, _ int) (subject, error) {
	s := semaphore.NewWeighted(inside(l))
	return inAndOut(func(string) bool { return s.TryAcquire(1) }, func(string) { s.Release(1) }), nil
}

func oneBulkhead(l limit, _ int) (subject, error) {
	b := bulkhead.New[any](uint(inside(l)))
	return inAndOut(func(string) bool { return b.TryAcquirePermit() }, func(string) { b.ReleasePermit() }), nil
}
