package bucket

// What follows is for whoever charges a token bucket in parts of a token: an
// instance that may use a share w of a bucket it has in common with others
// charges Unit/w units a token, as if the others spent in proportion.

// Unit returns the units of one token. Token rules only.
func (r *Rule) Unit() uint64 { return r.k }

// Full returns the units of a full bucket, at most 2^54. Token rules only.
func (r *Rule) Full() uint64 { return r.burst }

// Debt returns how many units the word owes at the instant, below 2^55.
func (r *Rule) Debt(w, at uint64) uint64 { return r.debt(w, at) }

// Owing returns the word with another debt at the instant: units, up to
// 2^55-2, more is cut. The version is kept.
func (r *Rule) Owing(w, at, units uint64) uint64 {
	return w&^uint64(Payload) | place(at+min(units, maxDebt))
}

// TakeUnits is Take for a charge in units, up to 2^54.
func (r *Rule) TakeUnits(w, at, units uint64) (next uint64, ok bool) {
	d := r.debt(w, at) + units
	if d > r.burst {
		return w, false
	}
	return w&^uint64(Payload) | place(at+d), true
}

// WaitUnits is Wait for a charge in units, up to 2^54: Never above Full.
func (r *Rule) WaitUnits(w, at uint64, now int64, units uint64) int64 {
	switch d := r.debt(w, at) + units; {
	case units > r.burst:
		return Never
	case d <= r.burst:
		return 0
	default:
		return r.clock.after(now, d-r.burst)
	}
}

// UndoUnits is Undo for a charge in units. With M the arrival that the charge
// was laid upon, the clock has passed at-M of the charge since; only the rest
// can still be given back. Others may have charged on top of it, so it is taken
// off whatever the word is now.
func (r *Rule) UndoUnits(w, at, done, units uint64) uint64 {
	m := done - units
	if passed := (at - m) & Payload; passed < half {
		units -= min(units, passed)
	}
	if units == 0 {
		return w
	}
	return w&^uint64(Payload) | place(w-units)
}
