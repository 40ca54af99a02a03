package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Problem is one mistake in the configuration. Line and Column count from 1 and are 0 where there is no place, as for
// a value that came from a flag. Message holds no line break and no secret.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Key     string `json:"key"`     // dotted path, such as auth.tokens[0].role
	Message string `json:"message"` // what is wrong
	Advice  string `json:"advice"`  // what to write instead; may be empty
	Source  string `json:"source"`  // the offending line

	pointed bool // the column is that of the very character, and is worth a mark
}

// indent is what stands above a mark: all but tabs is as wide as a blank.
var indent = regexp.MustCompile(`[^\t]`)

// Error gives message, place and advice in one line, and the offending line below it.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Message)
	if p.Line > 0 {
		fmt.Fprintf(&b, " at %s:%d:%d", p.File, p.Line, p.Column)
	}
	if p.Advice != "" {
		b.WriteString("; " + p.Advice)
	}
	if p.Source != "" {
		fmt.Fprintf(&b, "\n%6d | %s", p.Line, p.Source)
	}
	if p.Source != "" && p.pointed && p.Column > 0 && p.Column <= len(p.Source) {
		fmt.Fprintf(&b, "\n%6s | %s^", "", indent.ReplaceAllString(p.Source[:p.Column-1], " "))
	}
	return b.String()
}

// Problems are all mistakes of one configuration, in the order of the file.
type Problems []Problem

// Error gives every problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return ps
}

// Nearest returns the one of among that word was most likely meant to be, or "" where none is near.
func Nearest(word string, among []string) string {
	best, least := "", len(word)/3+1
	for _, a := range slices.Sorted(slices.Values(among)) {
		if d := distance(strings.ToLower(word), a); d < least {
			best, least = a, d
		}
	}
	return best
}

// advise proposes the nearest of the allowed words, or lists them all where none is near.
func advise(word string, allowed []string) string {
	if best := Nearest(word, allowed); best != "" {
		return "did you mean `" + best + "`?"
	}
	if len(allowed) == 0 {
		return ""
	}
	return "allowed here: " + strings.Join(allowed, ", ")
}

// distance counts the insertions, deletions, substitutions and swaps of neighbours between a and b.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
