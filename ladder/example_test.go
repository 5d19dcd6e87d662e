package ladder_test

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/ladder"
)

// An overload of two minutes in front of a ladder, on a clock of the example's
// own.
func Example() {
	law := ladder.Default()
	l := ladder.New(law)
	now := time.Unix(0, 0)
	for second := range 300 {
		load := 0.65
		if second >= 60 && second < 180 {
			load = 1.0 // every worker busy
		}
		now = now.Add(law.Tick)
		l.Tick(now, ladder.Reading{Value: load, At: now, OK: true})
		if second%60 == 59 {
			word := ladder.MakeWord(l.Level(), 0)
			fmt.Printf("level %.2f: test mode shed %v, writes shed %v\n", l.Level(), word.Sheds(0, 1), word.Sheds(2, 1))
		}
	}
	// Output:
	// level 0.00: test mode shed false, writes shed false
	// level 2.74: test mode shed true, writes shed false
	// level 3.00: test mode shed true, writes shed true
	// level 2.80: test mode shed true, writes shed false
	// level 2.46: test mode shed true, writes shed false
}

// Two signals as one: the worse drives, and one that fails is left out.
func ExampleMax() {
	now := time.Unix(100, 0)
	cpu := ladder.Reading{Value: 0.6, At: now, OK: true}
	pool := ladder.Reading{Value: 0.9, At: now, OK: true}
	signal := ladder.Max(
		ladder.Source{Name: "cpu", Read: func() ladder.Reading { return cpu }},
		ladder.Source{Name: "pool", Read: func() ladder.Reading { return pool }},
	)
	fmt.Println(signal.Read().Value, signal.Driver())

	cpu.At, pool.OK = now.Add(time.Second), false
	fmt.Println(signal.Read().Value, signal.Driver())
	// Output:
	// 0.9 pool
	// 0.6 cpu
}
