package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds encodings in encodings. Verify decodes deeper and refuses what is hidden below.
const maxDepth = 12

// hit is a value found in a plain text. protect marks a pseudonym: nothing inside it is touched.
type hit struct {
	start, end int
	kind       Kind
	protect    bool
}

// text analyses a decoded string that stands under key (or "" if under none).
func (s *Session) text(text, key string, depth int) node {
	n := node{text: text}
	if text == "" || s.r.keep[text] || depth > maxDepth {
		return n
	}
	if h, ok := s.r.keyed(text, key); ok && !(text[0] == '"' && looksJSON(text)) { // in quotes it is the string inside that counts
		if h.protect {
			s.reserve(text)
			return n
		}
		n.spans = []span{{start: h.start, end: h.end, kind: h.kind}}
		return n
	}
	if looksJSON(text) {
		if doc, err := s.document(text, key, depth+1); err == nil {
			return doc
		}
	}
	n.spans = s.merge(text, s.hits(text, key), s.encoded(text, key, depth))
	return n
}

func looksJSON(text string) bool {
	t := strings.TrimSpace(text)
	if len(t) < 2 {
		return false
	}
	return t[0] == '{' && t[len(t)-1] == '}' || t[0] == '[' && t[len(t)-1] == ']' || t[0] == '"' && t[len(t)-1] == '"'
}

// hits are what the rules find in the text as it stands, and the values already learnt.
func (s *Session) hits(text, key string) []hit {
	cacheKey := text
	if len(text) <= maxContextValue {
		cacheKey = key + "\x00" + text
	}
	found, ok := s.cache[cacheKey]
	if !ok {
		found = s.r.detect(text, key)
		s.cache[cacheKey] = found
	}
	return append(slices.Clip(found), s.learnt(text)...)
}

// learnt finds values that the session knows by context, where they stand as whole words. Few values are looked for one
// by one, many by asking at each place whether a known value of each length stands there.
func (s *Session) learnt(text string) []hit {
	if len(s.sorted) > 32 {
		return s.learntMany(text)
	}
	var hits []hit
	for _, v := range s.sorted {
		for at := 0; at+len(v) <= len(text); {
			i := strings.Index(text[at:], v)
			if i < 0 {
				break
			}
			start, end := at+i, at+i+len(v)
			at = end
			if wholeWord(text, start, end) {
				hits = append(hits, hit{start: start, end: end, kind: s.exact[v]})
			}
		}
	}
	return hits
}

func (s *Session) learntMany(text string) []hit {
	var hits []hit
	for start := range len(text) {
		if start > 0 && asciiWord(text[start-1]) && asciiWord(text[start]) {
			continue
		}
		for _, n := range s.lengths {
			end := start + n
			if end > len(text) {
				break
			}
			if kind, ok := s.exact[text[start:end]]; ok && wholeWord(text, start, end) {
				hits = append(hits, hit{start: start, end: end, kind: kind})
			}
		}
	}
	return hits
}

func asciiWord(c byte) bool { return c < 0x80 && idByte(c) }

// wholeWord says that text[start:end] is not part of a longer word or number.
func wholeWord(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	first, _ := utf8.DecodeRuneInString(text[start:])
	last, _ := utf8.DecodeLastRuneInString(text[:end])
	return !(wordRune(before) && wordRune(first)) && !(wordRune(after) && wordRune(last))
}

func wordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

// merge joins overlapping finds to their union, under the kind of the longest, so that no rest of a loser stays behind.
// An encoding in which something was found wins over what its encoded form looks like, unless a value contains it whole.
func (s *Session) merge(text string, hits []hit, encoded []span) []span {
	all := slices.Clone(encoded)
	for _, h := range hits {
		if h.protect {
			s.reserve(text[h.start:h.end])
			all = append(all, span{start: h.start, end: h.end})
		} else if !s.r.keep[text[h.start:h.end]] {
			all = append(all, span{start: h.start, end: h.end, kind: h.kind})
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), strings.Compare(string(a.kind), string(b.kind)))
	})
	out := all[:1]
	for _, next := range all[1:] {
		last := &out[len(out)-1]
		if next.start >= last.end {
			out = append(out, next)
			continue
		}
		*last = join(*last, next)
	}
	return slices.DeleteFunc(out, func(sp span) bool { return sp.inner == nil && sp.kind == "" })
}

// join merges two overlapping spans, a starting first.
func join(a, b span) span {
	switch {
	case b.end <= a.end: // b inside a
		if a.start == b.start && a.end == b.end && b.inner != nil {
			return b
		}
		return a
	case a.start == b.start && b.inner == nil:
		return b
	case a.inner != nil && b.kind == "", a.kind == "" && a.inner == nil && b.inner == nil && b.kind == "":
		return a
	}
	longest := a
	if b.end-b.start > a.end-a.start || a.kind == "" {
		longest = b
	}
	return span{start: a.start, end: b.end, kind: cmp.Or(longest.kind, a.kind, b.kind, Value)}
}

// encoded looks for encodings in a text and keeps those in which something is found.
func (s *Session) encoded(text, key string, depth int) []span {
	if depth >= maxDepth {
		return nil
	}
	spans := s.embeddedJSON(text, key, depth)
	try := func(start, end int, c codec, decoded string) bool {
		inner := s.text(decoded, key, depth+1)
		if len(inner.spans) == 0 {
			return false
		}
		inner.codec = c
		spans = append(spans, span{start: start, end: end, inner: &inner})
		return true
	}
	if strings.IndexByte(text, '%') >= 0 || strings.IndexByte(text, '+') >= 0 && (depth > 0 || strings.IndexByte(text, '=') >= 0) {
		percentPieces(text, try)
	}
	if strings.Contains(text, `\u`) || strings.Contains(text, `\/`) {
		escapedPieces(text, try)
	}
	if strings.Contains(text, "&#") || strings.Contains(text, "&commat") {
		entityPieces(text, try)
	}
	if len(text) >= minEncoded {
		basePieces(text, try)
	}
	return spans
}

// embeddedJSON finds JSON objects and arrays inside other text: server-sent events, "Result: {...}", lines of JSON.
func (s *Session) embeddedJSON(text, key string, depth int) []span {
	var spans []span
	for at, tries := 0, 0; at < len(text) && tries < 64; {
		i := strings.IndexAny(text[at:], "{[")
		if i < 0 {
			break
		}
		start := at + i
		at = start + 1
		if !opensJSON(text[start:]) {
			continue
		}
		tries++
		dec := jsontext.NewDecoder(strings.NewReader(text[start:]), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		raw, err := dec.ReadValue()
		if err != nil || len(raw) == len(text) {
			continue
		}
		end := start + int(dec.InputOffset())
		if doc, err := s.document(text[start:end], key, depth+1); err == nil && len(doc.spans) > 0 {
			spans = append(spans, span{start: start, end: end, inner: &doc})
		}
		at = end
	}
	return spans
}

func opensJSON(text string) bool {
	rest := strings.TrimLeft(text[1:], " \t\r\n")
	if rest == "" {
		return false
	}
	return rest[0] == '"' || text[0] == '[' && (rest[0] == '{' || rest[0] == '[')
}

type tryFunc func(start, end int, c codec, decoded string) bool

var percentToken = regexp.MustCompile(`(?:[A-Za-z0-9._~+\-@!*'();:$,]|%[0-9A-Fa-f]{2})+`)

// percentPieces decodes the parts of URLs and forms between their delimiters.
func percentPieces(text string, try tryFunc) {
	for _, m := range percentToken.FindAllStringIndex(text, -1) {
		piece := text[m[0]:m[1]]
		inForm := m[0] > 0 && text[m[0]-1] == '=' || m[0] == 0 && m[1] == len(text) // or the whole of what was decoded out of one
		if strings.IndexByte(piece, '+') > 0 && inForm && strings.IndexByte(piece, '@') < 0 {
			if d, err := url.QueryUnescape(piece); err == nil && try(m[0], m[1], form, d) {
				continue
			}
		}
		if strings.IndexByte(piece, '%') < 0 {
			continue
		}
		if d, err := url.PathUnescape(piece); err == nil && d != piece {
			try(m[0], m[1], percent, d)
		}
	}
}

var escapedToken = regexp.MustCompile(`[^\s"\\]*\\(?:u[0-9A-Fa-f]{4}|/)(?:[^\s"\\]|\\u[0-9A-Fa-f]{4}|\\/)*`)

// escapedPieces decodes JSON escapes in text that is not whole JSON, such as a value that an exporter cut.
func escapedPieces(text string, try tryFunc) {
	for _, m := range escapedToken.FindAllStringIndex(text, -1) {
		d, err := jsontext.AppendUnquote(nil, []byte(`"`+text[m[0]:m[1]]+`"`))
		if err == nil {
			try(m[0], m[1], jsonEscaped, string(d))
		}
	}
}

var entityToken = regexp.MustCompile(`[^\s<>"']*&(?:#[0-9]+|#[xX][0-9A-Fa-f]+|commat);[^\s<>"']*`)

// entityPieces decodes what HTML writes as numbers: maya&#64;acme.org.
func entityPieces(text string, try tryFunc) {
	for _, m := range entityToken.FindAllStringIndex(text, -1) {
		try(m[0], m[1], htmlEntity, html.UnescapeString(text[m[0]:m[1]]))
	}
}

// minEncoded is the shortest base64 worth decoding: a@bcd.ef is 8 bytes.
const minEncoded = 11

// basePieces decodes runs of base64 and hexadecimal whose content is text.
func basePieces(text string, try tryFunc) {
	for start := 0; start < len(text); {
		if !baseByte(text[start]) {
			start++
			continue
		}
		end := start
		for end < len(text) && baseByte(text[end]) {
			end++
		}
		for pad := 0; pad < 2 && end < len(text) && text[end] == '='; pad++ {
			end++
		}
		if end-start >= minEncoded && !baseRun(text, start, end, try) {
			slashParts(text, start, end, try)
		}
		start = end
	}
}

// slashParts tries the parts of a run between slashes: in a path the slash is no base64.
func slashParts(text string, start, end int, try tryFunc) {
	if strings.IndexByte(text[start:end], '/') < 0 {
		return
	}
	for part := range strings.SplitSeq(text[start:end], "/") {
		if len(part) >= minEncoded {
			baseRun(text, start, start+len(part), try)
		}
		start += len(part) + 1
	}
}

func baseByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// baseRun tries a run as what it can be, once: trying twice what reads the same would double the work at each depth. It
// says whether the run was text in an encoding.
func baseRun(text string, start, end int, try tryFunc) bool {
	run := text[start:end]
	if c, d, ok := hexText(run); ok {
		try(start, end, c, d)
		return true
	}
	c, enc := base64Form(run)
	d, err := enc.DecodeString(run)
	if err != nil || !readable(d) {
		return false
	}
	try(start, end, c, string(d))
	return true
}

func base64Form(run string) (codec, *base64.Encoding) {
	url, padded := strings.ContainsAny(run, "-_"), len(run)%4 == 0
	switch {
	case url && padded:
		return base64URL, base64.URLEncoding
	case url:
		return base64RawURL, base64.RawURLEncoding
	case padded:
		return base64Std, base64.StdEncoding
	}
	return base64Raw, base64.RawStdEncoding
}

func hexText(run string) (codec, string, bool) {
	if len(run)%2 != 0 {
		return plain, "", false
	}
	d, err := hex.DecodeString(run)
	if err != nil || !readable(d) {
		return plain, "", false
	}
	if run == strings.ToUpper(run) && run != strings.ToLower(run) {
		return hexUpper, string(d), true
	}
	return hexLower, string(d), true
}

// readable says that bytes are text: valid UTF-8 without control characters but white space.
func readable(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, c := range b {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
