package redact

import (
	"regexp"
	"slices"
	"strings"
)

// Values in pieces: a stream's deltas, strings added up in code, the elements of a list.

// series are the strings of a text put together.
func series(v view) []view {
	if strings.IndexByte(v.text, '"') < 0 && strings.IndexByte(v.text, '\'') < 0 {
		return nil
	}
	all, under := pieces(v.text, '"')
	if strings.Count(v.text, "'") > 3 {
		more, _ := pieces(v.text, '\'')
		under = append(under, more)
	}
	var out []view
	for _, p := range append(under, all) {
		if len(p.cuts) > 1 {
			out = append(out, v.join("split strings", p))
		}
	}
	return out
}

func (v view) join(name string, p *joint) view {
	n := v.next(name, p.text.String(), true)
	n.joined, n.cuts = true, p.cuts
	return n
}

var lineStart = regexp.MustCompile(`^[ \t]*(?:[>#*|]|//|--|;)?[ \t]*`)

// lines are the lines of a text put together, as they are and with a space between them.
func lines(v view) []view {
	if strings.IndexByte(v.text, '\n') < 0 {
		return nil
	}
	var tight, spaced joint
	for line := range strings.SplitSeq(v.text, "\n") {
		line = strings.TrimRight(strings.TrimPrefix(line, lineStart.FindString(line)), " \t\r\\")
		if len(line) > 2*maxPiece {
			line = line[:maxPiece] + "\x00" + line[len(line)-maxPiece:]
		}
		tight.add(line)
		spaced.add(line + " ")
	}
	a, b := v.join("split lines", &tight), v.join("split lines", &spaced)
	a.lines, b.lines = true, true
	return []view{a, b}
}

// joint is strings put together. cuts are where each begins.
type joint struct {
	text strings.Builder
	cuts []int
}

func (j *joint) add(s string) {
	j.cuts = append(j.cuts, j.text.Len())
	j.text.WriteString(s)
}

// maxPiece is the longest string that counts as a piece of a value: what is longer is looked at by itself, and its ends count.
const maxPiece = 64

// pieces reads the strings of a text without understanding it: those that follow each other with nothing but commas or plus signs between them, and those
// under one key. A string that a colon follows is a key.
func pieces(text string, quote byte) (all *joint, under []*joint) {
	all = &joint{}
	by := map[string]*joint{}
	key, last := "", 0
	for i := 0; i < len(text); i++ {
		if text[i] != quote {
			continue
		}
		end := i + 1
		for end < len(text) && text[end] != quote {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(text) {
			break
		}
		s, start := text[i+1:end], i
		i = end
		if strings.HasPrefix(strings.TrimLeft(text[end+1:min(len(text), end+8)], " \t\r\n"), ":") {
			key = s
			continue
		}
		if strings.IndexByte(s, '\\') >= 0 {
			s = unescape(s)
		}
		if len(s) > 2*maxPiece {
			s = s[:maxPiece] + "\x00" + s[len(s)-maxPiece:]
		}
		if strings.Trim(text[last:start], " \t\r\n,+.()\\") != "" { // something else stands between it and the one before
			all.add("\x00")
		}
		last = end + 1
		all.add(s)
		if by[key] == nil {
			by[key] = &joint{}
			under = append(under, by[key])
		}
		by[key].add(s)
	}
	return all, slices.DeleteFunc(under, func(j *joint) bool { return len(j.cuts) == len(all.cuts) })
}

// fromSeries decodes what became whole only by putting pieces together.
func fromSeries(v view) (out []view) {
	at := 0
	for run := range strings.FieldsFuncSeq(v.text, func(c rune) bool { return c >= 0x80 || !baseByte(byte(c)) }) {
		i := at + strings.Index(v.text[at:], run)
		at = i + len(run)
		if len(run) < 16 || len(run) > 1<<16 || !v.crosses(i, at) {
			continue
		}
		for _, d := range baseOf(run) {
			out = append(out, v.next(d.name, d.text, true))
		}
	}
	return out
}

// crosses says that a part of a joined text lies in more than one of its pieces.
func (v view) crosses(start, end int) bool {
	i, exact := slices.BinarySearch(v.cuts, start)
	if exact {
		i++
	}
	return i < len(v.cuts) && v.cuts[i] < end
}
