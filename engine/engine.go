package engine

import (
	"github.com/weir-go/weir/key"
)

// Engine decides.
type Engine struct{ h key.Hasher }

// New returns an engine for the configuration, or all that is wrong with it.
func New(cfg Config) (*Engine, error) { return &Engine{h: key.NewHasher(cfg.Secret)}, nil }

// Must returns e, and panics when err is not nil.
func Must(e *Engine, err error) *Engine {
	if err != nil {
		panic(err)
	}
	return e
}

// Key returns the identity of the parts for this engine's limits.
func (e *Engine) Key(parts ...string) key.Key { return e.h.Key(parts...) }

// Limit returns the handle of the named limit.
func (e *Engine) Limit(name string) (LimitID, bool) { return 0, false }

// LimitName returns the name of a limit, also after a Swap removed it.
func (e *Engine) LimitName(id LimitID) string { return "" }

// Admit decides.
func (e *Engine) Admit(req Request) (t Ticket) { return }

// SetMode changes the mode of a limit, a layer ("rate", "concurrency",
// "fleet", "worker") or "all".
func (e *Engine) SetMode(target string, m Mode) error { return nil }

// Swap replaces the configuration.
func (e *Engine) Swap(cfg Config) error { return nil }

// Snapshot returns the state and the counters.
func (e *Engine) Snapshot() Snapshot { return Snapshot{} }

// Close stops the ticker.
func (e *Engine) Close() error { return nil }

// Ticket is the answer to Admit.
type Ticket struct{ d Decision }

// OK reports whether the request was admitted.
func (t *Ticket) OK() bool { return t.d.Reason == Admitted }

// Decision returns the answer in numbers.
func (t *Ticket) Decision() Decision { return t.d }

// Done gives back what the request holds.
func (t *Ticket) Done(o Outcome) {}

// Settle names the real cost of a claim.
func (t *Ticket) Settle(l LimitID, actual int64) {}
