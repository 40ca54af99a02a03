package webhook

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// fieldOf returns the string, number or truth value at a pointer of a JSON text, written out; "" where there is none.
func fieldOf(body []byte, at jsontext.Pointer) string { return scalar(valueAt(body, at)) }

// scalar writes a JSON string without its quotes, and a number or truth value as it stands; "" for all else.
func scalar(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		s, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return ""
		}
		return string(s)
	case '0', 't', 'f':
		return string(v)
	}
	return ""
}

// valueAt returns the value at a pointer of a JSON text, nil where there is none. Of a name that is given twice the first counts.
func valueAt(body []byte, at jsontext.Pointer) jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for token := range at.Tokens() {
		if !enter(d, token) {
			return nil
		}
	}
	v, err := d.ReadValue()
	if err != nil {
		return nil
	}
	return v.Clone()
}

// enter moves the decoder to just before the value of that name or index of the object or array that comes next.
func enter(d *jsontext.Decoder, token string) bool {
	open, err := d.ReadToken()
	if err != nil {
		return false
	}
	index, err := strconv.Atoi(token)
	switch {
	case open.Kind() == '{':
		return enterObject(d, token)
	case open.Kind() == '[' && err == nil && index >= 0:
		return enterArray(d, index)
	}
	return false
}

func enterObject(d *jsontext.Decoder, name string) bool {
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return false
		}
		if t.String() == name {
			return true
		}
		if d.SkipValue() != nil {
			return false
		}
	}
	return false
}

func enterArray(d *jsontext.Decoder, index int) bool {
	for range index {
		if k := d.PeekKind(); k == ']' || d.SkipValue() != nil {
			return false
		}
	}
	return d.PeekKind() != ']'
}

// isPointer tells whether a text is a JSON pointer (RFC 6901) to something inside.
func isPointer(text string) bool {
	return strings.HasPrefix(text, "/") && jsontext.Pointer(text).IsValid()
}
