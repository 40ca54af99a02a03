package ratchet

import (
	"context"
	"errors"
	"strings"
	"time"
)

const (
	askTime  = 5 * time.Second  // a question to GitHub on which a sweep waits may take no longer: it is asked again later
	asksTime = 15 * time.Second // all those of one sweep together
)

// asks are the questions to GitHub on which one sweep waits, one after the other: findings and decisions wait for its end. A repository that did not answer one
// is not asked another, and when all have taken too long together none is asked any more until the next sweep. The zero value is a sweep's begin.
type asks struct {
	took   time.Duration
	silent map[string]bool // repositories that did not answer
}

// ask asks about a repository; asked is false where that has to wait for the next sweep.
func (q *asks) ask(ctx context.Context, repo string, question func(context.Context) error) (asked bool, err error) {
	repo = strings.ToLower(repo)
	if q.took >= asksTime || q.silent[repo] {
		return false, nil
	}
	began := time.Now()
	timed, cancel := context.WithTimeout(ctx, min(askTime, asksTime-q.took))
	defer cancel()
	err = question(timed)
	q.took += time.Since(began)
	if errors.Is(timed.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		if q.silent == nil {
			q.silent = map[string]bool{}
		}
		q.silent[repo] = true
	}
	return true, err
}
