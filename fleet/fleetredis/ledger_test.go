package fleetredis

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/fleet"
)

// member is an instance as the ledger sees one: what it may use, and what it
// uses, never more.
type member struct {
	boot           fleet.Boot
	tick           uint64
	quota, base, n float64
	until          float64
	running        []float64 // when each of its requests ends
	alive          bool
	cut            float64 // until then
}

func (m *member) may(now float64) int {
	if now <= m.until {
		return int(m.quota)
	}
	return int(min(m.quota, m.base))
}

// The script never leases more than the allocation, whatever 50 instances do:
// beat, crash, start again, be cut off, lose replies, and whatever the store
// forgets; and with requests that are short against a lease, never more are in
// flight.
func TestTheScriptNeverLeasesMoreThanThereIs(t *testing.T) {
	const members, fixed, reserve, ttl = 50, 1000, 0.2, 1e6
	const all = fixed * 8 / 10
	steps := 8_000
	if n := batches(t); n >= 100_000 {
		steps = n
	}
	d := newDiffer(t, 3)
	ctx := context.Background()
	fleetOf := make([]*member, members)
	for i := range fleetOf {
		fleetOf[i] = &member{boot: fleet.Boot{byte(i + 1), 0}, alive: true}
	}
	worstLeased, worstRunning := 0.0, 0
	flushed, lastCut, lastBorn, flushes := 0.0, 0.0, 0.0, 0
	for range steps {
		d.now += math.Floor(d.r.ExpFloat64() * 0.1e6 / members)
		require.NoError(t, d.client.Set(ctx, "now", int64(d.now), 0).Err())
		calm := int(d.now/10e6) % 2 // in turns some are cut off, and the store forgets
		m := fleetOf[d.r.IntN(members)]
		switch x := d.r.Float64(); {
		case x < 0.001:
			m.alive = false
		case x < 0.05 && !m.alive && d.now-flushed > ttl: // a newcomer can not know what was forgotten
			b := m.boot
			b[1]++
			*m = member{boot: b, alive: true}
			lastBorn = d.now
		case x < 0.0505 && calm == 0 && d.now > m.cut+ttl:
			m.cut = d.now + d.r.Float64()*5e6 // shorter than the grace
			lastCut = max(lastCut, m.cut)
		case x < 0.2 && calm == 1 && d.now-flushed > 3*ttl && d.now > lastCut+ttl && d.now > lastBorn+ttl: // one loss at a time
			flushed = d.now
			flushes++
			require.NoError(t, d.client.Del(ctx, d.tr.GroupName("g")).Err())
		}
		if !m.alive {
			continue
		}
		// It uses all that it may, for a quarter of a lease at most.
		var still []float64
		for _, ends := range m.running {
			if ends > d.now {
				still = append(still, ends)
			}
		}
		m.running = still
		refused := 0.0
		for demand := d.r.IntN(60); demand > 0; demand-- {
			if len(m.running) < m.may(d.now) {
				m.running = append(m.running, d.now+(0.5+d.r.Float64()/2)*ttl/4)
			} else {
				refused++
			}
		}
		if d.now < m.cut {
			continue
		}
		m.tick++
		b := &fleet.Beat{Group: "g", Tick: m.tick, Capacity: fixed / members, Other: float64(len(m.running)), Held: float64(m.may(d.now)),
			Want: float64(len(m.running)) + 1 + refused, U: d.r.Float64(), TTL: ttl, Hold: ttl, Grace: 10e6, Reserve: reserve,
			Fixed: fixed, Expected: members, Known: m.n, Alone: all / members, Base: m.base}
		r, err := d.tr.Beat(ctx, m.boot, b)
		require.NoError(t, err)
		if !d.chance(0.02) { // else the reply is lost
			m.quota, m.base, m.n, m.until = r.Quota, r.Base, r.Instances, d.now+0.75*ttl
		}
		leased, running := d.leased("g", ttl), 0
		for _, m := range fleetOf {
			for _, ends := range m.running {
				if ends > d.now {
					running++
				}
			}
		}
		worstLeased, worstRunning = max(worstLeased, leased), max(worstRunning, running)
		require.LessOrEqual(t, leased, float64(all))
		require.LessOrEqual(t, running, all)
	}
	t.Logf("%d steps, %d losses: at most %v leased and %d in flight of %d", steps, flushes, worstLeased, worstRunning, all)
	require.Greater(t, worstRunning, all*7/10)
	if steps >= 100_000 {
		require.Positive(t, flushes)
	}
}

// leased sums what the group has leased, as the script counts it.
func (d *differ) leased(group string, hold float64) (sum float64) {
	all, err := d.client.HGetAll(context.Background(), d.tr.GroupName(group)).Result()
	require.NoError(d.t, err)
	for who, v := range all {
		if who == "born" {
			continue
		}
		f := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64([]byte(v[8*i:]))) }
		q, seen, base := f(3), f(5), f(6)
		switch age := d.now - seen; {
		case age > 10e6:
		case age > hold:
			sum += min(q, base)
		default:
			sum += q
		}
	}
	return sum
}
