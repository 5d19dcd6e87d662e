//go:build race

package main

// underRace is for tests that need the machine's own speed: the detector makes
// a request ten times as dear, and the story's figures would be its own.
const underRace = true
