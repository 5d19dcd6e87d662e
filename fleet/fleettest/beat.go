package fleettest

import (
	"math"

	"github.com/weir-go/weir/fleet"
)

type group struct {
	born float64
	rec  map[fleet.Boot]Record
	till float64
}

// Record is what a group keeps of an instance.
type Record struct {
	Capacity, Critical, Other, Quota, Want, Seen, Base float64
	Tick                                               uint64
	Shards, Signature                                  float64
}

// Records returns the records of a group.
func (s *Store) Records(name string) map[fleet.Boot]Record {
	if g := s.groups[name]; g != nil {
		return g.rec
	}
	return nil
}

// Beat executes a beat at the store's time now, in microseconds.
func (s *Store) Beat(now float64, boot fleet.Boot, b *fleet.Beat) fleet.BeatReply {
	s.Commands++
	g := s.groups[b.Group]
	if g == nil || !s.Eternal && g.till <= now {
		g = &group{born: now, rec: map[fleet.Boot]Record{}}
	}
	born := g.born
	if born > now {
		born = now
	}
	learning := now-born < b.TTL
	r := fleet.BeatReply{Now: now, Instances: 1, Capacity: b.Capacity, Critical: b.Critical, Other: b.Other}
	mine, known := g.rec[boot]
	var leased float64
	wants := b.Want
	var gone []fleet.Boot
	for who, o := range g.rec {
		if who == boot {
			continue
		}
		age := now - min(o.Seen, now)
		if age > b.Grace {
			gone = append(gone, who)
			continue
		}
		if age > b.Hold {
			o.Quota = min(o.Quota, o.Base)
		}
		r.Instances++
		r.Capacity += o.Capacity
		leased += o.Quota
		wants += o.Want
		r.Critical += o.Critical
		r.Other += o.Other
		if o.Shards != b.Shards || o.Signature != b.Signature {
			r.Strangers++
		}
	}
	if b.Fixed > 0 {
		r.Capacity = b.Fixed
	}
	all := math.Floor((1-b.Reserve)*r.Capacity + 1e-9)
	heads := max(r.Instances, b.Expected)
	if learning {
		heads = max(heads, b.Known)
		r.Learning = 1
	}
	r.Base = math.Floor(all / heads)
	free := max(0, all-leased)
	if known && mine.Tick >= b.Tick {
		r.Quota, r.Base = mine.Quota, mine.Base
		return r
	}
	r.Quota = min(math.Floor(aim(b.Want, wants, all, r.Instances)+b.U), free)
	if learning {
		if b.Known > 0 {
			r.Quota = min(r.Quota, b.Held)
		} else {
			r.Quota = min(r.Quota, b.Alone)
		}
	}
	g.rec[boot] = Record{b.Capacity, b.Critical, b.Other, max(r.Quota, b.Held, b.Other), b.Want, now, max(r.Base, b.Base), b.Tick, b.Shards, b.Signature}
	for _, who := range gone {
		delete(g.rec, who)
	}
	g.born, g.till = born, now+fleet.GroupTTL
	if s.groups == nil {
		s.groups = map[string]*group{}
	}
	s.groups[b.Group] = g
	return r
}

// Leave withdraws an instance's record.
func (s *Store) Leave(boot fleet.Boot, name string) {
	if g := s.groups[name]; g != nil {
		delete(g.rec, boot)
	}
}
