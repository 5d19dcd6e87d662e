package weirhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front/fronttest"
	"github.com/weir-go/weir/weirhttp"
)

// allow lets through who knows the password.
func allow(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pass, _ := r.BasicAuth(); pass != "open sesame" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// send posts a change and returns the answer's status and body.
func send(t testing.TB, s *httptest.Server, kind, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.URL+"/debug/weir/mode", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", kind)
	r.SetBasicAuth("ops", "open sesame")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	c := *s.Client()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := c.Do(r)
	require.NoError(t, err)
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(b)
}

func mount(h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/debug/weir/", http.StripPrefix("/debug/weir", h))
	return mux
}

func adminEngine(t testing.TB) *engine.Engine {
	return fronttest.Engine(t, engine.Config{MaxEntries: 1000, Clock: fronttest.Still(), Limits: []engine.Limit{
		fronttest.Bucket("login", 1, time.Hour, 1),
		{Name: "dark", Rate: 1, Per: time.Hour, Burst: 1, Mode: engine.Shadow},
	}})
}

func TestAdminShowsWhatHappens(t *testing.T) {
	e := adminEngine(t)
	b := fronttest.By(t, e, "login", "dark")
	guarded := serve(t, weirhttp.Handler(e, b)(ok))
	for range 3 {
		get(t, guarded, "/", "X-Key", "sk_live_4242")
	}
	require.NoError(t, e.SetMode("login", engine.Shadow))
	get(t, guarded, "/", "X-Key", "sk_live_4242")
	s := serve(t, mount(weirhttp.Admin(e)))

	resp, body := get(t, s, "/debug/weir/state")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	var state struct {
		Targets []struct {
			Name, Set string
			InForce   string `json:"in_force"`
		}
		Classes []struct {
			Class    string
			Admitted uint64
			Rate     uint64 `json:"refused_rate"`
			Would    uint64 `json:"would_refuse"`
		}
		Limits []struct {
			Name    string
			Refused map[string]map[string]uint64
			Would   map[string]map[string]uint64 `json:"would_refuse"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &state))
	names := []string{}
	for _, x := range state.Targets {
		names = append(names, x.Name+" "+x.Set)
	}
	require.Equal(t, []string{
		"all enforce", "rate enforce", "concurrency enforce", "fleet enforce", "worker enforce", "login shadow", "dark shadow",
	}, names)
	require.Equal(t, "read", state.Classes[1].Class)
	require.EqualValues(t, 2, state.Classes[1].Admitted)
	require.EqualValues(t, 2, state.Classes[1].Rate)
	require.Equal(t, map[string]map[string]uint64{"read": {"limited": 2}}, state.Limits[0].Refused)
	require.EqualValues(t, 1, state.Limits[0].Would["read"]["limited"])
	require.EqualValues(t, 3, state.Limits[1].Would["read"]["limited"])

	resp, page := get(t, s, "/debug/weir/")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "text/html; charset=utf-8", resp.Header.Get("Content-Type"))
	require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.Contains(t, page, "login")
	require.NotContains(t, page, "<form", "nothing can be changed here")
	require.NotContains(t, page, "<script")
	require.NotContains(t, page+body, "4242")

	resp, css := get(t, s, "/debug/weir/admin.css")
	require.Contains(t, resp.Header.Get("Content-Type"), "text/css")
	require.NotEmpty(t, css)
	code, _ := send(t, s, "application/json", `{"target":"all","mode":"off"}`)
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, engine.Enforce, e.Snapshot().Modes["all"])
}

func TestAdminNeedsAnAuthoriserToChangeAnything(t *testing.T) {
	e := adminEngine(t)
	h, err := weirhttp.AdminControl(e, nil)
	require.ErrorContains(t, err, "authorise")
	require.Nil(t, h)
	h, err = weirhttp.AdminControl(e, func(http.Handler) http.Handler { return nil })
	require.Error(t, err)
	require.Nil(t, h)
}

func TestAdminChangesModes(t *testing.T) {
	e := adminEngine(t)
	var logged bytes.Buffer
	h, err := weirhttp.AdminControl(e, allow, weirhttp.Logger(slog.New(slog.NewTextHandler(&logged, nil))),
		weirhttp.Identity(func(r *http.Request) string { user, _, _ := r.BasicAuth(); return user }))
	require.NoError(t, err)
	s := serve(t, mount(h))

	_, page := get(t, s, "/debug/weir/")
	require.Contains(t, page, `<form method="post" action="mode"`)
	// Enter in a field of a ramp sends the ramp, and not the first button's mode.
	for _, form := range strings.Split(page, "<form")[1:] {
		form, _, _ = strings.Cut(form, "</form>")
		require.Equal(t, strings.Contains(form, "<label>"), strings.Contains(form, `name="mode" value="ramp"`))
		require.LessOrEqual(t, strings.Count(form, `value="enforce"`)+strings.Count(form, `value="ramp"`), 1)
	}

	code, body := send(t, s, "application/json", `{"target":"login","mode":"shadow"}`)
	require.Equal(t, http.StatusOK, code, body)
	require.JSONEq(t, `{"target":"login","mode":"shadow"}`, body)
	require.Equal(t, engine.Shadow, e.Snapshot().Modes["login"])
	line := logged.String()
	for _, want := range []string{"target=login", "from=enforce", "to=shadow", "address=127.0.0.1", "identity=ops"} {
		require.Contains(t, line, want)
	}

	code, _ = send(t, s, "application/x-www-form-urlencoded",
		url.Values{"target": {"worker"}, "mode": {"ramp"}, "enabled": {"50"}, "enforced": {"10.5"}}.Encode())
	require.Equal(t, http.StatusSeeOther, code)
	require.Equal(t, engine.Ramp(.5, .105), e.Snapshot().Modes["worker"])
	code, _ = send(t, s, "application/x-www-form-urlencoded", "target=all&mode=off&enabled=&enforced=")
	require.Equal(t, http.StatusSeeOther, code)
	require.Equal(t, engine.Off, e.Snapshot().Modes["all"])
}

func TestAdminRefusesWhatIsNotAChange(t *testing.T) {
	e := adminEngine(t)
	var logged bytes.Buffer
	h, err := weirhttp.AdminControl(e, allow, weirhttp.Logger(slog.New(slog.NewTextHandler(&logged, nil))))
	require.NoError(t, err)
	s := serve(t, mount(h))
	const js, form = "application/json", "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		kind, body string
		header     []string
		want       int
		says       string
	}{
		"no password":     {js, `{"target":"all","mode":"off"}`, []string{"Authorization", ""}, 401, "who are you"},
		"another origin":  {form, "target=all&mode=off", []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		"unknown target":  {js, `{"target":"logn","mode":"off"}`, nil, 400, "logn"},
		"no target":       {js, `{"mode":"off"}`, nil, 400, ""},
		"unknown mode":    {js, `{"target":"all","mode":"of"}`, nil, 400, `"of"`},
		"unknown member":  {js, `{"target":"all","mode":"off","x":1}`, nil, 400, "x"},
		"not JSON":        {js, `{`, nil, 400, ""},
		"two changes":     {js, `{"target":"all","mode":"off"}{"target":"all","mode":"off"}`, nil, 400, "something follows"},
		"half a ramp":     {js, `{"target":"all","mode":"ramp","enabled":5}`, nil, 400, "enforced"},
		"share too large": {js, `{"target":"all","mode":"ramp","enabled":5,"enforced":101}`, nil, 400, "enforced"},
		"share below 0":   {form, "target=all&mode=ramp&enabled=-1&enforced=1", nil, 400, "enabled"},
		"share NaN":       {form, "target=all&mode=ramp&enabled=NaN&enforced=1", nil, 400, "enabled"},
		"share is text":   {form, "target=all&mode=ramp&enabled=x&enforced=1", nil, 400, `enabled "x"`},
		"shares, no ramp": {js, `{"target":"all","mode":"off","enabled":5}`, nil, 400, "ramp"},
		"too long":        {js, `{"target":"` + strings.Repeat("x", 5000) + `"}`, nil, 400, "too large"},
	} {
		code, body := send(t, s, c.kind, c.body, c.header...)
		require.Equal(t, c.want, code, name)
		require.Contains(t, body, c.says, name)
		require.Less(t, len(body), 300, name)
	}
	require.Equal(t, engine.Enforce, e.Snapshot().Modes["all"])
	require.Empty(t, logged.String(), "what changed nothing is no change in the log")
}

func TestAdminPageIsSafeAgainstItsOwnData(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{fronttest.Bucket("a.b-c_d", 1, time.Second, 1)}})
	s := serve(t, mount(weirhttp.Admin(e)))
	resp, page := get(t, s, "/debug/weir/")
	require.Equal(t, 200, resp.StatusCode)
	require.True(t, strings.HasSuffix(strings.TrimSpace(page), "</html>"), "the page is whole")
	require.Contains(t, page, "a.b-c_d")
}
