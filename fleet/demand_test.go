package fleet_test

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// load is demand on one key.
type load struct {
	w       *world
	limit   string
	k       key.Key
	rate    float64 // requests a second, of all instances
	share   func(now int64) []float64
	cost    int64
	stopped bool

	offered, admitted []int64 // by instance
	perSecond         []int64
	times             []int64
	start             int64
	truth             *truth
	falseRefusals     int64
}

// truth is one bucket that sees every request.
type truth struct {
	rule bucket.Rule
	word uint64
	n    int64
}

func (w *world) drive(l engine.Limit, k key.Key, rate float64, share func(now int64) []float64) *load {
	d := &load{w: w, limit: l.Name, k: k, rate: rate, share: share, cost: 1, start: w.now,
		offered: make([]int64, len(w.boxes)), admitted: make([]int64, len(w.boxes))}
	if l.Kind == engine.TokenBucket {
		r := rule(w.t, l)
		d.truth = &truth{rule: r, word: r.Fresh(0, r.At(w.now))}
	}
	d.arrive()
	return d
}

func (d *load) arrive() {
	d.w.after(int64(d.w.r.ExpFloat64()/d.rate*1e9), func() {
		if d.stopped {
			return
		}
		d.one(pick(d.w.r, d.share(d.w.now)))
		d.arrive()
	})
}

func pick(r *rand.Rand, p []float64) int {
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	u := r.Float64() * sum
	for i, x := range p {
		if u -= x; u < 0 {
			return i
		}
	}
	return len(p) - 1
}

func (d *load) one(i int) bool {
	b := d.w.boxes[i]
	if !b.alive {
		return false
	}
	d.offered[i]++
	due := false
	if t := d.truth; t != nil {
		if next, ok := t.rule.Take(t.word, t.rule.At(d.w.now), d.cost); ok {
			t.word, due = next, true
			t.n++
		}
	}
	step, _ := b.ask(d.limit, d.k, d.cost)
	if step.Reason != engine.Admitted {
		if due {
			d.falseRefusals++
		}
		return false
	}
	d.admitted[i]++
	sec := int((d.w.now - d.start) / int64(time.Second))
	for len(d.perSecond) <= sec {
		d.perSecond = append(d.perSecond, 0)
	}
	d.perSecond[sec]++
	d.times = append(d.times, d.w.now)
	return true
}

func sum(x []int64) (s int64) {
	for _, v := range x {
		s += v
	}
	return s
}

// excess is the most that was admitted above burst + rate*W in any window W.
func (d *load) excess(rate, burst float64) float64 {
	worst, low := math.Inf(-1), math.Inf(1)
	for i, at := range d.times {
		// admitted(0..i) - rate*t: the largest rise of it.
		v := float64(i) - rate*float64(at-d.start)/1e9
		low = min(low, v)
		worst = max(worst, v+1-low)
	}
	return worst - burst
}

// jain is Jain's index of admitted by offered.
func (d *load) jain() float64 {
	var s, q, n float64
	for i := range d.offered {
		if d.offered[i] > 0 {
			x := float64(d.admitted[i]) / float64(d.offered[i])
			s, q, n = s+x, q+x*x, n+1
		}
	}
	return s * s / (n * q)
}

func balanced(n int) func(int64) []float64 {
	p := make([]float64, n)
	for i := range p {
		p[i] = 1
	}
	return func(int64) []float64 { return p }
}

func skewed(n int) func(int64) []float64 {
	p := make([]float64, n)
	for i := range p {
		p[i] = math.Pow(float64(i+1), -1.2)
	}
	return func(int64) []float64 { return p }
}

// shifting has 80 % of the demand on an instance that changes.
func shifting(n int, every time.Duration) func(int64) []float64 {
	p := make([]float64, n)
	return func(now int64) []float64 {
		hot := int(now/int64(every)) % n
		for i := range p {
			p[i] = 0.2 / float64(n-1)
		}
		p[hot] = 0.8
		return p
	}
}
