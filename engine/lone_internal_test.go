package engine

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/ladder"
)

// alone asks for the claims and reports whether Admit decided at once. It gives back
// what it takes.
func (e *Engine) alone(class Class, claims ...Claim) bool {
	t := e.Admit(Request{Class: class, Claims: claims})
	defer t.Done(Success)
	return t.state.flags == ticketLone
}

// What the way of a lone claim leaves to the others by mistake would cost time and no
// answer, and what it takes on by mistake might be refused by something else: so it is
// said here which claims are decided that way.
func TestWhatIsDecidedAtOnce(t *testing.T) {
	clock := NewManualClock(time.Date(2025, 6, 2, 12, 0, 0, 0, time.UTC))
	cfg := Config{
		Limits: []Limit{
			{Name: "api", Rate: 1, Per: time.Second, Burst: 90}, {Name: "jobs", Kind: InFlight, Max: 90},
			{Name: "paid", Rate: 1, Per: time.Second, Burst: 90, PostPaid: true}, {Name: "day", Kind: Quota, Rate: 90, Window: Day},
			{Name: "watched", Rate: 1, Per: time.Second, Burst: 90, Mode: Shadow}, {Name: "other", Rate: 1, Per: time.Second, Burst: 90},
		},
		Clock: clock, MaxEntries: 1 << 14,
	}
	const api, other = LimitID(1), LimitID(6)
	e := Must(New(cfg))
	defer func() { require.NoError(t, e.Close()) }()
	u := e.Key("u")
	require.False(t, e.alone(Read, api.Claim(u)), "a key never seen")
	for id := other - 1; id > api; id-- {
		e.alone(Read, id.Claim(u))
		require.False(t, e.alone(Read, id.Claim(u)), "limit %d", id)
	}
	for class := Test; class <= Critical; class++ {
		require.True(t, e.alone(class, api.Claim(u)))
	}
	require.True(t, e.alone(Read, api.ClaimN(u, 80)))
	require.False(t, e.alone(Read, api.ClaimN(u, 80)), "spent")
	clock.Drift(time.Minute + 20*time.Second)
	require.False(t, e.alone(Read, api.ClaimN(u, 80)), "spent, on the published time")
	clock.Advance(time.Hour)
	require.False(t, e.alone(Read, api.Claim(u)), "forgotten")
	require.True(t, e.alone(Read, api.ClaimN(u, 89)))
	clock.Advance(time.Minute)

	// What is no claim of a lone bucket, or a mistake.
	for _, claims := range [][]Claim{{}, {api.ClaimN(u, 0)}, {api.ClaimN(u, -1)}, {api.ClaimN(u, 91)}, {LimitID(0).Claim(u)}, {LimitID(7).Claim(u)}, {api.Claim(u), other.Claim(u)}} {
		require.False(t, e.alone(Read, claims...), "%v", claims)
	}
	require.False(t, e.alone(ClassUnset, api.Claim(u)))
	require.False(t, e.alone(Critical+1, api.Claim(u)))

	// What may refuse beside it.
	e.level.Store(uint64(ladder.MakeWord(0.5, 0)))
	require.False(t, e.alone(Critical, api.Claim(u)), "shedding")
	e.level.Store(0)
	for _, target := range []string{"api", "rate", "all"} {
		require.True(t, e.alone(Read, api.Claim(u)))
		require.NoError(t, e.SetMode(target, Shadow))
		require.False(t, e.alone(Read, api.Claim(u)), "%s only watches", target)
		require.NoError(t, e.SetMode(target, Enforce))
	}
	gated := cfg
	gated.Gate = Gate{Capacity: 10}
	require.NoError(t, e.Swap(gated))
	require.False(t, e.alone(Read, api.Claim(u)), "a gate")
	require.NoError(t, e.Swap(cfg))
	require.True(t, e.alone(Read, api.Claim(u)))

	precise := cfg
	precise.PreciseClock = true
	p := Must(New(precise))
	for range 2 {
		require.False(t, p.alone(Read, api.Claim(u)), "a precise clock")
	}
	require.NoError(t, p.Close())

	// Wherever in its home line a key lies; those that are away are few.
	at := 0
	for n := range 2000 {
		k := e.Key(strconv.Itoa(n))
		e.alone(Read, api.Claim(k))
		if e.alone(Read, api.Claim(k)) {
			at++
		}
	}
	require.Greater(t, at, 1900)

	require.NoError(t, e.Close())
	require.False(t, e.alone(Read, api.Claim(u)), "closed")
}

// The published time of a bucket, in its own units, moves forward only, through the
// end of its ring too, and whoever is late takes back nothing.
func TestABucketsPublishedTimeOnlyMovesForward(t *testing.T) {
	e := Must(New(Config{Limits: []Limit{
		{Name: "fast", Rate: 8, Per: time.Nanosecond, Burst: 1 << 40}, {Name: "slow", Rate: 1, Per: 30 * 24 * time.Hour, Burst: 1},
		{Name: "jobs", Kind: InFlight, Max: 1},
	}, Clock: NewManualClock(time.Time{}), MaxEntries: 1}))
	defer func() { require.NoError(t, e.Close()) }()
	p := e.plan.Load()
	const turn = 1 << 53 // ns in which 8 units per ns go once round
	for now := int64(0); now < 2*turn; now += turn / 7 {
		p.publish(now)
		p.publish(now - 5)
		p.publish(max(now-turn/3, 0))
		for _, l := range p.limits[1:3] {
			require.Equal(t, l.rule.SpendAt(now), l.at.Load(), "%s at %d", l.ctl.name, now)
		}
	}
	// After a standstill of more than half a ring too, where units alone do not tell.
	for _, now := range []int64{2*turn + turn*2/3, 4*turn - turn/5, 4*turn + turn*4/5, 6 * turn} {
		p.publish(now)
		p.publish(now - 1)
		require.Equal(t, p.limits[1].rule.SpendAt(now), p.limits[1].at.Load(), "at %d", now)
	}
	fast := p.limits[1]
	var wg sync.WaitGroup
	for g := range int64(4) {
		wg.Go(func() {
			for i, last := int64(0), fast.at.Load(); i < 100_000; i++ {
				fast.publish(6*turn + 4*i + g)
				for range 3 {
					at := fast.at.Load()
					if int64(at-last) < 0 {
						t.Errorf("%x after %x was published", at, last)
						return
					}
					last = at
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, fast.rule.SpendAt(6*turn+400_000-1), fast.at.Load())
}

// A bucket's published time is that of all: with the ticker, with whoever finds it
// late, and from the first moment of a new plan on; a changed mode leaves it be.
func TestBucketsAreToldThePublishedTime(t *testing.T) {
	clock := NewManualClock(time.Time{})
	cfg := Config{Limits: []Limit{{Name: "api", Rate: 3, Per: 7 * time.Nanosecond, Burst: 90}, {Name: "own", Rate: 1, Per: time.Second, Burst: 90}}, Clock: clock, MaxEntries: 1}
	e := Must(New(cfg))
	defer func() { require.NoError(t, e.Close()) }()
	same := func(what string) {
		t.Helper()
		for _, l := range e.plan.Load().limits[1:] {
			require.Equal(t, l.rule.SpendAt(e.time.published.Load()), l.at.Load(), "%s: %s", l.ctl.name, what)
		}
	}
	same("new")
	clock.Advance(12345)
	same("ticked")
	clock.Drift(time.Second)
	require.NoError(t, e.SetMode("api", Shadow))
	require.NoError(t, e.SetMode("api", Enforce))
	same("mode set")
	e.publishLate(e.time.Now())
	require.Equal(t, int64(time.Second+12345), e.time.published.Load())
	same("late")
	clock.Drift(time.Hour)
	cfg.Limits[0].Rate, cfg.Limits[1].Burst = 5, 7
	require.NoError(t, e.Swap(cfg))
	require.Equal(t, int64(time.Hour+time.Second+12345), e.time.published.Load())
	same("swapped")
}
