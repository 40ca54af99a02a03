package redact

import (
	"encoding/hex"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodings are the texts one step of decoding away. Encodings of whole texts that people and programs use all the time give the whole text anew; the
// rare ones give only the lines that they change, so that not every combination of them has to be gone through.
func decodings(v view) []view {
	if v.joined {
		return fromSeries(v)
	}
	return append(append(steps(v), series(v)...), lines(v)...)
}

// steps are the decodings of a view that puts nothing together which stands apart.
func steps(v view) (out []view) {
	add := func(name, text string, foreign bool) {
		if text != "" && text != v.text {
			out = append(out, v.next(name, text, foreign))
		}
	}
	if strings.IndexByte(v.text, '\\') >= 0 {
		add("escapes", unescape(v.text), false)
	}
	if strings.IndexByte(v.text, '%') >= 0 {
		add("url", unpercent(v.text), false)
	}
	if strings.IndexByte(v.text, '+') >= 0 && strings.IndexByte(v.text, '=') >= 0 {
		add("form", strings.ReplaceAll(v.text, "+", " "), false)
	}
	if strings.IndexByte(v.text, '&') >= 0 {
		add("html", html.UnescapeString(v.text), false)
	}
	for _, d := range lineForms {
		if d.mark == "" || strings.Contains(v.text, d.mark) {
			add(d.name, changedLines(v.text, d.decode(v.text)), true)
		}
	}
	for _, d := range packed(v.text) {
		add(d.name, d.text, d.foreign)
	}
	return out
}

// next is a view one step of decoding away.
func (v view) next(name, text string, foreign bool) view {
	path := name
	if v.path != "" {
		path = v.path + " > " + name
	}
	n := view{text: text, path: path, depth: v.depth + 1, foreign: v.foreign || foreign, seen: v.seen}
	if n.foreign && !v.foreign {
		n.seen = v.text
	}
	return n
}

// unescape undoes one level of backslash escapes, wherever they stand: those of JSON, and \xHH, \NNN, \u{H}, \UHHHHHHHH.
func unescape(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			i++
			continue
		}
		i++
		switch c := text[i]; c {
		case 'n', 'r', 't':
			b.WriteByte(map[byte]byte{'n': '\n', 'r': '\r', 't': '\t'}[c])
			i++
		case 'b', 'f':
			b.WriteByte(' ')
			i++
		default:
			n := writeCode(&b, text[i:])
			if n == 0 {
				b.WriteByte(c)
				n = 1
			}
			i += n
		}
	}
	return b.String()
}

// writeCode writes the character that a numbered escape without its backslash stands for, and says how long the escape is; 0 for none. Bytes stay bytes, so
// that \xc3\xb6 becomes the letter that it is.
func writeCode(b *strings.Builder, s string) int {
	switch s[0] {
	case 'x':
		if n, ok := code(s, 1, 3, 16); ok {
			b.WriteByte(byte(n))
			return 3
		}
	case 'u':
		if end := strings.IndexByte(s[:min(len(s), 9)], '}'); len(s) > 1 && s[1] == '{' && end > 2 {
			if n, ok := code(s, 2, end, 16); ok {
				b.WriteRune(rune(n))
				return end + 1
			}
		}
		if n, ok := code(s, 1, 5, 16); ok {
			if low, pair := code(s, 7, 11, 16); pair && s[5:7] == `\u` && utf16.IsSurrogate(rune(n)) {
				b.WriteRune(utf16.DecodeRune(rune(n), rune(low)))
				return 11
			}
			b.WriteRune(rune(n))
			return 5
		}
	case 'U':
		if n, ok := code(s, 1, 9, 16); ok {
			b.WriteRune(rune(n))
			return 9
		}
	case '0', '1', '2', '3':
		if n, ok := code(s, 0, 3, 8); ok {
			b.WriteByte(byte(n))
			return 3
		}
	}
	return 0
}

func code(s string, from, to, base int) (uint32, bool) {
	if to > len(s) || from >= to || strings.ContainsAny(s[from:to], "+-_") {
		return 0, false
	}
	n, err := strconv.ParseUint(s[from:to], base, 32)
	return uint32(n), err == nil
}

func allHex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// unpercent undoes one level of percent-encoding, leaving what is malformed.
func unpercent(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) && allHex(text[i+1:i+3]) {
			d, _ := hex.DecodeString(text[i+1 : i+3])
			b.Write(d)
			i += 2
			continue
		}
		if text[i] == '%' && i+5 < len(text) && text[i+1] == 'u' && allHex(text[i+2:i+6]) {
			n, _ := code(text, i+2, i+6, 16)
			b.WriteRune(rune(n))
			i += 5
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// lineForms are the rare ways to write a text so that a reader still reads it.
var lineForms = []struct {
	name, mark string
	decode     func(string) string
}{
	{"quoted-printable", "=", unprintable},
	{"numbered escapes", `\`, func(s string) string {
		if !numbered.MatchString(s) {
			return s
		}
		return unescape(s)
	}},
	{"markup", "<", func(s string) string { return markup.ReplaceAllString(s, "") }},
	{"invisible or wide characters", "", plainly},
}

var (
	markup    = regexp.MustCompile(`<!--[^>]{0,200}-->|</?[A-Za-z][^<>]{0,200}>`)
	numbered  = regexp.MustCompile(`(?:\\(?:x[0-9A-Fa-f]{2}|[0-3][0-7]{2}|u\{[0-9A-Fa-f]+\}|U[0-9A-Fa-f]{8})){2}`)
	softBreak = regexp.MustCompile(`=[ \t]*\r?\n`)
	qpBytes   = regexp.MustCompile(`(?:=[2-9A-F][0-9A-F])+`)
)

// unprintable undoes quoted-printable. One letter or digit alone is not written so: it is what an equals sign stands before.
func unprintable(s string) string {
	return qpBytes.ReplaceAllStringFunc(softBreak.ReplaceAllString(s, ""), func(m string) string {
		d, _ := hex.DecodeString(strings.ReplaceAll(m, "=", ""))
		if len(d) == 1 && alnum(string(d)) != "" {
			return m
		}
		return string(d)
	})
}

// changedLines are the lines of decoded that text does not have. Strings in quotes count as lines, for a document of JSON may be one line.
func changedLines(text, decoded string) string {
	if text == decoded {
		return ""
	}
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(c rune) bool { return c == '\n' || c == '"' || c == '\r' })
	}
	known := map[string]bool{}
	for _, l := range split(text) {
		known[l] = true
	}
	var b strings.Builder
	for _, l := range split(decoded) {
		if !known[l] {
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// plainly leaves out what no reader sees, and writes wide and styled letters as plain ones.
func plainly(s string) string {
	if ascii(s) {
		return s
	}
	return compatible(strings.Map(func(c rune) rune {
		switch {
		case c == 0, c == 0xad, c == 0x34f, c == 0x61c, c == 0x115f, c == 0x180e, c >= 0x200b && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x2060 && c <= 0x206f,
			c >= 0xfe00 && c <= 0xfe0f, c == 0xfeff, c >= 0xe0000 && c <= 0xe0fff:
			return -1
		}
		return c
	}, s))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] == 0 {
			return false
		}
	}
	return true
}

// mostlyText says that at least seven of eight bytes are of a text.
func mostlyText(b []byte) bool {
	odd := 0
	for rest := b; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError || r < 0x20 && r != '\n' && r != '\t' && r != '\r' {
			odd++
		}
		rest = rest[size:]
	}
	return odd*8 <= len(b)
}
