package redact

import (
	"regexp"
	"strings"
)

// detect finds what the rules know in a plain text; key is the key it stands under, if it is short enough to matter.
func (r *Redactor) detect(text, key string) []hit {
	if len(text) < 4 {
		return nil
	}
	var hits []hit
	add := func(kind Kind, start, end int) {
		if start < end {
			hits = append(hits, hit{start: start, end: end, kind: kind, protect: r.isPseudonym(kind, text[start:end])})
		}
	}
	r.secrets(text, key, add)
	if strings.ContainsAny(text, ":=") {
		r.keyedFragments(text, add)
	}
	if strings.IndexByte(text, '@') >= 0 {
		emails(text, add)
	}
	if countDigits(text) >= 2 || strings.Contains(text, "::") {
		r.numbers(text, key, add)
	}
	told(text, add)
	named(text, add)
	for _, p := range r.patterns {
		for _, m := range p.re.FindAllStringSubmatchIndex(text, -1) {
			start, end := group(m)
			add(p.kind, start, end)
		}
	}
	return hits
}

// addFunc takes a find: what it is and where.
type addFunc func(kind Kind, start, end int)

// group returns the first group that took part in a match, else the whole match.
func group(m []int) (int, int) {
	for i := 2; i+1 < len(m); i += 2 {
		if m[i] >= 0 {
			return m[i], m[i+1]
		}
	}
	return m[0], m[1]
}

var (
	// jsonFragment is a key with a string value in text that is not whole JSON, at any depth of quoting.
	jsonFragment = regexp.MustCompile(`\\*["']([A-Za-z][A-Za-z0-9_. -]{1,60})\\*["']\s*:\s*\\*["']([^"'\\]{1,500})`)
	// assignment is key=value as in forms, query strings, environment and command lines.
	assignment = regexp.MustCompile(`(?:^|[?&;\s,{("'])-{0,2}([A-Za-z][A-Za-z0-9_.-]{1,60})=["']?([^&\s"'<>;,(){}]{1,500})`)
	// quoted is a header in quotes, as on a command line.
	quoted = regexp.MustCompile(`["']([A-Za-z][A-Za-z0-9_-]{1,60}):[ \t]*([^"'\r\n\\]{4,500})["']`)
	// line is "Key: value" on a line of its own: headers, YAML, forms.
	line = regexp.MustCompile(`(?m)^[ \t>*-]*["']?([A-Za-z][A-Za-z0-9_. -]{1,40}?)["']?[ \t]*:[ \t]+["']?([^\r\n"']{1,500}?)["']?[ \t]*\r?$`)
)

// keyedFragments finds values under personal keys in text that no parser takes whole.
func (r *Redactor) keyedFragments(text string, add addFunc) {
	for _, re := range []*regexp.Regexp{jsonFragment, assignment, quoted, line} {
		for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
			key, value := text[m[2]:m[3]], text[m[4]:m[5]]
			h, ok := r.keyed(value, key)
			if !ok || re != jsonFragment && !fragmentValue(h.kind, value[h.start:], key) {
				continue
			}
			add(h.kind, m[4]+h.start, m[4]+h.end)
		}
	}
}

// fragmentValue keeps prose after a colon from being taken for a value.
func fragmentValue(kind Kind, value, key string) bool {
	switch kind {
	case Value:
		return false
	case Secret:
		return !strings.ContainsAny(value, " \t") || strings.Contains(normalKey(key), "cookie")
	}
	return len(strings.Fields(value)) <= 5
}

// secretPseudonym stands before the host of a URL whose user and password were replaced.
var secretPseudonym = regexp.MustCompile(`^secret-[1-9][0-9]*$`)

// emails finds addresses by growing from each @ sign.
func emails(text string, add addFunc) {
	for at, from := 0, 0; ; {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			return
		}
		at += i + 1
		start, end := localStart(text, from, at-1), domainEnd(text, at)
		if local := text[start : at-1]; local != "" && end > at && !secretPseudonym.MatchString(local) && !(local == "git" && strings.HasPrefix(text[end:], ":")) {
			if plus := strings.LastIndexByte(local, '+'); plus >= 0 && emailPseudonym.MatchString(text[start+plus+1:end]) {
				start += plus + 1 // a form's space
			}
			add(Email, start, end)
			from = end
		}
	}
}
