package assemble

import "time"

// instant is a time of a store's own clock, in nanoseconds since the store began.
type instant int64

func (i instant) add(d time.Duration) instant { return i + instant(d) }

// clock is the time by which a trace is quiet. It runs only while the store could have heard of more: with the times at which messages were stored, but
// by one step at most from one message to the next, since a longer gap may be a time in which nothing could be sent to us; and with the wall's
// clock while nothing waits in the stream. So neither downtime nor the backlog after it cuts a trace short, and a clock that is set, here or where
// the stream is kept, does no harm.
type clock struct {
	step   time.Duration
	heard  instant   // when the last message was applied
	stored time.Time // latest time at which a message was stored
	idle   time.Duration
}

// hear goes on to a message.
func (c *clock) hear(stored time.Time) {
	gap := max(0, stored.Sub(c.stored))
	if c.stored.IsZero() {
		gap = 0
	}
	c.heard, c.idle = c.heard.add(max(min(gap, c.step), c.idle)), 0
	if stored.After(c.stored) {
		c.stored = stored
	}
}

// rest says that nothing more was in the stream so long after the last message.
func (c *clock) rest(d time.Duration) { c.idle = max(c.idle, d) }

func (c *clock) now() instant { return c.heard.add(c.idle) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
