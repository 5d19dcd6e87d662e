package engine

import (
	"fmt"
	"math"
)

// Mode says what a limit or a layer does with its verdicts. It is one word and
// can be changed at any time with SetMode. The zero value is Enforce at 100 %.
//
// A mode is two shares of the keys, nested: those for which the limit is
// enabled at all, and those of them for which it is enforced; enabled but not
// enforced is shadow (dark launch). A key's place in a ramp is a stable hash
// salted by the limit, so that raising a share only ever adds keys.
type Mode uint64

// modeOne is a share of 100 %: shares are kept in 65,536ths.
const modeOne = 1 << 16

// The plain modes.
const (
	Enforce Mode = 0             // decide and refuse
	Shadow  Mode = modeOne << 32 // decide and count, never refuse (dark launch)
	Off     Mode = modeOne       // do nothing (kill switch)
)

// The word keeps the shares' complements, so that zero is Enforce:
// [keys not enforced, of the enabled, 32 | keys not enabled 32].

// Ramp is the mode that is enabled for a share of the keys and enforced for a
// share of those. Both are from 0 to 1 and are clamped to that; NaN is 0.
func Ramp(enabled, enforced float64) Mode {
	return Mode(modeOne-share(enforced))<<32 | Mode(modeOne-share(enabled))
}

func share(f float64) uint64 {
	if !(f > 0) {
		return 0
	}
	return uint64(math.Round(min(f, 1) * modeOne))
}

// Enabled returns the share of the keys for which the limit is enabled, 0 to 1.
func (m Mode) Enabled() float64 { return float64(m.enabled()) / modeOne }

// Enforced returns the share of the enabled keys for which the limit is
// enforced, 0 to 1.
func (m Mode) Enforced() float64 { return float64(m.enforced()) / modeOne }

func (m Mode) enabled() uint64  { return modeOne - min(uint64(m)&(1<<32-1), modeOne) }
func (m Mode) enforced() uint64 { return modeOne - min(uint64(m)>>32, modeOne) }

// weaker is the mode that does no more than either.
func (m Mode) weaker(o Mode) Mode {
	return Mode(modeOne-min(m.enforced(), o.enforced()))<<32 | Mode(modeOne-min(m.enabled(), o.enabled()))
}

// String is "enforce", "shadow", "off" or "ramp(enabled, enforced)" with the
// shares in percent.
func (m Mode) String() string {
	switch {
	case m.enabled() == 0:
		return "off"
	case m.enabled() == modeOne && m.enforced() == modeOne:
		return "enforce"
	case m.enabled() == modeOne && m.enforced() == 0:
		return "shadow"
	}
	return fmt.Sprintf("ramp(%.4g%%, %.4g%%)", 100*m.Enabled(), 100*m.Enforced())
}

// Fail is what a limit does when weir itself fails on it.
type Fail uint8

// The fail policies.
const (
	FailOpen   Fail = iota // admit: the limiter must not become the outage
	FailClosed             // refuse with reason Closed: login, OTP, payments
)

// Overflow is what a limit does with a key that the bounded table has no room
// for.
type Overflow uint8

// The overflow policies. All are counted.
const (
	OverflowShared Overflow = iota // such keys share strict overflow entries, so a flood buys no fresh bursts
	OverflowOpen                   // admit
	OverflowClosed                 // refuse
)
