// Package key says who is asking: it turns the parts of an identity into 128
// bits, and nothing of the text is kept.
//
//	parts ──keyed hash of each, joined──> H   tag, line and shard
//	      └─XXH64 of each, joined───────> P   cohorts, ramps, fleet shards, logs
//
// The parts of a key stay apart, so ("ab", "c") and ("a", "bc") are two keys. H
// comes from a hash keyed with a secret, because XXH64 collisions can be built
// at will, even for every seed: nothing that tells two callers apart may hang on
// P.
//
// The package also reads client addresses, behind proxies that are trusted by
// name, and folds the spellings of a name that mean one account.
package key
