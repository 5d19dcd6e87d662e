package live_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/live"
)

func TestVendoredFilesAreWhatTheirVersionsSay(t *testing.T) {
	dir := filepath.Join("web", "vendor")
	versions, err := os.ReadFile(filepath.Join(dir, "VERSIONS"))
	require.NoError(t, err)
	listed := map[string]string{}
	for line := range strings.Lines(string(versions)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && len(sum) == 64 {
			listed[name] = sum
		}
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, len(listed)+1, "every file but VERSIONS is listed")
	for name, want := range listed {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprintf("%x", sha256.Sum256(b)), name)
	}
	require.Contains(t, listed, "LICENSE")
}

// serve starts a handler and returns its URL and what turns its knobs.
func serve(t *testing.T, h *live.Hub) (url string, turned *[]live.Knob) {
	t.Helper()
	turned = &[]live.Knob{}
	srv := httptest.NewServer(live.Handler(h, func(k live.Knob) error {
		if k.Name == "no" {
			return errors.New("no such knob")
		}
		*turned = append(*turned, k)
		return nil
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(h.Close) // streams end before their server
	return srv.URL, turned
}

func do(t *testing.T, method, url, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b), resp.Header
}

func TestThePageNeedsNothingFromElsewhere(t *testing.T) {
	url, _ := serve(t, new(live.Hub))
	for _, path := range []string{"/", "/app.js", "/app.css", "/vendor/uPlot.iife.min.js", "/vendor/uPlot.min.css"} {
		code, body, header := do(t, "GET", url+path, "")
		require.Equal(t, http.StatusOK, code, path)
		require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'", path)
		require.NotContains(t, header.Get("Content-Security-Policy"), "unsafe", path)
		if !strings.HasPrefix(path, "/vendor") {
			require.NotContains(t, body, "//cdn", path)
			require.NotContains(t, body, "http://", path)
			require.NotContains(t, body, "https://", path)
		}
	}
}

func TestKnobsAreOnlyForThisPage(t *testing.T) {
	url, turned := serve(t, new(live.Hub))
	code, _, _ := do(t, "POST", url+"/knobs", `{"name":"rate","value":1}`)
	require.Equal(t, http.StatusNoContent, code)
	require.Equal(t, []live.Knob{{Name: "rate", Value: 1}}, *turned)
	for name, c := range map[string]struct {
		method, body string
		header       []string
		want         int
	}{
		"another site":     {"POST", `{"name":"rate","value":1}`, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"a rebound name":   {"POST", `{"name":"rate","value":1}`, []string{"Host", "evil.example"}, http.StatusMisdirectedRequest},
		"unknown knob":     {"POST", `{"name":"no","value":1}`, nil, http.StatusBadRequest},
		"unknown field":    {"POST", `{"name":"rate","value":1,"x":2}`, nil, http.StatusBadRequest},
		"not JSON":         {"POST", `rate=1`, nil, http.StatusBadRequest},
		"too much":         {"POST", `{"name":"` + strings.Repeat("x", 4096) + `"}`, nil, http.StatusBadRequest},
		"reading it":       {"GET", "", nil, http.StatusNotFound},
		"a name like ours": {"POST", `{"name":"rate","value":1}`, []string{"Host", "localhost.evil.example"}, http.StatusMisdirectedRequest},
	} {
		code, _, _ := do(t, c.method, url+"/knobs", c.body, c.header...)
		require.Equal(t, c.want, code, name)
	}
	require.Len(t, *turned, 1)
	code, _, _ = do(t, "POST", url+"/knobs", `{"name":"rate","value":0}`, "Host", "localhost:80")
	require.Equal(t, http.StatusNoContent, code)
}

// events reads n events of a stream that begins after the given one.
func events(t *testing.T, url, after string, n int) (got []string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, err := http.NewRequestWithContext(ctx, "GET", url+"/events", nil)
	require.NoError(t, err)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	for lines := bufio.NewScanner(resp.Body); len(got) < n && lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			got = append(got, data)
		}
	}
	return got
}

func TestTheStreamBeginsWithTheStateAndThePast(t *testing.T) {
	h := new(live.Hub)
	url, _ := serve(t, h)
	h.State("before")
	h.State("now")
	for i := 1; i <= 700; i++ {
		h.Sample(i)
	}
	all := events(t, url, "", 601)
	require.Equal(t, `"now"`, all[0])
	require.Equal(t, "101", all[1], "the oldest are forgotten")
	require.Equal(t, "700", all[600])
	require.Equal(t, []string{`"now"`, "699", "700"}, events(t, url, "698", 3), "a reader goes on where it was")
	require.Equal(t, []string{`"now"`, "101"}, events(t, url, "9999", 2), "one from another run begins anew")
}

func TestTheStreamEndsWithTheHub(t *testing.T) {
	h := new(live.Hub)
	url, _ := serve(t, h)
	h.State("now")
	done := make(chan []string)
	go func() { done <- events(t, url, "", 100) }()
	h.Sample(1)
	h.Close()
	require.LessOrEqual(t, len(<-done), 2)
}
