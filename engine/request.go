package engine

import "github.com/weir-go/weir/key"

// MaxClaims is how many claims one request may make.
const MaxClaims = 8

// LimitID is a limit's handle: resolved once by name at wiring
// ([Engine.Limit]), valid across Swap. IDs start at 1.
type LimitID uint16

// Claim is a claim of cost 1 on the limit for the key.
func (l LimitID) Claim(k key.Key) Claim { return Claim{Limit: l, Key: k, Cost: 1} }

// ClaimN is a claim of the given cost on the limit for the key. Cost 0 is free
// and creates nothing; a negative cost never fits and charges nothing.
func (l LimitID) ClaimN(k key.Key, cost int64) Claim { return Claim{Limit: l, Key: k, Cost: cost} }

// Claim is one (limit, key, cost) of a request.
type Claim struct {
	Limit LimitID
	Key   key.Key
	Cost  int64
}

// Request is what Admit decides on.
type Request struct {
	Class Class
	// Claims are the 0 to 8 claims of the request, all of which must pass, each
	// on another limit. The memory is the caller's and is never kept.
	Claims []Claim
	// Cohort decides who is shed inside the class at the ladder's boundary: the
	// same cohort meets the same answer while an incident lasts. 0: the stable
	// hash of the first claim's key.
	Cohort uint64
}
