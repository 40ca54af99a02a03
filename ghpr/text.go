package ghpr

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text from outside is hostile: it may mention people, close issues, command bots, hide its direction, or break out of its place.
// A squash merge may copy the body into a commit message, where fences and code spans protect nothing. So text is defused
// character by character first, and quoted second.

var (
	mentionRE = regexp.MustCompile(`(^|[^A-Za-z0-9_])@[A-Za-z0-9]`)
	numberRE  = regexp.MustCompile(`#(\d)`)
	ghRE      = regexp.MustCompile(`(?i)\b(GH)-(\d)`)
	linkRE    = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]{1,15})://`)
	bareRE    = regexp.MustCompile(`(?i)\b(www|github)\.`)
	commandRE = regexp.MustCompile(`(?m)^([ \t>*+-]*)/([A-Za-z])`)
	skipRE    = regexp.MustCompile(`(?i)\[((?:skip|no)[ _-]?(?:ci|actions)|(?:ci|actions)[ _-]?skip)\]`)
	noCIRE    = regexp.MustCompile(`(?i)\*\*\*(NO_CI)\*\*\*`)
	trailRE   = regexp.MustCompile(`(?im)^([ \t]*(?:pawl-[a-z-]+|ratchet-[a-z-]+|signed-off-by|co-authored-by|skip-checks))[ \t]*:`)
	commentRE = regexp.MustCompile(`--!?>`)
)

// Defuse takes the power out of a text and leaves it readable: mentions, references (#1, GH-1), closing words (they need a reference),
// links, slash commands at the start of a line, switches for CI, commit trailers, comments, and characters that cannot be seen or that
// turn the direction of text. What it replaces it replaces by a look-alike or shows as a code point. Defusing twice changes nothing more.
func Defuse(s string) string {
	s = visible(s)
	s = strings.ReplaceAll(s, "@", "\uff20")
	s = numberRE.ReplaceAllString(s, "\uff03$1")
	s = ghRE.ReplaceAllString(s, "$1\u2011$2")
	s = linkRE.ReplaceAllString(s, "$1[:]//")
	s = bareRE.ReplaceAllString(s, "$1[.]")
	s = commandRE.ReplaceAllString(s, "$1\u2215$2")
	s = skipRE.ReplaceAllString(s, "($1)")
	s = noCIRE.ReplaceAllString(s, "$1")
	s = trailRE.ReplaceAllString(s, "$1\uff1a")
	s = strings.ReplaceAll(s, "<!--", "\u2039!--")
	return commentRE.ReplaceAllStringFunc(s, func(c string) string { return strings.TrimSuffix(c, ">") + "\u203a" })
}

// visible makes line ends plain and shows what cannot be seen: controls, bidi marks, zero widths, invalid bytes. A joiner stays where writing needs
// it: within an emoji, and between the letters of scripts whose shapes it chooses.
func visible(s string) string {
	var b strings.Builder
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(s)
	last, all := ' ', []rune(s) // last: as it was written
	for i, r := range all {
		next := ' '
		if i+1 < len(all) {
			next = all[i+1]
		}
		switch {
		case r == '\n' || r == '\t':
		case unseen(r) && !joins(last, r, next):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			last = '⟩'
			continue
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

var joining = []*unicode.RangeTable{unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala}

const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	asEmoji   = '\ufe0f'
)

// joins says whether an unseen character belongs to what stands around it.
func joins(last, r, next rune) bool {
	picture := unicode.Is(unicode.So, last) || last >= 0x1f3fb && last <= 0x1f3ff // skin tones
	switch r {
	case asEmoji:
		return picture
	case joiner:
		return (picture || last == asEmoji) && unicode.Is(unicode.So, next) || unicode.In(last, joining...) && unicode.In(next, joining...)
	case nonJoiner:
		return unicode.In(last, joining...) && unicode.In(next, joining...)
	}
	return false
}

// unseen: controls, format characters (bidi marks, zero widths, tags), variation selectors and fillers that draw nothing.
func unseen(r rune) bool {
	return r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) ||
		unicode.Is(unicode.Variation_Selector, r) || r == '\u034f' || r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0'
}

// Inline quotes a text from outside in one line, as a code span that is safe in a sentence and in a table's cell. Longer than max runes
// it is cut, which shows.
func Inline(s string, max int) string {
	s = strings.Join(strings.Fields(Defuse(s)), " ")
	s = strings.ReplaceAll(s, "|", "\u2223") // a bar ends a cell even inside a code span
	if rs := []rune(s); len(rs) > max {
		s = strings.TrimRight(string(rs[:max]), string([]rune{joiner, nonJoiner})) + "…" // a joiner at the end joins nothing
	}
	if s == "" {
		return "`(empty)`"
	}
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	return ticks + " " + s + " " + ticks
}

// Fence quotes a text from outside as a block of its own. The fence is longer than any run of back-ticks in the text. info names the
// language; all but letters and digits is dropped.
func Fence(info, s string) string {
	s = strings.TrimRight(Defuse(s), "\n")
	ticks := strings.Repeat("`", max(3, longestRun(s, '`')+1))
	word := strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}, info)
	return ticks + word + "\n" + s + "\n" + ticks + "\n"
}

func longestRun(s string, c rune) int {
	longest, run := 0, 0
	for _, r := range s {
		if r == c {
			run++
		} else {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// plainText refuses what has no place in a title, label, path, branch or commit message: these hold our own words, names and ids only.
func plainText(what, s string) error {
	switch {
	case !utf8.ValidString(s) || visible(s) != s || strings.ContainsAny(s, "\n\t"):
		return fmt.Errorf("%s %q: has a control, bidi or invisible character", what, s)
	case skipRE.MatchString(s) || noCIRE.MatchString(s) || strings.Contains(strings.ToLower(s), "skip-checks:"):
		return fmt.Errorf("%s %q: would switch off CI", what, s)
	case mentionRE.MatchString(s) || numberRE.MatchString(s) || ghRE.MatchString(s) || commandRE.MatchString(s) && what != "path":
		return fmt.Errorf("%s %q: mentions a person, an issue or a command", what, s)
	case strings.ContainsAny(s, "<>`"):
		return fmt.Errorf("%s %q: has '<', '>' or a back-tick", what, s)
	}
	return nil
}
