package policy

import (
	"math"
	"strconv"
)

// cost is what a request costs: a fixed number, or a value of the request.
type cost struct {
	fixed   int64 // without a source; 1 unless the file says otherwise
	from    part
	extract func(Attrs) int64 // fromExtractor
	max     int64             // the most that is claimed; 0: no bound
	absent  int64             // what a request without the value costs
}

// cost reads the field; without it a request costs 1.
func (o *object) cost(name string, x *extractors) cost {
	n := o.get(name)
	if n == nil {
		return cost{fixed: 1}
	}
	if n.kind == kindText {
		return cost{fixed: o.number(name, 1, math.MaxInt64, 1)}
	}
	c := o.r.object(n, join(o.path, name))
	var k cost
	switch at := c.get("from"); {
	case at == nil:
		if !c.has("from") {
			c.fail("from", "is missing; write header NAME, query NAME, path NAME or extract NAME")
		}
	default:
		k.source(c, at, x)
	}
	k.max = c.number("max", 1, math.MaxInt64, 0)
	k.absent = c.number("default", 0, math.MaxInt64, 1)
	if k.max == 0 && !c.has("max") && k.from.from != fromExtractor {
		c.fail("max", "is missing; write the most that a client's word can claim")
	}
	if k.max > 0 && k.absent > k.max {
		c.fail("default", "is above max")
	}
	c.done()
	return k
}

func (k *cost) source(c *object, at *node, x *extractors) {
	path := join(c.path, "from")
	if _, ok := c.r.text(at, path); !ok {
		return
	}
	// The extractor of a cost is registered apart: it gives a number.
	p, ok := c.r.part(at, path, &extractors{any: true})
	if !ok {
		return
	}
	switch k.from = p; p.from {
	case fromHeader, fromQuery, fromPath:
	case fromExtractor:
		if k.extract, ok = x.cost(p.arg); !ok {
			c.fail("from", "names no registered extractor of a cost; %s", x.costNames())
		}
	default:
		c.fail("from", "can't be a cost; write header NAME, query NAME, path NAME or extract NAME")
	}
}

// of returns what a request costs. A value that is no number costs the most, so
// that nonsense is not the cheapest thing to send; a negative one goes to the
// engine as it is, which refuses it and charges nothing.
func (k *cost) of(a Attrs) (v int64, fault any) {
	if k.from.from == fromNowhere {
		return k.fixed, nil
	}
	v = k.absent
	if k.extract != nil {
		if v, fault = call(k.extract, a); fault != nil {
			return 0, fault
		}
	} else if s, ok, _ := k.from.value(a); ok {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			n = k.max
		}
		v = n
	}
	if k.max > 0 {
		v = min(v, k.max)
	}
	return v, nil
}
