package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/report"
	"github.com/weir-go/weir/engine"
)

// objective is one thing that a run has to reach.
type objective struct {
	text  string
	class engine.Class // ClassUnset: all
	// One of the two: a latency from when a request was due, or the served share
	// of what was offered.
	quantile float64 // 0: the mean; 1: the maximum
	latency  bool
	below    bool
	limit    float64 // nanoseconds, or a share
}

// parseObjectives reads -slo: comma-separated METRIC<VALUE or METRIC>VALUE.
func parseObjectives(s string) (all []objective, err error) {
	if s == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(s, ",") {
		o, err := parseObjective(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("-slo %q: %w", text, err)
		}
		all = append(all, o)
	}
	return all, nil
}

func parseObjective(s string) (o objective, err error) {
	i := strings.IndexAny(s, "<>")
	if i < 0 {
		return o, fmt.Errorf("write METRIC<VALUE or METRIC>VALUE")
	}
	o.text, o.below = s, s[i] == '<'
	metric, value := strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:])
	if class, rest, ok := strings.Cut(metric, "."); ok {
		if c, known := engine.ParseClass(class); known {
			o.class, metric = c, rest
		}
	} else if c, known := engine.ParseClass(metric); known {
		o.class, metric = c, "served"
	}
	switch q, isQuantile := strings.CutPrefix(metric, "p"); {
	case metric == "served":
		percent, found := strings.CutSuffix(value, "%")
		f, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		if err != nil || !found || !(f >= 0 && f <= 100) {
			return o, fmt.Errorf("%q is no share from 0%% to 100%%", value)
		}
		o.limit = f / 100
		return o, nil
	case metric == "max":
		o.quantile = 1
	case metric == "mean":
	case isQuantile:
		f, err := strconv.ParseFloat(q, 64)
		if err != nil || !(f > 0 && f <= 100) {
			return o, fmt.Errorf("%q is no percentile", metric)
		}
		o.quantile = f / 100
	default:
		return o, fmt.Errorf("no metric %q; there are p50, p99, p99.9, ..., max, mean, served, the classes, and a class in front: critical.p99", metric)
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return o, fmt.Errorf("%q is no latency", value)
	}
	o.latency, o.limit = true, float64(d)
	return o, nil
}

// missed says by what the objective was missed; "" when it was met. An
// objective on nothing is missed: a run that measured nothing proves nothing.
func (o objective) missed(c *drive.Counts) string {
	if c == nil || c.Offered == 0 {
		return fmt.Sprintf("%s: nothing was offered", o.text)
	}
	if !o.latency {
		got := c.Share()
		if o.below && got < o.limit || !o.below && got > o.limit || !o.below && got == 1 && o.limit == 1 {
			return ""
		}
		return fmt.Sprintf("%s: it is %s", o.text, report.Percent(got))
	}
	if c.Response.Count() == 0 {
		return fmt.Sprintf("%s: nothing was answered", o.text)
	}
	got := c.Response.Mean()
	if o.quantile > 0 {
		got = c.Response.Quantile(o.quantile)
	}
	if o.below == (float64(got) < o.limit) && float64(got) != o.limit {
		return ""
	}
	return fmt.Sprintf("%s: it is %s", o.text, report.Duration(got))
}
