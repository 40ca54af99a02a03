package ratchet

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// judgements blanks what a model said, where redaction had left the value to it. Votes that are only kept so as to ask less are dropped.
func (e *eraser) judgements(ctx context.Context) error {
	for entry, err := range e.a.q.Judgements.All(ctx) {
		if err != nil {
			return fmt.Errorf("erase in judgements: %w", err)
		}
		if !e.s.In(string(entry.Value)) {
			continue
		}
		e.Judgements++
		if e.dry {
			continue
		}
		if err := e.judgement(ctx, entry.Key); err != nil {
			return fmt.Errorf("erase in judgement %s: %w", entry.Key, err)
		}
	}
	return nil
}

func (e *eraser) judgement(ctx context.Context, key string) error {
	spoilt := false
	err := e.a.q.Judgements.Update(ctx, key, func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, nil
		}
		clean := []byte(e.s.Blank(string(old)))
		if spoilt = !jsontext.Value(clean).IsValid() || json.Unmarshal(clean, new(Judgement)) != nil; spoilt {
			return nil, nil
		}
		return clean, nil
	})
	if err == nil && spoilt {
		err = e.a.q.Judgements.Delete(ctx, key)
	}
	return err
}
