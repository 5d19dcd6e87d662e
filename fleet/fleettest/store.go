package fleettest

import (
	"encoding/binary"
	"maps"
	"math"

	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/key"
)

// Name is the place of a value in a Store.
type Name struct {
	Shard  int
	Kind   byte // as fleet.Op.Store; 's' is a sequence number
	Limit  string
	Key    key.Key
	Window int64
	Boot   fleet.Boot
}

// NameOf returns where an item's state is stored.
func NameOf(shard int, it *fleet.Item) Name {
	n := Name{Shard: shard, Kind: it.Op.Store(), Limit: it.Limit, Key: it.Key}
	if it.Op == fleet.OpQuota {
		n.Window = it.Window
	}
	return n
}

// Seq returns where the sequence number of an instance is stored.
func Seq(shard int, boot fleet.Boot) Name { return Name{Shard: shard, Kind: 's', Boot: boot} }

type value struct {
	raw  []byte
	till float64
}

// Store is the state of a store. It is not safe for concurrent use. The zero
// value is empty.
type Store struct {
	vals   map[Name]value
	groups map[string]*group
	// Eternal keeps values past their time.
	Eternal bool
	// Commands counts the batches and beats that were executed.
	Commands int
}

// Get returns a value as it is stored.
func (s *Store) Get(n Name, now float64) ([]byte, bool) {
	v, ok := s.vals[n]
	if ok && !s.Eternal && v.till <= now {
		delete(s.vals, n)
		return nil, false
	}
	return v.raw, ok
}

// Set stores a value for us microseconds.
func (s *Store) Set(n Name, now, us float64, raw []byte) {
	if s.vals == nil {
		s.vals = map[Name]value{}
	}
	s.vals[n] = value{raw, now + math.Ceil(us/1000)*1000}
}

// Flush forgets everything.
func (s *Store) Flush() { s.vals, s.groups = nil, nil }

// Clone returns a store with the same state, as a replica has it.
func (s *Store) Clone() Store {
	c := Store{vals: maps.Clone(s.vals), groups: map[string]*group{}, Eternal: s.Eternal, Commands: s.Commands}
	for name, g := range s.groups {
		c.groups[name] = &group{born: g.born, rec: maps.Clone(g.rec), till: g.till}
	}
	return c
}

// Len returns how many values are stored.
func (s *Store) Len(now float64) int {
	for n := range s.vals {
		s.Get(n, now)
	}
	return len(s.vals)
}

func unpack(raw []byte, n int) (f [8]float64, ok bool) {
	if len(raw) < 8*n {
		return f, false
	}
	for i := range n {
		f[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return f, true
}

func pack(f ...float64) []byte {
	b := make([]byte, 0, 8*len(f))
	for _, x := range f {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}
