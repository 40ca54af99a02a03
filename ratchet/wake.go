package ratchet

import (
	"slices"
	"strings"
)

// Woken names a repository in which something happened: by its number, 0 if that is not known, and the names that it has or had. The zero value is every
// repository.
type Woken struct {
	RepoID int64
	Names  []string
}

func (w Woken) of(b *Batch) bool {
	if w.RepoID == 0 && len(w.Names) == 0 || w.RepoID != 0 && b.Intent != nil && b.Intent.RepoID == w.RepoID {
		return true
	}
	return slices.ContainsFunc(w.Names, func(n string) bool {
		return strings.EqualFold(n, b.Repo) || b.Intent != nil && strings.EqualFold(n, b.Intent.FullName)
	})
}

const maxWoken = 100 // more at once are as good as all

// Wake has a repository's pull requests looked at in a sweep that comes at once, however short ago that was done. It only hastens what is done anyway: a
// wake that is lost costs the time until the next look, and one too many costs a look.
func (a *Absorber) Wake(w Woken) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.woken = append(a.woken, w); len(a.woken) > maxWoken {
		a.woken = []Woken{{}}
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// rouse forgets that the batches of woken repositories were looked at, and that they wait for what a person may have changed. Until a batch is looked at, it
// stays woken: its repository may be under way.
func (a *Absorber) rouse(batches []Batch) {
	a.mu.Lock()
	woken := a.woken
	a.woken = nil
	a.mu.Unlock()
	for i := range batches {
		if b := &batches[i]; slices.ContainsFunc(woken, func(w Woken) bool { return w.of(b) }) {
			a.looks.rouse(b.Key())
		}
	}
}
