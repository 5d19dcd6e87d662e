// Package workload is who asks in the benchmarks: the keys, the order in which
// they come, and the engines that they ask.
package workload

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// KeyLen is the length of every key's text in bytes.
const KeyLen = 20

const keyPrefix = "acct:"

// Name is the text of the key with the given number, 0 to 10^15-1.
func Name(id int) string { return string(appendName(make([]byte, 0, KeyLen), id)) }

func appendName(b []byte, id int) []byte {
	b = append(b, keyPrefix...)
	var digits [KeyLen - len(keyPrefix)]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + id%10)
		id /= 10
	}
	return append(b, digits[:]...)
}

// Dist is how keys are drawn from a population.
type Dist string

// The distributions.
const (
	Uniform Dist = "uniform" // each key as likely as any other
	Zipf    Dist = "zipf"    // the n-th most frequent as likely as 1/n^1.01: a few keys ask most
	Once    Dist = "once"    // each key once, in order: none has been seen before
)

// Tape is a sequence of keys' texts, laid out in memory in the order in which
// they are asked for, so that reading the next one costs the benchmark about a
// nanosecond at any number of keys. That is how a server meets them: the text
// comes with the request, warm, while what is kept about the key may be cold.
// (A slice of strings in random order would charge every contestant with cache
// misses of the benchmark's own, and flatter the slow ones.)
//
// A Tape is immutable and safe for concurrent use.
type Tape struct {
	text  string
	count int
}

// NewTape draws a tape from the keys first to first+keys-1. It is about twice
// as long as the population, at least 2^16 keys and at most 2^24, so a uniform
// tape meets about 86 % of the keys (81 % of 10 million) before it repeats.
func NewTape(first, keys int, dist Dist) *Tape {
	count := keys
	var draw func(i int) int
	r := rand.New(rand.NewPCG(uint64(first), uint64(keys))) // the same tape every time
	switch dist {
	case Uniform:
		count = min(max(2*keys, 1<<16), 1<<24)
		draw = func(int) int { return r.IntN(keys) }
	case Zipf:
		count = min(max(2*keys, 1<<16), 1<<24)
		z := rand.NewZipf(r, 1.01, 1, uint64(keys-1))
		draw = func(int) int { return int(z.Uint64()) }
	case Once:
		draw = func(i int) int { return i }
	default:
		panic(fmt.Sprintf("workload: unknown distribution %q", dist))
	}
	text := make([]byte, 0, count*KeyLen)
	for i := range count {
		text = appendName(text, first+draw(i))
	}
	return &Tape{text: string(text), count: count}
}

// NewHalves is a uniform tape for two cores that start half a tape apart: each
// half draws from its own half of the keys from 0 to keys-1, so the cores never
// meet on a key.
func NewHalves(keys int) *Tape {
	a, b := NewTape(0, keys/2, Uniform), NewTape(keys/2, keys/2, Uniform)
	return &Tape{text: a.text + b.text, count: a.count + b.count}
}

// Len is the number of keys on the tape.
func (t *Tape) Len() int { return t.count }

// At is the i-th key's text, for i from 0 to Len()-1.
func (t *Tape) At(i int) string { return t.text[i*KeyLen : (i+1)*KeyLen] }

// Some is the texts of the n keys from the i-th on, one behind the other.
func (t *Tape) Some(i, n int) string { return t.text[i*KeyLen : (i+n)*KeyLen] }

// Count writes a number of keys as benchmark names do: 1, 1k, 1M, 10M.
func Count(n int) string {
	switch {
	case n >= 1e6 && n%1e6 == 0:
		return strconv.Itoa(n/1e6) + "M"
	case n >= 1e3 && n%1e3 == 0:
		return strconv.Itoa(n/1e3) + "k"
	}
	return strconv.Itoa(n)
}
