package assemble

import (
	"bytes"
	"context"
	"fmt"

	"github.com/dgraph-io/badger/v4"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Rewritten is what Rewrite changed, or with dry would.
type Rewritten struct {
	Traces  int // that hold a changed record
	Records int // spans and log records
	Shared  int // resources and scopes that records share
}

// Rewrite passes every text of every kept trace through blank and keeps what comes out in the place of what was there: under the same key, so that ids,
// revisions and counts stay, and nothing is handed over again. With dry nothing is written. Records that cannot be read are left to the sweep.
//
// It may run while the store does. A record that the stream brings once more, since it was not synced when pawl died or since its sender repeats it within
// the trace's age, comes back as it was: who erases runs it again after Options.MaxAge. What was overwritten leaves the disk with its hour.
func (s *Store) Rewrite(ctx context.Context, blank func(string) string, dry bool) (out Rewritten, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return out, ErrClosed
	}
	traces := map[traceID]bool{}
	for _, g := range s.gens {
		for _, prefix := range []byte{'s', 'c'} {
			err := g.use(s.lg, func(db *badger.DB) error { return s.rewrite(ctx, db, g, prefix, blank, dry, traces, &out) })
			if err != nil {
				return out, fmt.Errorf("assemble: rewrite traces of %s: %w", g.start.Format(hourName), err)
			}
		}
	}
	out.Traces = len(traces)
	return out, nil
}

// rewriteBytes bounds what is read before it is written, in bytes.
const rewriteBytes = 1 << 18

// rewrite goes through the keys of a kind, some at a time.
func (s *Store) rewrite(ctx context.Context, db *badger.DB, g *generation, prefix byte, blank func(string) string, dry bool, traces map[traceID]bool, out *Rewritten) error {
	for from := []byte{prefix}; from != nil; {
		if err := ctx.Err(); err != nil {
			return err
		}
		type entry struct{ key, value []byte }
		var changed []entry
		err := db.View(func(txn *badger.Txn) error {
			it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte{prefix}, PrefetchValues: true, PrefetchSize: 64})
			defer it.Close()
			size := 0
			for it.Seek(from); it.Valid(); it.Next() {
				key := it.Item().KeyCopy(nil)
				if size > rewriteBytes {
					from = key
					return nil
				}
				value, err := it.Item().ValueCopy(nil)
				if err != nil {
					continue // damaged: the sweep tells
				}
				size += len(value)
				if next := rewritten(key, value, blank); next != nil {
					changed = append(changed, entry{key, next})
				}
			}
			from = nil
			return nil
		})
		if err != nil {
			return err
		}
		for _, e := range changed {
			if prefix == 's' {
				traces[traceID(e.key[1:1+len(traceID{})])] = true
				out.Records++
			} else {
				out.Shared++
			}
		}
		if dry || len(changed) == 0 {
			continue
		}
		g.dirty.Store(true)
		if err := db.Update(func(txn *badger.Txn) error {
			for _, e := range changed {
				if err := txn.Set(e.key, e.value); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// rewritten is a sealed value with its texts blanked, nil where nothing changes or the value cannot be read.
func rewritten(key, value []byte, blank func(string) string) []byte {
	if key[0] == 'c' {
		return rewrittenContext(value, blank)
	}
	r, err := unsealRecord(value)
	if err != nil || len(key) != recordKeyLen {
		return nil
	}
	var m proto.Message = &tracepb.Span{}
	if key[signalAt] == logSignal {
		m = &logspb.LogRecord{}
	}
	if r.bytes = blanked(m, r.bytes, blank); r.bytes == nil {
		return nil
	}
	return r.seal()
}

func rewrittenContext(value []byte, blank func(string) string) []byte {
	context, err := unseal(value)
	if err != nil {
		return nil
	}
	head, scope, err := splitContext(context)
	if err != nil {
		return nil
	}
	// Both are what stands around the records in a request: ResourceSpans and ScopeSpans without them, or those of logs, which have the same fields.
	newHead, newScope := blanked(&tracepb.ResourceSpans{}, head, blank), blanked(&tracepb.ScopeSpans{}, scope, blank)
	if newHead == nil && newScope == nil {
		return nil
	}
	if newHead == nil {
		newHead = head
	}
	if newScope == nil {
		newScope = scope
	}
	return seal(joinContext(newHead, newScope))
}

// blanked is a message's bytes with its texts blanked, nil where nothing changes. What the message does not know stays.
func blanked(m proto.Message, b []byte, blank func(string) string) []byte {
	if proto.Unmarshal(b, m) != nil || !blankMessage(m.ProtoReflect(), blank) {
		return nil
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil || bytes.Equal(out, b) {
		return nil
	}
	return out
}

// blankMessage blanks all texts in a message, and bytes and numbers that are a value of an attribute, and says whether any changed.
func blankMessage(m protoreflect.Message, blank func(string) string) (changed bool) {
	if v, ok := m.Interface().(*commonpb.AnyValue); ok && blankScalar(v, blank) {
		return true
	}
	text := func(v protoreflect.Value) (protoreflect.Value, bool) {
		was := v.String()
		is := blank(was)
		return protoreflect.ValueOfString(is), is != was
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			for i := range v.List().Len() {
				changed = blankMessage(v.List().Get(i).Message(), blank) || changed
			}
		case f.IsList() && f.Kind() == protoreflect.StringKind:
			for i := range v.List().Len() {
				if next, is := text(v.List().Get(i)); is {
					v.List().Set(i, next)
					changed = true
				}
			}
		case f.Kind() == protoreflect.MessageKind:
			changed = blankMessage(v.Message(), blank) || changed
		case f.Kind() == protoreflect.StringKind:
			if next, is := text(v); is {
				m.Set(f, next)
				changed = true
			}
		}
		return true
	})
	return changed
}

func blankScalar(v *commonpb.AnyValue, blank func(string) string) bool {
	switch x := v.Value.(type) {
	case *commonpb.AnyValue_IntValue:
		was := fmt.Sprint(x.IntValue)
		if is := blank(was); is != was {
			v.Value = &commonpb.AnyValue_StringValue{StringValue: is}
			return true
		}
	case *commonpb.AnyValue_BytesValue:
		was := string(x.BytesValue)
		if is := blank(was); is != was {
			x.BytesValue = []byte(is)
			return true
		}
	}
	return false
}
