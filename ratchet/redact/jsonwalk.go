package redact

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// walker goes once over a JSON text and collects spans by their offsets in it, so that everything else stays byte for byte.
type walker struct {
	s     *Session
	dec   *jsontext.Decoder
	text  string
	depth int
}

// document analyses a text that is exactly one JSON value; key is the key under which the whole stands, if any.
func (s *Session) document(text, key string, depth int) (node, error) {
	w := walker{s: s, text: text, depth: depth, dec: jsontext.NewDecoder(strings.NewReader(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	canonical, err := w.value(key)
	if err != nil {
		return node{}, err
	}
	if _, err := w.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return node{}, errors.Join(errors.New("more than one value"), err)
	}
	return ordered(text, canonical), nil
}

// ordered sorts spans by place and remembers the order in which they came.
func ordered(text string, canonical []span) node {
	rank := make([]int, len(canonical))
	for i := range rank {
		rank[i] = i
	}
	slices.SortFunc(rank, func(a, b int) int { return cmp.Compare(canonical[a].start, canonical[b].start) })
	n := node{text: text, spans: make([]span, len(canonical)), order: make([]int, len(canonical))}
	for place, r := range rank {
		n.spans[place] = canonical[r]
		n.order[r] = place
	}
	return n
}

func (w *walker) value(key string) ([]span, error) {
	switch w.dec.PeekKind() {
	case '{':
		return w.object(key)
	case '[':
		return w.array(key)
	}
	raw, err := w.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(w.dec.InputOffset())
	start := end - len(raw)
	switch raw.Kind() {
	case '"':
		return w.str(raw, start, end, key)
	case '0':
		return w.s.numeral(w.text[start:end], start, key), nil
	}
	return nil, nil
}

// str analyses a string token, key or value.
func (w *walker) str(raw jsontext.Value, start, end int, key string) ([]span, error) {
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil && len(text) == 0 {
		return nil, err
	}
	inner := w.s.text(string(text), key, w.depth+1)
	if len(inner.spans) == 0 {
		return nil, nil
	}
	inner.codec = jsonQuoted
	return []span{{start: start, end: end, inner: &inner}}, nil
}

func (w *walker) array(key string) ([]span, error) {
	if _, err := w.dec.ReadToken(); err != nil {
		return nil, err
	}
	var all []span
	for w.dec.PeekKind() != ']' {
		spans, err := w.value(key)
		if err != nil {
			return nil, err
		}
		all = append(all, spans...)
	}
	_, err := w.dec.ReadToken()
	return all, err
}

type member struct {
	name  string
	spans []span
}

// object analyses the members, each under its own key. In a pair of name and value (an OTLP attribute, a header list)
// the value stands under the name that the pair gives it.
func (w *walker) object(outer string) ([]span, error) {
	if _, err := w.dec.ReadToken(); err != nil {
		return nil, err
	}
	var members []member
	label := ""
	for w.dec.PeekKind() != '}' {
		m, err := w.member(outer, &label)
		if err != nil {
			return nil, err
		}
		if len(m.spans) > 0 {
			members = append(members, m)
		}
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	var all []span
	for _, m := range members {
		all = append(all, m.spans...)
	}
	return all, nil
}

func (w *walker) member(outer string, label *string) (member, error) {
	raw, err := w.dec.ReadValue()
	if err != nil {
		return member{}, err
	}
	end := int(w.dec.InputOffset())
	spans, err := w.str(raw, end-len(raw), end, "")
	if err != nil {
		return member{}, err
	}
	b, _ := jsontext.AppendUnquote(nil, raw)
	name := string(b)
	key := name
	switch name {
	case "value":
		key = cmp.Or(*label, outer, name)
	case "stringValue", "intValue", "arrayValue", "values", "bytesValue":
		key = cmp.Or(outer, name)
	case "key", "name":
		key = ""
		if w.dec.PeekKind() == '"' {
			rest := w.text[end:]
			*label = peekString(rest)
		}
	}
	more, err := w.value(key)
	return member{name, append(spans, more...)}, err
}

// peekString reads the string value that follows a key's colon, without moving the decoder.
func peekString(rest string) string {
	at := strings.IndexByte(rest, '"')
	if at < 0 {
		return ""
	}
	body := rest[at+1:]
	end := strings.IndexByte(body, '"')
	if end < 0 || end > 200 || strings.Contains(body[:end], `\`) {
		return ""
	}
	return body[:end]
}
