package trajectory

import (
	"encoding/base64"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Emitters cut JSON at length limits, repeat names and leave lone surrogates in it, so all reading of message-like JSON goes through the
// scanner here. It only finds where values begin and end: it gives what is whole and stops in silence at what is not. Whether a value is
// good JSON is asked where the value itself is wanted (ParseValue). Histories are read far more often than anything else, and most of what
// they hold is skipped: that is why this is no decoder.

// readOptions let in what senders really write: names that repeat, text that is no valid UTF-8.
var readOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// skipBlanks returns the index of the first byte from i on that is no blank, len(raw) when there is none.
func skipBlanks(raw string, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\r' || raw[i] == '\n') {
		i++
	}
	return i
}

// valueEnd returns the index behind the value that begins at i, and false when the value is cut or none is there.
func valueEnd(raw string, i int) (int, bool) {
	if i >= len(raw) {
		return 0, false
	}
	switch raw[i] {
	case '"':
		return stringEnd(raw, i)
	case '{', '[':
		return nestedEnd(raw, i)
	}
	start := i
	for i < len(raw) && strings.IndexByte(",]}: \t\r\n\"[{", raw[i]) < 0 {
		i++
	}
	return i, i > start && i < len(raw)
}

func stringEnd(raw string, i int) (int, bool) {
	for i++; i < len(raw); i++ {
		n := strings.IndexByte(raw[i:], '"')
		if n < 0 {
			return 0, false
		}
		i += n
		escapes := 0
		for raw[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1, true
		}
	}
	return 0, false
}

func nestedEnd(raw string, i int) (int, bool) {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			end, ok := stringEnd(raw, i)
			if !ok {
				return 0, false
			}
			i = end
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
		i++
	}
	return 0, false
}

// elements yields the whole elements of a JSON array, or of the end of one from a comma on; of an array that was cut, those before the cut.
func elements(raw string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := listStart(raw); i < len(raw) && raw[i] != ']'; {
			end, ok := valueEnd(raw, i)
			if !ok || !yield(raw[i:end]) {
				return
			}
			i = nextElement(raw, end)
		}
	}
}

// listStart is where the first element begins, len(raw) when raw is no list.
func listStart(raw string) int {
	i := skipBlanks(raw, 0)
	if i >= len(raw) || raw[i] != '[' && raw[i] != ',' {
		return len(raw)
	}
	return skipBlanks(raw, i+1)
}

// nextElement is where the element after the one that ended at i begins, or the end of the list.
func nextElement(raw string, i int) int {
	i = skipBlanks(raw, i)
	switch {
	case i < len(raw) && raw[i] == ',':
		return skipBlanks(raw, i+1)
	case i < len(raw) && raw[i] == ']':
		return i
	}
	return len(raw)
}

// member is one name and value of a JSON object.
type member struct {
	name, raw string
}

// object is a JSON object with its values still unread. Small objects are searched faster than they are hashed.
type object []member

// readObject reads the members of a JSON object. Of an object that was cut, a last member that holds an array or object is kept with what
// is left of it, so that a cut request body still gives its messages.
func readObject(raw string) object {
	if kindOf(raw) != '{' {
		return nil
	}
	return readInto(make(object, 0, 6), raw)
}

// few is room for the members of an object that is done with before the next one of a list is read.
type few [8]member

// readInto is readObject with room for the members, which the object overwrites.
func readInto(room object, raw string) object {
	i := skipBlanks(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return nil
	}
	o, _ := members(room[:0], raw, i)
	return o
}

// members reads the object that begins at i, and gives the index behind it; 0 when it is cut or not well formed.
func members(o object, raw string, i int) (object, int) {
	for i = skipBlanks(raw, i+1); i < len(raw) && raw[i] == '"'; {
		end, ok := stringEnd(raw, i)
		if !ok {
			return o, 0
		}
		name, _ := unquote(raw[i:end])
		if i = skipBlanks(raw, end); i >= len(raw) || raw[i] != ':' {
			return o, 0
		}
		i = skipBlanks(raw, i+1)
		if end, ok = valueEnd(raw, i); !ok {
			return o.withCut(name, raw[min(i, len(raw)):]), 0
		}
		o = append(o, member{name, raw[i:end]})
		if i = skipBlanks(raw, end); i < len(raw) && raw[i] == ',' {
			i = skipBlanks(raw, i+1)
		}
	}
	if i < len(raw) && raw[i] == '}' {
		return o, i + 1
	}
	return o, 0
}

// elementAt finds the end of the list element that begins at i, 0 when it is cut. An object is read into the room on the way; for all else o
// is nil.
func elementAt(room object, raw string, i int) (o object, end int) {
	if raw[i] == '{' {
		if o, end = members(room[:0], raw, i); end > 0 {
			return o, end
		}
	}
	end, ok := valueEnd(raw, i)
	if !ok {
		return nil, 0
	}
	return readInto(room, raw[i:end]), end
}

func (o object) withCut(name, rest string) object {
	if kindOf(rest) != '[' && kindOf(rest) != '{' {
		return o
	}
	return append(o, member{name, rest})
}

// get returns the first of the names that is there and not null, "" when there is none.
func (o object) get(names ...string) string {
	for _, n := range names {
		for _, m := range o {
			if m.name == n && kindOf(m.raw) != 'n' {
				return m.raw
			}
		}
	}
	return ""
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
		if raw := strings.ToLower(strings.Trim(o.get(n), `"`)); raw == "true" {
			return true
		}
	}
	return false
}

// kindOf is the first byte of a JSON value, with 'n', 't', 'f' for the literals and 0 for nothing. Leading blanks are allowed.
func kindOf(raw string) byte {
	if i := skipBlanks(raw, 0); i < len(raw) {
		return raw[i]
	}
	return 0
}

// unquote returns what a JSON string holds, and whether raw is one.
func unquote(raw string) (string, bool) {
	if kindOf(raw) != '"' {
		return "", false
	}
	raw = strings.TrimSpace(raw)
	if len(raw) >= 2 && raw[len(raw)-1] == '"' && strings.IndexByte(raw, '\\') < 0 {
		if s := raw[1 : len(raw)-1]; utf8.ValidString(s) {
			return s, true
		}
		return strings.ToValidUTF8(raw[1:len(raw)-1], "\uFFFD"), true
	}
	s, err := jsontext.AppendUnquote(nil, raw)
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
		if k == "" { // as AttrsOf
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, k), ':')
		dst = appendValue(dst, e, depth+1)
	}
	return append(dst, '}')
}
