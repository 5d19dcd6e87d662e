// Package bucket is the state of one key: every kind of limiter is a pure step
// on one 64-bit word.
//
//	        63      56 55                                          0
//	word    [ version | payload                                    ]
//	token   [         | V: the bucket's theoretical arrival         ]   token.go
//	quota   [         | window 16 | used 40                         ]   quota.go
//	sliding [         | sub-window 11 | 5 counts of 9               ]   sliding.go
//	flight  [         | generation 32 | count 24                    ]   flight.go
//	hold    [         | sequence 16 | held 40                       ]   hold.go
//
// A step gets the word, the instant on the rule's own clock ([Rule.At]) and a
// cost, and returns the next word; it reads no clock and writes nothing. That
// is what lets one compare-and-swap loop drive every kind, and lets a model
// with exact fractions check each of them.
//
// The version belongs to whoever keeps the word (package shard); every step
// carries it over. A payload of all ones is reserved for a word in transition
// ([Frozen]); no step ever returns it.
//
// What each kind admits at worst in any interval of length L, from one key:
//
//	token    burst + rate*L             (10 per minute with burst 10: 19 in its first minute)
//	quota    2*rate in L <= window      (the end of one window and the start of the next)
//	sliding  rate in any L <= per       (and may make a caller wait up to per/4 longer)
//	flight   max at once
package bucket
