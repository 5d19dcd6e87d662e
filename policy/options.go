package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-go/weir/engine"
)

// Option gives a policy what a file can't say.
type Option func(*options)

type options struct {
	base       engine.Config
	extractors extractors
}

// extractors are the registered functions, by name.
type extractors struct {
	values map[string]func(Attrs) string
	costs  map[string]func(Attrs) int64
	any    bool // accept every name, and call none
}

// value returns the extractor of that name.
func (x *extractors) value(name string) (func(Attrs) string, bool) {
	f, ok := x.values[name]
	return f, ok || x.any
}

// cost returns the extractor of a cost of that name.
func (x *extractors) cost(name string) (func(Attrs) int64, bool) {
	f, ok := x.costs[name]
	return f, ok || x.any
}

// Base gives the fields of the configuration that are not for a file: Secret,
// Clock, PreciseClock, Workers, Ladder.Signal, Ladder.Law, Logger and the Syncer
// of a fleet. Whatever else it sets is overwritten by the file. Without a Logger
// the engine is silent, but what this package has to report (a file that was
// refused, an extractor that panicked) goes to [slog.Default]: what nobody sees
// stays wrong.
func Base(cfg engine.Config) Option {
	return func(o *options) { o.base = cfg }
}

// Extract registers f under a name that the file uses as "extract NAME": for
// what only code finds, such as the e-mail address in a body. f returns "" when
// the value is missing. It is called on the way of a request, possibly more
// than once for one request, by many goroutines; if it panics, the value counts
// as missing in the limit that asked, which then follows its fail policy.
func Extract(name string, f func(Attrs) string) Option {
	return func(o *options) {
		if o.extractors.values == nil {
			o.extractors.values = map[string]func(Attrs) string{}
		}
		o.extractors.values[name] = f
	}
}

// ExtractCost registers f under a name that the file uses as the source of a
// cost, "extract NAME", in units of the limit. What holds for [Extract] holds
// for f; a negative cost is refused and charges nothing.
func ExtractCost(name string, f func(Attrs) int64) Option {
	return func(o *options) {
		if o.extractors.costs == nil {
			o.extractors.costs = map[string]func(Attrs) int64{}
		}
		o.extractors.costs[name] = f
	}
}

// names says which extractors there are.
func (x *extractors) names() string { return listNames(x.values) }

// costNames says which extractors of costs there are.
func (x *extractors) costNames() string { return listNames(x.costs) }

func listNames[F any](m map[string]F) string {
	if len(m) == 0 {
		return "none is registered"
	}
	return "there are " + strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

// CheckOnly accepts any name of an extractor, for programs that look at a policy
// without the service's code. Such a policy can be described, and [New] refuses
// it.
func CheckOnly() Option {
	return func(o *options) { o.extractors.any = true }
}
