package engine_test

import (
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/ladder"
)

// everyKind is limits of each kind, one of them post-paid and one only watching.
func everyKind() []engine.Limit {
	return []engine.Limit{
		tokens("tokens", 1_000_000, time.Second, 1_000_000),
		inFlight("jobs", 1000),
		{Name: "quota", Kind: engine.Quota, Rate: 1 << 38, Window: engine.Day},
		{Name: "sliding", Kind: engine.Sliding, Rate: 511, Per: time.Second},
		{Name: "paid", Rate: 1_000_000, Per: time.Second, Burst: 1_000_000, PostPaid: true},
		{Name: "shadow", Rate: 1, Per: time.Hour, Burst: 1, Mode: engine.Shadow},
		{Name: "free", Kind: engine.Unlimited},
	}
}

// The claims that a caller writes down where they are asked for stay on its stack.
func TestClaimsStayOnTheCallersStack(t *testing.T) {
	f := start(t, engine.Config{Limits: everyKind(), Gate: engine.Gate{Capacity: 1000, Reserve: 0.2}})
	r, _ := f.Limit("tokens")
	j, _ := f.Limit("jobs")
	k := f.Key("u")
	require.Zero(t, testing.AllocsPerRun(300, func() {
		one := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{r.Claim(k)}})
		two := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{r.Claim(k), j.Claim(k)}})
		one.Done(engine.Success)
		two.Done(engine.Success)
	}))
}

func TestEveryKindIsMeasured(t *testing.T) {
	for k := engine.TokenBucket; k < engine.Block; k++ {
		require.True(t, slices.ContainsFunc(everyKind(), func(l engine.Limit) bool { return l.Kind == k }), "%v", k)
	}
}

// Nothing on the way of a request allocates: with any number of claims, on keys
// known and never seen, admitted or refused by whichever layer.
func TestAdmitAndDoneAllocateNothing(t *testing.T) {
	f := start(t, engine.Config{Limits: everyKind(), Gate: engine.Gate{Capacity: 1000, Reserve: 0.2}, MaxEntries: 1 << 16})
	var all []engine.LimitID
	for _, l := range everyKind() {
		id, ok := f.Limit(l.Name)
		require.True(t, ok)
		all = append(all, id)
	}
	names := make([]string, 200_000)
	for i := range names {
		names[i] = "user:" + strconv.Itoa(i)
	}
	next := 0
	for n := range len(all) + 1 {
		claims := make([]engine.Claim, n)
		for _, fresh := range []bool{false, true} {
			require.Zero(t, testing.AllocsPerRun(300, func() {
				k := f.Key("known")
				if fresh {
					k = f.Key(names[next], "route")
					next++
				}
				for i := range claims {
					claims[i] = all[i].Claim(k)
				}
				tk := f.Admit(engine.Request{Class: engine.Read, Claims: claims})
				if fresh && !tk.OK() {
					t.Fatal("refused")
				}
				if n > 4 {
					tk.Settle(all[4], 2)
				}
				tk.Done(engine.Success)
			}), "%d claims, never seen: %v", n, fresh)
		}
	}
}

func TestEightClaimsAllocateNothing(t *testing.T) {
	var ls []engine.Limit
	for i := range 8 {
		ls = append(ls, inFlight("jobs"+strconv.Itoa(i), 5))
	}
	f := start(t, limits(ls...))
	var claims []engine.Claim
	for _, l := range ls {
		claims = append(claims, f.claim(l.Name, "u", 1))
	}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		tk := f.Admit(engine.Request{Class: engine.Read, Claims: claims})
		if !tk.OK() {
			t.Fatal("refused")
		}
		tk.Done(engine.Success)
	}))
}

func TestRefusalsAllocateNothing(t *testing.T) {
	load := ladder.Reading{Value: 3, OK: true}
	f := start(t, engine.Config{
		Limits: []engine.Limit{
			tokens("spent", 1, time.Hour, 1), inFlight("full", 1), {Name: "never", Kind: engine.Block},
			{Name: "quota", Kind: engine.Quota, Rate: 1, Window: engine.Day}, {Name: "sliding", Kind: engine.Sliding, Rate: 1, Per: time.Hour},
			{Name: "watched", Rate: 1, Per: time.Hour, Burst: 1, Mode: engine.Shadow},
		},
		Gate:   engine.Gate{Capacity: 1, Reserve: 0},
		Ladder: engine.Ladder{Signal: func() ladder.Reading { return load }},
	})
	refused := func(reason engine.Reason, class engine.Class, claims ...engine.Claim) {
		t.Helper()
		req := engine.Request{Class: class, Claims: claims}
		require.Zero(t, testing.AllocsPerRun(300, func() {
			tk := f.Admit(req)
			if tk.Decision().Reason != reason {
				t.Fatalf("%v", tk.Decision())
			}
			tk.Done(engine.Ignored)
		}), "%v", reason)
	}
	for _, l := range []string{"spent", "quota", "sliding", "watched"} {
		require.True(t, f.take(l, "u", 1).OK())
	}
	job := f.Admit(engine.Request{Class: engine.Critical, Claims: []engine.Claim{f.claim("full", "u", 1)}})
	require.True(t, job.OK())
	refused(engine.Limited, engine.Read, f.claim("spent", "u", 1))
	refused(engine.Limited, engine.Read, f.claim("quota", "u", 1))
	refused(engine.Limited, engine.Read, f.claim("sliding", "u", 1))
	refused(engine.Limited, engine.Read, f.claim("never", "u", 1))
	refused(engine.NeverFits, engine.Read, f.claim("spent", "u", 2))
	refused(engine.Full, engine.Read, f.claim("full", "u", 1))
	refused(engine.Admitted, engine.Read, f.claim("watched", "u", 1))
	require.Equal(t, engine.Admitted, f.take("watched", "v", 1).Reason)

	other := f.Admit(engine.Request{Class: engine.Write})
	require.True(t, other.OK())
	refused(engine.Reserved, engine.Read, f.claim("spent", "v", 1), f.claim("watched", "u", 1))
	f.clock.Advance(time.Minute)
	require.Greater(t, f.Snapshot().Ladder.Level, 2.0)
	refused(engine.Shed, engine.Read, f.claim("spent", "v", 1), f.claim("watched", "u", 1))
	other.Done(engine.Success)
	job.Done(engine.Success)
	require.NoError(t, f.Close())
	refused(engine.Admitted, engine.Read, engine.LimitID(1).Claim(f.Key("u")))
}

// What the ways of the common requests do for each is part of them, and so is what a
// key is made by.
func TestExpressWayIsInlined(t *testing.T) {
	if runtime.Compiler != "gc" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("asks the gc compiler, for 64 bits")
	}
	built := map[string]string{}
	for _, c := range []struct {
		pkg, file string
		calls     []string
	}{
		{".", "admit.go", []string{
			"shard.TagOf", "shard.(*Table).Home", "key.Line", "shard.(*Line).Pick", "shard.(*Slot).has", "shard.(*Slot).Read",
			"bucket.(*Spender).Spend", "shard.(*Slot).Change", "laneOf", "(*Engine).lane",
		}},
		{".", "express.go", []string{
			"bucket.(*Spender).Spend", "bucket.(*Rule).TakeFlight", "(*plan).ordinary", "(*Engine).at", "(*Engine).enterAtOnce",
			"gate.(*Stripe).TakeOther", "shard.(*Table).Home", "shard.(*Line).Pick", "shard.(*Slot).Read", "shard.(*Slot).Change",
			"shard.(*Slot).Next", "(*limit).tokens", "(*draft).keepFlight",
		}},
		{".", "ticket.go", []string{"shard.(*Table).Release", "gate.(*Gate).LeaveBy"}},
		{"../shard", "find.go", []string{"(*Table).home", "(*Table).reachOf", "(*Line).Pick", "TagOf"}},
		{"../key", "key.go", []string{"(*Hasher).keyed", "Line", "mix8", "mix4", "mix1", "avalanche"}},
	} {
		if built[c.pkg] == "" {
			out, err := exec.Command("go", "build", "-gcflags=-m", c.pkg).CombinedOutput()
			require.NoError(t, err, "%s", out)
			built[c.pkg] = string(out)
		}
		for _, call := range c.calls {
			is := func(line string) bool {
				return strings.Contains(line, c.file+":") && strings.HasSuffix(line, ": inlining call to "+call)
			}
			require.True(t, slices.ContainsFunc(strings.Split(built[c.pkg], "\n"), is), "%s in %s", call, c.file)
		}
	}
	require.Contains(t, built["."], ": can inline (*Ticket).Done\n", "by who asks")
}
