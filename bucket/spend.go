package bucket

// Spender is what a decision on a token bucket needs when the time is kept in the
// bucket's own units. Amounts and instants are in units times 2^8: in those a
// word's payload fills its 64 bits and the version falls out, so that nothing has
// to be masked and what wraps wraps by itself.
type Spender struct {
	unit, burst uint64
}

// Spender returns the spender of a Token.
func (r *Rule) Spender() Spender { return Spender{r.k << 8, r.burst << 8} }

// SpendAt is At for a Token's spender.
func (r *Rule) SpendAt(now int64) uint64 { return r.TokenAt(now) << 8 }

// Spend is Take for a cost from 1 to Max. It returns what is left, which SpentLeft
// turns into tokens when somebody asks: less than 0 where the cost does not fit.
func (s *Spender) Spend(w, at, cost uint64) (next uint64, room int64) {
	return s.charge(w, at, cost*s.unit)
}

// SpendUnits is Spend for a charge in units; 0 and more than a full bucket never fit.
func (s *Spender) SpendUnits(w, at, units uint64) (next uint64, room int64) {
	if units-1 >= s.burst>>8 {
		return w, -1
	}
	return s.charge(w, at, units<<8)
}

func (s *Spender) charge(w, at, amount uint64) (next uint64, room int64) {
	d := uint64(max(int64(w<<8-at), 0)) + amount
	if next = at + d; next == Frozen<<8 { // as place does
		next = 0
	}
	return w&^uint64(Payload) | next>>8, int64(s.burst - d)
}

// SpentLeft returns how many whole tokens room is, 0 or more, with slack units added
// to it, of a bucket that holds no more than its burst.
func (r *Rule) SpentLeft(room int64, slack uint64) int64 {
	return int64(r.tokens(min(uint64(room)>>8+slack, r.burst)))
}
