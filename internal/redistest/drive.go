package redistest

import (
	"time"

	"github.com/weir-go/weir/engine"
)

// Pace calls send rate times a second, for as long as lasts, with the time since
// it began; what the machine made late it makes up for. each, if not nil, is
// called about once a millisecond.
func Pace(rate float64, lasts time.Duration, each, send func(at time.Duration)) {
	start, sent := time.Now(), 0.0
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for range pace.C {
		at := time.Since(start)
		if at >= lasts {
			return
		}
		if each != nil {
			each(at)
		}
		for ; sent < rate*at.Seconds(); sent++ {
			send(at)
		}
	}
}

// Ask decides one request of the user of these parts, which is done at once, and
// returns how long the decision took.
func Ask(e *engine.Engine, limit engine.LimitID, user ...string) (ok bool, took time.Duration) {
	from := time.Now()
	tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{limit.Claim(e.Key(user...))}})
	took, ok = time.Since(from), tk.OK()
	tk.Done(engine.Success)
	return ok, took
}
