package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Handles are never used again, and there are 65,535 of them: a name more is an
// error, and what is there goes on.
func TestNamesRunOut(t *testing.T) {
	clock := NewManualClock(time.Date(2025, 6, 2, 12, 0, 0, 0, time.UTC))
	first := Limit{Name: "first", Kind: Block}
	e := Must(New(Config{Limits: []Limit{first}, Clock: clock, MaxEntries: 1}))
	defer e.Close()
	names := make([]*control, 1<<16)
	for i, old := 0, *e.names.Load(); i < len(names); i++ {
		names[i] = old[min(i, 1)]
	}
	e.names.Store(&names)
	err := e.Swap(Config{Limits: []Limit{first, {Name: "last", Kind: Block}}, Clock: clock, MaxEntries: 1})
	require.EqualError(t, err, `engine: limit "last": name: would be number 65536, and an engine tells 65535 apart`)
	require.Equal(t, "first", e.LimitName(1))
	tk := e.Admit(Request{Class: Read, Claims: []Claim{LimitID(1).Claim(e.Key("u"))}})
	require.False(t, tk.OK())
}
