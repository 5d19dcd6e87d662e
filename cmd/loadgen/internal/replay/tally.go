package replay

import (
	"cmp"
	"slices"
	"time"

	"github.com/weir-go/weir/engine"
)

// Tally is what a policy would have done to recorded traffic.
type Tally struct {
	Requests, Refused int
	By                map[By]int
	Users             []User
	Took              time.Duration // for all decisions
}

// By is who refused what, and why.
type By struct {
	Limit  string // "" when no limit did
	Layer  engine.Layer
	Reason engine.Reason
	Class  engine.Class
}

// User is one user's part.
type User struct {
	Name              string
	Requests, Refused int
	// Edge counts admitted requests that took the last there was: one more at
	// that moment would have been refused.
	Edge int
}

// Hit is how many users had a request refused.
func (t *Tally) Hit() (n int) {
	for _, u := range t.Users {
		if u.Refused > 0 {
			n++
		}
	}
	return n
}

// Near is how many users had none refused but stood at the edge.
func (t *Tally) Near() (n int) {
	for _, u := range t.Users {
		if u.Refused == 0 && u.Edge > 0 {
			n++
		}
	}
	return n
}

// Top returns the n users with the most refused requests.
func (t *Tally) Top(n int) []User {
	var hit []User
	for _, u := range t.Users {
		if u.Refused > 0 {
			hit = append(hit, u)
		}
	}
	slices.SortFunc(hit, func(a, b User) int {
		return cmp.Or(-cmp.Compare(a.Refused, b.Refused), cmp.Compare(a.Name, b.Name))
	})
	return hit[:min(n, len(hit))]
}

// ShareRefused is the share of requests that were refused.
func (t *Tally) ShareRefused() float64 { return float64(t.Refused) / float64(max(t.Requests, 1)) }

// ShareHit is the share of users of whom a request was refused.
func (t *Tally) ShareHit() float64 { return float64(t.Hit()) / float64(max(len(t.Users), 1)) }

// decided is a decision's place in the counts.
type decided struct {
	limit  engine.LimitID
	layer  engine.Layer
	reason engine.Reason
	class  engine.Class
}

// Tally plays the events through cfg and sums up.
func (s *Sim) Tally(cfg engine.Config) (*Tally, error) {
	t := &Tally{By: map[By]int{}, Users: make([]User, len(s.Users))}
	by := map[decided]int{}
	start := time.Now()
	err := s.Run(cfg, func(user int32, class engine.Class, d engine.Decision) {
		u := &t.Users[user]
		u.Requests++
		switch {
		case !d.OK():
			u.Refused++
			by[decided{d.Limit, d.Layer, d.Reason, class}]++
		case d.Remaining == 0:
			u.Edge++
		}
	})
	t.Took = time.Since(start)
	if err != nil {
		return nil, err
	}
	for i, name := range s.Users {
		t.Users[i].Name = name
		t.Requests += t.Users[i].Requests
		t.Refused += t.Users[i].Refused
	}
	for d, n := range by {
		name := ""
		if d.limit > 0 {
			name = cfg.Limits[d.limit-1].Name // the engine numbers them in their order
		}
		t.By[By{name, d.layer, d.reason, d.class}] += n
	}
	return t, nil
}
