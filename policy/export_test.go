package policy

// WatchEvery is Watch with another time between two looks without an event.
var WatchEvery = watchEvery

// RoutesKept is how many routes the policy in force has been worked out for.
func (b *Bound) RoutesKept() int { return b.current.Load().routes.Size() }
