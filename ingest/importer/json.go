package importer

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// object is the members of a JSON object, as slices of the document. Of a name that occurs twice the last one counts.
type object map[string]jsontext.Value

func decoderOf(src []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(src), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// members calls each for every member of an object, until it returns false. The values are slices of src; one that is broken
// comes as nil, and ends the walk with an error.
func members(src []byte, each func(name string, value jsontext.Value) bool) error {
	dec := decoderOf(src)
	if dec.PeekKind() != '{' {
		return notA("object", src)
	}
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != '}' {
		var name jsontext.Token
		if name, err = dec.ReadToken(); err != nil {
			break
		}
		text := name.String()
		var value jsontext.Value
		if value, err = dec.ReadValue(); err != nil {
			each(text, nil)
			break
		}
		end := dec.InputOffset()
		if !each(text, src[end-int64(len(value)):end]) {
			return nil
		}
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	return err
}

// elements calls each for every element of a list.
func elements(src []byte, each func(jsontext.Value) error) error {
	dec := decoderOf(src)
	if dec.PeekKind() != '[' {
		return notA("list", src)
	}
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != ']' {
		var value jsontext.Value
		if value, err = dec.ReadValue(); err != nil {
			break
		}
		end := dec.InputOffset()
		if err := each(src[end-int64(len(value)) : end]); err != nil {
			return err
		}
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	return err
}

func notA(want string, src []byte) error {
	src = bytes.TrimSpace(src)
	if len(src) == 0 {
		return fmt.Errorf("want a JSON %s, got nothing", want)
	}
	return fmt.Errorf("want a JSON %s, got %.40q", want, src)
}

// objectOf reads an object as far as it is sound.
func objectOf(src []byte) (object, error) {
	o := object{}
	err := members(src, func(name string, value jsontext.Value) bool {
		o[name] = value
		return true
	})
	return o, err
}

// folded reads an object with its names in lower case and without underscores, so that start_time, startTime and StartTime
// are one. What is no object has no members.
func folded(src []byte) object {
	o := object{}
	_ = members(src, func(name string, value jsontext.Value) bool {
		if !absent(value) || o[fold(name)] == nil {
			o[fold(name)] = value
		}
		return true
	})
	return o
}

func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// get returns the first of the members that is there and not null.
func (o object) get(names ...string) jsontext.Value {
	for _, name := range names {
		if v := o[name]; !absent(v) {
			return v
		}
	}
	return nil
}

// text returns the first of the members that is not empty, as text.
func (o object) text(names ...string) string {
	for _, name := range names {
		if s := textOf(o[name]); s != "" {
			return s
		}
	}
	return ""
}

// has tells whether any of the names is a member.
func (o object) has(names ...string) bool {
	for _, name := range names {
		if _, ok := o[name]; ok {
			return true
		}
	}
	return false
}

// all tells whether all of the names are members.
func (o object) all(names ...string) bool {
	for _, name := range names {
		if !o.has(name) {
			return false
		}
	}
	return true
}

// inner is the members of a member that is an object, or of the first element of one that is a list.
func (o object) inner(name string) object {
	v := o[name]
	if v.Kind() == '[' {
		var first jsontext.Value
		_ = elements(v, func(e jsontext.Value) error {
			first = e
			return errors.New("enough")
		})
		v = first
	}
	in, _ := objectOf(v)
	return in
}

func absent(v jsontext.Value) bool { return len(v) == 0 || v[0] == 'n' }

// textOf is a string's text, or a number, bool or structure as it is written. Null is nothing.
func textOf(v jsontext.Value) string {
	switch {
	case absent(v):
		return ""
	case v[0] == '"':
		text, _ := jsontext.AppendUnquote(nil, v) // what is no UTF-8 becomes U+FFFD
		return string(text)
	}
	return string(v)
}

// quoted is a text as a JSON string.
func quoted(text string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, text)
	return v
}

// jsonText is a structure as a JSON string that holds its compact text, as attributes carry structures.
func jsonText(v jsontext.Value) jsontext.Value {
	out := v.Clone()
	if out.Compact() != nil {
		return quoted(string(v))
	}
	return quoted(string(out))
}

// structure is the object or list that a value is or whose text it is; any other value is itself.
func structure(v jsontext.Value) jsontext.Value {
	if absent(v) || v[0] != '"' {
		return v
	}
	inner := jsontext.Value(strings.TrimSpace(textOf(v)))
	if len(inner) > 1 && (inner[0] == '{' || inner[0] == '[') && inner.IsValid() {
		return inner
	}
	return v
}

// attributes reads attributes in any of their forms into a map: an object, or a list of pairs with key and value. A value
// may be plain or typed as OTLP, Go's exporter or Jaeger do it. Null is absent.
func (x *export) attributes(src jsontext.Value, into pcommon.Map) {
	switch {
	case absent(src):
	case src[0] == '{':
		_ = members(src, func(key string, value jsontext.Value) bool {
			x.attribute(key, value, into)
			return true
		})
	case src[0] == '[':
		_ = elements(src, func(e jsontext.Value) error {
			if pair := folded(e); pair.has("key") {
				x.attribute(textOf(pair["key"]), pair["value"], into)
			}
			return nil
		})
	default:
		x.note("attributes that are neither an object nor a list of pairs were left out")
	}
}

func (x *export) attribute(key string, value jsontext.Value, into pcommon.Map) {
	switch {
	case absent(value) || key == "":
	case into.Len() >= maxMembers:
		x.note("attributes beyond the first %d of one span, event or resource were left out", maxMembers)
	default:
		x.value(untyped(value), into.PutEmpty(key))
	}
}

// maxMembers bounds a map, whose cost grows with the square of its size.
const maxMembers = 5000

// untyped takes the plain value out of {"stringValue": ...} and {"Type": ..., "Value": ...}.
func untyped(value jsontext.Value) jsontext.Value {
	if value[0] != '{' || len(value) < len(`{"Value":1}`) {
		return value
	}
	inner, count, typed := value, 0, false
	_ = members(value, func(name string, v jsontext.Value) bool {
		switch name {
		case "stringValue", "intValue", "doubleValue", "boolValue", "string_value", "int_value", "double_value", "bool_value", "Value":
			inner = v
		case "Type":
			typed = true
		}
		count++
		return count <= 2
	})
	if count == 1 && !bytes.HasPrefix(bytes.TrimLeft(value[1:], " \t\r\n"), []byte(`"Value"`)) || count == 2 && typed {
		return inner
	}
	return value
}

// maxDepth is how deep structures are followed; what lies below is kept as its text.
const maxDepth = 60

// maxValues bounds the values of one structure.
const maxValues = 50_000

// value reads any JSON value in one pass.
func (x *export) value(src jsontext.Value, into pcommon.Value) {
	if absent(src) {
		return
	}
	r := structureReader{dec: decoderOf(src), left: maxValues}
	_ = r.value(into, maxDepth)
	if r.cut {
		x.note("structures of more than %d values or %d members were cut", maxValues, maxMembers)
	}
}

type structureReader struct {
	dec  *jsontext.Decoder
	left int
	cut  bool
}

func (r *structureReader) value(into pcommon.Value, depth int) error {
	r.left--
	kind := r.dec.PeekKind()
	if depth == 0 || kind != '{' && kind != '[' {
		v, err := r.dec.ReadValue()
		if err == nil {
			setScalar(into, v)
		}
		return err
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	var err error
	if kind == '[' {
		err = r.list(into.SetEmptySlice(), depth-1)
	} else {
		err = r.members(into.SetEmptyMap(), depth-1)
	}
	if err == nil {
		_, err = r.dec.ReadToken()
	}
	return err
}

func (r *structureReader) list(into pcommon.Slice, depth int) error {
	for r.dec.PeekKind() != ']' {
		err := r.skipOr(func() error { return r.value(into.AppendEmpty(), depth) }, false)
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *structureReader) members(into pcommon.Map, depth int) error {
	for r.dec.PeekKind() != '}' {
		name, err := r.dec.ReadToken()
		if err != nil {
			return err
		}
		text := name.String()
		err = r.skipOr(func() error { return r.value(into.PutEmpty(text), depth) }, into.Len() >= maxMembers)
		if err != nil {
			return err
		}
	}
	return nil
}

// skipOr passes over a value where there is no room left.
func (r *structureReader) skipOr(read func() error, full bool) error {
	if r.left > 0 && !full {
		return read()
	}
	r.cut = true
	return r.dec.SkipValue()
}

func setScalar(into pcommon.Value, v jsontext.Value) {
	switch v[0] {
	case 'n':
	case 't', 'f':
		into.SetBool(v[0] == 't')
	case '"', '{', '[':
		into.SetStr(textOf(v))
	default:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			into.SetInt(n)
		} else if f, err := strconv.ParseFloat(string(v), 64); err == nil {
			into.SetDouble(f)
		} else {
			into.SetStr(string(v))
		}
	}
}

// mend makes JSON of what Python and pandas write for a number that is none: NaN and Infinity as bare words become null. It
// tells whether there was any.
func mend(src []byte) ([]byte, bool) {
	out := make([]byte, 0, len(src)+16)
	changed, inString := false, false
	for i := 0; i < len(src); i++ {
		c := src[i]
		if inString && c == '\\' && i+1 < len(src) {
			out = append(out, c, src[i+1])
			i++
			continue
		}
		if c == '"' {
			inString = !inString
		}
		if n := 0; !inString && (c == 'N' || c == 'I' || c == '-') {
			for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
				if bytes.HasPrefix(src[i:], []byte(word)) {
					n = len(word)
				}
			}
			if n > 0 {
				out, changed = append(out, "null"...), true
				i += n - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out, changed
}
