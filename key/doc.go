// Package key says who is asking: it turns the parts of an identity into 128
// bits, and nothing of the text is kept.
//
//	parts ──length-prefixed──> bytes ──keyed hash──> H   tag, line and shard
//	                                 └─XXH64───────> P   cohorts, ramps, fleet shards, logs
//
// Parts are joined with their lengths, so ("ab", "c") and ("a", "bc") are two
// keys. H comes from a hash keyed with a secret, because XXH64 collisions can
// be built at will, even for every seed: nothing that tells two callers apart
// may hang on P.
package key
