package fleet_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
)

// turn gives an instance a limit of another kind or mode under the same name, as
// a reload does: nothing of the old form can be read on.
func (b *box) turn(l engine.Limit) {
	var err error
	b.shared[l.Name], err = b.f.Bind(engine.Binding{ID: 1, Limit: l, Rule: rule(b.w.t, l)})
	require.NoError(b.w.t, err)
}

// Instances that share a bucket and instances that lease from it spend from one:
// while a deploy rolls from one to the other, and for as long as it is half done,
// the fleet admits what one bucket would.
func TestABucketThatSomeShareAndOthersLeaseFromIsOne(t *testing.T) {
	shared, leased := tokenBucket(1000, 200), strict(1000, 200)
	for _, n := range []int{2, 10} {
		for name, c := range map[string]struct{ was, is engine.Limit }{"to strict": {shared, leased}, "to share": {leased, shared}} {
			t.Run(fmt.Sprint(n, " ", name), func(t *testing.T) {
				w := newWorld(t, n, fleet.Config{}, c.was)
				w.seconds(0.5)
				d := w.drive(shared, user, 3000, balanced(n))
				w.seconds(4)
				for i, b := range w.boxes {
					if b.turn(c.is); i == n/2-1 {
						w.seconds(10)
					}
					w.seconds(0.3)
				}
				w.seconds(4)
				t.Logf("admitted/one %.4f excess %.0f jain %.3f seconds %v", float64(sum(d.admitted))/float64(d.truth.n), d.excess(1000, 200), d.jain(), d.perSecond)
				require.InDelta(t, 1, float64(sum(d.admitted))/float64(d.truth.n), 0.02)
				require.Less(t, d.excess(1000, 200), 400.0)
				require.Greater(t, d.jain(), 0.9, "neither half starves the other")
			})
		}
	}
}

// What is in flight under a strict limit is not forgotten by those that still
// share it, nor counted by them: each form keeps to its limit, the fleet to both.
func TestPlacesOfAStrictLimitLieApartFromSharedOnes(t *testing.T) {
	shared, strict := inFlight(10), inFlight(10)
	strict.Sync.Mode = engine.SyncStrict
	for name, c := range map[string]struct{ was, is engine.Limit }{"to strict": {shared, strict}, "to share": {strict, shared}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 4, fleet.Config{}, c.was)
			w.seconds(1)
			type held struct {
				in engine.Shared
				h  engine.Handle
			}
			var running []held
			forms := make([]engine.SyncMode, len(w.boxes))
			by := map[engine.SyncMode]int{}
			take := func(i int) {
				for range 10 {
					step, h := w.boxes[i].ask("jobs", user, 1)
					if step.Reason != engine.Admitted {
						return
					}
					running = append(running, held{w.boxes[i].shared["jobs"], h})
					by[forms[i]]++
				}
			}
			both := 0
			fill := func(lasts int) {
				for range lasts {
					for i := range w.boxes {
						take(i)
					}
					w.seconds(0.1)
					require.LessOrEqual(t, by[engine.SyncStrict], 10, "strict places")
					both = max(both, by[engine.SyncStrict]+by[engine.SyncShare])
				}
			}
			for i := range w.boxes {
				forms[i] = c.was.Sync.Mode
			}
			fill(50)
			for i := range w.boxes {
				w.boxes[i].turn(c.is)
				forms[i] = c.is.Sync.Mode
				fill(50)
			}
			require.Greater(t, both, 10, "the old requests still run, or the test proves nothing")
			// Of shared ones each instance may use a fourth of the limit before it is heard.
			require.LessOrEqual(t, both, 10+(10+3*2))
			for _, r := range running {
				r.in.Done(r.h.ID, r.h.Cost)
			}
			w.seconds(2)
			running, by = nil, map[engine.SyncMode]int{}
			for range 50 {
				take(0)
				w.seconds(0.1)
			}
			require.Equal(t, 10, len(running), "all of it is there again, for one")
		})
	}
}

// A bucket and a quota of the same name are two: neither is read as the other, and
// each is kept to by those that have it.
func TestABucketAndAQuotaOfOneNameAreTwo(t *testing.T) {
	cap := daily(500)
	cap.Name = "api"
	for _, bucket := range []engine.Limit{tokenBucket(100, 200), strict(100, 200)} {
		for name, c := range map[string]struct{ was, is engine.Limit }{"to quota": {bucket, cap}, "to bucket": {cap, bucket}} {
			t.Run(fmt.Sprint(bucket.Sync.Mode, " ", name), func(t *testing.T) {
				w := newWorld(t, 4, fleet.Config{}, c.was)
				w.seconds(0.5)
				var units, tokens, seconds int64
				turned := 0
				second := func() {
					for range 10 {
						for i, b := range w.boxes {
							l, n := c.was, int64(0)
							if i < turned {
								l = c.is
							}
							for ; n < 100; n++ {
								if step, _ := b.ask("api", user, 1); step.Reason != engine.Admitted {
									break
								}
							}
							if l.Kind == engine.Quota {
								units += n
							} else {
								tokens += n
							}
						}
						w.seconds(0.1)
					}
					seconds++
				}
				for range 5 {
					second()
				}
				for _, b := range w.boxes {
					b.turn(c.is)
					turned++
					for range 5 {
						second()
					}
				}
				t.Logf("%d units, %d tokens in %d s", units, tokens, seconds)
				require.LessOrEqual(t, units, int64(500))
				require.GreaterOrEqual(t, units, int64(490))
				require.LessOrEqual(t, tokens, 200+100*seconds+200)
			})
		}
	}
}

// What a change means while it rolls is said once, by each instance that has it.
func TestALimitInAnotherFormIsToldOfOnce(t *testing.T) {
	cap := daily(500)
	cap.Name = "api"
	jobs, kept := inFlight(10), inFlight(10)
	kept.Sync.Mode = engine.SyncStrict
	for name, c := range map[string]struct {
		was, is engine.Limit
		says    string
	}{
		"bucket to strict": {tokenBucket(10, 10), strict(10, 10), "spends from one bucket"},
		"bucket to share":  {strict(10, 10), tokenBucket(10, 10), "spends from one bucket"},
		"bucket to quota":  {strict(10, 10), cap, "may admit what both admit"},
		"quota to bucket":  {cap, tokenBucket(10, 10), "may admit what both admit"},
		"places to strict": {jobs, kept, "may admit what both admit"},
		"places to share":  {kept, jobs, "may admit what both admit"},
		"another rate":     {tokenBucket(10, 10), tokenBucket(20, 10), ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, fleet.Config{})
			var text bytes.Buffer
			w.boxes[0].log = slog.New(slog.NewTextHandler(&text, nil))
			w.boxes[0].start(c.was)
			require.Empty(t, text.String())
			w.boxes[0].turn(c.is)
			w.boxes[0].turn(c.is) // and reloads that change nothing
			if c.says == "" {
				require.Empty(t, text.String())
				return
			}
			require.Equal(t, 1, strings.Count(text.String(), "\n"), text.String())
			require.Contains(t, text.String(), c.says)
			require.Contains(t, text.String(), "limit="+c.is.Name)
		})
	}
}
