// Command budget measures weir against what it may cost: ratios between figures
// of one run, taken in turns, because absolute times on a shared machine say
// little. The ratios to other libraries are in bench/versus, which has them as
// dependencies.
package main
