package policy

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/engine"
)

// Describe writes in words what the policy means: who gets which class, what
// every limit admits in the worst case, what is exempt, and what looks like a
// mistake. It returns the writer's error.
func (p *Policy) Describe(w io.Writer) error {
	d := &describer{p: p}
	d.classes()
	d.limits()
	d.layers()
	d.warnings()
	_, err := io.WriteString(w, d.b.String())
	return err
}

// DescribeRoute writes which class and which limits a request to a route has;
// the route is a pattern, as a mux has it, and the method in upper case. It
// returns the writer's error.
func (p *Policy) DescribeRoute(w io.Writer, httpMethod, pattern string) error {
	d := &describer{p: p}
	at, m := splitPattern(pattern), method(httpMethod)
	d.line("%s %s", httpMethod, pattern)
	for i := range p.exempt {
		if e := &p.exempt[i]; e.covers(&at) && e.methods&m != 0 {
			d.line("  exempt: no layer touches it")
			_, err := io.WriteString(w, d.b.String())
			return err
		}
	}
	class := d.otherwise()
	for i := range p.classes {
		c := &p.classes[i]
		if c.match.on(&at)&m == 0 {
			continue
		}
		if len(c.prefixes) == 0 {
			class = c.class.String()
			break
		}
		d.line("  class %s if %s", c.class, c.condition())
	}
	d.line("  class %s", class)
	n := 0
	for _, l := range p.limits {
		if l.match.on(&at)&m != 0 {
			n++
			d.limit(l)
		}
	}
	if n == 0 {
		d.line("  no limit")
	}
	_, err := io.WriteString(w, d.b.String())
	return err
}

// describer collects the text.
type describer struct {
	p *Policy
	b strings.Builder
}

func (d *describer) line(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

func (d *describer) otherwise() string {
	class := d.p.cfg.Default
	if class == engine.ClassUnset {
		class = engine.Read
	}
	return fmt.Sprintf("none: counts as %s, and is counted by route", class)
}

func (d *describer) classes() {
	d.line("classes, shed from test to critical; the first rule that matches decides")
	if d.p.header != "" {
		d.line("  what %s says, from trusted peers only", d.p.header)
	}
	for i := range d.p.classes {
		c := &d.p.classes[i]
		d.line("  %-9s %s", c.class, c.condition())
	}
	d.line("  otherwise %s", d.otherwise())
	if len(d.p.exempt) > 0 {
		var paths []string
		for i := range d.p.exempt {
			paths = append(paths, d.p.exempt[i].text)
		}
		d.line("  exempt from every layer: %s", strings.Join(paths, ", "))
	}
}

func (c *classRule) condition() string {
	s := c.match.String()
	if len(c.prefixes) > 0 {
		s += ", " + c.credential.text + " begins with " + strings.Join(c.prefixes, " or ")
	}
	return s
}

func (m *match) String() string {
	s := "every route"
	if len(m.patterns) > 0 {
		var texts []string
		for i := range m.patterns {
			texts = append(texts, m.patterns[i].text)
		}
		s = strings.Join(texts, " or ")
	}
	if m.methods != allMethods {
		s += " with " + m.methods.String()
	}
	return s
}

func (d *describer) limits() {
	if len(d.p.limits) == 0 {
		d.line("no limits")
		return
	}
	d.line("limits, all of a route's must pass; the figures are for one instance unless a limit is shared")
	for _, l := range d.p.limits {
		d.limit(l)
	}
}

func (d *describer) limit(l *limit) {
	d.line("  %s: on %s, %s", l.name, l.match.String(), l.keyText())
	d.line("    %s", l.cost.String())
	for i, v := range l.variants {
		e := d.engineLimit(v)
		name := ""
		if len(l.plans) > 0 {
			name = "plan " + l.plans[i] + ": "
		}
		d.line("    %s%s", name, kinds[e.Kind].text(e))
		d.line("      worst case: %s", kinds[e.Kind].worst(e))
		d.line("      %s", modeText(e.Mode))
	}
	if len(l.plans) > 0 {
		d.line("    the plan is %s; any other is %s", l.plan.text, l.fallbackPlan)
	}
	for _, o := range l.overrides {
		until := "for good"
		if !o.until.IsZero() {
			until = "until " + o.until.Format(time.RFC3339)
		}
		d.line("    override %s: %d key(s), %s", o.name, len(o.keys), until)
		for _, v := range o.variants {
			e := d.engineLimit(v)
			d.line("      %s; worst case: %s; %s", kinds[e.Kind].text(e), kinds[e.Kind].worst(e), modeText(e.Mode))
		}
	}
	e := d.engineLimit(l.variants[0])
	fail := "admits when weir itself fails"
	if e.Fail == engine.FailClosed {
		fail = "refuses (503) when weir itself fails"
	}
	d.line("    %s; a key without room in the table: %s%s", fail, overflowText(e.Overflow), syncText(e))
}

func (d *describer) engineLimit(name string) *engine.Limit {
	i := slices.IndexFunc(d.p.cfg.Limits, func(l engine.Limit) bool { return l.Name == name })
	return &d.p.cfg.Limits[i]
}

// keyText says whom the limit counts, and what of those it can't tell apart.
func (l *limit) keyText() string {
	if l.all {
		return "one for everybody"
	}
	var parts []string
	for i := range l.key {
		parts = append(parts, l.key[i].String())
	}
	s := "per " + strings.Join(parts, " and ")
	switch {
	case l.missing == missingSkip:
		s += "; without it: not counted"
	case l.missing == missingRefuse:
		s += "; without it: refused as " + l.refusal
	case l.address < 0 || len(l.key) > 1:
		s += "; without it: per " + l.fallback.String()
		if l.refusal != "" {
			s += ", without that refused as " + l.refusal
		}
	}
	return s
}

func (p *part) String() string {
	if p.from == fromAddress {
		return fmt.Sprintf("address (IPv4 /%d, IPv6 /%d)", p.bits4, p.bits6)
	}
	return p.text
}

func (k *cost) String() string {
	if k.from.from == fromNowhere {
		return fmt.Sprintf("a request costs %d", k.fixed)
	}
	s := fmt.Sprintf("a request costs what %s says, %d without it", k.from.text, k.absent)
	if k.max > 0 {
		s += fmt.Sprintf(", at most %d", k.max)
	}
	return s
}

func modeText(m engine.Mode) string {
	switch m {
	case engine.Enforce:
		return "enforced"
	case engine.Shadow:
		return "in shadow: counts what it would refuse and refuses nothing"
	case engine.Off:
		return "off"
	}
	return fmt.Sprintf("ramp: looked at for %.4g%% of the keys, enforced for %.4g%% of those", 100*m.Enabled(), 100*m.Enforced())
}

func overflowText(o engine.Overflow) string {
	return [...]string{"shares strict entries with others", "admitted", "refused"}[o]
}

func syncText(l *engine.Limit) string {
	if l.Sync.Mode == engine.SyncOff {
		return ""
	}
	return fmt.Sprintf("; shared by the fleet (%s)", l.Sync.Mode)
}

func (d *describer) layers() {
	if g := d.p.cfg.Gate; g.Capacity > 0 {
		other := int(math.Floor((1-g.Reserve)*float64(g.Capacity) + 1e-9))
		d.line("gate: of %d requests in flight, %d may be other than critical; %s", g.Capacity, other, modeText(g.Mode))
		if g.HardCap > 0 {
			d.line("  critical ones too are refused above %d", g.HardCap)
		}
	} else {
		d.line("no gate: nothing is kept for critical requests")
	}
	if d.p.cfg.Ladder.Mode == engine.Off {
		d.line("no ladder: nothing is shed when the workers are saturated")
	} else {
		d.line("ladder: sheds from test upwards while the workers are saturated; %s", modeText(d.p.cfg.Ladder.Mode))
	}
}
