package admit

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// piece is something that a recording may do without. Indexes are those of the trace, its spans, their events and attributes; -1 where there is none.
type piece struct {
	kind  kind
	trace int
	span  int    // of the trace's spans; of a log record that belongs to no span -1
	at    int    // the event, the log record, or the element of the list
	key   string // the attribute
}

type kind uint8

const (
	spanPiece kind = iota
	logPiece
	eventPiece
	attributePiece
	messagePiece
)

// small is the size in bytes below which an attribute or an event is not worth leaving out: names, ids and numbers are what makes a recording readable.
const small = 64

// spanPieces are the spans that have a parent, and all records of the log.
func spanPieces(traces []trajectory.Trace) (out []piece) {
	for t := range traces {
		there := map[string]bool{}
		for i := range traces[t].Spans {
			there[traces[t].Spans[i].ID] = true
		}
		for i := range traces[t].Spans {
			s := &traces[t].Spans[i]
			if there[s.ParentID] {
				out = append(out, piece{kind: spanPiece, trace: t, span: i})
			}
			for l := range s.Logs {
				out = append(out, piece{kind: logPiece, trace: t, span: i, at: l})
			}
		}
		for l := range traces[t].Logs {
			out = append(out, piece{kind: logPiece, trace: t, span: -1, at: l})
		}
	}
	return out
}

// attributePieces are the attributes and events that take space.
func attributePieces(traces []trajectory.Trace) (out []piece) {
	for t := range traces {
		for i := range traces[t].Spans {
			s := &traces[t].Spans[i]
			for _, k := range slices.Sorted(maps.Keys(s.Attrs)) {
				if sizeOfValue(s.Attrs[k]) >= small {
					out = append(out, piece{kind: attributePiece, trace: t, span: i, key: k})
				}
			}
			for e := range s.Events {
				if sizeOfEvent(&s.Events[e]) >= small {
					out = append(out, piece{kind: eventPiece, trace: t, span: i, at: e})
				}
			}
		}
	}
	return out
}

// messagePieces are the elements of attributes that are JSON lists, or objects with one.
func messagePieces(traces []trajectory.Trace) (out []piece) {
	for t := range traces {
		for i := range traces[t].Spans {
			s := &traces[t].Spans[i]
			for _, k := range slices.Sorted(maps.Keys(s.Attrs)) {
				if v := s.Attrs[k]; v.Type() == pcommon.ValueTypeStr && len(v.Str()) >= small {
					list, _, _ := elements(v.Str())
					for n := range list {
						out = append(out, piece{kind: messagePiece, trace: t, span: i, key: k, at: n})
					}
				}
			}
		}
	}
	return out
}

// elements are those of the list of two or more objects that a JSON text is, or that is the first such member of the object that it is; nil of any other
// text. The list is text[from:to].
func elements(text string) (out []jsontext.Value, from, to int) {
	switch v := jsontext.Value(text); v.Kind() {
	case '[':
		if v.IsValid() {
			if out = objects(v); out != nil {
				return out, 0, len(text)
			}
		}
	case '{':
		d := jsontext.NewDecoder(bytes.NewReader(v))
		if _, err := d.ReadToken(); err != nil || !v.IsValid() {
			return nil, 0, 0
		}
		for d.PeekKind() == '"' {
			if _, err := d.ReadToken(); err != nil {
				return nil, 0, 0
			}
			member, err := d.ReadValue()
			if err != nil {
				return nil, 0, 0
			}
			if out = objects(member); out != nil {
				to = int(d.InputOffset())
				return out, to - len(member), to
			}
		}
	}
	return nil, 0, 0
}

// objects are the elements of a list of nothing but objects, two or more; nil of any other value, which must be valid.
func objects(v jsontext.Value) (out []jsontext.Value) {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if start, err := d.ReadToken(); err != nil || start.Kind() != '[' {
		return nil
	}
	for d.PeekKind() == '{' {
		e, err := d.ReadValue()
		if err != nil {
			return nil
		}
		out = append(out, e.Clone())
	}
	if d.PeekKind() != ']' || len(out) < 2 {
		return nil
	}
	return out
}

// without is a copy of the traces that lacks those of the pieces which are not kept. A span whose child is kept is kept too.
func without(traces []trajectory.Trace, pieces, kept []piece) []trajectory.Trace {
	gone := map[piece]bool{}
	for _, p := range pieces {
		gone[p] = true
	}
	for _, p := range kept {
		delete(gone, p)
	}
	for p := range maps.Clone(gone) {
		if p.kind == messagePiece {
			p.at = anyElement
			gone[p] = true
		}
	}
	out := make([]trajectory.Trace, len(traces))
	for t := range traces {
		out[t] = traceWithout(&traces[t], t, gone)
	}
	return out
}

func traceWithout(in *trajectory.Trace, t int, gone map[piece]bool) trajectory.Trace {
	out := *in
	out.Spans, out.Logs = nil, logsWithout(in.Logs, piece{kind: logPiece, trace: t, span: -1}, gone)
	stays := withParents(in, func(i int) bool { return !gone[piece{kind: spanPiece, trace: t, span: i}] })
	for i := range in.Spans {
		if stays[in.Spans[i].ID] {
			out.Spans = append(out.Spans, spanWithout(&in.Spans[i], piece{trace: t, span: i}, gone))
		}
	}
	return out
}

// withParents are the ids of the spans that keep says yes to, and of all above them.
func withParents(t *trajectory.Trace, keep func(i int) bool) map[string]bool {
	parent, stays := map[string]string{}, map[string]bool{}
	for i := range t.Spans {
		parent[t.Spans[i].ID] = t.Spans[i].ParentID
	}
	for i := range t.Spans {
		for id := t.Spans[i].ID; keep(i) && id != "" && !stays[id]; id = parent[id] {
			stays[id] = true
		}
	}
	return stays
}

func spanWithout(in *trajectory.Span, p piece, gone map[piece]bool) trajectory.Span {
	out := *in
	p.kind = logPiece
	out.Logs = logsWithout(in.Logs, p, gone)
	out.Events = nil
	for e := range in.Events {
		p.kind, p.at = eventPiece, e
		if !gone[p] {
			out.Events = append(out.Events, in.Events[e])
		}
	}
	out.Attrs = trajectory.Attrs{}
	for k, v := range in.Attrs {
		p.kind, p.at, p.key = attributePiece, 0, k
		if !gone[p] {
			out.Attrs[k] = listWithout(v, p, gone)
		}
	}
	return out
}

func logsWithout(in []trajectory.Log, p piece, gone map[piece]bool) (out []trajectory.Log) {
	for l := range in {
		p.at = l
		if !gone[p] {
			out = append(out, in[l])
		}
	}
	return out
}

// anyElement is the place of a piece that says that some elements of its list are gone.
const anyElement = -1

// listWithout is the attribute's value without the elements that are gone; the value itself where none is.
func listWithout(v pcommon.Value, p piece, gone map[piece]bool) pcommon.Value {
	p.kind, p.at = messagePiece, anyElement
	if !gone[p] {
		return v
	}
	var stay [][]byte
	all, from, to := elements(v.Str())
	for n, e := range all {
		p.at = n
		if !gone[p] {
			stay = append(stay, e)
		}
	}
	return pcommon.NewValueStr(v.Str()[:from] + "[" + string(bytes.Join(stay, []byte(","))) + "]" + v.Str()[to:])
}

// Size is about how many bytes of text a trace holds.
func Size(t trajectory.Trace) int { return sizeOf([]trajectory.Trace{t}) }

// sizeOf is about how many bytes of text the traces hold.
func sizeOf(traces []trajectory.Trace) (n int) {
	for t := range traces {
		for i := range traces[t].Spans {
			s := &traces[t].Spans[i]
			n += 256 + len(s.Name) + len(s.StatusMessage)
			for k, v := range s.Attrs {
				n += len(k) + sizeOfValue(v)
			}
			for e := range s.Events {
				n += sizeOfEvent(&s.Events[e])
			}
			for l := range s.Logs {
				n += sizeOfEvent(&s.Logs[l].Event)
			}
		}
		for l := range traces[t].Logs {
			n += sizeOfEvent(&traces[t].Logs[l].Event)
		}
	}
	return n
}

func sizeOfEvent(e *trajectory.Event) int {
	n := len(e.Name)
	for k, v := range e.Attrs {
		n += len(k) + sizeOfValue(v)
	}
	if e.Body != (pcommon.Value{}) {
		n += sizeOfValue(e.Body)
	}
	return n
}

func sizeOfValue(v pcommon.Value) int {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return len(v.Str())
	case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		return len(v.AsString())
	}
	return 8
}
