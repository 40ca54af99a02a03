package main

import "time"

// now is the day by which dates in a set are judged: the clock's, or what the hidden flag --now says, so that a check can be repeated as of then.
func (a *app) now() time.Time {
	if a.asOf.IsZero() {
		return time.Now()
	}
	return a.asOf
}
