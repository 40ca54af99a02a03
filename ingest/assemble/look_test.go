package assemble

import (
	"errors"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/queue"
)

func TestLook(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	look := func(recent bool) (Revision, bool, error) {
		_, r, open, err := s.Look(t.Context(), nameOf(0), recent)
		return r, open, err
	}
	if _, _, err := look(false); !errors.Is(err, ErrNotFound) {
		t.Errorf("before it came: %v", err)
	}
	apply(t, s, message(1, 0, queue.Traces, body(t, sp{id: "r"})))
	if _, open, err := look(true); err != nil || !open {
		t.Errorf("while it is collected: open %v, %v", open, err)
	}
	rest(t, s, time.Minute)
	r, open, err := look(true)
	if all := d.all(); err != nil || open || len(all) != 1 || r.Digest != all[0].Digest {
		t.Fatalf("once it is complete: open %v, %v, %+v", open, err, r)
	}
	if again, _, _ := look(false); string(again.Previous) != string(r.Previous) || len(r.Previous) == 0 {
		t.Errorf("its note is %q and %q", r.Previous, again.Previous)
	}
	apply(t, s, message(2, 26*time.Hour, queue.Traces, body(t, sp{id: "x", trace: 1})))
	if _, _, err := look(true); !errors.Is(err, ErrNotFound) {
		t.Errorf("a day later, among recent ones: %v", err)
	}
	if old, open, err := look(false); err != nil || open || old.Digest != r.Digest {
		t.Errorf("a day later: open %v, %v", open, err)
	}
	if _, _, _, err := s.Look(t.Context(), "run-7", false); !errors.Is(err, ErrNotFound) {
		t.Errorf("an id that is none: %v", err)
	}
}
