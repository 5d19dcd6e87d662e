package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/weir-go/weir/cmd/loadgen/internal/arrival"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
)

// The users of a quiet day, and what they ask for per second. Each sends less
// than one request a second.
const (
	liveUsers, testUsers = 400, 100

	testRate, readRate, writeRate, chargeRate = 16, 80, 32, 28
)

func perSecond(n int64) arrival.Constant { return arrival.Constant{N: n, Per: time.Second} }

// quietDay is the traffic that all acts have in common.
func quietDay(s setting, length time.Duration) []*target.Request {
	live, test := accounts("cus", liveUsers), accounts("dev", testUsers)
	poisson := func(rate int64, stream uint64) arrival.Plan {
		return arrival.Poisson(perSecond(rate), s.seed*1000+stream, length)
	}
	var all []*target.Request
	for _, c := range []crowd{
		{class: engine.Test, ask: anything, accounts: test, test: true, plan: poisson(testRate, 1)},
		{class: engine.Read, ask: list, accounts: live, plan: poisson(readRate, 2)},
		{class: engine.Write, ask: refund, accounts: live, plan: poisson(writeRate, 3)},
		{class: engine.Critical, ask: charge, accounts: live, plan: poisson(chargeRate, 4)},
	} {
		all = append(all, c.requests(s)...)
	}
	return all
}

func accounts(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%03d", prefix, i)
	}
	return names
}

// crowd is a group of accounts that do one kind of thing.
type crowd struct {
	group    string // a row of its own in the tables; "" for the class's row
	class    engine.Class
	ask      func(r *target.Request, rng *rand.Rand)
	accounts []string
	test     bool // with test-mode keys
	patience time.Duration
	from     time.Duration // when the plan begins
	plan     arrival.Plan
}

// requests are what the crowd sends. What each asks, and for whom, is drawn
// from the seed and the crowd.
func (c crowd) requests(s setting) []*target.Request {
	name := c.group + "/" + c.class.String()
	rng := rand.New(rand.NewPCG(s.seed, xxhash.Sum64String(name)))
	var out []*target.Request
	for due, ok := c.plan.Next(); ok; due, ok = c.plan.Next() {
		account := c.accounts[rng.IntN(len(c.accounts))]
		r := &target.Request{
			Due: c.from + due, Class: c.class, Group: c.group, User: account, Timeout: cmp.Or(c.patience, patience),
			ID: fmt.Sprintf("%s/%d", name, len(out)), Token: "sk_live_" + account,
		}
		if c.test {
			r.Token = "sk_test_" + account
		}
		c.ask(r, rng)
		out = append(out, r)
	}
	return out
}

func charge(r *target.Request, rng *rand.Rand) {
	r.Method, r.Path = "POST", "/v1/charges"
	r.ContentType, r.Body = "application/x-www-form-urlencoded", fmt.Sprintf("amount=%d", 100+rng.IntN(20_000))
}

func refund(r *target.Request, _ *rand.Rand) { r.Method, r.Path = "POST", "/v1/refunds" }

func list(r *target.Request, _ *rand.Rand) { r.Method, r.Path = "GET", "/v1/charges?limit=10" }

// export reads many rows at once.
func export(r *target.Request, _ *rand.Rand) { r.Method, r.Path = "GET", "/v1/charges?limit=1200" }

// anything is what test-mode keys do.
func anything(r *target.Request, rng *rand.Rand) {
	[]func(*target.Request, *rand.Rand){charge, refund, list, list}[rng.IntN(4)](r, rng)
}

// inOrder sorts requests by the time they are due; equal times keep their
// order.
func inOrder(all []*target.Request) []*target.Request {
	slices.SortStableFunc(all, func(a, b *target.Request) int { return cmp.Compare(a.Due, b.Due) })
	return all
}
