// Package cputime is how long the process has had a processor. Unlike the time
// on the wall it stands still while something else has the core, so it tells a
// slower program from a busier machine; it also stands still while the program
// waits, so it is no substitute for the wall.
package cputime
