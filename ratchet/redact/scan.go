package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The second look. It parses nothing and shares no detector with the redactor: it turns the bytes into every text they
// could decode to, and hunts there for the originals that the session replaced and for the few things that are never
// innocent. What it finds must not leave.

// Leak is something that must not leave. It never quotes the value itself.
type Leak struct {
	Kind Kind
	Path string // how it was encoded, outermost first: "base64 > url"; empty if it stood there plainly
	What string // "original of email-1@example.com", or what pattern it fits and how long it is
}

// Verify fails if anything in the final bytes must not leave. Run it over each file, path, branch, title, body and commit
// message, and refuse the whole change upon an error. The error names what was found and how it was hidden, not the value.
func (s *Session) Verify(final []byte) error {
	leaks := s.Scan(final)
	if len(leaks) == 0 {
		return nil
	}
	first := leaks[0]
	where := "in plain text"
	if first.Path != "" {
		where = "encoded as " + first.Path
	}
	return fmt.Errorf("redact: %d values must not leave, first: %s, %s, %s: keep this change back; add a Pattern or a Keep entry, then redact again",
		len(leaks), first.Kind, first.What, where)
}

// view is one text to which the bytes decode.
type view struct {
	text string
	path string
	// joined marks strings put together that were apart: only whole originals count there.
	joined bool
	depth  int
}

const (
	scanDepth = 24
	scanViews = 20000
)

// Scan lists what must not leave, without doubles, in the order found.
func (s *Session) Scan(final []byte) []Leak {
	hunt := s.hunter()
	queue := []view{{text: string(final)}}
	seen := map[string]bool{queue[0].text: true}
	budget := 64*len(final) + 1<<20
	for at := 0; at < len(queue); at++ {
		v := queue[at]
		hunt.look(v)
		if v.joined {
			continue
		}
		for _, next := range decodings(v) {
			if seen[next.text] || next.text == "" {
				continue
			}
			budget -= len(next.text)
			if next.depth > scanDepth || len(queue) > scanViews || budget < 0 {
				hunt.found(Value, next.path, "encoded too deeply to be looked through")
				return hunt.leaks
			}
			seen[next.text] = true
			queue = append(queue, next)
		}
	}
	return hunt.leaks
}

// decodings are the texts one step of decoding away.
func decodings(v view) []view {
	var out []view
	add := func(name, text string) {
		path := name
		if v.path != "" {
			path = v.path + " > " + name
		}
		if text != v.text {
			out = append(out, view{text: text, path: path, depth: v.depth + 1})
		}
	}
	if strings.IndexByte(v.text, '\\') >= 0 {
		add("escapes", unescape(v.text))
	}
	if strings.IndexByte(v.text, '%') >= 0 {
		add("url", unpercent(v.text))
	}
	if strings.IndexByte(v.text, '+') >= 0 && strings.IndexByte(v.text, '=') >= 0 {
		add("form", strings.ReplaceAll(v.text, "+", " "))
	}
	if strings.IndexByte(v.text, '&') >= 0 {
		add("html", html.UnescapeString(v.text))
	}
	for run := range strings.FieldsFuncSeq(v.text, func(c rune) bool { return c >= 0x80 || !partOfWord(byte(c)) && c != '+' && c != '/' && c != '-' }) {
		if len(run) < 10 {
			continue
		}
		for _, d := range unbase(run) {
			add("base64", d)
		}
		if d, ok := unhex(run); ok {
			add("hex", d)
		}
	}
	if strings.IndexByte(v.text, '"') >= 0 {
		out = append(out, view{text: adjacent.ReplaceAllString(v.text, ""), path: v.path + " split strings", joined: true, depth: v.depth + 1},
			view{text: together(v.text), path: v.path + " split strings", joined: true, depth: v.depth + 1})
	}
	return out
}

var (
	adjacent = regexp.MustCompile(`"\s*[,+]\s*"`)
)

// together puts all string values one after the other, as a reader of a stream's deltas would. A string that a colon
// follows is a key and left out.
func together(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end := i + 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(text) {
			break
		}
		if !strings.HasPrefix(strings.TrimLeft(text[end+1:min(len(text), end+8)], " \t\r\n"), ":") {
			b.WriteString(text[i+1 : end])
		}
		i = end
	}
	return b.String()
}

// unescape undoes one level of backslash escapes, wherever they stand.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case 'n', 'r', 't', 'b', 'f':
			b.WriteByte(' ')
		case 'u', 'x':
			n := 4
			if c == 'x' {
				n = 2
			}
			var r rune
			if i+n < len(text) {
				if _, err := fmt.Sscanf(text[i+1:i+1+n], "%x", &r); err == nil && allHex(text[i+1:i+1+n]) {
					b.WriteRune(r)
					i += n
					continue
				}
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func allHex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// unpercent undoes one level of percent-encoding, leaving what is malformed.
func unpercent(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) && allHex(text[i+1:i+3]) {
			d, _ := hex.DecodeString(text[i+1 : i+3])
			b.Write(d)
			i += 2
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// unbase decodes a run at each alignment, since what stands before it may be of its alphabet.
func unbase(run string) []string {
	run = strings.Map(func(c rune) rune {
		switch c {
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return c
	}, run)
	var out []string
	for skip := range 4 {
		part := run[skip:]
		if len(part)%4 == 1 {
			part = part[:len(part)-1]
		}
		if d, err := base64.RawStdEncoding.DecodeString(part); err == nil && mostlyText(d) {
			out = append(out, string(d))
		}
	}
	return out
}

func unhex(run string) (string, bool) {
	if len(run)%2 != 0 || !allHex(run) {
		return "", false
	}
	d, err := hex.DecodeString(run)
	return string(d), err == nil && mostlyText(d)
}

// mostlyText says that at least seven of eight bytes are of a text.
func mostlyText(b []byte) bool {
	odd := 0
	for rest := b; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError || r < 0x20 && r != '\n' && r != '\t' && r != '\r' {
			odd++
		}
		rest = rest[size:]
	}
	return odd*8 <= len(b)
}

// hunter holds what to look for.
type hunter struct {
	r         *Redactor
	originals []original
	leaks     []Leak
	known     map[Leak]bool
}

type original struct {
	text      string // in lower case if fold
	fold      bool   // capitals do not matter; they do for names: Will, Rose
	digits    string // at least 8 and no letters, else empty
	kind      Kind
	pseudonym string
}

func (s *Session) hunter() *hunter {
	h := &hunter{r: s.r, known: map[Leak]bool{}}
	for v, r := range s.names {
		v = strings.TrimPrefix(v, numeralMark)
		if len(v) < 4 || s.r.keep[v] || everyday[strings.ToLower(v)] {
			continue
		}
		o := original{text: v, kind: r.Kind, pseudonym: r.Pseudonym}
		switch r.Kind {
		case Name, User, Address, Value:
		default:
			o.text, o.fold = strings.ToLower(v), true
		}
		if d := onlyDigits(v); len(d) >= 8 && r.Kind != Secret && alnum(v) == d {
			o.digits = d
		}
		h.originals = append(h.originals, o)
	}
	slices.SortFunc(h.originals, func(a, b original) int { return strings.Compare(a.pseudonym+a.text, b.pseudonym+b.text) })
	return h
}

func onlyDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if c < '0' || c > '9' {
			return -1
		}
		return c
	}, s)
}

func (h *hunter) found(kind Kind, path, what string) {
	leak := Leak{kind, strings.TrimSpace(path), what}
	if !h.known[leak] {
		h.known[leak] = true
		h.leaks = append(h.leaks, leak)
	}
}

func (h *hunter) look(v view) {
	lower := strings.ToLower(v.text)
	squeezed := ""
	if !v.joined {
		squeezed = squeeze(v.text)
	}
	for _, o := range h.originals {
		if v.joined && len(o.text) < 7 {
			continue
		}
		text := v.text
		if o.fold {
			text = lower
		}
		if stands(text, o.text, v.joined) || o.digits != "" && strings.Contains(squeezed, o.digits) {
			h.found(o.kind, v.path, "original of "+o.pseudonym)
		}
	}
	if v.joined {
		return
	}
	h.patterns(v, lower)
}

// stands says that needle stands in text, not as a part of a longer word unless loose.
func stands(text, needle string, loose bool) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], needle)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(needle)
		left := start == 0 || !partOfWord(text[start-1]) || !partOfWord(text[start])
		right := end == len(text) || !partOfWord(text[end]) || !partOfWord(text[end-1])
		if loose || left && right {
			return true
		}
		at = start + 1
	}
}

func partOfWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

// squeeze takes separators out from between digits.
func squeeze(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(" -./()+", text[i]) >= 0 && i > 0 {
			if j := strings.IndexFunc(text[i:], func(c rune) bool { return !strings.ContainsRune(" -./()+", c) }); j > 0 && j < 4 && text[i+j] >= '0' && text[i+j] <= '9' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

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
	{Secret, []string{"bearer "}, regexp.MustCompile(`(?i)bearer [\w.~+/-]{16,}`), func(v string) bool { return onlyDigits(v) != "" }},
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
			pathLike := (p.kind == IBAN || p.kind == Card) && (m[0] > 0 && strings.IndexByte("-.+$#/", v.text[m[0]-1]) >= 0 || m[1] < len(v.text) && strings.IndexByte("-.,:", v.text[m[1]]) >= 0)
			inEscape := m[0] > 0 && v.text[m[0]-1] == '\\' // its own view shows it whole
			if !pathLike && !inEscape && !h.r.keep[found] && (p.ok == nil || p.ok(found)) {
				h.found(p.kind, v.path, fmt.Sprintf("looks like one, %d bytes", len(found)))
			}
		}
	}
	for _, p := range h.r.patterns {
		for _, m := range p.re.FindAllStringSubmatchIndex(v.text, -1) {
			start, end := group(m)
			if found := v.text[start:end]; !h.r.keep[found] && !h.r.isPseudonym(p.kind, found) {
				h.found(p.kind, v.path, fmt.Sprintf("fits the pattern, %d bytes", len(found)))
			}
		}
	}
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
