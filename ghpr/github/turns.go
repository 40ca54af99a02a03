package github

import (
	"context"
	"sync"
	"time"
)

// turns spaces writes: those to one repository leave one after the other, each a pace after the end of the one before; those to several leave side by
// side, a pace apart. GitHub asks for a second between writes, and one repository that does not answer is no reason for the others to wait.
type turns struct {
	pace time.Duration

	mu   sync.Mutex
	of   map[string]chan time.Time // by repository: holds the end of its last write, and is empty while one is under way
	next time.Time                 // when the next write may leave
}

// take waits for a repository's turn; done ends it. The error is the context's, and nothing was taken.
func (t *turns) take(ctx context.Context, repo string) (done func(), err error) {
	slot := t.slot(repo)
	select {
	case last := <-slot:
		if err := Sleep(ctx, t.wait(last)); err != nil {
			slot <- last
			return nil, err
		}
		return func() { slot <- time.Now() }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *turns) slot(repo string) chan time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, ok := t.of[repo]
	if !ok {
		slot = make(chan time.Time, 1)
		slot <- time.Time{}
		t.of[repo] = slot
	}
	return slot
}

// wait books the next time at which a write may leave.
func (t *turns) wait(last time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	at := now
	for _, free := range []time.Time{t.next, last.Add(t.pace)} {
		if free.After(at) {
			at = free
		}
	}
	t.next = at.Add(t.pace)
	return at.Sub(now)
}
