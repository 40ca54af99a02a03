package ratchet

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// flags blanks the value in what outsiders said of traces.
func (e *eraser) flags(ctx context.Context) error {
	for entry, err := range e.a.q.Flagged.All(ctx) {
		if err != nil {
			return fmt.Errorf("erase in flags: %w", err)
		}
		f, err := readFlagged(entry.Value)
		if err != nil || !e.said(f) {
			continue
		}
		e.Flags++
		if e.dry {
			continue
		}
		err = e.a.q.Flagged.Update(ctx, entry.Key, func(old []byte) ([]byte, error) {
			if old == nil {
				return nil, nil
			}
			f, err := readFlagged(old)
			if err != nil || !e.said(f) {
				return nil, err
			}
			f.Changes++
			return json.Marshal(f, jsontext.AllowInvalidUTF8(true))
		})
		if err != nil {
			return fmt.Errorf("erase in flags of %s: %w", entry.Key, err)
		}
	}
	return nil
}

// said blanks the words of flags and says whether any held the value.
func (e *eraser) said(f *Flagged) (changed bool) {
	for i := range f.Flags {
		x := &f.Flags[i]
		texts := []*string{&x.Reason, &x.Link, &x.Severity, &x.Project, &x.Source, &x.RawID}
		if x.Window != nil {
			texts = append(texts, &x.Window.Session, &x.Window.Service)
		}
		for _, t := range texts {
			if e.s.In(*t) {
				*t, changed = e.s.Blank(*t), true
			}
		}
	}
	if x := f.Fetch; x != nil && e.s.In(x.Said) {
		x.Said, changed = e.s.Blank(x.Said), true
	}
	return changed
}
