package weirotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/series"
)

// Register creates the instruments on m and lets them observe e, until
// Unregister is called on what it returns. The instruments are:
//
//	weir.decisions       counter  weir.limit, weir.layer, weir.class, weir.reason; every request in one series
//	weir.would_refuse    counter  the same; what a limit or a layer in shadow would have refused
//	weir.overflow        counter  weir.limit; decisions on keys that the key table had no room for
//	weir.misuse          counter  weir.misuse.kind; calls that broke the API's contract
//	weir.inflight.usage  gauge    weir.limit, weir.layer, weir.class; layer "fleet" has class "critical" and "other"
//	weir.held.usage      gauge    weir.limit; what post-paid claims on a token bucket hold until settled
//	weir.ticket.age      gauge    weir.limit; the oldest sampled open ticket
//	weir.mode.enabled    gauge    weir.limit, weir.layer; share of the keys
//	weir.mode.enforced   gauge    weir.limit, weir.layer; share of the enabled keys
//	weir.unclassified, weir.faults, weir.unguarded                     counters
//	weir.inflight.capacity, weir.inflight.allocation                   what layer 3 allows, in all and below critical
//	weir.ladder.level, .exhausted, .reading, .reading.age              layer 4
//	weir.entries.usage, weir.entries.limit, weir.table.size            the key table
//	weir.fleet.*                                                       the exchange with other instances, when limits are shared
func Register(m metric.Meter, e *engine.Engine) (metric.Registration, error) {
	i, err := newInstruments(m)
	if err != nil {
		return nil, err
	}
	return m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := e.Snapshot()
		i.observe(o, &s)
		return nil
	}, i.all...)
}

type instruments struct {
	decisions, wouldRefuse, overflow, misuse metric.Int64ObservableCounter
	inflight, held                           metric.Int64ObservableGauge
	ticketAge, enabled, enforced             metric.Float64ObservableGauge
	figures                                  []metric.Float64Observable // of series.Figures, in its order

	all []metric.Observable
}

func newInstruments(m metric.Meter) (*instruments, error) {
	var (
		i    instruments
		errs []error
	)
	keep := func(o metric.Observable, err error) {
		i.all, errs = append(i.all, o), append(errs, err)
	}
	counter := func(to *metric.Int64ObservableCounter, name, unit, about string) {
		c, err := m.Int64ObservableCounter("weir."+name, metric.WithUnit(unit), metric.WithDescription(about))
		*to = c
		keep(c, err)
	}
	gauge := func(to *metric.Int64ObservableGauge, name, unit, about string) {
		g, err := m.Int64ObservableGauge("weir."+name, metric.WithUnit(unit), metric.WithDescription(about))
		*to = g
		keep(g, err)
	}
	share := func(to *metric.Float64ObservableGauge, name, unit, about string) {
		g, err := m.Float64ObservableGauge("weir."+name, metric.WithUnit(unit), metric.WithDescription(about))
		*to = g
		keep(g, err)
	}
	counter(&i.decisions, "decisions", "{request}", "Requests decided, by what decided them.")
	counter(&i.wouldRefuse, "would_refuse", "{request}", "Requests that a limit or a layer in shadow would have refused.")
	counter(&i.overflow, "overflow", "{decision}", "Decisions on keys that the key table had no room for.")
	counter(&i.misuse, "misuse", "{call}", "Calls that broke the contract of the API.")
	gauge(&i.inflight, "inflight.usage", "{request}", "Requests that hold a place now.")
	gauge(&i.held, "held.usage", "{token}", "Tokens that post-paid claims hold until they are settled.")
	share(&i.ticketAge, "ticket.age", "s", "Age of the oldest sampled ticket that is still open.")
	share(&i.enabled, "mode.enabled", "1", "Share of the keys for which a limit or a layer is enabled.")
	share(&i.enforced, "mode.enforced", "1", "Share of the enabled keys for which a limit or a layer is enforced.")
	for _, f := range series.Figures {
		var (
			o   metric.Float64Observable
			err error
		)
		if f.Counter {
			o, err = m.Float64ObservableCounter("weir."+f.OTel, metric.WithUnit(f.Unit), metric.WithDescription(f.About))
		} else {
			o, err = m.Float64ObservableGauge("weir."+f.OTel, metric.WithUnit(f.Unit), metric.WithDescription(f.About))
		}
		i.figures = append(i.figures, o)
		keep(o, err)
	}
	return &i, errors.Join(errs...)
}

// The attributes.
const (
	limitKey  = attribute.Key("weir.limit")
	layerKey  = attribute.Key("weir.layer")
	classKey  = attribute.Key("weir.class")
	reasonKey = attribute.Key("weir.reason")
	misuseKey = attribute.Key("weir.misuse.kind")
)

func (i *instruments) observe(o metric.Observer, s *engine.Snapshot) {
	with := metric.WithAttributes
	decided := func(l series.Labels) metric.MeasurementOption {
		return with(limitKey.String(l.Limit), layerKey.String(l.Layer.String()),
			classKey.String(l.Class.String()), reasonKey.String(l.Reason.String()))
	}
	for l, n := range series.Decisions(s) {
		o.ObserveInt64(i.decisions, int64(n), decided(l))
	}
	for l, n := range series.WouldRefuse(s) {
		o.ObserveInt64(i.wouldRefuse, int64(n), decided(l))
	}
	for kind, n := range series.Misuse(s) {
		o.ObserveInt64(i.misuse, int64(n), with(misuseKey.String(kind)))
	}
	for l, n := range series.InFlight(s) {
		o.ObserveInt64(i.inflight, n, with(limitKey.String(l.Limit), layerKey.String(l.Layer), classKey.String(l.Class)))
	}
	for l, m := range series.Modes(s) {
		at := with(limitKey.String(l.Limit), layerKey.String(l.Layer.String()))
		o.ObserveFloat64(i.enabled, m.Enabled(), at)
		o.ObserveFloat64(i.enforced, m.Enforced(), at)
	}
	for k := range s.Limits {
		l := &s.Limits[k]
		at := with(limitKey.String(l.Name))
		o.ObserveInt64(i.overflow, int64(l.Overflow), at)
		o.ObserveFloat64(i.ticketAge, l.OldestTicket.Seconds(), at)
		if l.Kind == engine.TokenBucket {
			o.ObserveInt64(i.held, l.InFlight, at)
		}
	}
	for k, f := range series.Figures {
		if v, ok := f.Value(s); ok {
			o.ObserveFloat64(i.figures[k], v)
		}
	}
}
