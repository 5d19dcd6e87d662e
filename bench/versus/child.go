package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/weir-go/weir/bench/internal/laps"
	"github.com/weir-go/weir/bench/internal/workload"
)

// assignment is what a child process is to measure.
type assignment struct {
	Group      string        `json:"group"`
	Contestant string        `json:"contestant"`
	Keys       int           `json:"keys"`
	Dist       workload.Dist `json:"dist"`
	Lap        time.Duration `json:"lap"`
}

// command asks a child for one lap.
type command struct {
	Cores int `json:"cores"`
}

// answer is a child's word: first one when it is ready, then one for each lap.
type answer struct {
	Error       string   `json:"error,omitempty"`
	BytesPerKey float64  `json:"bytesPerKey"`
	Lap         laps.Lap `json:"lap"`
}

// child serves one contestant on stdin and stdout until stdin ends.
func child(a assignment, in io.Reader, out io.Writer) error {
	enc, dec := json.NewEncoder(out), json.NewDecoder(in)
	run, bytesPerKey, err := prepare(a)
	if err != nil {
		return enc.Encode(answer{Error: err.Error()})
	}
	if err := enc.Encode(answer{BytesPerKey: bytesPerKey}); err != nil {
		return err
	}
	for {
		var c command
		switch err := dec.Decode(&c); err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
		l, err := run(c.Cores)
		ans := answer{Lap: l}
		if err != nil {
			ans.Error = err.Error()
		}
		if err := enc.Encode(ans); err != nil {
			return err
		}
	}
}

// prepare checks the contestant, fills its table and returns its laps.
func prepare(a assignment) (run func(cores int) (laps.Lap, error), bytesPerKey float64, err error) {
	c, g, ok := findContestant(a.Group, a.Contestant)
	if !ok {
		return nil, 0, fmt.Errorf("no contestant %q in %q", a.Contestant, a.Group)
	}
	if err := check(c, g); err != nil {
		return nil, 0, err
	}
	tape := workload.NewTape(0, a.Keys, a.Dist)
	before := workload.MemoryNow()
	s, err := c.make(generous, a.Keys)
	if err != nil {
		return nil, 0, err
	}
	for id := range a.Keys {
		// Each key's text is its own: a table that keeps it must not share it with
		// the tape, since a real request's text is not where the table's is.
		if !s.decide(workload.Name(id)) {
			return nil, 0, fmt.Errorf("%s: refused key %d while it was filled", c.name, id)
		}
	}
	after := workload.MemoryNow()
	if g.keyed {
		grown := after.Heap - min(before.Heap, after.Heap)
		if s.bytes != nil {
			grown = max(grown, s.bytes())
		}
		bytesPerKey = float64(grown) / float64(a.Keys)
	}

	runners, decisions := map[int]*laps.Runner{}, map[int]int{}
	return func(cores int) (laps.Lap, error) {
		if runners[cores] == nil {
			r := &laps.Runner{Tape: tape, Cores: cores, Decide: []func(string) bool{s.decide}, Want: true}
			n, err := r.Decisions(a.Lap)
			if err != nil {
				return laps.Lap{}, err
			}
			runners[cores], decisions[cores] = r, n
		}
		return runners[cores].Lap(decisions[cores])
	}, bytesPerKey, nil
}

// childMain is what the program does when it is started as a child.
func childMain(assigned string) {
	var a assignment
	err := json.Unmarshal([]byte(assigned), &a)
	if err == nil {
		err = child(a, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "versus:", err)
		os.Exit(1)
	}
}
