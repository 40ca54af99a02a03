package wire

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// Masked is what stands in place of a masked value or of the part of a string that a mask matched.
const Masked = "[masked]"

// Scrub says what must never reach the stream.
//
// Drop holds globs on attribute keys (`*` any run of characters, `?` any one); what they name is left out. Mask holds
// globs on keys too, whose value becomes [Masked]; an entry between slashes, as in `/sk-[a-z0-9]+/`, is a regular
// expression (RE2), and what it matches within any string value becomes [Masked].
//
// Keys are those of resources, scopes, spans, events, links and log records, and the fields of a structured log body. A
// field within a map value is named by its path: `http.headers` holding {cookie} is `http.headers.cookie`. Matching
// ignores case. Whatever Drop says, header values that carry credentials are dropped: the keys that end in `.header` or
// `.headers` and then authorization, proxy-authorization, cookie, set-cookie, x-api-key, api-key or x-goog-api-key.
type Scrub struct {
	Drop []string
	Mask []string
}

// Scrubber is a compiled [Scrub], safe for concurrent use.
type Scrubber struct {
	drop   []glob
	mask   []glob
	values []*regexp.Regexp
}

// Compile checks the globs and expressions of s. The error names the entry.
func (s Scrub) Compile() (*Scrubber, error) {
	var c Scrubber
	for i, pattern := range s.Drop {
		if pattern == "" {
			return nil, fmt.Errorf("drop[%d]: empty pattern; give an attribute key or a glob like http.*", i)
		}
		c.drop = append(c.drop, newGlob(pattern))
	}
	for i, pattern := range s.Mask {
		expr, isRegexp := between(pattern)
		if !isRegexp && pattern == "" {
			return nil, fmt.Errorf("mask[%d]: empty pattern; give an attribute key, a glob or a /regular expression/", i)
		}
		if !isRegexp {
			c.mask = append(c.mask, newGlob(pattern))
			continue
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("mask[%d] %s: %w", i, pattern, err)
		}
		c.values = append(c.values, re)
	}
	return &c, nil
}

func between(pattern string) (string, bool) {
	if len(pattern) > 2 && pattern[0] == '/' && pattern[len(pattern)-1] == '/' {
		return pattern[1 : len(pattern)-1], true
	}
	return "", false
}

// action is what becomes of an attribute.
type action uint8

const (
	keep action = iota
	drop
	mask
)

// judge decides by the full path of a key.
func (s *Scrubber) judge(path []byte) action {
	if credential(path) {
		return drop
	}
	for _, g := range s.drop {
		if g.match(path) {
			return drop
		}
	}
	for _, g := range s.mask {
		if g.match(path) {
			return mask
		}
	}
	return keep
}

// replace masks what the value expressions match in b. It returns b itself where nothing matched.
func (s *Scrubber) replace(b []byte) []byte {
	for _, re := range s.values {
		if re.Match(b) {
			b = re.ReplaceAllLiteral(b, []byte(Masked))
		}
	}
	return b
}

// touches tells whether the scrubber would change a KeyValue. Path is the path of the map that holds it; nested keys are
// judged by theirs. Framing faults are left to the walk: they end the search.
func (s *Scrubber) touches(kv, path []byte) bool {
	key, value := splitKeyValue(kv)
	path = join(path, key)
	return s.judge(path) != keep || s.touchesValue(value, path, 0)
}

// touchesBody is touches for the body of a log record.
func (s *Scrubber) touchesBody(record, path []byte) bool {
	return s.find(kindLog, record, func(t token) bool {
		return t.kind == kindAnyValue && t.form == message && s.touchesValue(t.value(), path, 0)
	})
}

func (s *Scrubber) touchesValue(value, path []byte, depth int) bool {
	if depth > maxDepth {
		return false
	}
	return s.find(kindAnyValue, value, func(t token) bool {
		switch {
		case t.form == text:
			return s.matches(t.value())
		case t.kind == kindArray && t.form == message:
			return s.find(kindArray, t.value(), func(e token) bool {
				return e.form == message && s.touchesValue(e.value(), path, depth+2)
			})
		case t.kind == kindKvlist && t.form == message:
			return s.find(kindKvlist, t.value(), func(e token) bool {
				if e.form != message {
					return false
				}
				key, inner := splitKeyValue(e.value())
				below := join(path, key)
				return s.judge(below) != keep || s.touchesValue(inner, below, depth+3)
			})
		}
		return false
	})
}

func (s *Scrubber) matches(b []byte) bool {
	for _, re := range s.values {
		if re.Match(b) {
			return true
		}
	}
	return false
}

func (s *Scrubber) find(k kind, b []byte, hit func(token) bool) bool {
	for len(b) > 0 {
		t, bad := next(k, b)
		if bad != nil {
			return false
		}
		if hit(t) {
			return true
		}
		b = b[len(t.raw):]
	}
	return false
}

// splitKeyValue finds key and value of a KeyValue whatever their order; of a repeated field the last counts.
func splitKeyValue(kv []byte) (key, value []byte) {
	for len(kv) > 0 {
		t, bad := next(kindKeyValue, kv)
		if bad != nil {
			return key, value
		}
		switch t.num {
		case 1:
			key = t.value()
		case 2:
			value = t.value()
		}
		kv = kv[len(t.raw):]
	}
	return key, value
}

func join(path, key []byte) []byte {
	if len(path) > 0 {
		path = append(path, '.')
	}
	return append(path, key...)
}

// secretHeaders are the headers whose values are credentials, by their last letter, which settles most keys at once.
var secretHeaders = map[byte][]string{
	'n': {"authorization", "proxy-authorization"},
	'e': {"cookie", "set-cookie"},
	'y': {"x-api-key", "api-key", "x-goog-api-key"},
}

func credential(path []byte) bool {
	if len(path) < len(".header.cookie") {
		return false
	}
	last := path[len(path)-1] | 0x20
	if last != 'n' && last != 'e' && last != 'y' {
		return false
	}
	dot := bytes.LastIndexByte(path, '.')
	if dot < 0 || !endsFold(path[:dot], ".header") && !endsFold(path[:dot], ".headers") {
		return false
	}
	for _, name := range secretHeaders[last] {
		if strings.EqualFold(strings.ReplaceAll(string(path[dot+1:]), "_", "-"), name) {
			return true
		}
	}
	return false
}

func endsFold(b []byte, suffix string) bool {
	return len(b) >= len(suffix) && strings.EqualFold(string(b[len(b)-len(suffix):]), suffix)
}

// glob is a pattern of literal pieces between stars, lower case.
type glob struct{ pieces []string }

func newGlob(pattern string) glob {
	return glob{strings.Split(strings.ToLower(pattern), "*")}
}

// match tells whether the whole of b fits. A piece in the middle takes its first fit, which is enough for globs without
// classes.
func (g glob) match(b []byte) bool {
	first, last := g.pieces[0], g.pieces[len(g.pieces)-1]
	if len(g.pieces) == 1 {
		return len(b) == len(first) && fits(b, first)
	}
	if len(b) < len(first)+len(last) || !fits(b, first) || !fits(b[len(b)-len(last):], last) {
		return false
	}
	b = b[len(first) : len(b)-len(last)]
	for _, piece := range g.pieces[1 : len(g.pieces)-1] {
		at := indexFit(b, piece)
		if at < 0 {
			return false
		}
		b = b[at+len(piece):]
	}
	return true
}

func indexFit(b []byte, piece string) int {
	for i := 0; i+len(piece) <= len(b); i++ {
		if fits(b[i:], piece) {
			return i
		}
	}
	return -1
}

// fits tells whether b begins with piece, a `?` standing for any byte, ASCII letters in either case.
func fits(b []byte, piece string) bool {
	if len(b) < len(piece) {
		return false
	}
	for i := range len(piece) {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if piece[i] != '?' && piece[i] != c {
			return false
		}
	}
	return true
}
