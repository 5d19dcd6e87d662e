package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
)

// traffic draws requests without end, at rates that can be changed while it
// goes on. next is for one goroutine; the other methods are safe with it.
type traffic struct {
	rng  *rand.Rand
	due  time.Duration
	n    int
	live []string
	test []string

	mu     sync.Mutex
	flood  float64 // requests a second
	export bool
}

// exportRate is what the customer who exports its books asks for per second.
const exportRate = 60

func newTraffic(seed uint64) *traffic {
	return &traffic{
		rng:  rand.New(rand.NewPCG(seed, 0x6c697665)),
		live: accounts("cus", liveUsers), test: accounts("dev", testUsers),
	}
}

func (t *traffic) setFlood(perSecond float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flood = perSecond
}

func (t *traffic) floodRate() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flood
}

func (t *traffic) setExport(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.export = on
}

// next draws the next request of all sources together: a Poisson process whose
// rate is the sum of theirs.
func (t *traffic) next() *target.Request {
	t.mu.Lock()
	flood, exports := t.flood, 0.0
	if t.export {
		exports = exportRate
	}
	t.mu.Unlock()
	sources := []struct {
		rate     float64
		class    engine.Class
		accounts []string
		test     bool
		ask      func(*target.Request, *rand.Rand)
		patience time.Duration
	}{
		{testRate, engine.Test, t.test, true, anything, 0},
		{readRate, engine.Read, t.live, false, list, 0},
		{writeRate, engine.Write, t.live, false, refund, 0},
		{chargeRate, engine.Critical, t.live, false, charge, 0},
		{flood, engine.Test, []string{"runaway"}, true, charge, 0},
		{exports, engine.Read, []string{"exporter"}, false, export, 3 * time.Second},
	}
	total := 0.0
	for _, s := range sources {
		total += s.rate
	}
	t.due += time.Duration(t.rng.ExpFloat64() / total * float64(time.Second))
	pick := t.rng.Float64() * total
	i := 0
	for i < len(sources)-1 && (pick >= sources[i].rate || sources[i].rate == 0) {
		pick -= sources[i].rate
		i++
	}
	s := sources[i]
	account := s.accounts[t.rng.IntN(len(s.accounts))]
	t.n++
	r := &target.Request{Due: t.due, Class: s.class, User: account, ID: fmt.Sprint(t.n), Timeout: cmp.Or(s.patience, patience), Token: "sk_live_" + account}
	if s.test {
		r.Token = "sk_test_" + account
	}
	s.ask(r, t.rng)
	return r
}
