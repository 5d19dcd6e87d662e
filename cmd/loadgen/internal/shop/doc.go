// Package shop is the service of the story: a payments API over net/http whose
// handlers hold one of a bounded pool of workers while they work. It knows
// nothing of admission; what protects it stands in front of it.
//
//	POST /v1/charges    takes money        critical
//	POST /v1/refunds    gives it back      write
//	GET  /v1/charges    lists              read; ?limit=N, the more the slower
//
// A key sk_test_... in place of sk_live_... makes any of them test-mode. Two
// things can go wrong with a shop: its database slows down, or workers are
// lost.
package shop
