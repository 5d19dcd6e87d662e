package bucket

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"time"
)

// A token bucket keeps one number, V, its theoretical arrival time (Turner,
// 1986; ATM Forum GCRA) on a clock that counts token units instead of time:
// V - N, how far V is ahead of that clock, is what the key owes. Since the debt
// is in tokens, changing the rate bends the clock and converts no word.

// line is a clock: units(t) = n0 + (t-t0)*slope / 2^32.
type line struct {
	t0    int64
	n0    uint64
	slope uint64 // units per ns, 32.32 fixed point
}

func (l *line) at(now int64) uint64 {
	// A request that read the time before the clock was bent may be behind it.
	hi, lo := bits.Mul64(uint64(max(now-l.t0, 0)), l.slope)
	return l.n0 + (hi<<32 | lo>>32)
}

// after returns how many ns after now the clock has advanced by units.
func (l *line) after(now int64, units uint64) int64 {
	if l.slope == 1<<32 {
		return int64(min(units, Never)) // a unit is a ns: one token per anything
	}
	_, lo := bits.Mul64(uint64(max(now-l.t0, 0)), l.slope)
	hi, lo2 := units>>32, units<<32
	lo2, borrow := bits.Sub64(lo2, lo&(1<<32-1), 0) // the part of a unit that has passed already
	hi -= borrow
	if hi >= l.slope {
		return Never
	}
	q, rem := bits.Div64(hi, lo2, l.slope)
	if rem > 0 {
		q++
	}
	return int64(min(q, Never))
}

func (l *line) span(units uint64) time.Duration {
	return time.Duration((&line{slope: l.slope}).after(0, units))
}

const (
	maxUnits = 1 << 54 // a full bucket, so that debt can double before it saturates
	// maxDebt is where debt saturates: one below the last that is ahead, so that a
	// word that steps over the reserved payload still is.
	maxDebt = half - 2
	// maxFill bounds how long an empty bucket takes to fill (146 years), so that
	// every wait is a time.Duration.
	maxFill = 1 << 62
	// The slopes, in 32.32 units per ns, between which a changed rate may keep
	// the units of the words that are out there.
	minSlope, maxSlope = 1 << 20, 1 << 42
)

// NewToken returns the rule of a bucket that holds burst tokens and gains rate
// tokens per per. rate, per and burst are at least 1; the realised rate is within 1e-6
// of the one asked for, and exact where rate and per allow (2 tokens per 3 ns
// do, 8 or fewer per whole ns always).
func NewToken(rate int64, per time.Duration, burst int64) (Rule, error) {
	if err := checkToken(rate, per, burst); err != nil {
		return Rule{}, err
	}
	g := gcd(rate, int64(per))
	r, p := rate/g, int64(per)/g
	// K units per token. With K = p the slope is the whole number r; else as many
	// as keep the slope at about 8 units per ns and a full bucket in the word.
	k := uint64(p)
	if r > 8 || !fits(k, burst) {
		k = min(mulDiv(8, uint64(p), uint64(r)), maxUnits/uint64(burst))
	}
	if k < 1 {
		return Rule{}, fmt.Errorf("rate %d per %v with burst %d: more than 8 tokens per ns cannot be counted", rate, per, burst)
	}
	rule := Rule{Kind: Token, k: k, recip: math.MaxUint64 / k, burst: k * uint64(burst), max: burst, rate: r, per: p}
	var ok bool
	if rule.clock.slope, ok = slope(r, p, k); !ok {
		return Rule{}, fmt.Errorf("rate %d per %v with burst %d: too slow for so large a burst: the rate would be off by more than 1e-6", rate, per, burst)
	}
	return rule, nil
}

func checkToken(rate int64, per time.Duration, burst int64) error {
	var errs []error
	if rate < 1 {
		errs = append(errs, errRate(rate))
	}
	if per < 1 {
		errs = append(errs, fmt.Errorf("per %v: must be at least 1ns", per))
	}
	if burst < 1 || burst > maxUnits {
		errs = append(errs, fmt.Errorf("burst %d: must be from 1 to %d", burst, int64(maxUnits)))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	fill := new(big.Int).Mul(big.NewInt(burst), big.NewInt(int64(per)))
	if fill.Div(fill, big.NewInt(rate)).Cmp(big.NewInt(maxFill)) > 0 {
		return fmt.Errorf("burst %d at rate %d per %v: takes more than 146 years to fill", burst, rate, per)
	}
	return nil
}

// errRate says what a rate below 1 is not.
func errRate(rate int64) error {
	return fmt.Errorf("rate %d: must be at least 1; to let nothing pass use kind block, to let everything pass use kind unlimited", rate)
}

// Retune returns the rule with another rate and burst for the same words: the
// clock bends at now, and what a key owes in tokens stays what it was. ok is
// false when the words cannot be kept because the new rate is out of the range
// that their unit allows; the limit then has to start afresh.
func (r *Rule) Retune(rate int64, per time.Duration, burst, now int64) (next Rule, ok bool, err error) {
	if _, err := NewToken(rate, per, burst); err != nil {
		return Rule{}, false, err
	}
	g := gcd(rate, int64(per))
	next = *r
	next.rate, next.per, next.max = rate/g, int64(per)/g, burst
	if next.rate != r.rate || next.per != r.per {
		s, exact := slope(next.rate, next.per, r.k)
		if !exact || s < minSlope || s > maxSlope {
			return Rule{}, false, nil
		}
		next.clock = line{t0: now, n0: r.clock.at(now), slope: s}
	}
	if !fits(r.k, burst) {
		return Rule{}, false, nil
	}
	next.burst = r.k * uint64(burst)
	return next, true, nil
}

// slope returns r*k/p in 32.32 fixed point; ok is false when rounding moves it
// by more than 1e-6.
func slope(r, p int64, k uint64) (s uint64, ok bool) {
	exact := new(big.Int).Mul(big.NewInt(r), new(big.Int).SetUint64(k))
	exact.Lsh(exact, 32)
	den := big.NewInt(p)
	rounded := new(big.Int).Add(exact, new(big.Int).Rsh(den, 1))
	rounded.Div(rounded, den)
	if !rounded.IsUint64() {
		return 0, false
	}
	diff := new(big.Int).Mul(rounded, den)
	diff.Sub(diff, exact).Abs(diff)
	return rounded.Uint64(), diff.Mul(diff, big.NewInt(1e6)).Cmp(exact) <= 0
}

func fits(k uint64, burst int64) bool {
	hi, lo := bits.Mul64(k, uint64(burst))
	return hi == 0 && lo <= maxUnits
}

// mulDiv is floor(a*b/c), saturated.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, c)
	return q
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// place puts a value on the ring of payloads and steps over the reserved one:
// at that one place a charge is a unit dearer, never cheaper.
func place(p uint64) uint64 {
	if p &= Payload; p == Frozen {
		return 0
	}
	return p
}

// debt is how many units the word is ahead of the instant.
func (r *Rule) debt(w, at uint64) uint64 {
	if d := (w - at) & Payload; d < half {
		return d
	}
	return 0
}

// TakeToken is Take for a Token.
func (r *Rule) TakeToken(w, at, cost uint64) (next uint64, ok bool) {
	d := r.debt(w, at) + cost*r.k
	if d > r.burst {
		return w, false
	}
	return w&^uint64(Payload) | place(at+d), true
}

func (r *Rule) chargeToken(w, at uint64, cost int64) (uint64, bool) {
	hi, c := bits.Mul64(uint64(cost), r.k)
	d := r.debt(w, at)
	exact := hi == 0 && c <= maxDebt && d+c <= maxDebt
	if d += c; !exact {
		d = maxDebt
	}
	return w&^uint64(Payload) | place(at+d), exact
}

func (r *Rule) undoToken(w, at, done uint64, cost int64) uint64 {
	return r.UndoUnits(w, at, done, uint64(cost)*r.k)
}

// ShortToken returns how many units a Token lacks for the cost: 0 if it fits.
func (r *Rule) ShortToken(w, at, cost uint64) uint64 {
	d := r.debt(w, at) + cost*r.k
	return d - min(d, r.burst)
}

// Gains returns how many ns after now, at least 1, a Token has gained the units.
func (r *Rule) Gains(now int64, units uint64) int64 { return max(r.clock.after(now, units), 1) }

func (r *Rule) waitToken(debt uint64, now, cost int64) int64 {
	d := debt + uint64(cost)*r.k
	if d <= r.burst {
		return 0
	}
	return r.clock.after(now, d-r.burst)
}

// LeftToken is Left for a Token.
func (r *Rule) LeftToken(w, at uint64) int64 {
	d := r.debt(w, at)
	if d >= r.burst {
		return 0
	}
	return int64(r.tokens(r.burst - d))
}

// Slack returns how many units a Token or a Hold gains in d, at most half a
// token; 0 for other kinds.
func (r *Rule) Slack(d time.Duration) uint64 {
	if r.Kind != Token && r.Kind != Hold {
		return 0
	}
	return min((&line{slope: r.clock.slope}).at(int64(d)), r.k/2)
}

// tokens is units/k by the reciprocal: a division takes as long as the rest of a
// step. units are at most 2^54, so the estimate is at most one too low.
func (r *Rule) tokens(units uint64) uint64 {
	q, _ := bits.Mul64(units, r.recip)
	if units-q*r.k >= r.k {
		q++
	}
	return q
}
