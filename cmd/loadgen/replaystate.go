package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/report"
	"github.com/weir-go/weir/engine"
)

// liveCounts is what a service that runs says of itself, as weirhttp.Admin
// shows it under "state": the same table as of a replay, from live traffic.
type liveCounts struct {
	At      time.Time `json:"at"`
	Targets []struct {
		Name, Layer string
		InForce     string `json:"in_force"`
	} `json:"targets"`
	Classes []struct {
		Class       string `json:"class"`
		Admitted    uint64 `json:"admitted"`
		Rate        uint64 `json:"refused_rate"`
		Concurrency uint64 `json:"refused_concurrency"`
		Fleet       uint64 `json:"refused_fleet"`
		Worker      uint64 `json:"refused_worker"`
	} `json:"classes"`
	Limits []struct {
		Name        string                       `json:"name"`
		Refused     map[string]map[string]uint64 `json:"refused"`
		WouldRefuse map[string]map[string]uint64 `json:"would_refuse"`
	} `json:"limits"`
}

// readCounts gets the state from a URL or a file.
func readCounts(ctx context.Context, from string) (c liveCounts, err error) {
	var src io.ReadCloser
	if strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://") {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
		if err != nil {
			return c, err
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return c, err
		}
		if src = resp.Body; resp.StatusCode != http.StatusOK {
			src.Close()
			return c, fmt.Errorf("%s: %s", from, resp.Status)
		}
	} else if src, err = os.Open(from); err != nil {
		return c, err
	}
	defer src.Close()
	if err := json.NewDecoder(io.LimitReader(src, 1<<26)).Decode(&c); err != nil {
		return c, fmt.Errorf("%s: not the state of a service: %w", from, err)
	}
	if c.At.IsZero() {
		return c, fmt.Errorf("%s: not the state of a service", from)
	}
	return c, nil
}

// requests is how many requests were decided.
func (c *liveCounts) requests() (n uint64) {
	for _, k := range c.Classes {
		n += k.Admitted + k.Rate + k.Concurrency + k.Fleet + k.Worker
	}
	return n
}

// table lists what limits refused, or would have refused in shadow.
func (c *liveCounts) table() report.Table {
	all := max(c.requests(), 1)
	layers, modes := map[string]string{}, map[string]string{}
	for _, t := range c.Targets {
		layers[t.Name], modes[t.Name] = t.Layer, t.InForce
	}
	tab := report.Table{Columns: []string{"limit", "layer", "mode", "reason", "class", "refused", "", "would have refused", ""}}
	for _, l := range c.Limits {
		for class := engine.Critical; class >= engine.Test; class-- {
			reasons := map[string]bool{}
			for r := range l.Refused[class.String()] {
				reasons[r] = true
			}
			for r := range l.WouldRefuse[class.String()] {
				reasons[r] = true
			}
			var names []string
			for r := range reasons {
				names = append(names, r)
			}
			slices.Sort(names)
			for _, r := range names {
				did, would := l.Refused[class.String()][r], l.WouldRefuse[class.String()][r]
				if did+would == 0 {
					continue
				}
				tab.Rows = append(tab.Rows, []string{
					l.Name, dash(layers[l.Name]), dash(modes[l.Name]), r, class.String(),
					fmt.Sprint(did), report.Percent(float64(did) / float64(all)), fmt.Sprint(would), report.Percent(float64(would) / float64(all)),
				})
			}
		}
	}
	return tab
}

// stateFigures is a service's state as -json writes it.
type stateFigures struct {
	Verb     string          `json:"verb"`
	State    string          `json:"state"`
	Requests uint64          `json:"requests"`
	Report   report.Document `json:"report"`
}

// replayState prints what a service that runs refused and would have refused.
func replayState(ctx context.Context, o *replayOptions, stdout io.Writer) error {
	c, err := readCounts(ctx, o.state)
	if err != nil {
		return err
	}
	lead := fmt.Sprintf("%s, at %s: %d requests decided since it began", o.state, c.At.Format(time.RFC3339), c.requests())
	fmt.Fprintf(stdout, "%s\n\n", wrap(lead, 110, ""))
	tab := c.table()
	if err := tab.WriteText(stdout, ""); err != nil {
		return err
	}
	if o.json == "" {
		return nil
	}
	return writeJSON(o.json, stateFigures{Verb: "replay", State: o.state, Requests: c.requests(), Report: report.Document{
		Title: "Live traffic against its limits", Lead: lead, Started: c.At,
		Sections: []report.Section{{Title: "Who refused, and who would have", Tables: []report.Table{tab}}},
	}})
}
