package arrival

import (
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Rate is N requests per Per; both are above 0 in a Rate that ParseRate
// returned.
type Rate struct {
	N   int64
	Per time.Duration
}

// PerSecond returns the rate as a number of requests per second.
func (r Rate) PerSecond() float64 { return float64(r.N) * float64(time.Second) / float64(r.Per) }

// String is the rate as ParseRate reads it.
func (r Rate) String() string {
	if r.Per == time.Second {
		return fmt.Sprintf("%d/s", r.N)
	}
	return fmt.Sprintf("%d/%v", r.N, r.Per)
}

// maxRate is the fastest rate there is: one request per nanosecond.
const maxRate = int64(time.Second)

// ParseRate reads "100/s", "7/3s", "0.1/s", "1e6/s" or "5/10m"; a bare number
// is per second. A decimal is kept exactly: 0.1/s is 1 per 10 s.
func ParseRate(s string) (Rate, error) {
	bad := func(why string) (Rate, error) {
		return Rate{}, fmt.Errorf("rate %q: %s; write for example 100/s, 0.5/s or 7/3s", s, why)
	}
	count, per, found := strings.Cut(strings.TrimSpace(s), "/")
	d := time.Second
	if found {
		var err error
		if d, err = parsePer(per); err != nil {
			return bad(fmt.Sprintf("%q is no duration", per))
		}
		if d <= 0 {
			return bad("the time must be above 0")
		}
	}
	// Bounded before it becomes a big number: "1e999999999" must cost nothing.
	if len(count) > 24 || strings.ContainsAny(count, "/xXpP_") {
		return bad(fmt.Sprintf("%q is no number", count))
	}
	if i := strings.IndexAny(count, "eE"); i >= 0 && len(count)-i > 4 {
		return bad(fmt.Sprintf("%q is out of range", count))
	}
	q, ok := new(big.Rat).SetString(count)
	if !ok {
		return bad(fmt.Sprintf("%q is no number", count))
	}
	if q.Sign() <= 0 {
		return bad("it must be above 0")
	}
	per2 := new(big.Int).Mul(q.Denom(), big.NewInt(int64(d)))
	if !q.Num().IsInt64() || !per2.IsInt64() {
		return bad("out of range")
	}
	r := Rate{N: q.Num().Int64(), Per: time.Duration(per2.Int64())}
	if r.PerSecond() > float64(maxRate) {
		return bad("faster than one per nanosecond")
	}
	return r, nil
}

// parsePer reads "s" as well as "3s".
func parsePer(s string) (time.Duration, error) {
	if s != "" && (s[0] < '0' || s[0] > '9') && s[0] != '-' && s[0] != '.' {
		s = "1" + s
	}
	return time.ParseDuration(s)
}
