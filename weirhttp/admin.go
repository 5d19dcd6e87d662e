package weirhttp

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"

	"github.com/weir-go/weir/engine"
)

//go:embed admin/page.html admin/admin.css
var adminFiles embed.FS

var adminPage = template.Must(template.ParseFS(adminFiles, "admin/page.html"))

// adminPolicy lets the page load its style sheet and post its forms, and
// nothing else: no script, no frame, no other host.
const adminPolicy = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// Admin returns a view of e that changes nothing: a page at "/" and the same
// as JSON at "/state". It shows modes, counters by limit, layer and class, what
// shadow limits would have refused, the ladder, the key table and faults; names
// of limits are in it, keys are not. Mount it where the public cannot reach it,
// with [http.StripPrefix] and a path that ends in a slash.
func Admin(e *engine.Engine) http.Handler {
	return adminMux(&admin{engine: e}, nil)
}

// AdminControl returns [Admin] with the means to change modes at run time: the
// page gets buttons, and "POST /mode" takes a form or a JSON object with the
// members target (a limit, a layer or "all") and mode ("enforce", "shadow",
// "off", or "ramp" with enabled and enforced in percent).
//
// authorise guards the changes, not the view: it lets through who may change
// modes and answers everyone else. Without it there is an error and no handler.
// Requests that a page of another origin makes are refused. Each change is
// logged with the client's address and identity, as [ClientAddress],
// [TrustedProxies] and [Identity] say, to [Logger].
func AdminControl(e *engine.Engine, authorise func(http.Handler) http.Handler, opts ...Option) (http.Handler, error) {
	if authorise == nil {
		return nil, errors.New("weirhttp: AdminControl: authorise nil: modes cannot be changed by everyone")
	}
	a := &admin{engine: e, control: true, config: newConfig(nil, opts)}
	if a.log == nil {
		a.log = slog.Default()
	}
	change := authorise(http.HandlerFunc(a.change))
	if change == nil {
		return nil, errors.New("weirhttp: AdminControl: authorise returned no handler")
	}
	return adminMux(a, change), nil
}

type admin struct {
	config
	engine  *engine.Engine
	control bool
}

func adminMux(a *admin, change http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", a.page)
	mux.HandleFunc("GET /state", a.state)
	mux.HandleFunc("GET /admin.css", style)
	if change != nil {
		mux.Handle("POST /mode", http.NewCrossOriginProtection().Handler(change))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", adminPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

func style(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, adminFiles, "admin/admin.css")
}

func (a *admin) page(w http.ResponseWriter, _ *http.Request) {
	v := newAdminView(a.engine.Snapshot())
	v.Control = a.control
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := adminPage.Execute(w, v); err != nil && a.log != nil {
		a.log.Warn("weirhttp: the admin page broke off", slog.Any("error", err))
	}
}

func (a *admin) state(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, newAdminView(a.engine.Snapshot()))
}

// modeChange is the body of "POST /mode". The shares are in percent.
type modeChange struct {
	Target   string   `json:"target"`
	Mode     string   `json:"mode"`
	Enabled  *float64 `json:"enabled"`
	Enforced *float64 `json:"enforced"`
}

// maxChange is more than a change is ever long.
const maxChange = 4 << 10

func (a *admin) change(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxChange)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	c, err := readChange(r, kind)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m, err := c.parse()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	from := a.engine.Snapshot().Modes[c.Target]
	if err := a.engine.SetMode(c.Target, m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.log.Info("weirhttp: mode changed",
		slog.String("target", c.Target), slog.String("from", from.String()), slog.String("to", m.String()),
		slog.String("address", a.addr(r).String()), slog.String("identity", a.identity(r)))
	if kind == "application/json" {
		writeJSON(w, map[string]string{"target": c.Target, "mode": m.String()})
		return
	}
	w.Header().Set("Location", ".") // relative: the prefix is not known here
	w.WriteHeader(http.StatusSeeOther)
}

func readChange(r *http.Request, kind string) (c modeChange, err error) {
	if kind == "application/json" {
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return c, fmt.Errorf("weirhttp: mode: body: %w", err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return c, errors.New("weirhttp: mode: body: something follows the object")
		}
		return c, nil
	}
	if err := r.ParseForm(); err != nil {
		return c, fmt.Errorf("weirhttp: mode: form: %w", err)
	}
	c.Target, c.Mode = r.PostForm.Get("target"), r.PostForm.Get("mode")
	if c.Mode != "ramp" {
		return c, nil
	}
	for name, to := range map[string]**float64{"enabled": &c.Enabled, "enforced": &c.Enforced} {
		text := r.PostForm.Get(name)
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return c, fmt.Errorf("weirhttp: mode: %s %q: not a number of percent", name, text)
		}
		*to = &f
	}
	return c, nil
}

func (c *modeChange) parse() (engine.Mode, error) {
	if c.Mode != "ramp" && (c.Enabled != nil || c.Enforced != nil) {
		return 0, fmt.Errorf("weirhttp: mode: mode %q: enabled and enforced belong to a ramp", c.Mode)
	}
	switch c.Mode {
	case "enforce":
		return engine.Enforce, nil
	case "shadow":
		return engine.Shadow, nil
	case "off":
		return engine.Off, nil
	case "ramp":
		for name, share := range map[string]*float64{"enabled": c.Enabled, "enforced": c.Enforced} {
			if share == nil || !(*share >= 0 && *share <= 100) {
				return 0, fmt.Errorf("weirhttp: mode: %s: a ramp needs a percentage from 0 to 100", name)
			}
		}
		return engine.Ramp(*c.Enabled/100, *c.Enforced/100), nil
	}
	return 0, fmt.Errorf("weirhttp: mode: mode %q: not enforce, shadow, off or ramp", c.Mode)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // nobody is there to be told
}
