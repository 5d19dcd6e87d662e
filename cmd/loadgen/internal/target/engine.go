package target

import (
	"context"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

// Engine decides in this process: no network, no handler, nothing but Admit
// and Done. Its Attrs are made of the request's method, path and user.
type Engine struct {
	engine *engine.Engine
	binder policy.Binder
}

// NewEngine returns a target over e. The caller keeps e and closes it.
func NewEngine(e *engine.Engine, b policy.Binder) *Engine { return &Engine{e, b} }

// Do implements Target: it never waits.
func (t *Engine) Do(_ context.Context, r *Request) Result {
	var claims [engine.MaxClaims]engine.Claim
	ticket := t.engine.Admit(t.binder.Bind(Attrs{r}, claims[:0]))
	defer ticket.Done(engine.Success)
	d := ticket.Decision()
	if d.OK() {
		return Result{End: Served, Status: weirhttp.Status(d)}
	}
	return Result{End: Refused, Status: weirhttp.Status(d), Layer: d.Layer.String(), Limit: t.engine.LimitName(d.Limit)}
}

// Close implements Target.
func (*Engine) Close() error { return nil }
