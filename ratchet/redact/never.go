package redact

import (
	"fmt"
	"regexp"
	"strings"
)

// never are the things that are never innocent, wherever they stand.
var never = []struct {
	kind Kind
	need []string // one of these has to stand in the lower case text; the expression runs around them only
	re   *regexp.Regexp
	ok   func(string) bool
}{
	{Email, []string{"@"}, regexp.MustCompile(`[\pL\pN][\pL\pN._+-]*@(?:[\pL\pN](?:[\pL\pN-]*[\pL\pN])?\.)+(?:xn--[a-z0-9-]+|\pL{2,24})`), leakedEmail},
	{Secret, []string{"-----begin"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY`), nil},
	{Secret, []string{"eyj"}, regexp.MustCompile(`\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}`), nil},
	{Secret, []string{"gh", "sk_", "rk_", "hf_", "npm_"}, regexp.MustCompile(`\b(?:ghp|gho|ghu|ghs|ghr|github_pat|sk_live|rk_live|hf|npm)_\w{20,}`), func(v string) bool { return onlyDigits(v) != "" }},
	{Secret, []string{"sk-", "glpat-", "xox"}, regexp.MustCompile(`\b(?:sk-(?:ant|proj|or|lf)|glpat|xox[abp])-[\w-]{16,}`), func(v string) bool { return onlyDigits(v) != "" }},
	{Secret, []string{"akia", "asia", "aiza"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{35}`), nil},
	{Secret, []string{"bearer "}, regexp.MustCompile(`(?i)bearer [\w.~+/-]{16,}`), func(v string) bool {
		return onlyDigits(v) != "" && !standIn.MatchString(v[len("bearer "):min(len(v), len("bearer secret-1"))])
	}},
	{IBAN, nil, regexp.MustCompile(`\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b`), leakedIBAN},
	{Card, nil, regexp.MustCompile(`\b[3-6][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}\b`), leakedCard},
}

// near are the matches of an expression, looked for only in the stretches around the needles, or around digits if there
// are none. A stretch ends where no value goes on.
func near(text, lower string, needles []string, re *regexp.Regexp) [][]int {
	const edges = "\"\n,;<>|{}"
	if len(lower) != len(text) { // a letter whose capital has another length: no shortcut
		return re.FindAllStringIndex(text, -1)
	}
	var out [][]int
	next := make([]int, len(needles)) // where each needle is found next, so that the text is gone through once a needle
	for from := 0; from < len(text); {
		at := first(lower, from, needles, next) - from
		if at < 0 {
			break
		}
		start, end := from+strings.LastIndexAny(text[from:from+at], edges)+1, len(text)
		if i := strings.IndexAny(text[from+at:], edges); i >= 0 {
			end = from + at + i
		}
		for _, m := range re.FindAllStringIndex(text[start:end], -1) {
			out = append(out, []int{start + m[0], start + m[1]})
		}
		from = end + 1
	}
	return out
}

// first is the first place from a position on where a needle stands, or two digits if there are none; -1 for nowhere. next holds what is known of each
// needle between two calls whose position only grows.
func first(text string, from int, needles []string, next []int) int {
	if len(needles) == 0 {
		for i := from; i+1 < len(text); i++ {
			if text[i] >= '0' && text[i] <= '9' && text[i+1] >= '0' && text[i+1] <= '9' {
				return i
			}
		}
		return -1
	}
	best := len(text)
	for n, needle := range needles {
		if next[n] < from || next[n] == 0 {
			next[n] = len(text)
			if i := strings.Index(text[from:], needle); i >= 0 {
				next[n] = from + i
			}
		}
		best = min(best, next[n])
	}
	if best == len(text) {
		return -1
	}
	return best
}

// patterns looks for what is never innocent, and for the team's own patterns.
func (h *hunter) patterns(v view, lower string) {
	for _, p := range never {
		for _, m := range near(v.text, lower, p.need, p.re) {
			found := v.text[m[0]:m[1]]
			pathLike := p.kind == Card && strings.IndexByte(found, ' ') < 0 && (m[0] > 0 && strings.IndexByte("-.+$#/", v.text[m[0]-1]) >= 0 ||
				m[1]+1 < len(v.text) && strings.IndexByte("-.,:", v.text[m[1]]) >= 0 && v.text[m[1]+1] >= '0' && v.text[m[1]+1] <= '9')
			inEscape := m[0] > 0 && v.text[m[0]-1] == '\\'                                    // its own view shows it whole
			if v.joined && p.kind == Card && (v.lines || !strings.ContainsAny(found, " -")) { // columns of numbers
				continue
			}
			if v.joined && p.kind == Email && !v.address(m[0], m[1]) {
				continue
			}
			if !pathLike && !inEscape && !h.r.keep[found] && (p.ok == nil || p.ok(found)) && v.whole(m, p.re, p.ok) {
				h.found(p.kind, v.path, fmt.Sprintf("looks like one, %d bytes", len(found)))
			}
		}
	}
	for _, p := range h.r.patterns {
		for _, m := range p.re.FindAllStringSubmatchIndex(v.text, -1) {
			start, end := group(m)
			if found := v.text[start:end]; !h.r.keep[found] && !h.r.isPseudonym(p.kind, found) && v.whole([]int{start, end}, p.re, nil) {
				h.found(p.kind, v.path, fmt.Sprintf("fits the pattern, %d bytes", len(found)))
			}
		}
	}
}

// whole says that a find counts: in joined text only one that no piece shows by itself.
func (v view) whole(m []int, re *regexp.Regexp, ok func(string) bool) bool {
	if !v.joined {
		return true
	}
	if !v.crosses(m[0], m[1]) {
		return false
	}
	for i, from := range v.cuts {
		to := len(v.text)
		if i+1 < len(v.cuts) {
			to = v.cuts[i+1]
		}
		if from >= m[1] || to <= m[0] {
			continue
		}
		for _, alone := range re.FindAllString(v.text[from:to], -1) {
			if ok == nil || ok(alone) || ours.MatchString(alone) {
				return false
			}
		}
	}
	return true
}

var ours = regexp.MustCompile(`(?i)^(?:(?:.*\+)?email-[0-9]+@example\.com|secret-[0-9]+@.*|git@.*)$`)

func leakedEmail(v string) bool {
	return !ours.MatchString(v) && !fileEndings[strings.ToLower(v[strings.LastIndexByte(v, '.')+1:])]
}

func leakedCard(v string) bool {
	d := onlyDigits(v)
	sum := 0
	for i, c := range d {
		n := int(c - '0')
		if (len(d)-i)%2 == 0 {
			n = n*2/10 + n*2%10
		}
		sum += n
	}
	two := d[:2]
	return sum%10 == 0 && d[2:7] != "00000" && (d[0] == '4' || two >= "51" && two <= "55")
}

func leakedIBAN(v string) bool {
	v = strings.ReplaceAll(v, " ", "")
	if want, ok := ibanLength[v[:2]]; !ok || want != len(v) {
		return false
	}
	var number strings.Builder
	for _, c := range v[4:] + v[:4] {
		if c >= 'A' {
			fmt.Fprint(&number, int(c-'A')+10)
		} else {
			number.WriteRune(c)
		}
	}
	return remainder(number.String(), 97) == 1 && !strings.Contains(v, "00000000")
}
