package assemble

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// record is one span or log record of a request, cut out of its bytes.
type record struct {
	stored
	trace  traceID
	span   spanID
	signal byte
	root   bool   // a span without a parent that has ended
	nth    uint32 // log records equal to this one that came before it in its request
	around []byte // what it stands under: see joinContext
}

// key tells a record by its content, so that copies have one key. One span under two resources is two records, for both may be wanted; log records
// have no id, so there the same bytes are the same record.
func (r *record) key() []byte {
	d := digestOf(r.stored.context[:], r.bytes)
	switch {
	case r.signal == logSignal && r.nth == 0:
		d = digestOf(r.bytes)
	case r.signal == logSignal:
		d = digestOf(r.bytes, binary.BigEndian.AppendUint32(nil, r.nth))
	}
	return recordKey(r.trace, r.signal, r.span, d)
}

// before says which of two copies to keep, whatever order they come in.
func (s stored) before(other stored) bool {
	return cmp.Or(cmp.Compare(s.position, other.position), bytes.Compare(s.context[:], other.context[:])) < 0
}

var errCut = errors.New("the protobuf ends in the middle of a field")

// split cuts a request that is well formed into its records without decoding them. Both signals nest alike: request{1: resource{1: resource, 2:
// scope{1: scope, 2: record, 3: url}, 3: url}}. A record without usable ids can join no trace: it is passed over and counted.
func split(signal wire.Signal, body []byte) (out []record, unplaced int, err error) {
	w := splitter{signal: signal, copies: map[string]uint32{}}
	err = fields(body, func(n protowire.Number, _, inner []byte) error {
		if n != 1 || inner == nil {
			return nil
		}
		return w.resource(inner)
	})
	return w.out, w.unplaced, err
}

type splitter struct {
	signal   wire.Signal
	out      []record
	unplaced int
	position uint32
	copies   map[string]uint32 // of log records
}

func (w *splitter) resource(b []byte) error {
	head, scopes, err := cutOut(b)
	if err != nil {
		return err
	}
	for _, s := range scopes {
		if err := w.scope(head, s); err != nil {
			return err
		}
	}
	return nil
}

func (w *splitter) scope(head, b []byte) error {
	own, bodies, err := cutOut(b)
	if err != nil {
		return err
	}
	around := joinContext(head, own)
	context := digestOf(around)
	for _, b := range bodies {
		r, err := w.record(b)
		if err != nil {
			return err
		}
		w.position++
		if r.trace == (traceID{}) || r.signal == spanSignal && r.span == (spanID{}) {
			w.unplaced++
			continue
		}
		r.stored.context, r.around = context, around
		w.out = append(w.out, r)
	}
	return nil
}

// cutOut takes the repeated field 2 out of a message and leaves the rest.
func cutOut(b []byte) (rest []byte, inner [][]byte, err error) {
	err = fields(b, func(n protowire.Number, raw, in []byte) error {
		if n == 2 && in != nil {
			inner = append(inner, in)
		} else {
			rest = append(rest, raw...)
		}
		return nil
	})
	return rest, inner, err
}

// joinContext frames a resource's own fields and a scope's own fields so that both can be told apart again.
func joinContext(head, scope []byte) []byte {
	return append(protowire.AppendBytes(nil, head), scope...)
}

func splitContext(context []byte) (head, scope []byte, err error) {
	head, n := protowire.ConsumeBytes(context)
	if n < 0 {
		return nil, nil, errCut
	}
	return head, context[n:], nil
}

// The fields of a span and of a log record that tell where it belongs.
const (
	spanTrace, spanSpan, spanParent, spanEnd protowire.Number = 1, 2, 4, 8
	logTrace, logSpan                        protowire.Number = 9, 10
)

func (w *splitter) record(b []byte) (record, error) {
	r := record{stored: stored{position: w.position, bytes: b}, signal: spanSignal}
	trace, span := spanTrace, spanSpan
	if w.signal == wire.Logs {
		r.signal, trace, span = logSignal, logTrace, logSpan
		r.nth = w.copies[string(b)]
		w.copies[string(b)]++
	}
	var parent, end bool
	err := fields(b, func(n protowire.Number, raw, inner []byte) error {
		switch {
		case n == trace:
			r.trace = traceID{}
			copy(r.trace[:], inner)
		case n == span:
			r.span = spanID{}
			copy(r.span[:], inner)
		case n == spanParent:
			parent = !zero(inner)
		case n == spanEnd && len(raw) > 8:
			end = !zero(raw[len(raw)-8:])
		}
		return nil
	})
	r.root = r.signal == spanSignal && end && !parent
	return r, err
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// fields calls each for every field of a message: raw is the field with its tag, inner the bytes of a length-delimited one, else nil.
func fields(b []byte, each func(n protowire.Number, raw, inner []byte) error) error {
	for len(b) > 0 {
		num, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return fmt.Errorf("%w: %v", errCut, protowire.ParseError(tag))
		}
		size := protowire.ConsumeFieldValue(num, typ, b[tag:])
		if size < 0 {
			return fmt.Errorf("%w: %v", errCut, protowire.ParseError(size))
		}
		var inner []byte
		if typ == protowire.BytesType {
			inner, _ = protowire.ConsumeBytes(b[tag:])
		}
		if err := each(num, b[:tag+size], inner); err != nil {
			return err
		}
		b = b[tag+size:]
	}
	return nil
}

// appendRequest puts records that share a context back into a request body. Request bodies merge by concatenation.
func appendRequest(to, context []byte, records [][]byte) ([]byte, error) {
	head, scope, err := splitContext(context)
	if err != nil {
		return nil, err
	}
	inside := len(scope)
	for _, b := range records {
		inside += protowire.SizeTag(2) + protowire.SizeBytes(len(b))
	}
	resource := len(head) + protowire.SizeTag(2) + protowire.SizeBytes(inside)
	to = protowire.AppendTag(slices.Grow(to, resource+16), 1, protowire.BytesType)
	to = append(protowire.AppendVarint(to, uint64(resource)), head...)
	to = protowire.AppendTag(to, 2, protowire.BytesType)
	to = append(protowire.AppendVarint(to, uint64(inside)), scope...)
	for _, b := range records {
		to = protowire.AppendBytes(protowire.AppendTag(to, 2, protowire.BytesType), b)
	}
	return to, nil
}
