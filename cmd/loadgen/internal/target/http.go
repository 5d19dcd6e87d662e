package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// HTTP sends requests to a server over HTTP/1.1 with kept connections.
type HTTP struct {
	base    string
	client  *http.Client
	timeout time.Duration
	header  http.Header
}

// HTTPOptions say how to talk to a server.
type HTTPOptions struct {
	Timeout time.Duration // for requests that have none
	// Header is sent with every request, "{user}" replaced by who it is for.
	Header http.Header
	// Dial opens a connection; nil dials the URL's host.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewHTTP returns a target for the server at base: scheme, host and port, and
// a path in front of every request's own.
func NewHTTP(base string, o HTTPOptions) (*HTTP, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("target: url %q: %w", base, err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("target: url %q: must begin with http:// or https:// and name a host", base)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil // what is measured is the server
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1<<16
	t.DialContext = o.Dial
	if t.DialContext == nil {
		t.DialContext = (&net.Dialer{Timeout: o.Timeout}).DialContext
	}
	return &HTTP{
		base:    strings.TrimSuffix(base, "/"),
		client:  &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		timeout: o.Timeout,
		header:  o.Header,
	}, nil
}

// maxBody is how much of an answer is read, so that its connection is used
// again.
const maxBody = 1 << 20

// Do implements Target. Below 400 is served; 429 and 503 are refusals, and a
// problem+json body says of which layer and limit.
func (h *HTTP) Do(ctx context.Context, r *Request) Result {
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = h.timeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, r.Method, h.base+r.Path, strings.NewReader(r.Body))
	if err != nil {
		return Result{End: Failed, Err: "bad request: " + err.Error()}
	}
	for k, values := range h.header {
		for _, v := range values {
			req.Header.Add(k, ForUser(v, r.User))
		}
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	if r.ContentType != "" {
		req.Header.Set("Content-Type", r.ContentType)
	}
	req.Header.Set("Request-Id", r.ID)
	resp, err := h.client.Do(req)
	if err != nil {
		return noAnswer(ctx, limited, err)
	}
	defer resp.Body.Close()
	res := Result{Status: resp.StatusCode}
	switch {
	case resp.StatusCode < 400:
		res.End = Served
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable:
		res.End = Refused
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") {
			var p struct{ Layer, Limit string }
			_ = json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(&p) // else it names none
			res.Layer, res.Limit = p.Layer, p.Limit
		}
	default:
		res.End = Failed
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody)); err != nil {
		return noAnswer(ctx, limited, err)
	}
	return res
}

// noAnswer tells the load that was stopped from the client that gave up and
// from a connection that failed.
func noAnswer(load, limited context.Context, err error) Result {
	var timeout net.Error
	switch {
	case load.Err() != nil:
		return Result{End: Stopped}
	case limited.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return Result{End: TimedOut}
	case errors.Is(err, syscall.ECONNREFUSED):
		return Result{End: Failed, Err: "connection refused"}
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Result{End: Failed, Err: "connection lost"}
	case errors.Is(err, syscall.EMFILE):
		return Result{End: Failed, Err: "too many open files"}
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return Result{End: Failed, Err: "no such host"}
	}
	return Result{End: Failed, Err: "other"}
}

// Close closes the kept connections.
func (h *HTTP) Close() error {
	h.client.CloseIdleConnections()
	return nil
}
