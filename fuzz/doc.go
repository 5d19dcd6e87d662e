// Package fuzz tests what crosses rooms, with inputs that a fuzzer makes up.
//
// Every target takes a tape of bytes and decodes operations or documents from
// it: coverage-guided mutation finds its way through bytes, not through
// numbers. What the engine answers is compared with a sequential model in exact
// fractions (model_test.go); parsers are held to what they promise of any
// input. Seeds and past failures lie in testdata/fuzz and are replayed by every
// go test.
package fuzz
