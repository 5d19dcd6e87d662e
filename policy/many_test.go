package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

// many is a policy of n limits with the given fields.
func many(n int, fields string) string {
	var b strings.Builder
	b.WriteString("max_entries: 1000\nlimits:\n")
	for i := range n {
		fmt.Fprintf(&b, "  l%d: {routes: [/%d], %s}\n", i, i, fields)
	}
	return b.String()
}

// A policy with more limits than an engine can count by is refused where the file
// is read, with their number, and not when the engine is made from it.
func TestMoreLimitsThanAnEngineCanCountByAreRefused(t *testing.T) {
	const bucket, after, block = "key: all, rate: 1/s", "key: all, rate: 1/s, post_paid: true", "kind: block"
	plans := "  p: {routes: [/p], key: identity, plan: extract p, default_plan: a, plans: {a: 1/s, b: {kind: unlimited}}, overrides: {o: {keys: x, rate: 9/s}}}\n"
	for _, c := range []struct {
		text  string
		count int // that is refused; 0: it is not
	}{
		{many(255, bucket), 0},
		{many(256, bucket), 256},
		{many(127, after), 0},
		{many(128, after), 256},
		{many(300, block), 0},
		{many(253, bucket) + plans, 0},
		{many(254, bucket) + plans, 256},
	} {
		if c.count == 0 {
			p, err := policy.Parse("p", []byte(c.text), policy.Extract("p", func(policy.Attrs) string { return "a" }))
			require.NoError(t, err)
			e, err := engine.New(p.Config())
			require.NoError(t, err)
			require.NoError(t, e.Close())
			continue
		}
		require.Equal(t, []string{fmt.Sprintf(":2:1: limits: are %d to count by, and an engine can count by 255; every plan and every override is one, post_paid takes two, and a synced limit none", c.count)}, faults(t, c.text))
	}
	require.Empty(t, faults(t, many(300, "key: all, rate: 1/s, sync: share")))
}

// What a file is for is the file's alone: limits that come with the base are not
// beside those of the file.
func TestTheBaseHasNoLimits(t *testing.T) {
	base := engine.Config{Limits: []engine.Limit{{Name: "other", Rate: 1, Per: time.Second, Burst: 1}}}
	p, err := policy.Parse("p", []byte("limits: {x: {key: all, rate: 1/s}}\n"), policy.Base(base))
	require.NoError(t, err)
	require.Equal(t, []engine.Limit{{Name: "x", Rate: 1, Per: time.Second, Burst: 1}}, p.Config().Limits)
	_, err = policy.Parse("p", []byte("limits: {x: {key: all, rate: 1/s, sync: share}}\n"), policy.Base(base))
	require.ErrorContains(t, err, "limits.x.sync")
	require.Len(t, base.Limits, 1)
}
