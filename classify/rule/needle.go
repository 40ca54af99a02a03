package rule

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// finder is a pattern, for texts in lower case or for any, with words of which every match holds one: a text that holds none is spared the pattern, which is
// what makes it cheap to look for many patterns in texts that match none of them.
type finder struct {
	re      *regexp.Regexp
	needles []string // nil: not known, so that the pattern has to be tried
}

// lookFor compiles a pattern.
func lookFor(pattern string) finder {
	f := finder{re: regexp.MustCompile(pattern)}
	if tree, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		f.needles = needles(tree.Simplify())
	}
	return f
}

// in says whether the pattern matches in a text, which must be in lower case.
func (f finder) in(low string) bool { return f.may(low) && f.re.MatchString(low) }

// MatchString says whether the pattern, which looks at no case, matches in a text as it was written.
func (f finder) MatchString(text string) bool {
	return f.matches(text, strings.ToLower(text))
}

// matches is MatchString of a text that is there in lower case too.
func (f finder) matches(text, low string) bool { return f.may(low) && f.re.MatchString(text) }

// may says that a text in lower case holds one of the words.
func (f finder) may(low string) bool {
	return f.needles == nil || slices.ContainsFunc(f.needles, func(n string) bool { return strings.Contains(low, n) })
}

// A needle is worth looking for if it is long enough to be rare, and if there are few of them.
const (
	shortestNeedle = 3
	mostNeedles    = 64
)

// needles returns words of which every match of a pattern holds at least one; nil when there are none worth looking for.
func needles(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if word := strings.ToLower(string(re.Rune)); len(word) >= shortestNeedle {
			return []string{word}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needles(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needles(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if n := needles(sub); n != nil && (best == nil || rarer(n, best)) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			n := needles(sub)
			if n == nil {
				return nil
			}
			all = append(all, n...)
		}
		slices.Sort(all)
		if all = slices.Compact(all); len(all) <= mostNeedles {
			return all
		}
	}
	return nil
}

// rarer says whether one list of needles spares more texts than another: its shortest is longer, or they are fewer.
func rarer(a, b []string) bool {
	short := func(list []string) int {
		return len(slices.MinFunc(list, func(x, y string) int { return len(x) - len(y) }))
	}
	if sa, sb := short(a), short(b); sa != sb {
		return sa > sb
	}
	return len(a) < len(b)
}
