package policy_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// BenchmarkBind is what a policy costs a request beside the engine's decision.
func BenchmarkBind(b *testing.B) {
	for name, text := range map[string]string{
		"address":         "limits: {x: {key: address, rate: 1/s}}",
		"identity":        "limits: {x: {key: identity, rate: 1/s}}",
		"rate and flight": "limits: {x: {key: identity, rate: 1/s}, y: {key: identity, kind: in_flight, max: 5}}",
		"three parts":     "limits: {x: {key: [address, route, header Tenant | fold], rate: 1/s}}",
		"override":        "limits: {x: {key: identity, rate: 1/s, overrides: {o: {keys: alice, rate: 2/s}}}}",
		"classes":         classPolicy,
	} {
		b.Run(name, func(b *testing.B) {
			s := serve(b, text)
			a := by("alice")
			a.route, a.header = "GET /v1/charges", header("Tenant", "acme")
			var room [engine.MaxClaims]engine.Claim
			b.ReportAllocs()
			for b.Loop() {
				sink = s.bound.Bind(a, room[:0])
			}
		})
	}
}

// BenchmarkOverrideLookup is why the overrides of a limit are kept in an
// xsync.MapOf with the key as its own hash: nearly every look-up is of a key
// without an override, by many goroutines, and expired entries must go while
// others read.
func BenchmarkOverrideLookup(b *testing.B) {
	const overrides = 1000
	h := key.NewHasher(nil)
	var known, others []key.Key
	for i := range overrides {
		known = append(known, h.Key("known", fmt.Sprint(i)))
		others = append(others, h.Key("other", fmt.Sprint(i)))
	}
	x := xsync.NewMapOfWithHasher[key.Key, *engine.LimitID](func(k key.Key, seed uint64) uint64 { return k.H ^ seed })
	var m sync.Map
	var mu sync.RWMutex
	locked := map[key.Key]*engine.LimitID{}
	for _, k := range known {
		x.Store(k, new(engine.LimitID))
		m.Store(k, new(engine.LimitID))
		locked[k] = new(engine.LimitID)
	}
	for name, load := range map[string]func(key.Key) bool{
		"xsync.MapOf": func(k key.Key) bool { _, ok := x.Load(k); return ok },
		"sync.Map":    func(k key.Key) bool { _, ok := m.Load(k); return ok },
		"RWMutex": func(k key.Key) bool {
			mu.RLock()
			_, ok := locked[k]
			mu.RUnlock()
			return ok
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				found := 0
				for i := 0; pb.Next(); i++ {
					k := others[i%overrides]
					if i%16 == 0 {
						k = known[i%overrides]
					}
					if load(k) {
						found++
					}
				}
				if found == -1 {
					b.Error(found)
				}
			})
		})
	}
}
