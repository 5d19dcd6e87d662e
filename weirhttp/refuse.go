package weirhttp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/engine"
)

// Status is the HTTP status of a decision: 200 when admitted, 429 when the
// caller has reached a limit of its own, 503 when the server cannot take more.
func Status(d engine.Decision) int {
	switch d.Reason {
	case engine.Admitted:
		return http.StatusOK
	case engine.Limited, engine.Full, engine.NeverFits:
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}

// problem is a refusal as RFC 9457 has it. The type is about:blank, which the
// RFC says to leave out and for which the title is the status's own phrase.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Reason string `json:"reason"`
	Layer  string `json:"layer"`
	Limit  string `json:"limit,omitempty"`
}

// details say what a client can do about it, by reason.
var details = map[engine.Reason]string{
	engine.Limited:   "The caller has used up this limit.",
	engine.Full:      "The caller has too many requests in progress.",
	engine.NeverFits: "The request costs more than this limit can ever grant.",
	engine.Reserved:  "The remaining capacity is kept for critical requests.",
	engine.Shed:      "Requests of this class are being shed.",
	engine.Closed:    "The limiter cannot decide, and this limit refuses then.",
}

// refusal is what all refusals with the same layer, limit and reason share. The
// slices are header values, used by many responses at once and never changed.
type refusal struct {
	status int
	body   []byte
	length []string
}

var (
	problemType = []string{"application/problem+json"}
	noStore     = []string{"no-store"}
)

type refusalID struct {
	layer  engine.Layer
	reason engine.Reason
	limit  engine.LimitID
}

// refusals holds the bodies that have been needed. There are as many as the
// configuration has limits, times the reasons: a client cannot make it grow.
// Readers take no lock; a new one copies the map.
type refusals struct {
	mu  sync.Mutex
	all atomic.Pointer[map[refusalID]*refusal]
}

func (rs *refusals) get(e *engine.Engine, d engine.Decision) *refusal {
	id := refusalID{d.Layer, d.Reason, d.Limit}
	if m := rs.all.Load(); m != nil {
		if r, ok := (*m)[id]; ok {
			return r
		}
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	next := map[refusalID]*refusal{}
	if m := rs.all.Load(); m != nil {
		for k, v := range *m {
			next[k] = v
		}
	}
	r := newRefusal(d, e.LimitName(d.Limit))
	next[id] = r
	rs.all.Store(&next)
	return r
}

func newRefusal(d engine.Decision, limit string) *refusal {
	status := Status(d)
	body, err := json.Marshal(problem{
		Title:  http.StatusText(status),
		Status: status,
		Detail: details[d.Reason],
		Reason: d.Reason.String(),
		Layer:  d.Layer.String(),
		Limit:  limit,
	})
	if err != nil { // strings and an int: cannot be
		body = []byte("{}")
	}
	return &refusal{status: status, body: body, length: []string{strconv.Itoa(len(body))}}
}

// refuse answers a refused request.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, d engine.Decision) {
	h := w.Header()
	if d.RetryAfter >= 0 {
		h["Retry-After"] = retryAfter(d.RetryAfter)
	}
	h["Cache-Control"] = noStore // RFC 6585: a 429 must not be stored
	g.expose(h, r)
	if g.reject != nil {
		g.reject(w, r, d)
		return
	}
	f := g.refusals.get(g.engine, d)
	h["Content-Type"] = problemType
	h["Content-Length"] = f.length
	w.WriteHeader(f.status)
	_, _ = w.Write(f.body) // nobody is there to be told
}

// expose lets a script of an allowed origin read the refusal and its
// Retry-After, which a browser hides otherwise.
func (g *guard) expose(h http.Header, r *http.Request) {
	if origin := r.Header.Get("Origin"); origin != "" && len(g.origins) > 0 && h.Get("Access-Control-Allow-Origin") == "" {
		if _, ok := g.origins["*"]; ok {
			h.Set("Access-Control-Allow-Origin", "*")
		} else if _, ok := g.origins[origin]; ok {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Add("Vary", "Origin")
		}
	}
	if h.Get("Access-Control-Allow-Origin") != "" {
		h.Add("Access-Control-Expose-Headers", "Retry-After")
	}
}

// seconds are the values of Retry-After that nearly all refusals use.
var seconds = func() (s [61][]string) {
	for i := range s {
		s[i] = []string{strconv.Itoa(i)}
	}
	return s
}()

// retryAfter is a wait as Retry-After has it: whole seconds, rounded up so that
// a client that obeys is not refused again, and at least 1.
func retryAfter(d time.Duration) []string {
	s := d / time.Second
	if d%time.Second > 0 {
		s++
	}
	s = max(s, 1)
	if s < time.Duration(len(seconds)) {
		return seconds[s]
	}
	return []string{strconv.FormatInt(int64(s), 10)}
}
