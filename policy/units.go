package policy

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/engine"
)

// span is a length of time as a rate has it: so many units, of which a month
// is the only one without a fixed length.
type span struct {
	per    time.Duration
	window engine.Window // the calendar window of the same name; unset for "10min" and the like
}

var spans = map[string]span{
	"ms":    {time.Millisecond, engine.WindowUnset},
	"s":     {time.Second, engine.WindowUnset},
	"min":   {time.Minute, engine.Minute},
	"h":     {time.Hour, engine.Hour},
	"day":   {24 * time.Hour, engine.Day},
	"month": {0, engine.Month},
}

const rateHelp = "write a whole number and a time, such as 10/s, 60/min, 5/h, 1000/day or 20/5s"

// rate reads "10/s" or "20/5s". The problem is "" when it is one.
func parseRate(s string) (n int64, per span, problem string) {
	count, unit, ok := strings.Cut(s, "/")
	if !ok {
		return 0, span{}, "is no rate; " + rateHelp
	}
	n, problem = parseCount(count)
	if problem != "" {
		return 0, span{}, problem
	}
	per, problem = parseSpan(unit)
	return n, per, problem
}

// parseCount reads the number of a rate.
func parseCount(s string) (n int64, problem string) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil && strings.TrimLeft(s, "0123456789") == "" && s != "":
		return 0, "is more than fits 64 bits"
	case err != nil:
		return 0, "is no rate; " + rateHelp
	case n == 0:
		return 0, "is zero; to let nothing pass write kind: block, to let everything pass kind: unlimited"
	case n < 0:
		return 0, "is negative; " + rateHelp
	}
	return n, ""
}

// parseSpan reads "s", "5s", "min", "day".
func parseSpan(s string) (per span, problem string) {
	digits := s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
	per, ok := spans[s[len(digits):]]
	if !ok {
		return span{}, "has no such time; the units are ms, s, min, h, day and month"
	}
	if digits == "" {
		return per, ""
	}
	k, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil || per.per > 0 && k > math.MaxInt64/int64(per.per):
		return span{}, "is a time beyond 292 years"
	case k == 0:
		return span{}, "is a number per no time at all; " + rateHelp
	case per.per == 0 && k > 1:
		return span{}, "counts by more than one month; write days"
	case k > 1:
		per = span{per: per.per * time.Duration(k)}
	}
	return per, ""
}

// duration returns the field as a time above zero; 0 when it is not there.
func (o *object) duration(name string) time.Duration {
	s, n := o.text(name)
	if n == nil {
		return 0
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		o.fail(name, "is no time; write a number and a unit, such as 500ms, 30s, 5m or 1h30m")
		return 0
	case d <= 0:
		o.fail(name, "must be above zero")
		return 0
	}
	return d
}

// timeOfDay returns the field, such as "06:30", as the time since midnight.
func (o *object) timeOfDay(name string) time.Duration {
	s, n := o.text(name)
	if n == nil {
		return 0
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		o.fail(name, `is no time of day; write hours and minutes, such as "06:30"`)
		return 0
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}

// share returns the field as a share of one; def when it is not there.
func (o *object) share(name string, def float64) float64 {
	s, n := o.text(name)
	if n == nil {
		return def
	}
	digits, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || !percent || strings.Trim(digits, "0123456789.") != "" {
		o.fail(name, "is no share; write a percentage, such as 20%%")
		return def
	}
	if f > 100 {
		o.fail(name, "must be from 0%% to 100%%")
		return def
	}
	return f / 100
}

// mode returns the field as a mode: a word, or the two shares of a ramp.
func (o *object) mode(name string) engine.Mode {
	n := o.get(name)
	switch {
	case n == nil:
	case n.kind == kindMap:
		ramp := o.r.object(n, join(o.path, name))
		enabled, enforced := ramp.share("enabled", 1), ramp.share("enforced", 1)
		ramp.done()
		return engine.Ramp(enabled, enforced)
	case n.kind != kindText:
		o.fail(name, "is %s; write enforce, shadow or off, or the shares enabled and enforced", n.kind)
	case n.text == "enforce":
	case n.text == "shadow":
		return engine.Shadow
	case n.text == "off":
		return engine.Off
	default:
		o.fail(name, "must be one of enforce, shadow, off, or the shares enabled and enforced")
	}
	return engine.Enforce
}
