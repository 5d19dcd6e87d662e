// Package ladder is how much to shed: a damped control loop that turns one
// load signal into a level between "nothing" and "everything but critical".
//
//	sensors ──> Reading ──> Ladder.Tick, once a tick ──> level L ──> Word ──> Word.Sheds, every request
//	            (value, age)  filter, arm, shed, brake,    in tiers    one atomic load and one compare
//	                          wait, restore
//
// The level counts tiers from the bottom: at L = 1.4 all of tier 0 (test-mode
// traffic) and 40 % of tier 1 (reads) are shed. Inside the tier at the boundary
// the hash of the requester decides, so the same ones are shed while the level
// stands, and raising it only ever adds to them.
//
// What the package promises, for any sequence of readings whatever:
//
//   - the level stays within 0 and Config.Max, and with the default Max
//     critical traffic is never shed;
//   - it never rises by more than Config.StepUp per tick, nor falls by more than
//     Config.StepDown while the sensor speaks;
//   - a reading that is missing, not a number, negative or not newer than the
//     last one changes nothing for Config.Grace; from then on the ladder opens;
//   - noise around a normal load never arms it, and a step change of load is
//     answered by one rise and one fall.
//
// A Ladder reads no clock and starts no goroutine; its owner calls Tick.
// docs/ladder.md explains the law in words and holds the measured figures.
package ladder
