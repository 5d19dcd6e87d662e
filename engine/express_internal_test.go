package engine

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/ladder"
)

// short asks the express way alone, and gives back what it takes.
func (e *Engine) short(class Class, claims ...Claim) (how answer, d Decision) {
	p := e.plan.Load()
	t := draft{limit: p.limits[0], door: here() << gateBits}
	req := Request{Class: class, Claims: claims}
	var told *limit
	if len(claims) == 1 {
		told, how = e.expressOne(&t, &req, p)
	} else {
		told, how = e.expressTwo(&t, &req, p)
	}
	if how != unanswered {
		t.limit = told
	}
	t.open = how == admitted
	tk := e.ticket(&t)
	d = tk.Decision()
	tk.Done(Success)
	return how, d
}

// What the shorter way leaves to the long one by mistake would cost time and no
// answer: so it is said here what it answers itself.
func TestWhatTheExpressWayAnswers(t *testing.T) {
	clock := NewManualClock(time.Date(2025, 6, 2, 12, 0, 0, 0, time.UTC))
	e := Must(New(Config{
		Limits: []Limit{
			{Name: "api", Rate: 1, Per: time.Second, Burst: 90}, {Name: "jobs", Kind: InFlight, Max: 90},
			{Name: "own", Rate: 1, Per: time.Second, Burst: 90}, {Name: "places", Kind: InFlight, Max: 90},
			{Name: "day", Kind: Quota, Rate: 90, Window: Day}, {Name: "watched", Rate: 1, Per: time.Second, Burst: 90, Mode: Shadow},
		},
		Gate: Gate{Capacity: 10}, Clock: clock, MaxEntries: 1 << 14,
	}))
	defer func() { require.NoError(t, e.Close()) }()
	u := e.Key("u")
	take := func(c Claim) *Ticket {
		tk := e.Admit(Request{Class: Read, Claims: []Claim{c}})
		require.True(t, tk.OK())
		return &tk
	}
	for id := LimitID(1); id <= 4; id++ {
		take(id.Claim(u)).Done(Success)
	}
	is := func(want answer, claims ...Claim) Decision {
		t.Helper()
		how, d := e.short(Read, claims...)
		require.Equal(t, want, how, "%v", claims)
		if want == unanswered {
			require.Zero(t, d, "and leaves no trace")
		}
		return d
	}
	for a := LimitID(1); a <= 4; a++ {
		is(admitted, a.Claim(u))
		is(admitted, a.ClaimN(u, 2))
		for b := LimitID(1); b <= 4; b++ {
			if a < b {
				is(admitted, a.Claim(u), b.Claim(u))
			} else {
				is(unanswered, a.Claim(u), b.Claim(u))
			}
		}
		stranger := e.Key("stranger")
		is(unanswered, a.Claim(stranger))
		for _, none := range []Claim{a.ClaimN(u, 0), a.ClaimN(u, -1), a.ClaimN(u, 91), LimitID(0).Claim(u), LimitID(5).Claim(u), LimitID(6).Claim(u), LimitID(7).Claim(u)} {
			is(unanswered, none)
			is(unanswered, a.Claim(u), none)
		}
	}

	// Refusals: for whomever they are, and next to what.
	var held []*Ticket
	for id := LimitID(1); id <= 4; id++ {
		held = append(held, take(id.ClaimN(e.Key("spent"), 90)))
	}
	for a := LimitID(1); a <= 4; a++ {
		require.Equal(t, a, is(refused, a.Claim(e.Key("spent"))).Limit)
		for b := a + 1; b <= 4; b++ {
			for _, other := range []string{"u", "stranger"} {
				require.Equal(t, a, is(refused, a.Claim(e.Key("spent")), b.Claim(e.Key(other))).Limit)
				require.Equal(t, b, is(refused, a.Claim(e.Key(other)), b.Claim(e.Key("spent"))).Limit)
			}
			is(refused, a.Claim(e.Key("spent")), b.Claim(e.Key("spent")))
		}
	}
	clock.Drift(2 * time.Second)
	is(unanswered, LimitID(1).Claim(e.Key("spent"))) // the true time admits it
	is(unanswered, LimitID(1).Claim(u), LimitID(3).Claim(e.Key("spent")))
	require.Equal(t, LimitID(2), is(refused, LimitID(1).Claim(e.Key("spent")), LimitID(2).Claim(e.Key("spent"))).Limit)
	clock.Advance(0)

	// The layers, for known keys and for others.
	for len(held) < 10 {
		tk := e.Admit(Request{Class: Read})
		held = append(held, &tk)
	}
	layer := func(want Layer) {
		t.Helper()
		for _, who := range []string{"u", "stranger"} {
			require.Equal(t, want, is(refused, LimitID(1).Claim(e.Key(who))).Layer)
			require.Equal(t, want, is(refused, LimitID(2).Claim(e.Key(who)), LimitID(3).Claim(e.Key(who))).Layer)
		}
	}
	layer(Fleet)
	how, _ := e.short(Critical, LimitID(1).Claim(u))
	require.Equal(t, admitted, how)
	e.level.Store(uint64(ladder.MakeWord(2, 0)))
	layer(Worker)
	half := ladder.MakeWord(0.5, 0)
	e.level.Store(uint64(half))
	shed := 0
	for n := range 200 { // of those who are told apart, each by themselves
		k := e.Key(strconv.Itoa(n))
		for cohort, who := range map[uint64]uint64{0: k.P, uint64(n)<<55*2 | 1: uint64(n)<<55*2 | 1} {
			sheds := e.shedsExpress(&Request{Class: Test, Cohort: cohort, Claims: []Claim{LimitID(1).Claim(k)}})
			require.Equal(t, half.Sheds(0, who), sheds)
			if sheds {
				shed++
			}
		}
	}
	require.Greater(t, shed, 50)
	require.Less(t, shed, 350)
	e.level.Store(uint64(ladder.MakeWord(2, 0)))
	require.NoError(t, e.SetMode("worker", Shadow))
	is(unanswered, LimitID(1).Claim(u))
	e.level.Store(0)
	for _, tk := range held {
		tk.Done(Success)
	}

	// Wherever a key lies in its window.
	for n := range 2000 {
		take(LimitID(1).Claim(e.Key(strconv.Itoa(n)))).Done(Success)
	}
	for n := range 2000 {
		k := e.Key(strconv.Itoa(n))
		is(admitted, LimitID(1).Claim(k))
		take(LimitID(3).Claim(k)).Done(Success)
		is(admitted, LimitID(1).Claim(k), LimitID(3).Claim(k))
	}
}
