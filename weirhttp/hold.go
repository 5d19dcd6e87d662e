package weirhttp

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dunglas/httpsfv"
)

// maxHosts bounds how many hosts a Transport remembers a pause of; beyond it
// new pauses are not remembered.
const maxHosts = 1024

// holds remembers until when hosts asked to be left alone. The zero value is
// ready.
type holds struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// left returns how long the host is to be left alone yet.
func (h *holds) left(host string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(time.Until(h.until[host]), 0)
}

// learn heeds what an answer says about the next request.
func (h *holds) learn(host string, resp *http.Response, most time.Duration, draft Draft) {
	now := time.Now()
	var d time.Duration
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		d = parseRetryAfter(resp.Header.Get("Retry-After"), now)
	}
	if d == 0 && draft != DraftNone { // Retry-After wins
		d = parseRateLimit(resp.Header.Values("RateLimit"))
	}
	if d <= 0 {
		return
	}
	until := now.Add(min(d, most))
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.until[host]; !known && len(h.until) >= maxHosts {
		for k, t := range h.until {
			if t.Before(now) {
				delete(h.until, k)
			}
		}
		if len(h.until) >= maxHosts {
			return
		}
	}
	if h.until == nil {
		h.until = map[string]time.Time{}
	}
	if until.After(h.until[host]) {
		h.until[host] = until
	}
}

// parseRetryAfter reads a number of seconds or a date; 0 is neither, or the
// past.
func parseRetryAfter(s string, now time.Time) time.Duration {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseUint(s, 10, 32); err == nil { // 136 years fit
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// parseRateLimit reads RateLimit as Draft11 has it and returns the longest time
// for which a limit says that nothing remains; 0 when none does. A malformed
// field is ignored whole.
func parseRateLimit(lines []string) (d time.Duration) {
	if len(lines) == 0 {
		return 0
	}
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return 0
	}
	for _, m := range list {
		item, ok := m.(httpsfv.Item)
		if !ok {
			return 0
		}
		r, _ := item.Params.Get("r")
		t, _ := item.Params.Get("t")
		left, okR := r.(int64)
		secs, okT := t.(int64)
		if okR && okT && left <= 0 && secs > 0 && secs <= 1<<32 {
			d = max(d, time.Duration(secs)*time.Second)
		}
	}
	return d
}
