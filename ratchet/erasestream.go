package ratchet

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ingest/queue"
)

// A message of a stream cannot be rewritten, only deleted. FINDINGS and FLAGS are read in order, so that nothing may be missing before their readers: what was
// read goes at once, and what was not is counted, for it goes as soon as it is read. AUDIT nobody reads in order: an entry is told anew without the value,
// then the old one is overwritten. What could not be understood is of no use without it, and goes.

// services blanks the value in what runs that no rule explains say of themselves.
func (e *eraser) services(ctx context.Context) error {
	for entry, err := range e.a.q.Services.All(ctx) {
		if err != nil {
			return fmt.Errorf("erase in services: %w", err)
		}
		var s Service
		if err := json.Unmarshal(entry.Value, &s); err != nil {
			return fmt.Errorf("erase in service %s: %w", entry.Key, err)
		}
		n := e.unexplained(&s)
		e.Unexplained += n
		if e.dry || n == 0 {
			continue
		}
		err := e.a.q.Services.Update(ctx, entry.Key, func(old []byte) ([]byte, error) {
			var s Service
			if old == nil {
				return nil, nil
			}
			if err := json.Unmarshal(old, &s); err != nil || e.unexplained(&s) == 0 {
				return nil, err
			}
			return s.encode()
		})
		if err != nil {
			return fmt.Errorf("erase in service %s: %w", entry.Key, err)
		}
	}
	return nil
}

// unexplained blanks the words of a service's runs and says how many held the value.
func (e *eraser) unexplained(s *Service) (n int) {
	for i := range s.Unexplained {
		if e.s.In(s.Unexplained[i].What) {
			s.Unexplained[i].What = e.s.Blank(s.Unexplained[i].What)
			n++
		}
	}
	return n
}

// streams deletes the messages that hold the value, and counts those that cannot go yet.
func (e *eraser) streams(ctx context.Context) error {
	for _, s := range []struct {
		log    *queue.Log
		reader string
	}{{e.a.q.Findings, reader}, {e.a.q.Flags, flagReader}} {
		if err := e.readOnce(ctx, s.log, s.reader); err != nil {
			return fmt.Errorf("erase in streams: %w", err)
		}
	}
	if err := e.audit(ctx); err != nil {
		return fmt.Errorf("erase in the audit stream: %w", err)
	}
	for m, err := range e.a.q.ListQuarantine(ctx, 0) {
		if err != nil {
			return fmt.Errorf("erase in the quarantine: %w", err)
		}
		meta := ""
		for _, v := range m.Meta {
			meta += v + "\n"
		}
		if !e.s.In(string(m.Data)) && !e.s.In(meta) {
			continue
		}
		e.Messages++
		if e.dry {
			continue
		}
		if err := e.a.q.EraseQuarantined(ctx, m.Seq); err != nil {
			return err
		}
	}
	return nil
}

// readOnce lets go of what a log's reader is past, and counts the messages before it that hold the value.
func (e *eraser) readOnce(ctx context.Context, log *queue.Log, reader string) error {
	next, err := log.Cursor(ctx, reader)
	if err != nil {
		return err
	}
	info, err := log.Info(ctx)
	if err != nil {
		return err
	}
	for seq := info.First; seq <= info.Last && info.Messages > 0; seq++ {
		m, err := log.Get(ctx, seq)
		if errors.Is(err, queue.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		switch {
		case !e.s.In(string(m.Data)):
		case seq >= next:
			e.Unread++
		default:
			e.Messages++
			if e.dry {
				continue
			}
			if err := log.Erase(ctx, seq); err != nil { // overwritten: a purge lets go of it alone
				return err
			}
		}
	}
	if e.dry {
		return nil
	}
	return log.Purge(ctx, next)
}

// audit tells entries anew without the value, and overwrites the old ones. A kill in between leaves both, and the next time finds the old one.
func (e *eraser) audit(ctx context.Context) error {
	info, err := e.a.q.Audit.Info(ctx)
	if err != nil {
		return err
	}
	for seq := info.First; seq <= info.Last && info.Messages > 0; seq++ {
		m, err := e.a.q.Audit.Get(ctx, seq)
		if errors.Is(err, queue.ErrNotFound) || err == nil && !e.s.In(string(m.Data)) {
			continue
		}
		if err != nil {
			return err
		}
		e.Messages++
		if e.dry {
			continue
		}
		if clean := e.s.Blank(string(m.Data)); jsontext.Value(clean).IsValid() {
			if _, err := e.a.q.Audit.Append(ctx, "", []byte(clean)); err != nil {
				return err
			}
		}
		if err := e.a.q.Audit.Erase(ctx, seq); err != nil {
			return err
		}
	}
	return nil
}
