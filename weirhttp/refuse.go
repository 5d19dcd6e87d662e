package weirhttp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front"
)

// Status is the HTTP status of a decision: 200 when admitted, 429 when the
// caller has reached a limit of its own, 503 when the server cannot take more.
func Status(d engine.Decision) int {
	switch {
	case d.OK():
		return http.StatusOK
	case front.CallersDoing(d.Reason):
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}

// problem is a refusal as RFC 9457 has it. Without a type it is about:blank, for
// which the title is the status's own phrase.
type problem struct {
	Type   string `json:"type,omitempty"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Reason string `json:"reason"`
	Layer  string `json:"layer"`
	Limit  string `json:"limit,omitempty"`

	Violated []string `json:"violated-policies,omitempty"`
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

func newRefusal(d engine.Decision, limit string, draft Draft) *refusal {
	status := Status(d)
	p := problem{
		Title:  http.StatusText(status),
		Status: status,
		Detail: front.Detail(d.Reason),
		Reason: d.Reason.String(),
		Layer:  d.Layer.String(),
		Limit:  limit,
	}
	if draft != DraftNone {
		p.Type = typeReduced
		if front.CallersDoing(d.Reason) {
			p.Type = typeQuota
		}
		if limit != "" {
			p.Violated = []string{limit}
		}
	}
	body, err := json.Marshal(p)
	if err != nil { // strings and an int: cannot be
		body = []byte("{}")
	}
	return &refusal{status: status, body: body, length: []string{strconv.Itoa(len(body))}}
}

// refuse answers a refused request.
func (d *door) refuse(w http.ResponseWriter, r *http.Request, v engine.Decision) {
	h := w.Header()
	if v.RetryAfter >= 0 {
		h["Retry-After"] = retryAfter(v.RetryAfter)
	}
	h["Cache-Control"] = noStore // RFC 6585: a 429 must not be stored
	d.fields(w, v)
	d.expose(h, r)
	if d.reject != nil {
		d.reject(w, r, v)
		return
	}
	f, _ := d.refusals.LoadOrCompute(front.ID(v), func() *refusal {
		return newRefusal(v, d.engine.LimitName(v.Limit), d.draft)
	})
	h["Content-Type"] = problemType
	h["Content-Length"] = f.length
	w.WriteHeader(f.status)
	_, _ = w.Write(f.body) // nobody is there to be told
}

// expose lets a script of an allowed origin read the refusal and its
// Retry-After, which a browser hides otherwise.
func (d *door) expose(h http.Header, r *http.Request) {
	if origin := r.Header.Get("Origin"); origin != "" && len(d.origins) > 0 && h.Get("Access-Control-Allow-Origin") == "" {
		if _, ok := d.origins["*"]; ok {
			h.Set("Access-Control-Allow-Origin", "*")
		} else if _, ok := d.origins[origin]; ok {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Add("Vary", "Origin")
		}
	}
	if h.Get("Access-Control-Allow-Origin") != "" {
		names := "Retry-After"
		if d.draft != DraftNone {
			names = "Retry-After, RateLimit, RateLimit-Policy"
		}
		h.Add("Access-Control-Expose-Headers", names)
	}
}

// seconds are the values of Retry-After that nearly all refusals use.
var seconds = func() (s [61][]string) {
	for i := range s {
		s[i] = []string{strconv.Itoa(i)}
	}
	return s
}()

// retryAfter is a wait as Retry-After has it: so that a client that obeys is not
// refused again, and at least 1.
func retryAfter(d time.Duration) []string {
	s := wholeSeconds(d)
	if s < int64(len(seconds)) {
		return seconds[s]
	}
	return []string{strconv.FormatInt(s, 10)}
}

// wholeSeconds rounds up, to 1 at least.
func wholeSeconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return max(s, 1)
}
