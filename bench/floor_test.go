package bench

import (
	"fmt"
	"hash/maphash"
	"testing"
	"time"

	"github.com/weir-go/weir/bench/internal/workload"
	"github.com/weir-go/weir/key"
)

// BenchmarkFloor is what a decision can't be cheaper than here: its parts, and
// hash + one line + one swap together (part=floor with one hash, part=identity
// with weir's 128-bit identity).
func BenchmarkFloor(b *testing.B) {
	for _, keys := range []int{1e3, 1e6} {
		t := func() *workload.Tape { return tape(keys, workload.Uniform) }
		name := func(part string) string {
			return fmt.Sprintf("keys=%s/dist=uniform/cores=1/part=%s", workload.Count(keys), part)
		}
		b.Run(name("fetch"), func(b *testing.B) {
			drive(b, 1, t(), func(text string) bool { sink += uint64(text[0]); return true }, true)
		})
		b.Run(name("hash"), func(b *testing.B) {
			seed := maphash.MakeSeed()
			drive(b, 1, t(), func(text string) bool { sink += maphash.String(seed, text); return true }, true)
		})
		b.Run(name("key"), func(b *testing.B) {
			h := key.NewHasher(nil)
			drive(b, 1, t(), func(text string) bool { sink += h.Key(text).H; return true }, true)
		})
		b.Run(name("floor"), func(b *testing.B) {
			drive(b, 1, t(), workload.NewFloor(keys).Bare, true)
		})
		b.Run(name("identity"), func(b *testing.B) {
			drive(b, 1, t(), workload.NewFloor(keys).Identity, true)
		})
	}
	b.Run("part=clock", func(b *testing.B) {
		b.ReportAllocs()
		epoch := time.Now()
		for b.Loop() {
			sink += uint64(time.Since(epoch))
		}
	})
}
