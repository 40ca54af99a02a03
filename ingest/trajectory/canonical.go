package trajectory

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient are the options for reading JSON from telemetry: nobody promised that names are unique or the text valid UTF-8.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// canonical returns the canonical form of a JSON text: RFC 8785, save that whole numbers keep all their digits (ids beyond 2^53 must
// stay apart). It returns nil when the text is not JSON.
func canonical(text string) jsontext.Value {
	c := canonicaliser{src: text, out: make([]byte, 0, len(text))}
	switch {
	case c.value(0) && c.space() == len(text):
		return c.out
	case c.broken:
		return nil
	}
	return canonicalSlow(text)
}

// canonicalSlow is what canonical means. The canonicaliser is a quicker way to the same bytes for most texts.
func canonicalSlow(text string) jsontext.Value {
	v := jsontext.Value(text)
	err := v.Format(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.CanonicalizeRawFloats(true),
		jsontext.ReorderRawObjects(true))
	if err != nil {
		return nil
	}
	return v
}

// canonicaliser writes the canonical form in one pass. It gives up, and says false, on all that needs more thought: code point escapes, long fractions,
// names that repeat or are not ASCII, invalid text.
type canonicaliser struct {
	src string
	pos int
	out []byte

	broken bool // the text is no JSON, however it is read
}

const maxQuickDepth = 64

func (c *canonicaliser) space() int {
	for c.pos < len(c.src) && strings.IndexByte(" \t\r\n", c.src[c.pos]) >= 0 {
		c.pos++
	}
	return c.pos
}

// next passes blanks and returns the byte after them, 0 at the end.
func (c *canonicaliser) next() byte {
	if c.space() == len(c.src) {
		return 0
	}
	return c.src[c.pos]
}

func (c *canonicaliser) value(depth int) bool {
	if depth > maxQuickDepth {
		return false
	}
	switch b := c.next(); {
	case b == '"':
		return c.text()
	case b == '{':
		return c.object(depth)
	case b == '[':
		return c.array(depth)
	case b == '-' || b >= '0' && b <= '9':
		return c.number()
	default:
		return c.word("true") || c.word("false") || c.word("null") || c.fail()
	}
}

// fail notes that the text is no JSON.
func (c *canonicaliser) fail() bool {
	c.broken = true
	return false
}

func (c *canonicaliser) word(w string) bool {
	if !strings.HasPrefix(c.src[c.pos:], w) {
		return false
	}
	c.pos += len(w)
	c.out = append(c.out, w...)
	return true
}

// number copies a number that is spelled as it should be: a whole one, or a short decimal fraction.
func (c *canonicaliser) number() bool {
	start := c.pos
	if c.src[c.pos] == '-' {
		c.pos++
	}
	whole := c.digits()
	if whole == "" || whole[0] == '0' && len(whole) > 1 {
		return false
	}
	fraction := ""
	if c.pos < len(c.src) && c.src[c.pos] == '.' {
		c.pos++
		// Fifteen digits survive a float; six after the point need no exponent.
		if fraction = c.digits(); fraction == "" || len(fraction) > 6 || len(whole) > 9 || fraction[len(fraction)-1] == '0' {
			return false
		}
	}
	if c.pos < len(c.src) && c.src[c.pos]|0x20 == 'e' || whole == "0" && fraction == "" && c.src[start] == '-' {
		return false
	}
	c.out = append(c.out, c.src[start:c.pos]...)
	return true
}

// digits passes a run of digits.
func (c *canonicaliser) digits() string {
	start := c.pos
	for c.pos < len(c.src) && c.src[c.pos] >= '0' && c.src[c.pos] <= '9' {
		c.pos++
	}
	return c.src[start:c.pos]
}

// text copies a string whose escapes, if any, are the short ones.
func (c *canonicaliser) text() bool {
	end, ok := stringEnd(c.src, c.pos)
	if !ok {
		return false
	}
	raw := c.src[c.pos:end]
	c.out, c.pos = append(c.out, raw...), end
	ascii, plain := printable(raw)
	if !plain || !ascii && !utf8.ValidString(raw) {
		return false
	}
	for i := strings.IndexByte(raw, '\\'); i >= 0; {
		if strings.IndexByte(`"\bfnrt`, raw[i+1]) < 0 {
			return false
		}
		next := strings.IndexByte(raw[i+2:], '\\')
		if next < 0 {
			break
		}
		i += 2 + next
	}
	return true
}

// printable says whether a text is ASCII, and whether it is free of control characters. It looks at eight bytes at a time: most of what is
// canonicalised is prose in strings.
func printable(s string) (ascii, plain bool) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	var seen, bad uint64
	for ; len(s) >= 8; s = s[8:] {
		x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		seen |= x
		bad |= (x - ones*' ') &^ x // the high bit of a byte below the blank
	}
	if bad&high != 0 {
		return false, false
	}
	for i := range len(s) {
		if s[i] < ' ' {
			return false, false
		}
		seen |= uint64(s[i])
	}
	return seen&high == 0, true
}

func (c *canonicaliser) array(depth int) bool {
	c.pos++
	c.out = append(c.out, '[')
	for n := 0; ; n++ {
		if n == 0 && c.next() == ']' {
			break
		}
		if !c.value(depth + 1) {
			return false
		}
		if c.next() == ']' {
			break
		}
		if c.next() != ',' {
			return c.fail()
		}
		c.pos++
		c.out = append(c.out, ',')
	}
	c.pos++
	c.out = append(c.out, ']')
	return true
}

// part is a member of an object in the output: where it begins, where its name ends, where it ends.
type part struct{ from, name, to int }

func (c *canonicaliser) object(depth int) bool {
	c.pos++
	start := len(c.out)
	c.out = append(c.out, '{')
	var few [16]part
	parts, sorted := few[:0], true
	for c.next() != '}' || len(parts) > 0 {
		p := part{from: len(c.out)}
		if c.next() != '"' {
			return c.fail()
		}
		if !c.text() {
			return false
		}
		p.name = len(c.out)
		if name := c.out[p.from:p.name]; !isASCII(name) || bytes.IndexByte(name, '\\') >= 0 {
			return false // their order is that of UTF-16, which is left to the slow way
		}
		if c.next() != ':' {
			return c.fail()
		}
		c.pos++
		c.out = append(c.out, ':')
		if !c.value(depth + 1) {
			return false
		}
		p.to = len(c.out)
		if n := len(parts); n > 0 && bytes.Compare(c.name(parts[n-1]), c.name(p)) >= 0 {
			sorted = false
		}
		parts = append(parts, p)
		if c.next() == '}' {
			break
		}
		if c.next() != ',' {
			return c.fail()
		}
		c.pos++
		c.out = append(c.out, ',')
	}
	c.pos++
	if !sorted && !c.sort(start, parts) {
		return false
	}
	c.out = append(c.out, '}')
	return true
}

// name is a member's name without its quotes.
func (c *canonicaliser) name(p part) []byte { return c.out[p.from+1 : p.name-1] }

func isASCII(s []byte) bool {
	for _, b := range s {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// sort puts the members of the object that began at start in order of their names.
func (c *canonicaliser) sort(start int, parts []part) bool {
	slices.SortFunc(parts, func(a, b part) int { return bytes.Compare(c.name(a), c.name(b)) })
	var room [512]byte
	moved := room[:0]
	for i, p := range parts {
		if i > 0 {
			if bytes.Equal(c.name(parts[i-1]), c.name(p)) {
				return false
			}
			moved = append(moved, ',')
		}
		moved = append(moved, c.out[p.from:p.to]...)
	}
	c.out = append(append(c.out[:start], '{'), moved...)
	return true
}

// appendString writes a JSON string, with invalid UTF-8 replaced: AppendQuote reports that as an error after it has done so.
func appendString(dst []byte, s string) []byte {
	out, _ := jsontext.AppendQuote(dst, s)
	return out
}

// appendFloat writes a number as JSON: null for those that JSON lacks.
func appendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// jsonText returns the first of the keys that holds something, as JSON text: structures are written out, texts are taken as they are.
func (a Attrs) jsonText(keys ...string) string {
	for _, k := range keys {
		if v, ok := a[k]; ok {
			if s := structured(v); s != "" {
				return s
			}
		}
	}
	return ""
}
