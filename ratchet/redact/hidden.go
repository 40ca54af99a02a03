package redact

import (
	"regexp"
	"strings"
)

// What is to be erased may stand there encoded: in base64, in an address, compressed. The second look's decodings find it, and the text is narrowed down to the
// least part that holds it: a string of a document, a line, a word. What is put together out of pieces that stand apart is not looked at: it would hit what
// belongs to others.

const (
	hiddenDepth = 8
	hiddenViews = 400
	hiddenWhole = 64 << 10 // bytes of a text that is looked at as one; of a longer one its strings and lines are
)

// cuts part a text into ever smaller pieces: the strings of a document, its lines, its words.
var cuts = []*regexp.Regexp{
	regexp.MustCompile(`(?:[^"\\]|\\.|\\)*"|(?:[^"\\]|\\.|\\)+`), // up to a quotation mark that no backslash stands before
	regexp.MustCompile(`[^\n]*\n|[^\n]+`),
	regexp.MustCompile("[\\s\"'\\\\<>(){}\\[\\],;|&?`]+|[^\\s\"'\\\\<>(){}\\[\\],;|&?`]+"),
}

// hidden says that a text holds the value in an encoding.
func (s Subject) hidden(text string) bool {
	if len(text) <= hiddenWhole {
		return s.decodes(text)
	}
	for _, piece := range partsOf(text, 0) {
		if s.decodes(piece) {
			return true
		}
	}
	return false
}

// unhide blanks what holds the value in an encoding.
func (s Subject) unhide(text string) string {
	if len(text) <= hiddenWhole {
		return s.narrow(text, 0)
	}
	var b strings.Builder
	known := map[string]string{} // a recording says most things many times
	for _, piece := range partsOf(text, 0) {
		clean, ok := known[piece]
		if !ok {
			clean = s.narrow(piece, 1)
			known[piece] = clean
		}
		b.WriteString(clean)
	}
	return b.String()
}

// narrow blanks the least parts of a text that hold the value in an encoding.
func (s Subject) narrow(text string, level int) string {
	if !s.decodes(text) {
		return text
	}
	for ; level < len(cuts); level++ {
		parts := partsOf(text, level)
		if len(parts) < 2 {
			continue
		}
		var b strings.Builder
		for _, part := range parts {
			b.WriteString(s.narrow(part, level+1))
		}
		if out := b.String(); out != text && !s.decodes(out) {
			return out
		}
	}
	return Erased
}

// partsOf are the parts of a text in their order, with what parts them. The quotation mark or the line's end after a part is one of its own.
func partsOf(text string, level int) (out []string) {
	for _, p := range cuts[level].FindAllString(text, -1) {
		end := len(p) - 1
		if level < 2 && end > 0 && (p[end] == '"' || p[end] == '\n') {
			out = append(out, p[:end], p[end:])
			continue
		}
		out = append(out, p)
	}
	return out
}

// decodes says that a text decodes to one with the value.
func (s Subject) decodes(text string) bool {
	if !s.mayHide(text) {
		return false
	}
	queue := []view{{text: text}}
	seen := map[string]bool{text: true}
	budget := 64*len(text) + 256<<10
	for at := 0; at < len(queue) && at < hiddenViews; at++ {
		for _, next := range steps(queue[at]) {
			if seen[next.text] {
				continue
			}
			if s.re.MatchString(next.text) {
				return true
			}
			if budget -= len(next.text); budget < 0 {
				return false
			}
			if seen[next.text] = true; next.depth < hiddenDepth && s.mayHide(next.text) {
				queue = append(queue, next)
			}
		}
	}
	return false
}

// mayHide says that a text has anything in which the value could be encoded: escapes, odd characters, a long run of letters, or bytes written as numbers.
func (s Subject) mayHide(text string) bool {
	run, numbers := 0, 0
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 0x80, c < 0x20 && c != '\n' && c != '\t' && c != '\r', c == '\\', c == '%', c == '&', c == '<':
			return true
		case baseByte(c) || c == '=':
			if run++; run >= s.run {
				return true
			}
		default:
			if run > 4 {
				numbers = 0
			} else if run > 1 {
				if numbers++; numbers >= max(minBytes, len(s.value)) {
					return true
				}
			}
			run = 0
		}
	}
	return run > 1 && run <= 4 && numbers+1 >= max(minBytes, len(s.value))
}
