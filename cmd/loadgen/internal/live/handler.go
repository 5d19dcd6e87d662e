package live

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:embed web
var web embed.FS

// Knob is a control that was turned.
type Knob struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"` // a switch is 0 or 1
}

// policy is what the page may do: use what this server gave it, and nothing
// else. uPlot sets styles by script, which a policy does not forbid.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ping is how often a silent stream says that it is alive.
const ping = 15 * time.Second

// Handler serves the page at /, the stream at /events and the controls at
// /knobs, which takes a Knob by POST and calls turn; turn's error is the
// client's mistake. It answers only requests to localhost or to an address, so
// that no other site's page can reach it through a name of its own.
func Handler(h *Hub, turn func(Knob) error) http.Handler {
	root, err := fs.Sub(web, "web")
	if err != nil {
		panic("live: " + err.Error()) // the directory is embedded above
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(root))
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) { stream(h, w, r) })
	mux.HandleFunc("POST /knobs", func(w http.ResponseWriter, r *http.Request) {
		var k Knob
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10))
		d.DisallowUnknownFields()
		if err := d.Decode(&k); err != nil {
			http.Error(w, "not a knob: "+err.Error(), http.StatusBadRequest)
			return
		}
		if err := turn(k); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	guarded := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		if !addressed(r) {
			http.Error(w, "unknown host", http.StatusMisdirectedRequest)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// addressed reports whether the request was sent to an address, or to
// localhost: a name that someone else made point here is neither.
func addressed(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" {
		return true
	}
	return net.ParseIP(strings.Trim(host, "[]")) != nil
}

// stream writes the hub's events until the client leaves or lags.
func stream(h *Hub, w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64) // else from the beginning
	rc := http.NewResponseController(w)
	if err := rc.SetWriteDeadline(time.Time{}); err != nil {
		http.Error(w, "no streaming", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	missed, next := h.watch(after)
	defer h.unwatch(next)
	if _, err := io.WriteString(w, "retry: 1000\n\n"); err != nil {
		return
	}
	for _, f := range missed {
		if f.write(w) != nil {
			return
		}
	}
	alive := time.NewTicker(ping)
	defer alive.Stop()
	for {
		if rc.Flush() != nil {
			return
		}
		select {
		case f, ok := <-next:
			if !ok || f.write(w) != nil {
				return
			}
		case <-alive.C:
			if _, err := io.WriteString(w, ": alive\n\n"); err != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

func (f frame) write(w io.Writer) error {
	id := ""
	if f.id > 0 {
		id = fmt.Sprintf("id: %d\n", f.id)
	}
	_, err := fmt.Fprintf(w, "%sevent: %s\ndata: %s\n\n", id, f.event, f.data)
	return err
}
