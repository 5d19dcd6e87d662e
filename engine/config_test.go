package engine_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/gate"
	"github.com/weir-go/weir/ladder"
)

// Every fault of a limit is an error that names the limit, the field and the
// value.
func TestConfigErrorsNameLimitFieldAndValue(t *testing.T) {
	token := func(rate int64, per time.Duration, burst int64) engine.Limit { return tokens("x", rate, per, burst) }
	for says, l := range map[string]engine.Limit{
		"rate 0: must be at least 1; to let nothing pass use kind block, to let everything pass use kind unlimited": token(0, time.Second, 5),
		"rate -1: ":                   token(-1, time.Second, 5),
		"per 0s: ":                    token(1, 0, 5),
		"per -1s: ":                   token(1, -time.Second, 5),
		"burst 0: ":                   token(100, time.Second, 0),
		"burst -5: ":                  token(1, time.Second, -5),
		"burst 9223372036854775807: ": token(1, time.Second, math.MaxInt64),
		"burst 1000000 at rate 1 per 277777h46m40s: takes more than 146 years to fill": token(1, 1e9*time.Second, 1e6),
		"rate 9 per 1ns with burst 1: ":                    token(9, 1, 1),
		"max 0: ":                                          inFlight("x", 0),
		"max -1: ":                                         inFlight("x", -1),
		"max 16777215: ":                                   inFlight("x", 16777215),
		"rate 512: ":                                       {Name: "x", Kind: engine.Sliding, Rate: 512, Per: time.Hour},
		"per 1ms: too short for a table ":                  {Name: "x", Kind: engine.Sliding, Rate: 5, Per: time.Millisecond},
		"window 0: ":                                       {Name: "x", Kind: engine.Quota, Rate: 5},
		"window 9: ":                                       {Name: "x", Kind: engine.Quota, Rate: 5, Window: 9},
		`zone "Mars/Olympus": `:                            {Name: "x", Kind: engine.Quota, Rate: 5, Window: engine.Day, Zone: "Mars/Olympus"},
		`zone "Local": `:                                   {Name: "x", Kind: engine.Quota, Rate: 5, Window: engine.Day, Zone: "Local"},
		"reset at 24h0m0s: ":                               {Name: "x", Kind: engine.Quota, Rate: 5, Window: engine.Day, ResetAt: 24 * time.Hour},
		"reset at -1ns: ":                                  {Name: "x", Kind: engine.Quota, Rate: 5, Window: engine.Day, ResetAt: -1},
		"reset at 1h0m0s: means nothing":                   {Name: "x", Kind: engine.Quota, Rate: 5, Window: engine.Hour, ResetAt: time.Hour},
		"rate 0: must be ":                                 {Name: "x", Kind: engine.Quota, Window: engine.Day},
		"rate 4611686018427387904: ":                       {Name: "x", Kind: engine.Quota, Rate: 1 << 62, Window: engine.Day},
		"burst 1099511627775: must be below":               {Name: "x", Rate: 1, Per: time.Nanosecond, Burst: 1<<40 - 1, PostPaid: true},
		"kind 17: is none":                                 {Name: "x", Kind: 17},
		"rate 5: means nothing for kind block":             {Name: "x", Kind: engine.Block, Rate: 5},
		"burst 5: means nothing for kind sliding":          {Name: "x", Kind: engine.Sliding, Rate: 5, Per: time.Hour, Burst: 5},
		"per 1s: means nothing for kind in_flight":         {Name: "x", Kind: engine.InFlight, Max: 1, Per: time.Second},
		"max 5: means nothing for kind token_bucket":       {Name: "x", Rate: 1, Per: time.Second, Burst: 1, Max: 5},
		"window day: means nothing for kind token_bucket":  {Name: "x", Rate: 1, Per: time.Second, Burst: 1, Window: engine.Day},
		`zone "UTC": means nothing for kind in_flight`:     {Name: "x", Kind: engine.InFlight, Max: 1, Zone: "UTC"},
		"post-paid true: means nothing for kind in_flight": {Name: "x", Kind: engine.InFlight, Max: 1, PostPaid: true},
		"retry after -1s: ":                                {Name: "x", Kind: engine.InFlight, Max: 1, RetryAfter: -time.Second},
		"fail 7: ":                                         {Name: "x", Kind: engine.InFlight, Max: 1, Fail: 7},
		"overflow 7: ":                                     {Name: "x", Kind: engine.InFlight, Max: 1, Overflow: 7},
		"sync share: Config.Sync is nil":                   {Name: "x", Kind: engine.InFlight, Max: 1, Sync: engine.Sync{Mode: engine.SyncShare}},
		"sync share: Config.Secret is emp":                 {Name: "x", Kind: engine.InFlight, Max: 1, Sync: engine.Sync{Mode: engine.SyncShare}},
		"sync 9: is no mode":                               {Name: "x", Kind: engine.InFlight, Max: 1, Sync: engine.Sync{Mode: 9}},
		"sync: on stale 9: is no policy":                   {Name: "x", Kind: engine.InFlight, Max: 1, Sync: engine.Sync{OnStale: 9}},
		"sync: floor NaN: must be from 0 to 1":             {Name: "x", Kind: engine.InFlight, Max: 1, Sync: engine.Sync{Floor: math.NaN()}},
		"sync: floor -0.1: must be from 0 to 1":            {Name: "x", Kind: engine.InFlight, Max: 1, Sync: engine.Sync{Floor: -0.1}},
		"sync: floor 1.1: must be from 0 to 1":             {Name: "x", Kind: engine.InFlight, Max: 1, Sync: engine.Sync{Floor: 1.1}},
		"sync: grace -1ns: must not be negative":           {Name: "x", Kind: engine.InFlight, Max: 1, Sync: engine.Sync{Grace: -1}},
		"sync: cold 9: is no gain":                         {Name: "x", Kind: engine.InFlight, Max: 1, Sync: engine.Sync{Cold: 9}},
		"sync share: limits of kind sliding stay":          {Name: "x", Kind: engine.Sliding, Rate: 1, Per: time.Hour, Sync: engine.Sync{Mode: engine.SyncShare}},
	} {
		_, err := engine.New(limits(l))
		require.ErrorContains(t, err, `engine: limit "x": `+says)
		require.Equal(t, err.Error(), engine.Config.Validate(limits(l)).Error())
	}
}

func TestConfigErrorsOfNamesAndLayers(t *testing.T) {
	bad := ladder.Default()
	bad.Tick = -1
	over := math.MaxInt32
	over++ // below 0 where an int has 32 bits
	for says, cfg := range map[string]engine.Config{
		`limit "": name: must have 1 to 64 characters, has 0`: limits(tokens("", 1, time.Second, 1)),
		"has 65":                                      limits(tokens(strings.Repeat("x", 65), 1, time.Second, 1)),
		`limit "a b": name: character ' '`:            limits(tokens("a b", 1, time.Second, 1)),
		`limit "worker": name: is reserved`:           limits(tokens("worker", 1, time.Second, 1)),
		`limit "all": name: is reserved`:              limits(inFlight("all", 1)),
		`limit "a": name: is used twice`:              limits(inFlight("a", 1), inFlight("a", 2)),
		"gate: reserve NaN: ":                         {Gate: engine.Gate{Capacity: 5, Reserve: math.NaN()}},
		"gate: reserve -0.1: ":                        {Gate: engine.Gate{Capacity: 5, Reserve: -0.1}},
		"gate: reserve 1.1: ":                         {Gate: engine.Gate{Capacity: 5, Reserve: 1.1}},
		"gate: reserve +Inf: ":                        {Gate: engine.Gate{Capacity: 5, Reserve: math.Inf(1)}},
		"gate: capacity -1: ":                         {Gate: engine.Gate{Capacity: -1}},
		"gate: hard cap -1: ":                         {Gate: engine.Gate{Capacity: 5, HardCap: -1}},
		fmt.Sprintf("gate: hard cap %d: ", over):      {Gate: engine.Gate{Capacity: 5, HardCap: over}},
		fmt.Sprintf("gate: capacity %d: ", over):      {Gate: engine.Gate{Capacity: over}},
		"gate: capacity 5: must be 0 when it is adap": {Gate: engine.Gate{Capacity: 5, Adaptive: &gate.AdaptiveConfig{}}},
		"gate: adaptive: min -1: must be at least 1\nengine: gate: adaptive: tolerance 0.5: ": {Gate: engine.Gate{Adaptive: &gate.AdaptiveConfig{Min: -1, Tolerance: 0.5}}},
		"gate: capacity 0: must be set for a reserve":                                         {Gate: engine.Gate{Reserve: 0.2}},
		"gate: retry after -1s: ":                                                             {Gate: engine.Gate{Capacity: 5, RetryAfter: -time.Second}},
		"ladder: retry after -1s: ":                                                           {Ladder: engine.Ladder{RetryAfter: -time.Second}},
		"engine: ladder: config: Tick -1ns: ":                                                 {Ladder: engine.Ladder{Law: bad}},
		"default 9: is no class":                                                              {Default: 9},
		"max entries -1: ":                                                                    {MaxEntries: -1},
		fmt.Sprintf("max entries %d: ", over):                                                 {MaxEntries: over},
		"secret: 15 bytes: ":                                                                  {Secret: make([]byte, 15)},
		"clock: is a nil ":                                                                    {Clock: (*engine.ManualClock)(nil)},
	} {
		_, err := engine.New(cfg)
		require.ErrorContains(t, err, says)
		require.True(t, strings.HasPrefix(err.Error(), "engine: "), err)
	}
	require.Panics(t, func() { engine.Must(engine.New(engine.Config{Default: 9})) })
}

// The ends of the ranges belong to them.
func TestConfigExtremesAreValid(t *testing.T) {
	for _, cfg := range []engine.Config{
		{Gate: engine.Gate{Capacity: math.MaxInt32, HardCap: math.MaxInt32, Reserve: 1}},
		{Gate: engine.Gate{Capacity: 1}},
		limits(engine.Limit{Name: "x", Rate: 1, Per: time.Nanosecond, Burst: 1<<40 - 2, PostPaid: true}),
		limits(tokens(strings.Repeat("x", 64), 1, time.Second, 1), inFlight("y", 16777214)),
		{MaxEntries: 1, Secret: make([]byte, 16), Default: engine.Critical},
	} {
		require.NoError(t, cfg.Validate())
	}
}

// All that is wrong is said at once, by New and by Swap, and the old rules serve
// on.
func TestAllConfigErrorsAtOnce(t *testing.T) {
	bad := engine.Config{
		Limits:  []engine.Limit{tokens("a", 0, time.Second, 0), inFlight("b", -1), {Name: "c", Kind: engine.Sliding}, {Name: "all", Kind: engine.Quota, Zone: "x"}},
		Gate:    engine.Gate{Capacity: -5, Reserve: 7},
		Default: 88, MaxEntries: -3, Secret: []byte("short"),
	}
	f := start(t, limits(tokens("a", 1, time.Hour, 1)))
	require.True(t, f.take("a", "u", 1).OK())
	_, err := engine.New(bad)
	swap := f.Swap(bad)
	require.ErrorContains(t, swap, err.Error())
	require.ErrorContains(t, swap, "engine: secret: cannot be changed by Swap")
	for _, says := range []string{
		`limit "a": rate 0`, `limit "a": burst 0`, `limit "c": rate 0`, `limit "c": per 0s`, `limit "b": max -1`, `limit "all": name: is reserved`, `limit "all": window 0`, `limit "all": zone "x"`,
		"gate: capacity -5", "gate: reserve 7", "default 88", "max entries -3", "secret: 5 bytes",
	} {
		require.ErrorContains(t, err, says)
	}
	require.False(t, f.take("a", "u", 1).OK())
}

// The least window that a table's size allows is the one the error names.
func TestShortestSlidingWindow(t *testing.T) {
	slide := engine.Limit{Name: "x", Kind: engine.Sliding, Rate: 5, Per: time.Millisecond}
	for _, entries := range []int{1, 1000, 0, 1 << 24} {
		cfg := engine.Config{Limits: []engine.Limit{slide}, MaxEntries: entries}
		err := cfg.Validate()
		if err == nil {
			require.Less(t, entries, 1<<20)
			require.NotZero(t, entries)
			continue
		}
		_, least, ok := strings.Cut(err.Error(), "must be at least ")
		require.True(t, ok, err)
		cfg.Limits[0].Per, err = time.ParseDuration(least)
		require.NoError(t, err)
		require.NoError(t, cfg.Validate())
		cfg.Limits[0].Per /= 3
		require.Error(t, cfg.Validate())
	}
}
