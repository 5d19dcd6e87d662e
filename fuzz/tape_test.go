package fuzz

// tape is a fuzzer's bytes as a source of decisions. An exhausted tape gives
// zeros.
type tape struct{ b []byte }

func (t *tape) done() bool { return len(t.b) == 0 }

func (t *tape) byte() byte {
	if len(t.b) == 0 {
		return 0
	}
	b := t.b[0]
	t.b = t.b[1:]
	return b
}

// n is a number from 0 to below n.
func (t *tape) n(n int) int { return int(t.byte()) % n }

func (t *tape) bool() bool { return t.byte()&1 != 0 }

// text is up to max bytes of the tape.
func (t *tape) text(max int) string {
	n := min(t.n(max+1), len(t.b))
	s := string(t.b[:n])
	t.b = t.b[n:]
	return s
}

// rest is all that is left.
func (t *tape) rest() []byte {
	b := t.b
	t.b = nil
	return b
}
