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
//	weir.decisions {request}        counter   weir.limit, weir.layer, weir.class, weir.reason; every request once
//	weir.would_refuse {request}     counter   the same; what a limit or layer in shadow would have refused
//	weir.overflow {decision}        counter   weir.limit; keys that the table had no room for
//	weir.unclassified {request}     counter   requests that came without a class
//	weir.unguarded s                counter   time during which a fault of weir's own decided
//	weir.misuse {call}              counter   weir.misuse.kind; calls that broke the API's contract
//	weir.inflight.usage {request}   gauge     weir.limit, weir.layer, weir.class; layer "fleet" has class "critical" and "other"
//	weir.inflight.limit {request}   gauge     weir.class; what layer 3 allows
//	weir.held.usage {token}         gauge     weir.limit; what post-paid claims hold until settled
//	weir.ticket.age s               gauge     weir.limit; the oldest sampled open ticket
//	weir.mode.enabled 1             gauge     weir.limit, weir.layer; share of the keys
//	weir.mode.enforced 1            gauge     weir.limit, weir.layer; share of the enabled keys
//	weir.ladder.level {class}       gauge     what layer 4 sheds
//	weir.ladder.reading 1           gauge     the signal's last reading; 1 is every worker busy
//	weir.ladder.reading.age s       gauge     its age; both are absent before the first
//	weir.entries.usage {entry}      gauge     states in the key table
//	weir.entries.limit {entry}      gauge     how many fit
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
	decisions, wouldRefuse, overflow, unclassified, misuse   metric.Int64ObservableCounter
	unguarded                                                metric.Float64ObservableCounter
	inflight, inflightLimit, held, entries, entriesLimit     metric.Int64ObservableGauge
	ticketAge, enabled, enforced, level, reading, readingAge metric.Float64ObservableGauge

	all []metric.Observable
}

func newInstruments(m metric.Meter) (*instruments, error) {
	var (
		i    instruments
		errs []error
	)
	counter := func(to *metric.Int64ObservableCounter, name, unit, about string) {
		c, err := m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(about))
		*to, errs, i.all = c, append(errs, err), append(i.all, c)
	}
	gauge := func(to *metric.Int64ObservableGauge, name, unit, about string) {
		g, err := m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(about))
		*to, errs, i.all = g, append(errs, err), append(i.all, g)
	}
	real := func(to *metric.Float64ObservableGauge, name, unit, about string) {
		g, err := m.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(about))
		*to, errs, i.all = g, append(errs, err), append(i.all, g)
	}
	counter(&i.decisions, "weir.decisions", "{request}", "Requests decided, by what decided them.")
	counter(&i.wouldRefuse, "weir.would_refuse", "{request}", "Requests that a limit or a layer in shadow would have refused.")
	counter(&i.overflow, "weir.overflow", "{decision}", "Decisions on keys that the key table had no room for.")
	counter(&i.unclassified, "weir.unclassified", "{request}", "Requests that came without a class.")
	counter(&i.misuse, "weir.misuse", "{call}", "Calls that broke the contract of the API.")
	gauge(&i.inflight, "weir.inflight.usage", "{request}", "Requests that hold a place.")
	gauge(&i.inflightLimit, "weir.inflight.limit", "{request}", "Requests in flight that layer 3 allows.")
	gauge(&i.held, "weir.held.usage", "{token}", "Tokens that post-paid claims hold until they are settled.")
	gauge(&i.entries, "weir.entries.usage", "{entry}", "States of a limit and a key in the key table.")
	gauge(&i.entriesLimit, "weir.entries.limit", "{entry}", "States of a limit and a key that fit in the key table.")
	real(&i.ticketAge, "weir.ticket.age", "s", "Age of the oldest sampled ticket that is still open.")
	real(&i.enabled, "weir.mode.enabled", "1", "Share of the keys for which a limit or a layer is enabled.")
	real(&i.enforced, "weir.mode.enforced", "1", "Share of the enabled keys for which a limit or a layer is enforced.")
	real(&i.level, "weir.ladder.level", "{class}", "What the ladder sheds, in classes.")
	real(&i.reading, "weir.ladder.reading", "1", "The last reading of the ladder's signal; 1 is every worker busy.")
	real(&i.readingAge, "weir.ladder.reading.age", "s", "Age of the last reading of the ladder's signal.")

	var err error
	i.unguarded, err = m.Float64ObservableCounter("weir.unguarded", metric.WithUnit("s"),
		metric.WithDescription("Time during which a fault of the limiter's own let requests pass or refused them."))
	i.all = append(i.all, i.unguarded)
	return &i, errors.Join(append(errs, err)...)
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
	all := func(l series.Labels) metric.MeasurementOption {
		return with(limitKey.String(l.Limit), layerKey.String(l.Layer.String()),
			classKey.String(l.Class.String()), reasonKey.String(l.Reason.String()))
	}
	for l, n := range series.Decisions(s) {
		o.ObserveInt64(i.decisions, int64(n), all(l))
	}
	for l, n := range series.WouldRefuse(s) {
		o.ObserveInt64(i.wouldRefuse, int64(n), all(l))
	}
	for kind, n := range series.Misuse(s) {
		o.ObserveInt64(i.misuse, int64(n), with(misuseKey.String(kind)))
	}
	o.ObserveInt64(i.unclassified, int64(s.Unclassified))
	o.ObserveFloat64(i.unguarded, s.Unguarded.Seconds())

	mode := func(limit string, layer engine.Layer, m engine.Mode) {
		at := with(limitKey.String(limit), layerKey.String(layer.String()))
		o.ObserveFloat64(i.enabled, m.Enabled(), at)
		o.ObserveFloat64(i.enforced, m.Enforced(), at)
	}
	for k := range s.Limits {
		l := &s.Limits[k]
		name := limitKey.String(l.Name)
		o.ObserveInt64(i.overflow, int64(l.Overflow), with(name))
		o.ObserveFloat64(i.ticketAge, l.OldestTicket.Seconds(), with(name))
		mode(l.Name, l.Layer, l.Mode)
		switch l.Kind {
		case engine.InFlight:
			o.ObserveInt64(i.inflight, l.InFlight, with(name, layerKey.String(l.Layer.String()), classKey.String("")))
		case engine.TokenBucket:
			o.ObserveInt64(i.held, l.InFlight, with(name))
		}
	}

	fleet := func(class string) metric.MeasurementOption {
		return with(limitKey.String(""), layerKey.String(engine.Fleet.String()), classKey.String(class))
	}
	o.ObserveInt64(i.inflight, int64(s.Gate.Critical), fleet("critical"))
	o.ObserveInt64(i.inflight, int64(s.Gate.Other), fleet("other"))
	o.ObserveInt64(i.inflightLimit, int64(s.Gate.Capacity), with(classKey.String("")))
	o.ObserveInt64(i.inflightLimit, int64(s.Gate.Allocation), with(classKey.String("other")))
	mode("", engine.Fleet, s.Gate.Mode)

	mode("", engine.Worker, s.Ladder.Mode)
	o.ObserveFloat64(i.level, s.Ladder.Level)
	if s.Ladder.ReadingAge >= 0 {
		o.ObserveFloat64(i.reading, s.Ladder.Reading)
		o.ObserveFloat64(i.readingAge, s.Ladder.ReadingAge.Seconds())
	}
	o.ObserveInt64(i.entries, int64(s.Table.Entries))
	o.ObserveInt64(i.entriesLimit, int64(s.Table.MaxEntries))
}
