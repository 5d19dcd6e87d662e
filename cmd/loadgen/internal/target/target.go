package target

import (
	"context"
	"strings"
	"time"

	"github.com/weir-go/weir/engine"
)

// Request is one request of a load.
type Request struct {
	Due     time.Duration // since the start of the load
	Class   engine.Class  // what the report counts it under
	Group   string        // a part of the class that is reported apart; "" for the rest
	ID      string        // the same on every run with the same seed
	User    string        // whose request it is
	Timeout time.Duration // how long the client waits; 0: the target's default

	Method, Path string // Path begins with a slash and may have a query
	Token        string // sent as a bearer token; "" is none
	ContentType  string
	Body         string
}

// End is how a request ended.
type End uint8

// The ends. Refused means by a layer of admission, which the Result names;
// Failed is any other answer than success, or none.
const (
	Served End = iota
	Refused
	TimedOut
	Failed
	Stopped // the load was stopped while the request was on its way

	NumEnds = int(Stopped) + 1
)

var endNames = [NumEnds]string{"served", "refused", "timed_out", "failed", "stopped"}

// String returns the end's name in snake case.
func (e End) String() string {
	if int(e) < NumEnds {
		return endNames[e]
	}
	return "unknown"
}

// Result is what a target answered.
type Result struct {
	End    End
	Status int    // HTTP status, or gRPC code; 0 when there was no answer
	Layer  string // Refused: the layer, as its name is everywhere; "" when the answer does not say
	Limit  string // Refused: the limit, if the layer has limits
	Err    string // Failed without an answer: why, fit to be counted
}

// ForUser is a template with "{user}" replaced.
func ForUser(template, user string) string {
	if !strings.Contains(template, "{") {
		return template
	}
	return strings.ReplaceAll(template, "{user}", user)
}

// Target answers requests. Do is safe for concurrent use.
type Target interface {
	// Do sends r and waits for the end, at most r.Timeout and until ctx ends.
	Do(ctx context.Context, r *Request) Result
	Close() error
}
