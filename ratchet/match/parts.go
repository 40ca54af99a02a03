package match

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// part is a member of an object, or an element of an array with its number for a name.
type part struct {
	name  string
	value jsontext.Value
}

// partsOf splits an object or an array that is JSON without blanks, as canonical JSON is; nil for anything else. Comparing a call looks at each
// of its arguments once, and decoding them into maps took most of the time.
func partsOf(v jsontext.Value) (out []part) {
	if len(v) < 2 || v[0] != '{' && v[0] != '[' {
		return nil
	}
	object := v[0] == '{'
	out = make([]part, 0, 4)
	for at := 1; at < len(v)-1; {
		var name string
		if object {
			end := valueEnd(v, at)
			if end >= len(v) || v[at] != '"' || v[end] != ':' {
				return nil
			}
			name, at = nameOf(v[at:end]), end+1
		} else {
			name = strconv.Itoa(len(out))
		}
		end := valueEnd(v, at)
		if end <= at || end >= len(v) {
			return nil
		}
		out = append(out, part{name, v[at:end]})
		at = end + 1 // past the comma, or the end
	}
	return out
}

func nameOf(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	return textOf(quoted)
}

// valueEnd is where the value that begins at from ends.
func valueEnd(v []byte, from int) int {
	depth := 0
	for i := from; i < len(v); i++ {
		switch v[i] {
		case '"':
			for i++; i < len(v) && v[i] != '"'; i++ {
				if v[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ':':
			if depth == 0 {
				return i
			}
		}
	}
	return len(v)
}
