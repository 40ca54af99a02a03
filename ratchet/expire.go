package ratchet

import (
	"context"
	"fmt"
	"time"
)

const expireEvery = time.Hour

// expire lets go of recordings that are older than Options.KeepRecordings: they lie unredacted in the object store, and whatever became of their group,
// nobody's words are kept for ever. The specimen stays, and says that its recording is gone.
func (a *Absorber) expire(ctx context.Context, now time.Time) error {
	if a.opts.KeepRecordings <= 0 || recently(now, a.looks.last("expire"), expireEvery) {
		return nil
	}
	a.looks.note("expire", now)
	groups, err := a.Groups(ctx)
	if err != nil {
		return err
	}
	old, wanted := map[string]bool{}, map[string]bool{}
	for i := range groups {
		for _, s := range groups[i].Specimens {
			if a.expired(now, &s) {
				old[s.Object] = true
			} else {
				wanted[s.Object] = true
			}
		}
	}
	if len(old) == 0 {
		return nil
	}
	for i := range groups {
		if err := a.changeGroup(ctx, groups[i].Fingerprint.Digest(), func(g *Group) (changed bool) {
			for j := range g.Specimens {
				if s := &g.Specimens[j]; a.expired(now, s) {
					s.Object, s.Unrecorded, changed = "", fmt.Sprintf("its recording was kept for %d days and is gone (absorb.keep_recordings)", int(a.opts.KeepRecordings.Hours()/24)), true
				}
			}
			return changed
		}); err != nil {
			return err
		}
	}
	for object := range old {
		if wanted[object] {
			continue
		}
		if err := a.q.Objects.Delete(ctx, object); err != nil {
			return err
		}
	}
	a.lg.Info("recordings are let go of", "recordings", len(old), "older_than", a.opts.KeepRecordings)
	return nil
}

func (a *Absorber) expired(now time.Time, s *Specimen) bool {
	return s.Object != "" && now.Sub(s.Seen) > a.opts.KeepRecordings
}
