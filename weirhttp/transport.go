package weirhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front"
	"github.com/weir-go/weir/policy"
)

// Transport guards a dependency on the client's side. It asks the engine before
// every request, heeds the Retry-After of earlier answers with 429 and 503, and
// gives back when the response's body is closed. Use one for each dependency
// and credential. Its fields must not change once it is in use; it is safe for
// concurrent use then.
//
// How a request ended is told to the engine as follows: an answer of 429, 502,
// 503 or 504, a context past its deadline and any other failure is Dropped, a
// cancelled request is Ignored, anything else is Success.
type Transport struct {
	Base http.RoundTripper // sends the requests; nil is http.DefaultTransport

	// Engine is asked before every request; nil leaves that out. Binder describes
	// the request to it: Route is the request's Pattern, which the caller may set
	// to a template of the path, and there is no Peer and no Identity. nil is no
	// claims.
	Engine *engine.Engine
	Binder policy.Binder

	// Wait makes a refused request wait until it can pass. It fails at once when
	// its context's deadline is earlier than that, or when waiting does not help.
	// Without Wait it fails at once always.
	Wait bool

	// MaxHold is the longest that one Retry-After keeps requests from a host; 0
	// is a minute. After that the host is asked again.
	MaxHold time.Duration
	// Fields also heeds the RateLimit field (Draft11) of any answer that says that
	// nothing remains. With a revision that is none of the constants nothing is sent.
	Fields Draft

	once  sync.Once
	guard *front.Guard // nil without an engine
	holds holds
}

// RejectedError says that a request was not sent.
type RejectedError struct {
	Host string
	// Decision is the engine's; its Reason is Admitted when it is the host that
	// asked for a pause.
	Decision   engine.Decision
	Limit      string        // name of the limit that refused, if one did
	RetryAfter time.Duration // when to try again; -1: waiting does not help
}

// Error names the host and what refused.
func (e *RejectedError) Error() string {
	why := "the host asked for a pause"
	if !e.Decision.OK() {
		why = fmt.Sprintf("%v layer: %v", e.Decision.Layer, e.Decision.Reason)
		if e.Limit != "" {
			why = fmt.Sprintf("limit %q: %v", e.Limit, e.Decision.Reason)
		}
	}
	if e.RetryAfter >= 0 {
		why += fmt.Sprintf("; retry after %v", e.RetryAfter)
	}
	return fmt.Sprintf("weirhttp: request to %s not sent: %s", e.Host, why)
}

// RoundTrip sends the request if it may pass, and otherwise returns a
// *[RejectedError].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.once.Do(t.init)
	x := &front.Exchange{Context: r.Context()}
	if err := t.enter(r, x); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper must, whatever comes of it
		}
		return nil, err
	}
	sent := false
	defer func() {
		if !sent {
			x.End(front.Outcome(r.Context(), false))
		}
	}()
	resp, err := t.Base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	sent = true
	t.holds.learn(r.URL.Host, resp, t.MaxHold, t.Fields)
	resp.Body = newBody(resp, x)
	return resp, nil
}

func (t *Transport) init() {
	if t.Base == nil {
		t.Base = http.DefaultTransport
	}
	if t.MaxHold <= 0 {
		t.MaxHold = time.Minute
	}
	if t.Engine != nil {
		t.guard = front.NewGuard(t.Engine, t.Binder, nil)
	}
}

// enter leaves an admitted ticket in x, or says why there is none.
func (t *Transport) enter(r *http.Request, x *front.Exchange) error {
	if err := t.Fields.check(); err != nil {
		return fmt.Errorf("weirhttp: Transport: %w", err)
	}
	ctx, host := r.Context(), r.URL.Host
	for d := t.holds.left(host); d > 0; d = t.holds.left(host) {
		if !t.Wait || !wait(ctx, d) {
			if err := ctx.Err(); err != nil {
				return err
			}
			return &RejectedError{Host: host, RetryAfter: d}
		}
	}
	if t.guard == nil {
		return nil
	}
	a := attrsPool.Get().(*attrs)
	*a = attrs{c: &clientConfig, r: r}
	err := t.ask(ctx, a, &x.Ticket)
	*a = attrs{}
	attrsPool.Put(a)
	var refused *engine.RefusedError
	if errors.As(err, &refused) {
		return &RejectedError{Host: host, Decision: refused.Decision, Limit: refused.Name, RetryAfter: refused.RetryAfter}
	}
	return err
}

// ask asks the engine, and waits for it if that is wanted.
func (t *Transport) ask(ctx context.Context, a *attrs, ticket *engine.Ticket) error {
	if t.Wait {
		_, err := t.guard.Wait(ctx, a, ticket)
		return err
	}
	if !t.guard.Admit(a, ticket) || ticket.OK() {
		return nil
	}
	d := ticket.Decision()
	return &engine.RefusedError{Decision: d, Name: t.Engine.LimitName(d.Limit)}
}

// clientConfig presents outgoing requests to a Binder.
var clientConfig = newConfig(nil, nil)

// wait sleeps; it reports false, at once, when the context ends before that.
func wait(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// body gives back when it is closed.
type body struct {
	io.ReadCloser
	x      *front.Exchange
	once   sync.Once
	ok     bool
	failed bool // a read failed; written by the reader, read when it closes
}

func newBody(resp *http.Response, x *front.Exchange) io.ReadCloser {
	b := &body{ReadCloser: resp.Body, x: x, ok: !overloaded(resp.StatusCode)}
	if resp.Body == http.NoBody {
		b.end() // there is nothing to wait for
		return resp.Body
	}
	if w, ok := resp.Body.(io.Writer); ok { // 101: the connection itself
		return &duplex{b, w}
	}
	return b
}

// overloaded reports whether a status says that the dependency, or something
// on the way to it, cannot take more.
func overloaded(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Read reads from the response.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.failed = true
	}
	return n, err
}

// Close closes the response and ends the ticket.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

func (b *body) end() { b.once.Do(func() { b.x.End(b.outcome()) }) }

func (b *body) outcome() engine.Outcome { return front.Outcome(b.x.Context, b.ok && !b.failed) }

// duplex is the body of a connection that has switched protocols.
type duplex struct {
	*body
	io.Writer
}
