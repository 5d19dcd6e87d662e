package fleetredis

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleettest"
	"github.com/weir-go/weir/internal/redistest"
	"github.com/weir-go/weir/key"
)

// batches is how many random batches the model is compared on: 100,000 with
// WEIR_BATCHES=100000, some thousands in an ordinary run.
func batches(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("WEIR_BATCHES"))
	if err != nil {
		n = 4000
	}
	if testing.Short() {
		n = min(n, 1000)
	}
	return n
}

// onTestTime makes the scripts as shipped read the time from a key of the test
// instead of the server's clock.
func onTestTime(t *testing.T, s script) script {
	const clock = "(t[1] - 1700000000) * 1000000 + t[2]"
	require.Equal(t, 1, strings.Count(s.source, clock))
	return newScript(strings.Replace(s.source, clock, "tonumber(redis.call('GET', 'now'))", 1))
}

// keptLong makes the batch script keep its values a thousand times as long: they end
// by the server's clock, which goes on while a test is stopped.
func keptLong(t *testing.T, s script) script {
	const life = "'PX', ceil(us / 1000)"
	require.Equal(t, 1, strings.Count(s.source, life))
	return newScript(strings.Replace(s.source, life, "'PX', ceil(us)", 1))
}

type differ struct {
	t      *testing.T
	r      *rand.Rand
	tr     *Transport
	client *redis.Client
	store  fleettest.Store
	now    float64
	boots  []fleet.Boot
	seqs   map[string]uint64
}

func newDiffer(t *testing.T, seed uint64) *differ {
	srv := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: srv.Addr})
	t.Cleanup(func() { _ = client.Close() })
	tr, err := Over(client, Options{Shards: 2})
	require.NoError(t, err)
	tr.push, tr.beat = keptLong(t, onTestTime(t, tr.push)), onTestTime(t, tr.beat)
	d := &differ{t: t, r: rand.New(rand.NewPCG(seed, 7)), tr: tr, client: client, now: 9e13, seqs: map[string]uint64{}}
	d.store.Eternal = true
	for i := range 3 {
		d.boots = append(d.boots, fleet.Boot{byte(i + 1), 9: byte(i)})
	}
	return d
}

func (d *differ) chance(p float64) bool { return d.r.Float64() < p }

func (d *differ) step() {
	switch x := d.r.Float64(); {
	case x < 0.7:
		d.now += math.Floor(d.r.ExpFloat64() * 50e3)
	case x < 0.98:
		d.now += math.Floor(d.r.Float64() * 5e6)
	case x < 0.99:
		d.now += 10e6
	case x < 0.993:
		d.now += 3e9
	default:
		d.now -= 10e6
	}
	require.NoError(d.t, d.client.Set(context.Background(), "now", strconv.FormatFloat(d.now, 'f', 0, 64), 0).Err())
}

func (d *differ) item(i int) fleet.Item {
	it := fleet.Item{Limit: "l", Key: key.Key{H: uint64(i), P: uint64(d.r.IntN(3))}}
	u := func(hi float64) float64 { return d.r.Float64() * hi }
	n := func(hi int) float64 { return float64(d.r.IntN(hi)) }
	per := []float64{1000, 1000, 1000, 333.25, 0.125}[d.r.IntN(5)]
	form := i % 4
	if form < 2 && d.chance(0.3) {
		form = 1 - form // a bucket that some instances share and others lease from
	}
	switch form {
	case 0:
		it.Op = fleet.OpRate
		tau := per * (1 + n(400))
		x0 := float64(fleet.None)
		if d.chance(0.7) {
			x0 = d.now + u(4*tau) - 2*tau
		}
		it.Arg = [fleet.Args]float64{n(200), per, x0, u(tau) - tau/10, n(300), tau + max(tau, 1e6), tau}
	case 1:
		it.Op = fleet.OpLease
		tau := per * (1 + n(400))
		give := 0.0
		if d.chance(0.4) {
			give = n(140) - 40
		}
		it.Arg = [fleet.Args]float64{give, per, d.now - u(tau), n(200), n(300), u(1), tau, 1 + n(3)}
	case 2:
		it.Op, it.Window = fleet.OpQuota, int64(d.r.IntN(2))
		gen := 0.0
		if d.chance(0.6) {
			gen = d.now - n(3)
			if raw, ok := d.store.Get(fleettest.NameOf(0, &it), d.now); ok && len(raw) == 24 {
				gen = math.Float64frombits(binary.LittleEndian.Uint64(raw[16:]))
			}
		}
		it.Arg = [fleet.Args]float64{n(13) - 3, n(100), 1000, n(1200), gen, u(1), 60e6 + u(1e6), 1 + n(3)}
	case 3:
		it.Op = []fleet.Op{fleet.OpHold, fleet.OpKeep}[d.r.IntN(2)]
		it.Arg = [fleet.Args]float64{n(5), n(6), n(9), 10, 2e6, n(12)}
	}
	return it
}

func (d *differ) name(shard int, it *fleet.Item) (string, fleettest.Name) {
	return d.tr.KeyName(shard, it), fleettest.NameOf(shard, it)
}

// spoil puts garbage, or a value of another type, under one of the batch's keys.
func (d *differ) spoil(b *fleet.Batch, boot fleet.Boot) {
	ctx := context.Background()
	rn, mn := d.name(b.Shard, &b.Items[d.r.IntN(len(b.Items))])
	if d.chance(0.1) {
		rn, mn = d.tr.SeqName(b.Shard, boot), fleettest.Seq(b.Shard, boot)
	}
	if d.chance(0.3) {
		d.client.Del(ctx, rn)
		require.NoError(d.t, d.client.RPush(ctx, rn, "x").Err())
		d.store.Set(mn, d.now, 0, nil) // what MGET sees of another type: nothing
		return
	}
	raw := make([]byte, d.r.IntN(60))
	for i := range raw {
		raw[i] = byte(d.r.UintN(256))
	}
	require.NoError(d.t, d.client.Set(ctx, rn, raw, 0).Err())
	d.store.Set(mn, d.now, 1e15, raw)
}

func (d *differ) close(what string, want, got, tolerance float64) {
	if want == got || math.Abs(want-got) <= tolerance {
		return
	}
	require.Failf(d.t, "the model and the script differ", "%s: model %v, script %v", what, want, got)
}

// The model that every simulation and unit test runs on is the script that
// every server runs: duplicates, lost values, garbage, wrong types, changed
// rates and clock steps included.
func TestModelAndScriptAgree(t *testing.T) {
	d := newDiffer(t, 1)
	ctx := context.Background()
	total, granted, eldest := batches(t), 0.0, 0.0
	for n := range total {
		d.step()
		boot := d.boots[d.r.IntN(len(d.boots))]
		shard := d.r.IntN(2)
		id := fmt.Sprint(boot, shard)
		if !d.chance(0.15) { // else a duplicate, or an older one
			d.seqs[id]++
		}
		b := &fleet.Batch{Shard: shard, Seq: max(1, d.seqs[id]), Decay: []float64{500e3, 1e12}[shard]} // one forgets soon, one hardly ever
		if d.chance(0.02) && b.Seq > 1 {
			b.Seq--
		}
		for i := range 1 + d.r.IntN(12) {
			b.Items = append(b.Items, d.item(i))
		}
		if d.chance(0.05) {
			d.spoil(b, boot)
		}
		if d.chance(0.002) {
			require.NoError(t, d.client.FlushAll(ctx).Err())
			require.NoError(t, d.client.Set(ctx, "now", strconv.FormatFloat(d.now, 'f', 0, 64), 0).Err())
			d.store.Flush()
		}
		m := *b
		m.Items = append([]fleet.Item(nil), b.Items...)
		d.store.Push(d.now, boot, &m)
		d.tr.Push(ctx, boot, []*fleet.Batch{b})
		require.NoError(t, b.Err, "batch %d", n)
		d.close("now", m.Now, b.Now, 0)
		d.close("previous number", float64(m.Prev), float64(b.Prev), 0)
		for i := range b.Items {
			w, g := m.Answers[i], b.Answers[i]
			what := fmt.Sprintf("batch %d item %d (%c)", n, i, b.Items[i].Op)
			switch b.Items[i].Op {
			case fleet.OpRate:
				d.close(what+" arrival", w[0], g[0], 1)
				d.close(what+" attempts", w[1], g[1], 1e-6*w[1])
				d.close(what+" age", w[2], g[2], 0)
				eldest = max(eldest, g[2])
			case fleet.OpLease:
				d.close(what+" arrival", w[0], g[0], 1)
				d.close(what+" attempts", w[1], g[1], 1e-6*w[1])
				d.close(what+" grant", w[2], g[2], 0)
				granted += g[2]
			default:
				for j := range w {
					d.close(fmt.Sprint(what, " ", j), w[j], g[j], 0)
				}
			}
			d.sameValue(what, b.Shard, &b.Items[i])
		}
	}
	require.Positive(t, granted)
	if !testing.Short() {
		require.Equal(t, float64(fleet.MaxAge), eldest, "no memory was kept for as long as it is counted")
	}
	t.Logf("%d batches, %v tokens leased", total, granted)
}

// sameValue compares what is stored, and adopts the server's bytes, so that
// last-digit differences of exp do not add up.
func (d *differ) sameValue(what string, shard int, it *fleet.Item) {
	rn, mn := d.name(shard, it)
	got, err := d.client.Get(context.Background(), rn).Result()
	want, ok := d.store.Get(mn, d.now)
	if err != nil {
		require.False(d.t, ok && len(want) > 0, "%s: the script stored nothing", what)
		return
	}
	require.Len(d.t, got, len(want), what)
	if it.Op.Store() == byte(fleet.OpRate) {
		w, ours := fleettest.Unpack(want)
		g, same := fleettest.Unpack([]byte(got))
		require.Equal(d.t, ours, same, what)
		if !ours { // garbage, which a duplicate leaves as it is
			require.Equal(d.t, string(want), got, what)
			return
		}
		d.close(what+" stored arrival", w.Arrival, g.Arrival, max(1, 1e-6*math.Abs(w.Arrival)))
		d.close(what+" stored attempts", w.Attempts, g.Attempts, 1e-6*w.Attempts)
		w.Arrival, w.Attempts, g.Arrival, g.Attempts = 0, 0, 0, 0
		require.Equal(d.t, w, g, what)
	}
	for i := 0; i+8 <= len(want) && it.Op == fleet.OpQuota; i += 8 {
		w := math.Float64frombits(binary.LittleEndian.Uint64(want[i:]))
		g := math.Float64frombits(binary.LittleEndian.Uint64([]byte(got[i:])))
		if w == w && g == g {
			d.close(fmt.Sprint(what, " stored ", i/8), w, g, max(1, 1e-6*math.Abs(w)))
		}
	}
	d.store.Set(mn, d.now, 1e15, []byte(got))
}

func TestModelAndScriptAgreeOnTheReservation(t *testing.T) {
	d := newDiffer(t, 2)
	ctx := context.Background()
	ticks := map[fleet.Boot]uint64{}
	for n := range batches(t) {
		d.step()
		i := d.r.IntN(len(d.boots))
		boot := d.boots[i]
		if d.chance(0.02) { // the process starts anew
			d.boots[i][1]++
			boot = d.boots[i]
		}
		if !d.chance(0.1) {
			ticks[boot]++
		}
		known := float64(d.r.IntN(4))
		b := &fleet.Beat{Group: "g", Tick: ticks[boot], Capacity: 100, Critical: float64(d.r.IntN(20)), Other: float64(d.r.IntN(60)),
			Held: float64(d.r.IntN(2) * d.r.IntN(90)), Want: float64(d.r.IntN(150)), U: d.r.Float64(), TTL: 1e6, Hold: 2e6,
			Grace: 8e6, Reserve: 0.2, Expected: float64(d.r.IntN(2) * 4), Known: known, Alone: 20, Base: float64(d.r.IntN(60)),
			Shards: float64(16 + d.r.IntN(50)/49), Signature: 5}
		if d.chance(0.5) {
			b.Fixed = 200
		}
		if d.chance(0.005) {
			require.NoError(t, d.client.Del(ctx, d.tr.GroupName("g")).Err())
			d.store.Flush()
		}
		if d.chance(0.01) {
			require.NoError(t, d.tr.Leave(ctx, boot, "g"))
			d.store.Leave(boot, "g")
		}
		want := d.store.Beat(d.now, boot, b)
		got, err := d.tr.Beat(ctx, boot, b)
		require.NoError(t, err)
		require.Equal(t, want, got, "beat %d", n)
	}
}

// A group key that somebody has overwritten heals.
func TestBeatHealsAWrongType(t *testing.T) {
	srv := redistest.Start(t)
	tr, err := New(redis.UniversalOptions{Addrs: []string{srv.Addr}}, Options{})
	require.NoError(t, err)
	defer tr.Close()
	_, err = srv.Do("SET", tr.GroupName("g"), "x")
	require.NoError(t, err)
	r, err := tr.Beat(context.Background(), fleet.Boot{1}, &fleet.Beat{Group: "g", Tick: 1, Capacity: 10, Reserve: 0.2, Alone: 8, Want: 3, TTL: 1e6, Grace: 1e7})
	require.NoError(t, err)
	require.Equal(t, 8.0, r.Base)
	require.Equal(t, 8.0, r.Quota)
}

// A layout is noted as in use for as long as an instance of it runs, and not
// longer: whoever starts with another one is told of it.
func TestTheLayoutInUseIsNotedAgainAndAgain(t *testing.T) {
	d := newDiffer(t, 4)
	ctx := context.Background()
	require.Empty(t, d.tr.Check(ctx, time.Now()).Warnings)
	other, err := Over(d.client, Options{Shards: 3})
	require.NoError(t, err)
	// beatAt reports at the server's time, as the test's script reads it.
	beatAt := func(at time.Time) {
		require.NoError(t, d.client.Set(ctx, "now", at.UnixMicro()-epoch, 0).Err())
		_, err := d.tr.Beat(ctx, fleet.Boot{1}, &fleet.Beat{Group: "g", Tick: 1, TTL: 1e6, Grace: 1e7})
		require.NoError(t, err)
	}
	start, err := d.client.Time(ctx).Result()
	require.NoError(t, err)
	for since := time.Second; since < 10*time.Minute; since += 10 * time.Second {
		beatAt(start.Add(since))
		require.Len(t, other.layouts(ctx, start.Add(since)), 1)
	}
	ttl := d.client.PTTL(ctx, d.tr.layoutsName()).Val()
	require.Positive(t, ttl)
	require.LessOrEqual(t, ttl, layoutTTL)
	require.Empty(t, d.tr.layouts(ctx, start.Add(10*time.Minute+layoutTTL)), "the other has been silent for a minute")
}
