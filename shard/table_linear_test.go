package shard_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/internal/histories"
	"github.com/weir-go/weir/shard"
)

// still is a clock that stands: on it every kind has one exact sequential
// meaning.
type still struct{}

func (still) Now() int64    { return 1e9 }
func (still) Publish(int64) {}

// tableOp is one call on one key of one limit.
type tableOp struct {
	limit, key int
	give       bool // gives the last charge back: undo or release
	cost       int64
}

// charged is what a key's word should say: how much is taken.
func tableModel(most []int64) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			by := map[[2]int][]porcupine.Operation{}
			for _, op := range history {
				in := op.Input.(tableOp)
				by[[2]int{in.limit, in.key}] = append(by[[2]int{in.limit, in.key}], op)
			}
			var out [][]porcupine.Operation
			for _, ops := range by {
				out = append(out, ops)
			}
			return out
		},
		Init: func() any { return int64(0) },
		Step: func(state, input, output any) (bool, any) {
			taken, in := state.(int64), input.(tableOp)
			if in.give {
				return true, taken - in.cost
			}
			switch output.(shard.Result) {
			case shard.Taken:
				return taken+in.cost <= most[in.limit], taken + in.cost
			case shard.Refused:
				return taken+in.cost > most[in.limit], taken
			}
			return true, taken // no room
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %v", input, output) },
	}
}

// Histories of real goroutines on a table too small for their keys are those of
// sequential counters: bucket, quota, window and count of requests in flight,
// each with its undo, while words of idle keys are given to others all the time.
func TestTheTableIsLinearizable(t *testing.T) {
	for round := range uint64(25) {
		tab := shard.New(1, still{})
		var rules []*bucket.Rule
		var ids []uint8
		var most []int64
		add := func(r bucket.Rule, err error) {
			require.NoError(t, err)
			id, err := tab.Assign(&r)
			require.NoError(t, err)
			rules, ids, most = append(rules, &r), append(ids, id), append(most, r.Max())
		}
		cal := bucket.NewCalendar(bucket.Day, time.UTC, 0)
		cal.Update(0, time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC))
		add(bucket.NewToken(1, time.Hour, 3))
		add(bucket.NewQuota(2, cal))
		add(bucket.NewSliding(2, time.Hour))
		add(bucket.NewFlight(2))

		// 60 words for 4 limits of 40 keys; most keys are idle most of the time.
		histories.Check(t, tableModel(most), 6, func(client int, call func(tableOp, func() shard.Result)) {
			rnd := rand.New(rand.NewPCG(round, uint64(client)))
			for range 200 {
				i, k := rnd.IntN(len(rules)), rnd.IntN(40)
				if rnd.IntN(2) == 0 {
					k = 0 // one key that everybody wants
				}
				c := shard.Claim{H: uint64(k+1) * 0x9e3779b97f4a7c15, Cost: 1 + rnd.Int64N(2), Rule: rules[i], ID: ids[i]}
				op := tableOp{limit: i, key: k, cost: c.Cost}
				took := shard.Refused
				call(op, func() shard.Result {
					if now := (still{}).Now(); tab.Look(&c, now) && tab.Commit(&c) {
						took = shard.Taken
					} else {
						took = tab.Take(&c, now, false)
					}
					return took
				})
				if took == shard.Taken {
					if op.give = true; rnd.IntN(4) == 0 {
						runtime.Gosched() // others meet what it has taken, on one core too
					}
					call(op, func() shard.Result { tab.Undo(&c); return took })
				}
			}
		})
		for i := range rules {
			for k := range 40 {
				if at, w := tab.Find(uint64(k+1)*0x9e3779b97f4a7c15, ids[i]); at != shard.None {
					require.True(t, rules[i].Idle(w, rules[i].At((still{}).Now())), "limit %d key %d", i, k)
				}
			}
		}
	}
}
