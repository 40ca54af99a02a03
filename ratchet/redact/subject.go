package redact

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Erased stands where a person's value was erased; package verify knows a case's erasure by it.
const Erased = "[erased]"

// Subject is a value of one person that is to be erased wherever it is kept: a name, an address, a number.
type Subject struct {
	value string
	re    *regexp.Regexp
	run   int // letters in a row from which on some may be the value in another alphabet
}

// minSubject is how many letters or digits a value to erase has at least: less would blank half of what is kept.
const minSubject = 3

// NewSubject takes the value as it stands in texts. Capitals do not matter in an e-mail address; of others they do.
func NewSubject(value string) (Subject, error) {
	value = strings.TrimSpace(value)
	switch {
	case utf8.RuneCountInString(value) < minSubject:
		return Subject{}, fmt.Errorf("%q is too short to be erased: it would hit words of everybody", value)
	case strings.Contains(Erased, value):
		return Subject{}, fmt.Errorf("%q is what stands in the place of what is erased", value)
	}
	var forms []string
	for _, f := range spellings(value) {
		forms = append(forms, regexp.QuoteMeta(f))
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) }) // the longest first: it holds the others
	expr := strings.Join(slices.Compact(forms), "|")
	if strings.Contains(value, "@") {
		expr = "(?i:" + expr + ")"
	}
	re, err := regexp.Compile(expr)
	return Subject{value, re, max(minEncoded-1, min(len(value)*4/3, 20))}, err
}

// spellings are how a value stands in a text, in JSON inside of a text, and in an address.
func spellings(value string) (out []string) {
	out = []string{value}
	for range 2 {
		b, err := json.Marshal(out[len(out)-1])
		if err != nil {
			return out
		}
		out = append(out, string(b[1:len(b)-1]))
	}
	var escaped strings.Builder
	for _, c := range value {
		if c < 0x80 {
			escaped.WriteRune(c)
		} else if c <= 0xffff {
			fmt.Fprintf(&escaped, `\u%04x`, c)
		}
	}
	return append(out, escaped.String(), strings.ReplaceAll(value, "@", "%40"), strings.ReplaceAll(value, " ", "%20"), strings.ReplaceAll(value, " ", "+"))
}

// Is says that a text is the value and nothing else.
func (s Subject) Is(text string) bool { return text == s.value }

// In says whether a text holds the value, as it stands or in an encoding.
func (s Subject) In(text string) bool { return s.re.MatchString(text) || s.hidden(text) }

// Blank puts Erased in the place of the value, everywhere in a text; where it is encoded, in the place of the least part of the text that holds it.
func (s Subject) Blank(text string) string {
	return s.unhide(s.re.ReplaceAllLiteralString(text, Erased))
}
