package weirprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/series"
)

// Collector presents one engine's metrics. It is safe for concurrent use. To
// register several engines in one process, tell them apart with
// [prometheus.WrapRegistererWith].
type Collector struct{ engine *engine.Engine }

// NewCollector returns a Collector for e, to be registered with a
// [prometheus.Registerer]. The metrics are:
//
//	weir_decisions_total{limit,layer,class,reason}     requests decided, each in one series; admitted ones have the layer "none"
//	weir_would_refuse_total{limit,layer,class,reason}  requests that a limit or a layer in shadow would have refused
//	weir_overflow_total{limit}                         decisions on keys that the key table had no room for
//	weir_misuse_total{kind}                            calls that broke the API's contract
//	weir_inflight{limit,layer,class}                   requests that hold a place; layer "fleet" has class "critical" and "other"
//	weir_held_tokens{limit}                            what post-paid claims on a token bucket hold until settled
//	weir_oldest_ticket_seconds{limit}                  age of the oldest sampled open ticket: a leak shows here
//	weir_enabled_ratio{limit,layer}                    share of the keys for which a limit or a layer is enabled
//	weir_enforced_ratio{limit,layer}                   share of those for which it is enforced
//	weir_unclassified_total, weir_faults_total, weir_unguarded_seconds_total
//	weir_capacity, weir_allocation                     what layer 3 allows, in all and below critical
//	weir_ladder_level, weir_ladder_exhausted, weir_ladder_reading_ratio, weir_ladder_reading_age_seconds
//	weir_entries, weir_max_entries, weir_table_bytes   the key table
//	weir_fleet_*                                       the exchange with other instances, when limits are shared
func NewCollector(e *engine.Engine) *Collector { return &Collector{e} }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("weir_"+name, help, labels, nil)
}

var (
	decisions    = desc("decisions_total", "Requests decided, by what decided them.", "limit", "layer", "class", "reason")
	wouldRefuse  = desc("would_refuse_total", "Requests that a limit or a layer in shadow would have refused.", "limit", "layer", "class", "reason")
	overflow     = desc("overflow_total", "Decisions on keys that the key table had no room for.", "limit")
	misuse       = desc("misuse_total", "Calls that broke the contract of the API.", "kind")
	inflight     = desc("inflight", "Requests that hold a place now.", "limit", "layer", "class")
	held         = desc("held_tokens", "Tokens that post-paid claims hold until they are settled.", "limit")
	oldestTicket = desc("oldest_ticket_seconds", "Age of the oldest sampled ticket that is still open.", "limit")
	enabled      = desc("enabled_ratio", "Share of the keys for which a limit or a layer is enabled.", "limit", "layer")
	enforced     = desc("enforced_ratio", "Share of the enabled keys for which a limit or a layer is enforced.", "limit", "layer")
	labelled     = []*prometheus.Desc{decisions, wouldRefuse, overflow, misuse, inflight, held, oldestTicket, enabled, enforced}

	// figures are the descriptors of series.Figures, in its order.
	figures = func() (ds []*prometheus.Desc) {
		for _, f := range series.Figures {
			ds = append(ds, desc(f.Prometheus, f.About))
		}
		return ds
	}()
)

// Describe sends the descriptors of all metrics.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range labelled {
		ch <- d
	}
	for _, d := range figures {
		ch <- d
	}
}

// Collect sends the metrics as they are now.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := c.engine.Snapshot()
	count := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}

	for l, n := range series.Decisions(&s) {
		count(decisions, float64(n), l.Limit, l.Layer.String(), l.Class.String(), l.Reason.String())
	}
	for l, n := range series.WouldRefuse(&s) {
		count(wouldRefuse, float64(n), l.Limit, l.Layer.String(), l.Class.String(), l.Reason.String())
	}
	for kind, n := range series.Misuse(&s) {
		count(misuse, float64(n), kind)
	}
	for l, n := range series.InFlight(&s) {
		gauge(inflight, float64(n), l.Limit, l.Layer, l.Class)
	}
	for l, m := range series.Modes(&s) {
		gauge(enabled, m.Enabled(), l.Limit, l.Layer.String())
		gauge(enforced, m.Enforced(), l.Limit, l.Layer.String())
	}
	for i := range s.Limits {
		l := &s.Limits[i]
		count(overflow, float64(l.Overflow), l.Name)
		gauge(oldestTicket, l.OldestTicket.Seconds(), l.Name)
		if l.Kind == engine.TokenBucket {
			gauge(held, float64(l.InFlight), l.Name)
		}
	}
	for i, f := range series.Figures {
		v, ok := f.Value(&s)
		switch {
		case ok && f.Counter:
			count(figures[i], v)
		case ok:
			gauge(figures[i], v)
		}
	}
}
