package main

import (
	"context"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/go-chi/httprate"
	"github.com/juju/ratelimit"
	"github.com/puzpuzpuz/xsync/v3"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

var rateContestants = []contestant{
	{name: "weir", module: weirModule, weir: true, make: weirRate,
		note: "one token-bucket claim, no other layer; Key, Admit, Done"},
	{name: "weir, four layers", module: weirModule, weir: true, make: weirAll,
		note: "a rate and an in-flight claim on the key, gate, ladder; Key, Admit, Done"},
	{name: "x/time in sync.Map", module: "golang.org/x/time", make: xtimeSyncMap,
		note: "sync.Map of *rate.Limiter, Load before LoadOrStore; never evicts"},
	{name: "x/time in xsync", module: "golang.org/x/time", make: xtimeXsync,
		note: "xsync.MapOf of *rate.Limiter, presized; never evicts"},
	{name: "sethvargo", module: "github.com/sethvargo/go-limiter", make: sethvargo,
		note: "memorystore, presized, without the purge that scans the table"},
	{name: "throttled", module: "github.com/throttled/throttled/v2", make: throttledMap,
		note: "memstore without a bound: its bounded store is slower and forgets limits"},
	{name: "ulule", module: "github.com/ulule/limiter/v3", make: ulule,
		note: "memory store, cleaning once an hour"},
	{name: "juju in xsync", module: "github.com/juju/ratelimit", make: juju,
		note: "xsync.MapOf of *ratelimit.Bucket, presized; never evicts"},
	{name: "failsafe in xsync", module: "github.com/failsafe-go/failsafe-go", make: failsafe,
		note: "xsync.MapOf of bursty rate limiters, presized; never evicts"},
	{name: "httprate counter", module: "github.com/go-chi/httprate", make: httprateCounter,
		note: "its local counter and window arithmetic under its one lock, without the response headers; keys of equal 64-bit hash share a count"},
}

// rateSubject is a subject whose checks hold nothing.
func rateSubject(take func(key string) bool) subject { return subject{decide: take, take: take} }

// keyed finds or makes a key's limiter in a presized map.
func keyed[V any](keys int, make func() V) func(string) V {
	m := xsync.NewMapOf[string, V](xsync.WithPresize(keys))
	return func(key string) V {
		if v, ok := m.Load(key); ok {
			return v
		}
		v, _ := m.LoadOrCompute(key, make)
		return v
	}
}

func newXtime(l limit) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(float64(l.count)/l.per.Seconds()), int(l.count))
}

func xtimeSyncMap(l limit, _ int) (subject, error) {
	var m sync.Map
	return rateSubject(func(key string) bool {
		v, ok := m.Load(key)
		if !ok {
			v, _ = m.LoadOrStore(key, newXtime(l))
		}
		return v.(*rate.Limiter).Allow()
	}), nil
}

func xtimeXsync(l limit, keys int) (subject, error) {
	of := keyed(keys, func() *rate.Limiter { return newXtime(l) })
	return rateSubject(func(key string) bool { return of(key).Allow() }), nil
}

func sethvargo(l limit, keys int) (subject, error) {
	s, err := memorystore.New(&memorystore.Config{
		Tokens: uint64(l.count), Interval: l.per, InitialAlloc: keys, DisablePurge: true,
	})
	ctx := context.Background()
	return rateSubject(func(key string) bool {
		_, _, _, ok, err := s.Take(ctx, key)
		return ok && err == nil
	}), err
}

func throttledMap(l limit, _ int) (subject, error) {
	st, err := memstore.NewCtx(0)
	if err != nil {
		return subject{}, err
	}
	r, err := throttled.NewGCRARateLimiterCtx(st, throttled.RateQuota{
		MaxRate: throttled.PerDuration(int(l.count), l.per), MaxBurst: int(l.count) - 1,
	})
	if err != nil {
		return subject{}, err
	}
	ctx := context.Background()
	return rateSubject(func(key string) bool {
		limited, _, err := r.RateLimitCtx(ctx, key, 1)
		return !limited && err == nil
	}), nil
}

func ulule(l limit, _ int) (subject, error) {
	store := memory.NewStoreWithOptions(limiter.StoreOptions{CleanUpInterval: time.Hour})
	r := limiter.New(store, limiter.Rate{Period: l.per, Limit: l.count})
	if l == generous { // a window that ends makes it reset every key's counter
		r.Rate = limiter.Rate{Period: time.Hour, Limit: l.count * 3600}
	}
	ctx := context.Background()
	return rateSubject(func(key string) bool {
		c, err := r.Get(ctx, key)
		return !c.Reached && err == nil
	}), nil
}

func juju(l limit, keys int) (subject, error) {
	of := keyed(keys, func() *ratelimit.Bucket {
		if l == generous {
			return ratelimit.NewBucketWithRate(float64(l.count)/l.per.Seconds(), l.count)
		}
		return ratelimit.NewBucket(l.per, l.count)
	})
	return rateSubject(func(key string) bool { return of(key).TakeAvailable(1) == 1 }), nil
}

func failsafe(l limit, keys int) (subject, error) {
	of := keyed(keys, func() ratelimiter.RateLimiter[any] {
		return ratelimiter.NewBursty[any](uint(l.count), l.per)
	})
	return rateSubject(func(key string) bool { return of(key).TryAcquirePermit() }), nil
}

// httprateCounter is what httprate.RateLimiter.OnLimit does, without the HTTP.
func httprateCounter(l limit, _ int) (subject, error) {
	if l == generous { // a window that ends empties the table
		l = limit{count: l.count * 3600, per: time.Hour}
	}
	counter := httprate.LimitCounter(httprate.NewLocalLimitCounter(l.per))
	counter.Config(int(l.count), l.per)
	var mu sync.Mutex
	return rateSubject(func(key string) bool {
		now := time.Now().UTC()
		current := now.Truncate(l.per)
		mu.Lock()
		defer mu.Unlock()
		n, previous, err := counter.Get(key, current, current.Add(-l.per))
		if err != nil {
			return false
		}
		past := 1 - float64(now.Sub(current))/float64(l.per)
		if float64(previous)*past+float64(n)+1 > float64(l.count) {
			return false
		}
		return counter.Increment(key, current) == nil
	}), nil
}
