package bucket

import (
	"sync/atomic"
	"time"
)

// Window is a calendar window.
type Window uint8

// The windows. They begin where the calendar of the zone says.
const (
	WindowUnset Window = iota
	Minute
	Hour
	Day
	Month
)

var windowNames = [...]string{"unset", "minute", "hour", "day", "month"}

// String returns the window's name in lower case.
func (w Window) String() string {
	if int(w) < len(windowNames) {
		return windowNames[w]
	}
	return "unknown"
}

// lookahead is how many windows are worked out beforehand, so that decisions
// go on being right while nobody calls Update.
const lookahead = 8

// Calendar numbers the windows of a time zone and knows when each of the next
// ones ends. It follows the wall clock, but never backwards: when the wall
// clock steps back, the window it is in goes on until the wall clock passes its
// end.
//
// Update is called from one goroutine; everything else is safe beside it.
type Calendar struct {
	zone   *time.Location
	window Window
	reset  time.Duration

	ahead atomic.Pointer[ends]
}

// ends are the windows from the current one on: id[i] lasts until at[i], in ns
// since the engine's epoch, which is wall[i] by the calendar.
type ends struct {
	id   [lookahead]int64
	at   [lookahead]int64
	wall [lookahead]time.Time
}

// NewCalendar returns a calendar whose days and months begin at the local time
// reset, 0 to 24 h, in the zone. Where the clocks skip that time, the window
// begins when they have skipped it.
func NewCalendar(w Window, zone *time.Location, reset time.Duration) *Calendar {
	return &Calendar{zone: zone, window: w, reset: reset}
}

// Same reports whether two calendars cut time alike.
func (c *Calendar) Same(o *Calendar) bool {
	return c.window == o.window && c.reset == o.reset && c.zone.String() == o.zone.String()
}

// Update works out the windows from the moment that is now on the engine's
// clock and wall by the calendar.
func (c *Calendar) Update(now int64, wall time.Time) {
	wall = wall.Round(0)
	id, end := c.locate(wall)
	if e := c.ahead.Load(); e != nil {
		// The window that requests are counted in already, whatever the wall says.
		if is, until := e.current(c, now); id < is {
			id, end = is, until
		}
	}
	e := new(ends)
	for i := range e.id {
		e.id[i], e.at[i], e.wall[i] = id, now+int64(end.Sub(wall)), end
		id, end = c.locate(end)
	}
	c.ahead.Store(e)
}

// current returns the number of the window that now lies in and its end.
func (e *ends) current(c *Calendar, now int64) (id int64, end time.Time) {
	for i := range e.at {
		if now < e.at[i] {
			return e.id[i], e.wall[i]
		}
	}
	_, end = c.locate(e.wall[lookahead-1])
	return e.id[lookahead-1] + 1, end
}

func (c *Calendar) at(now int64) uint64 {
	e := c.ahead.Load()
	for i := range e.at {
		if now < e.at[i] {
			return uint64(e.id[i])
		}
	}
	return uint64(e.id[lookahead-1]) + 1
}

// end returns when the window with that number (modulo 2^16) ends.
func (c *Calendar) end(id uint64, now int64) int64 {
	e := c.ahead.Load()
	for i := range e.id {
		if window(uint64(e.id[i])) == id {
			return e.at[i]
		}
	}
	return e.at[lookahead-1]
}

// locate returns the number of the window that t lies in and the moment it ends.
func (c *Calendar) locate(t time.Time) (id int64, end time.Time) {
	switch c.window {
	case Minute:
		id = floorDiv(t.Unix(), 60)
		return id, time.Unix((id+1)*60, 0)
	case Hour:
		_, off := t.In(c.zone).Zone()
		part := int64(((off % 3600) + 3600) % 3600) // zones that are off by a part of an hour
		id = floorDiv(t.Unix()+part, 3600)
		return id, time.Unix((id+1)*3600-part, 0)
	}
	y, m, d := t.In(c.zone).Date()
	step := func(n int) (time.Time, int64) {
		if c.window == Month {
			return c.begin(y, m+time.Month(n), 1), int64(y)*12 + int64(m) - 1 + int64(n)
		}
		return c.begin(y, m, d+n), floorDiv(time.Date(y, m, d+n, 0, 0, 0, 0, time.UTC).Unix(), 86400)
	}
	// With a reset close to 24 h, or a zone that skips, t may lie one window off.
	for n := -1; ; n++ {
		if end, _ = step(n + 1); t.Before(end) {
			_, id = step(n)
			return id, end
		}
	}
}

// begin is the moment at which the local clocks of that day show the reset
// time, or, where they skip it, the moment of the skip.
func (c *Calendar) begin(y int, m time.Month, d int) time.Time {
	sec, ns := int(c.reset/time.Second), int(c.reset%time.Second)
	want := time.Date(y, m, d, 0, 0, sec, ns, time.UTC)
	t := time.Date(y, m, d, 0, 0, sec, ns, c.zone)
	if t.Hour() == want.Hour() && t.Minute() == want.Minute() {
		return t
	}
	from, to := t.ZoneBounds()
	if t.Sub(from) < 24*time.Hour {
		return from
	}
	return to
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
