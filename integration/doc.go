// Package integration holds what the tests of a fleet need that nobody who uses
// weir should have to download: a proxy that cuts, delays and swallows, and
// instances that are processes of their own.
package integration
