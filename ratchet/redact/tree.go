package redact

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node is one text with what was found in it. spans are in the text's order and do not overlap.
type node struct {
	text  string
	codec codec
	spans []span
	order []int // canonical order of spans for numbering; nil means the text's order
}

// span is a part of a text: a value of a kind, or (inner set) an encoding with something found inside.
type span struct {
	start, end int
	kind       Kind
	inner      *node
}

// codec says how an inner text is written in the text around it.
type codec uint8

const (
	plain       codec = iota
	jsonQuoted        // a JSON string with its quotes
	jsonEscaped       // the inside of a JSON string
	percent           // URL-encoded, space as %20
	form              // URL-encoded, space as +
	base64Std
	base64Raw
	base64URL
	base64RawURL
	hexLower
	hexUpper
	htmlEntity
)

func (c codec) encode(s string) string {
	switch c {
	case jsonQuoted, jsonEscaped:
		b, err := jsontext.AppendQuote(nil, s)
		if err != nil { // invalid UTF-8: replaced, as every decoder would
			b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
		}
		if c == jsonEscaped {
			b = b[1 : len(b)-1]
		}
		return string(b)
	case percent:
		return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
	case form:
		return url.QueryEscape(s)
	case base64Std:
		return base64.StdEncoding.EncodeToString([]byte(s))
	case base64Raw:
		return base64.RawStdEncoding.EncodeToString([]byte(s))
	case base64URL:
		return base64.URLEncoding.EncodeToString([]byte(s))
	case base64RawURL:
		return base64.RawURLEncoding.EncodeToString([]byte(s))
	case hexLower:
		return hex.EncodeToString([]byte(s))
	case hexUpper:
		return strings.ToUpper(hex.EncodeToString([]byte(s)))
	case htmlEntity:
		return html.EscapeString(s)
	}
	return s
}

// number gives every value found its pseudonym, in canonical order.
func (s *Session) number(n node) {
	if n.order == nil {
		for _, sp := range n.spans {
			s.numberSpan(n, sp)
		}
		return
	}
	for _, i := range n.order {
		s.numberSpan(n, n.spans[i])
	}
}

func (s *Session) numberSpan(n node, sp span) {
	if sp.inner != nil {
		s.number(*sp.inner)
		return
	}
	s.pseudonym(sp.kind, n.text[sp.start:sp.end]).Times++
}

// render appends the text with every value replaced.
func (s *Session) render(dst []byte, n node) []byte {
	dst = slices.Grow(dst, len(n.text))
	at := 0
	for _, sp := range n.spans {
		dst = append(dst, n.text[at:sp.start]...)
		if sp.inner == nil {
			dst = append(dst, s.pseudonym(sp.kind, n.text[sp.start:sp.end]).Pseudonym...)
		} else {
			dst = append(dst, sp.inner.codec.encode(string(s.render(nil, *sp.inner)))...)
		}
		at = sp.end
	}
	return append(dst, n.text[at:]...)
}
