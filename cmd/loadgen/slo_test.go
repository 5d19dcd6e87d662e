package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
)

// hundred is 99 requests served in 10 ms and one that fails after a second.
func hundred() *drive.Counts {
	c := drive.NewCounts()
	for i := range 100 {
		e := drive.Event{Request: &target.Request{}, Ended: 10 * time.Millisecond}
		if i == 99 {
			e.Ended, e.Result.End = time.Second, target.Failed
		}
		c.Add(&e)
	}
	return c
}

func TestObjectivesAreMetOrMissed(t *testing.T) {
	for text, met := range map[string]bool{
		"p50<20ms": true, "p50<5ms": false, "p99<20ms": true, "p99.9<20ms": false, "p100<2s": true, "max<1s": false, "max<1001ms": true,
		"mean<25ms": true, "mean<15ms": false, "p50>5ms": true, "p50>20ms": false,
		"served>98%": true, "served>99%": false, "served>99.5%": false, "served<99.5%": true, " served > 98 % ": true,
	} {
		o, err := parseObjectives(text)
		require.NoError(t, err, text)
		require.Equal(t, met, o[0].missed(hundred()) == "", "%s: %s", text, o[0].missed(hundred()))
		require.NotEmpty(t, o[0].missed(nil), "%s of nothing is not met", text)
		require.NotEmpty(t, o[0].missed(drive.NewCounts()), "%s of nothing is not met", text)
	}
	all, err := parseObjectives("critical>99.9%,test.p99<1s")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "critical", all[0].class.String())
	require.Equal(t, "test", all[1].class.String())

	whole := drive.NewCounts()
	whole.Add(&drive.Event{Request: &target.Request{}, Ended: time.Millisecond})
	o, err := parseObjectives("served>100%")
	require.NoError(t, err)
	require.Empty(t, o[0].missed(whole), "all of it can be asked for")
}
