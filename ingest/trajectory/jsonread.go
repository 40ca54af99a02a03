package trajectory

import (
	"bytes"
	"encoding/base64"
	"iter"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Emitters cut JSON at length limits, repeat names and leave lone surrogates in it, so all reading of message-like JSON goes through the
// three iterators here: they give what is whole and stop in silence at what is not.

// readOptions let in what senders really write: names that repeat, text that is no valid UTF-8.
var readOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

func newDecoder(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw), readOptions...)
}

// elements yields the whole elements of a JSON array; of an array that was cut, those before the cut.
func elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		dec := newDecoder(raw)
		if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
			return
		}
		for dec.PeekKind() != ']' {
			v, ok := nextValue(dec, raw)
			if !ok || !yield(v) {
				return
			}
		}
	}
}

// nextValue reads one value as a slice of raw, which outlives the decoder's own buffer.
func nextValue(dec *jsontext.Decoder, raw []byte) ([]byte, bool) {
	v, err := dec.ReadValue()
	if err != nil {
		return nil, false
	}
	end := int(dec.InputOffset())
	return raw[end-len(v) : end : end], true
}

// member is one name and value of a JSON object.
type member struct {
	name string
	raw  []byte
}

// object is a JSON object with its values still unread. Small objects are searched faster than they are hashed.
type object []member

// readObject reads the members of a JSON object. Of an object that was cut, a last member that holds an array or object is kept with what
// is left of it, so that a cut request body still gives its messages.
func readObject(raw []byte) object {
	dec := newDecoder(raw)
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil
	}
	o := make(object, 0, 8)
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return o
		}
		name, before := tok.String(), int(dec.InputOffset())
		v, ok := nextValue(dec, raw)
		if !ok {
			return o.withCut(name, raw[before:])
		}
		o = append(o, member{name, v})
	}
	return o
}

func (o object) withCut(name string, rest []byte) object {
	rest = bytes.TrimLeft(rest, " \t\r\n:")
	if kindOf(rest) != '[' && kindOf(rest) != '{' {
		return o
	}
	return append(o, member{name, rest})
}

// get returns the first of the names that is there and not null.
func (o object) get(names ...string) []byte {
	for _, n := range names {
		for _, m := range o {
			if m.name == n && kindOf(m.raw) != 'n' {
				return m.raw
			}
		}
	}
	return nil
}

// has says whether the object has the name, be it null.
func (o object) has(name string) bool {
	for _, m := range o {
		if m.name == name {
			return true
		}
	}
	return false
}

// str returns the first of the names that holds a string which is not empty.
func (o object) str(names ...string) string {
	for _, n := range names {
		if s, ok := unquote(o.get(n)); ok && s != "" {
			return s
		}
	}
	return ""
}

// object returns the first of the names that holds an object, nil when there is none.
func (o object) object(names ...string) object {
	for _, n := range names {
		if raw := o.get(n); kindOf(raw) == '{' {
			return readObject(raw)
		}
	}
	return nil
}

// isTrue says whether any of the names is true or "true".
func (o object) isTrue(names ...string) bool {
	for _, n := range names {
		if raw := strings.ToLower(strings.Trim(string(o.get(n)), `"`)); raw == "true" {
			return true
		}
	}
	return false
}

// kindOf is the first byte of a JSON value, with 'n', 't', 'f' for the literals and 0 for nothing. Leading blanks are allowed.
func kindOf(raw []byte) byte {
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// unquote returns what a JSON string holds, and whether raw is one.
func unquote(raw []byte) (string, bool) {
	if kindOf(raw) != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(raw))
	// On invalid UTF-8 the text comes with replacement characters beside the error: still worth reading.
	if err != nil && len(s) == 0 {
		return "", false
	}
	return string(s), true
}

// structured renders an attribute value as JSON text, the one form that the readers take: a string is taken to be JSON text already, a
// structure is written out.
func structured(v pcommon.Value) string {
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		return ""
	case pcommon.ValueTypeStr:
		return v.Str()
	}
	return string(appendValue(nil, v, 0))
}

// maxValueDepth bounds how deep a structured value is followed; what lies below reads as null.
const maxValueDepth = 200

func appendValue(dst []byte, v pcommon.Value, depth int) []byte {
	if depth > maxValueDepth {
		return append(dst, "null"...)
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return appendString(dst, v.Str())
	case pcommon.ValueTypeBool:
		return strconv.AppendBool(dst, v.Bool())
	case pcommon.ValueTypeInt:
		return strconv.AppendInt(dst, v.Int(), 10)
	case pcommon.ValueTypeDouble:
		return appendFloat(dst, v.Double())
	case pcommon.ValueTypeBytes:
		return appendString(dst, base64.StdEncoding.EncodeToString(v.Bytes().AsRaw()))
	case pcommon.ValueTypeSlice:
		return appendSlice(dst, v.Slice(), depth)
	case pcommon.ValueTypeMap:
		return appendMap(dst, v.Map(), depth)
	}
	return append(dst, "null"...)
}

func appendSlice(dst []byte, s pcommon.Slice, depth int) []byte {
	dst = append(dst, '[')
	for i, e := range s.All() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendValue(dst, e, depth+1)
	}
	return append(dst, ']')
}

func appendMap(dst []byte, m pcommon.Map, depth int) []byte {
	dst = append(dst, '{')
	first := true
	for k, e := range m.All() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, k), ':')
		dst = appendValue(dst, e, depth+1)
	}
	return append(dst, '}')
}
