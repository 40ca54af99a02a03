package trajectory

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// literal reads a Python literal (dict, list, tuple, set, text, number, True, False, None) and returns it as JSON. Nothing is evaluated: a
// call such as datetime(2026, 1, 1) becomes its own text. It returns false when the text is no literal from end to end.
func literal(text string) ([]byte, bool) {
	r := reprReader{s: text}
	if !r.value(0) {
		return nil, false
	}
	r.space()
	return r.out, r.i == len(r.s)
}

const maxReprDepth = 100

type reprReader struct {
	s   string
	i   int
	out []byte
}

func (r *reprReader) space() {
	for r.i < len(r.s) && strings.IndexByte(" \t\r\n", r.s[r.i]) >= 0 {
		r.i++
	}
}

func (r *reprReader) peek() byte {
	r.space()
	if r.i >= len(r.s) {
		return 0
	}
	return r.s[r.i]
}

func (r *reprReader) value(depth int) bool {
	if depth > maxReprDepth {
		return false
	}
	switch c := r.peek(); {
	case c == '{':
		return r.dict(depth)
	case c == '[':
		return r.list(']', depth)
	case c == '(':
		return r.list(')', depth)
	case c == '\'' || c == '"' || r.prefixed():
		s, ok := r.text()
		r.out = appendString(r.out, s)
		return ok
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return r.number()
	default:
		return r.word()
	}
}

func (r *reprReader) list(end byte, depth int) bool {
	r.i++
	r.out = append(r.out, '[')
	for n := 0; ; n++ {
		if r.peek() == end {
			r.i++
			r.out = append(r.out, ']')
			return true
		}
		if n > 0 {
			r.out = append(r.out, ',')
		}
		if !r.value(depth+1) || !r.comma(end) {
			return false
		}
	}
}

// comma passes the comma after an element, which the last one need not have.
func (r *reprReader) comma(end byte) bool {
	switch r.peek() {
	case ',':
		r.i++
		return true
	case end:
		return true
	}
	return false
}

// dict reads a dict, or a set, which has no colons and becomes a list.
func (r *reprReader) dict(depth int) bool {
	start, at := r.i, len(r.out)
	r.i++
	r.out = append(r.out, '{')
	for n := 0; ; n++ {
		if r.peek() == '}' {
			r.i++
			r.out = append(r.out, '}')
			return true
		}
		if n > 0 {
			r.out = append(r.out, ',')
		}
		if !r.key(depth) {
			return false
		}
		if r.peek() != ':' {
			if n > 0 {
				return false
			}
			r.i, r.out = start, r.out[:at]
			return r.list('}', depth)
		}
		r.i++
		r.out = append(r.out, ':')
		if !r.value(depth+1) || !r.comma('}') {
			return false
		}
	}
}

// key reads a dict's key; one that is no text becomes one.
func (r *reprReader) key(depth int) bool {
	at := len(r.out)
	if !r.value(depth + 1) {
		return false
	}
	if k := string(r.out[at:]); k[0] != '"' {
		r.out = appendString(r.out[:at], k)
	}
	return true
}

// prefixed says whether a text with a prefix (b'..', u'..', r'..', f'..') comes next.
func (r *reprReader) prefixed() bool {
	rest := r.s[r.i:]
	return len(rest) > 1 && strings.IndexByte("bBuUrR", rest[0]) >= 0 && (rest[1] == '\'' || rest[1] == '"')
}

func (r *reprReader) text() (string, bool) {
	raw := false
	if c := r.s[r.i]; c != '\'' && c != '"' {
		raw = c == 'r' || c == 'R'
		r.i++
	}
	quote := r.s[r.i]
	r.i++
	var b strings.Builder
	for r.i < len(r.s) {
		c := r.s[r.i]
		r.i++
		switch {
		case c == quote:
			return b.String(), true
		case c == '\\' && !raw:
			if !r.escape(&b) {
				return "", false
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

func (r *reprReader) escape(b *strings.Builder) bool {
	if r.i >= len(r.s) {
		return false
	}
	c := r.s[r.i]
	r.i++
	if i := strings.IndexByte("ntrabfv0\\'\"", c); i >= 0 {
		b.WriteByte("\n\t\r\a\b\f\v\x00\\'\""[i])
		return true
	}
	width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if width == 0 {
		b.WriteByte('\\')
		b.WriteByte(c)
		return true
	}
	if r.i+width > len(r.s) {
		return false
	}
	n, err := strconv.ParseUint(r.s[r.i:r.i+width], 16, 32)
	if err != nil {
		return false
	}
	r.i += width
	if n > utf8.MaxRune {
		n = utf8.RuneError
	}
	b.WriteRune(rune(n))
	return true
}

func (r *reprReader) number() bool {
	start := r.i
	for r.i < len(r.s) && strings.IndexByte("+-.0123456789eExXabcdefABCDEF_jJ", r.s[r.i]) >= 0 {
		r.i++
	}
	text := strings.ReplaceAll(r.s[start:r.i], "_", "")
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		r.out = strconv.AppendInt(r.out, n, 10)
		return true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false
	}
	r.out = appendFloat(r.out, f)
	return true
}

// word reads a constant, or a call such as Decimal('1.5') as its own text.
func (r *reprReader) word() bool {
	start := r.i
	for r.i < len(r.s) && (r.s[r.i] == '_' || r.s[r.i] == '.' || r.s[r.i] >= '0' && r.s[r.i] <= '9' || r.s[r.i]|0x20 >= 'a' && r.s[r.i]|0x20 <= 'z') {
		r.i++
	}
	switch name := r.s[start:r.i]; {
	case name == "":
		return false
	case r.i < len(r.s) && r.s[r.i] == '(':
		return r.call(start)
	case name == "None" || name == "nan" || name == "inf" || name == "null":
		r.out = append(r.out, "null"...)
	case name == "True" || name == "true":
		r.out = append(r.out, "true"...)
	case name == "False" || name == "false":
		r.out = append(r.out, "false"...)
	default:
		return false
	}
	return true
}

// call passes the balanced parentheses of a call and writes all of it as a text.
func (r *reprReader) call(start int) bool {
	open := 0
	for r.i < len(r.s) {
		switch c := r.s[r.i]; c {
		case '(':
			open++
		case ')':
			open--
		case '\'', '"':
			if _, ok := r.text(); !ok {
				return false
			}
			continue
		}
		r.i++
		if open == 0 {
			r.out = appendString(r.out, r.s[start:r.i])
			return true
		}
	}
	return false
}
