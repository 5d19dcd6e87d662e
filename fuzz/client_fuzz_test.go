package fuzz

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/weirhttp"
)

// canned is a server that answers with the status and header it is given.
type canned struct {
	status int
	header http.Header
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// Whatever a server writes into Retry-After and RateLimit, a client never
// panics, is never made to wait longer than MaxHold, and is not made to wait by
// an answer that does not ask for it.
func FuzzClientHeaders(f *testing.F) {
	for _, seed := range []string{
		"\x00\x05120\x00", "\x01\x05\x00-1", "\x00\x1dFri, 31 Dec 1999 23:59:59 GMT", "\x02\x00\x12\"d\";r=0;t=30",
		"\x02\x00\x20\"d\";r=0;t=9999999999999", "\x02\x00\x08(\"a\" \"b\"", "\x00\x1499999999999999999999",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := &tape{b}
		status := []int{429, 503, 200}[in.n(3)]
		h := http.Header{"Retry-After": {in.text(60)}, "Ratelimit": {in.text(120), string(in.rest())}}
		const most = time.Minute
		tr := &weirhttp.Transport{Base: canned{status, h}, MaxHold: most, Fields: weirhttp.Draft11}
		ask := func() error {
			r, err := http.NewRequest(http.MethodGet, "http://dependency.test/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := tr.RoundTrip(r)
			if err == nil {
				err = resp.Body.Close()
			}
			return err
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		err := ask()
		var rejected *weirhttp.RejectedError
		switch {
		case err == nil:
		case !errors.As(err, &rejected):
			t.Fatal(err)
		case rejected.RetryAfter <= 0 || rejected.RetryAfter > most:
			t.Fatalf("has to wait %v", rejected.RetryAfter)
		case status == 200 && !strings.Contains(strings.Join(h["Ratelimit"], ","), "r="):
			t.Fatalf("has to wait %v after a success that says nothing", rejected.RetryAfter)
		}
	})
}
