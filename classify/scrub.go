package classify

import (
	"regexp"
	"strings"
)

// What identifies one run and not the failure. Order matters: the longer shapes first, so that a uuid does not fall apart into numbers.
var (
	uuids   = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	times   = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(Z|[+-]\d\d:?\d\d)?`)
	hexes   = regexp.MustCompile(`(?i)(0x[0-9a-f]+|[0-9a-f]{8,})`)
	tokens  = regexp.MustCompile(`\b((call|toolu|tooluse|chatcmpl|resp|msg|run|req|fc|thread|sess|trace|span)[_-])?[A-Za-z0-9]{12,}`)
	longNum = regexp.MustCompile(`\d{6,}`)
	numbers = regexp.MustCompile(`\d+`)
	hashes  = regexp.MustCompile(`#([.,:\-_]?#)+`)
)

// ScrubIDs replaces what names one run by #: uuids, times, ids of providers (call_..., chatcmpl-...) and other random tokens, hex of eight and
// more digits that holds a decimal digit, and numbers of six digits and more. Short numbers stay, since names carry them (gpt-4, get_order_v2). It is idempotent.
func ScrubIDs(s string) string { return fixedPoint(s, scrubIDs) }

// Scrub does what ScrubIDs does and replaces every other number too: 403 and 3.5 both become #. It is idempotent.
func Scrub(s string) string {
	return fixedPoint(s, func(s string) string { return numbers.ReplaceAllString(scrubIDs(s), "#") })
}

func scrubIDs(s string) string {
	if strings.IndexFunc(s, isDigit) < 0 && !strings.Contains(s, "#") {
		return s
	}
	s = uuids.ReplaceAllString(s, "#")
	s = times.ReplaceAllString(s, "#")
	s = hexes.ReplaceAllStringFunc(s, func(h string) string {
		if strings.IndexFunc(h, isDigit) < 0 {
			return h
		}
		return "#"
	})
	s = tokens.ReplaceAllStringFunc(s, func(t string) string {
		if random(t) {
			return "#"
		}
		return t
	})
	return longNum.ReplaceAllString(s, "#")
}

// random says that a word of twelve and more letters and digits was drawn and not written: it mixes lower and upper case with digits.
func random(word string) bool {
	return strings.IndexFunc(word, isDigit) >= 0 && strings.ToLower(word) != word && strings.ToUpper(word) != word
}

// fixedPoint applies step, then folds runs of #, until nothing changes. Each round shortens the text or leaves it, so it ends.
func fixedPoint(s string, step func(string) string) string {
	for {
		next := hashes.ReplaceAllString(step(s), "#")
		if next == s {
			return s
		}
		s = next
	}
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }
