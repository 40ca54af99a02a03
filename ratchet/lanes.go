package ratchet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// lanes drive each repository's batches in a goroutine of its own: one whose GitHub does not answer holds up no other. The zero value is ready.
type lanes struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	busy map[string]bool
	errs []error
}

// start drives a repository, unless it still is under way from before.
func (l *lanes) start(repo string, drive func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[repo] {
		return
	}
	if l.busy == nil {
		l.busy = map[string]bool{}
	}
	l.busy[repo] = true
	l.wg.Go(func() {
		err := drive()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.busy, repo)
		if err != nil {
			l.errs = append(l.errs, err)
		}
	})
}

// ended gives the errors of those that ended since it was last asked.
func (l *lanes) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := errors.Join(l.errs...)
	l.errs = nil
	return err
}

// driveAll starts each repository's batches, in their order. What fails for one does not stop the others.
func (a *Absorber) driveAll(ctx context.Context, now time.Time, batches []Batch) {
	of := map[string][]*Batch{}
	for i := range batches {
		repo := strings.ToLower(batches[i].Repo)
		of[repo] = append(of[repo], &batches[i])
	}
	for _, repo := range slices.Sorted(maps.Keys(of)) {
		a.lanes.start(repo, func() error {
			var errs []error
			for _, b := range of[repo] {
				if err := a.drive(ctx, now, b); err != nil {
					errs = append(errs, fmt.Errorf("batch %s: %w", b.Key(), err))
				}
			}
			return errors.Join(errs...)
		})
	}
}

// looks are when something was last looked at, by key, and until when series cool down. It is safe for concurrent use.
type looks struct {
	mu   sync.Mutex
	at   map[string]time.Time
	cool map[string]time.Time // by seriesKey; replaced, never changed
	up   map[string]bool      // roused, and not looked at since
}

func (l *looks) last(key string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at[key]
}

func (l *looks) note(key string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil {
		l.at = map[string]time.Time{}
	}
	l.at[key] = now
	delete(l.up, key)
}

// rouse has something looked at whenever that was done last.
func (l *looks) rouse(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up == nil {
		l.up = map[string]bool{}
	}
	l.up[key] = true
}

func (l *looks) roused(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up[key]
}

func (l *looks) coolUntil(series string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cool[series]
}

func (l *looks) cooling(cool map[string]time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cool = cool
}
