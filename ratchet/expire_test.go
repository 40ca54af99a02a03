package ratchet

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ghpr"
)

// TestRecordingsAreLetGo: an unredacted recording is gone when its time is over, and the specimen says so.
func TestRecordingsAreLetGo(t *testing.T) {
	q := testQueue(t)
	a := absorberOver(t, q, nil, Options{Mode: ghpr.ModePreview, KeepRecordings: 30 * 24 * time.Hour})
	judge(t, q, "loop", 1)
	seen := time.Unix(1, 0)
	round(t, a, seen.Add(time.Minute))
	object := onlyGroup(t, a).Specimens[0].Object
	for _, c := range []struct {
		after time.Duration
		gone  bool
	}{{29 * 24 * time.Hour, false}, {31 * 24 * time.Hour, true}} {
		round(t, a, seen.Add(c.after))
		_, err := q.Objects.Get(t.Context(), object)
		s := onlyGroup(t, a).Specimens[0]
		if gone := err != nil; gone != c.gone || (s.Object == "") != c.gone || c.gone && !strings.Contains(s.Unrecorded, "30 days") {
			t.Errorf("after %v: %v, %+v", c.after, err, s)
		}
	}
}
