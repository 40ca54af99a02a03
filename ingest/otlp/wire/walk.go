package wire

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Survey is what one pass over a body found. Spans counts spans or log records. ZeroIDs counts those whose trace id (or,
// for spans, span id) is absent, all zero or of a wrong length. Largest is the encoded size in bytes of the largest span
// or log record together with its resource and scope. Dirty tells that the body must pass [Filter.Clean] before it may be
// stored.
type Survey struct {
	Spans   int
	ZeroIDs int
	Largest int
	Dirty   bool
}

// Walk checks the protobuf framing of an export request of the signal, down to the last attribute, without decoding or
// allocating. A nil error means that pdata decodes the body, alone or concatenated with others of its signal, once it is
// clean. The error names message, field and byte offset. An empty body is well formed and holds nothing.
func Walk(s Signal, body []byte) (Survey, error) {
	return walk(s, body, nil)
}

func walk(s Signal, body []byte, scrub *Scrubber) (Survey, error) {
	w := walker{scrub: scrub}
	err := w.message(s.root(), body, 0, 0)
	return w.Survey, err
}

// walker holds the state of one pass: the ids seen of the span at hand, and the bytes around it that each message
// holding it must carry.
type walker struct {
	Survey
	scrub      *Scrubber
	trace      bool
	span       bool
	group      int // bytes of the resource (and all else that is not a scope) of the current group
	scope      int // the same of the current scope
	pathBuffer [128]byte
}

// fault is a malformed body: where and what.
type fault struct {
	kind   kind
	field  int32
	offset int
	what   string
}

func (f *fault) Error() string {
	if f.field == 0 {
		return fmt.Sprintf("malformed protobuf in %s at byte %d: %s", names[f.kind], f.offset, f.what)
	}
	return fmt.Sprintf("malformed protobuf in %s, field %d, at byte %d: %s", names[f.kind], f.field, f.offset, f.what)
}

// token is one field on the wire: raw is all its bytes, of which the content of a length-delimited field begins at head.
// It is small enough to be returned in registers, which the walk's speed rests on.
type token struct {
	num  int32
	form form
	kind kind
	head int
	raw  []byte
}

// value is the content of a length-delimited field.
func (t token) value() []byte { return t.raw[t.head:] }

// next reads the field at the start of b. The offset in an error is relative to b. One-byte tags and lengths, which are
// nearly all, are read here, the rest by the general code.
func next(k kind, b []byte) (token, *fault) {
	if len(b) < 2 || b[0] >= 0x80 || b[0] < 8 || b[0]&7 != 2 || b[1] >= 0x80 || int(b[1])+2 > len(b) {
		return nextSlow(k, b)
	}
	num := int32(b[0] >> 3)
	f := schema[k][num]
	if f.form != unknown && f.form < text {
		return nextSlow(k, b)
	}
	return token{num, f.form, f.kind, 2, b[:2+int(b[1])]}, nil
}

func nextSlow(k kind, b []byte) (token, *fault) {
	number, typ, tag := protowire.ConsumeTag(b)
	if tag < 0 {
		return token{}, &fault{kind: k, what: "bad field tag"}
	}
	num := int32(number)
	f := lookup(k, num)
	if f.form != unknown && typ != f.form.wireType() {
		return token{}, &fault{kind: k, field: num, what: fmt.Sprintf("wire type %d, want %d", typ, f.form.wireType())}
	}
	n := protowire.ConsumeFieldValue(number, typ, b[tag:])
	if n < 0 {
		return token{}, &fault{kind: k, field: num, offset: tag, what: "truncated or malformed value"}
	}
	head := tag + n
	if typ == protowire.BytesType {
		_, size := protowire.ConsumeVarint(b[tag:])
		head = tag + size
	}
	return token{num, f.form, f.kind, head, b[:tag+n]}, nil
}

func (f form) wireType() protowire.Type {
	switch f {
	case varint:
		return protowire.VarintType
	case fixed64:
		return protowire.Fixed64Type
	case fixed32:
		return protowire.Fixed32Type
	}
	return protowire.BytesType
}

func (w *walker) message(k kind, b []byte, at, depth int) error {
	for len(b) > 0 {
		t, bad := next(k, b)
		if bad != nil {
			bad.offset += at
			return bad
		}
		if t.form == message {
			if err := w.enter(k, t, at, depth); err != nil {
				return err
			}
		} else {
			w.leaf(k, t)
		}
		b, at = b[len(t.raw):], at+len(t.raw)
	}
	return nil
}

func (w *walker) leaf(k kind, t token) {
	switch t.form {
	case text:
		w.Dirty = w.Dirty || !cleanText(t.value())
	case traceID:
		w.trace = usable(t.value(), 16)
	case spanID:
		w.span = usable(t.value(), 8)
		w.Dirty = w.Dirty || oddLength(t.value(), 8)
	case parentID, linkSpanID:
		w.Dirty = w.Dirty || oddLength(t.value(), 8)
	case linkTraceID:
		w.Dirty = w.Dirty || oddLength(t.value(), 16)
	case varint:
		w.Dirty = w.Dirty || k == kindAnyValue && t.num == 8
	}
}

func (w *walker) enter(k kind, t token, at, depth int) error {
	inner := at + t.head
	switch t.kind {
	case kindAnyValue:
		if depth < maxDepth && len(t.raw) > t.head {
			return w.message(kindAnyValue, t.value(), inner, depth+1)
		}
	case kindKeyValue:
		if w.scrub != nil && !w.Dirty {
			w.Dirty = w.scrub.touches(t.value(), w.pathBuffer[:0])
		}
	case kindSpan, kindLog:
		return w.record(t, inner)
	case kindResourceSpans, kindResourceLogs:
		w.group = outside(t.kind, t.value())
	case kindScopeSpans, kindScopeLogs:
		w.scope = outside(t.kind, t.value())
		w.Dirty = w.Dirty || t.num == deprecatedScopes && k.isGroup()
	}
	if !t.kind.isValue() {
		return w.message(t.kind, t.value(), inner, depth)
	}
	if depth >= maxDepth {
		w.Dirty = true
		return nil
	}
	return w.message(t.kind, t.value(), inner, depth+1)
}

func (w *walker) record(t token, at int) error {
	w.Spans++
	w.trace, w.span = false, false
	w.Largest = max(w.Largest, w.group+w.scope+len(t.raw)+frames)
	if w.scrub != nil && !w.Dirty && t.kind == kindLog {
		w.Dirty = w.scrub.touchesBody(t.value(), w.pathBuffer[:0])
	}
	if err := w.message(t.kind, t.value(), at, 0); err != nil {
		return err
	}
	if !w.trace || t.kind == kindSpan && !w.span {
		w.ZeroIDs++
		w.Dirty = true
	}
	return nil
}

// frames is the most that the tags and lengths of request, group and scope can add around one record.
const frames = 24

// outside counts the bytes of a group or scope that are not its scopes or records (field 2). A malformed rest is left to
// the walk that follows.
func outside(k kind, b []byte) int {
	n := 0
	for len(b) > 0 {
		t, bad := next(k, b)
		if bad != nil {
			return n
		}
		if t.num != 2 && t.num != deprecatedScopes {
			n += len(t.raw)
		}
		b = b[len(t.raw):]
	}
	return n
}

// cleanText tells whether b may stand in a string field: valid UTF-8 and no NUL.
func cleanText(b []byte) bool {
	return bytes.IndexByte(b, 0) < 0 && utf8.Valid(b)
}

// usable tells whether b is an id of n bytes that is not all zero.
func usable(b []byte, n int) bool {
	return len(b) == n && !allZero(b)
}

// oddLength tells an id that pdata would refuse with the whole message.
func oddLength(b []byte, n int) bool { return len(b) != 0 && len(b) != n }

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
