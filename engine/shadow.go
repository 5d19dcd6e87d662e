package engine

import (
	"time"

	"github.com/weir-go/weir/key"
)

// shadowed is one request that a shadow limit would have refused.
type shadowed struct {
	limit  LimitID
	class  Class
	reason Reason
	key    key.Key
	retry  time.Duration
}

// shadowSample is how many of a limit's would-be refusals go to the log: the
// first, and then one in.
const shadowSample = 256

// wouldRefuse counts what a shadow limit would have done, and now and then
// notes whom it would have hit.
func (e *Engine) wouldRefuse(f *frame, s *step, now int64) {
	d := e.verdict(f, s, now)
	e.told(f, s, now)
	if n := s.l.ctl.tally().would[f.class][d.Reason].Add(1); n%shadowSample == 1 {
		e.samples.TryEnqueue(shadowed{s.l.id, f.class, d.Reason, f.claim(s).Key, d.RetryAfter})
	}
}
