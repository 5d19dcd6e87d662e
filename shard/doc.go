// Package shard is where a key's word lives: a bounded table, lock-free for
// known keys, that forgets nothing that matters.
//
//	H ──> shard ──> home line ──> up to 15 lines after it
//	                [ tag word | tag word | tag word | tag word ]   64 bytes, no pointers
//	                  tag = [ keyed hash 56 | table id 8 ]
//
// What it promises:
//
//   - One birth: under any race of first sights, known keys, undos, releases and
//     reclaims a key has one word, and no key is ever charged for another.
//   - Bounded: the memory is fixed when the table is made.
//   - Lossless: only a word that says no more than that of a key never seen is
//     given to another key. A shadow limit's words yield to an enforced limit's.
//   - Known keys take no lock. Only the first sight of a key takes the mutex of
//     its shard.
//
// How a slot changes hands, under the mutex of its shard: compare-and-swap the
// word to [version+1 | frozen], store the tag, store [version+1 | birth]. Whoever
// uses a slot without the mutex loads its word, finds its tag to be the key's
// afterwards, and changes the word only by compare-and-swap from what it loaded:
// the version in it makes that fail once the slot has changed hands. Whoever only
// refuses looks at the version once more.
package shard
