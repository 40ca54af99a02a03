package redact

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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

// Verify is Session.Verify of somebody who knows nothing of how the bytes were redacted: it hunts what is never innocent, what the team's patterns fit, and
// canaries. It is safe for concurrent use.
func (r *Redactor) Verify(final []byte) error { return r.Session().Verify(final) }

// view is one text to which the bytes decode.
type view struct {
	text string
	path string
	// joined marks strings put together that were apart: only what lies in more than one of them counts there.
	joined bool
	lines  bool  // of joined: they were lines
	cuts   []int // of joined: where each begins
	// foreign marks what the redactor cannot have looked at, for it does not know the encoding.
	foreign bool
	seen    string // of foreign: the text that it was decoded from, which the redactor has looked at
	depth   int
}

const (
	scanDepth = 24
	scanViews = 20000
)

// Scan lists what must not leave, without doubles, in the order found.
func (s *Session) Scan(final []byte) []Leak {
	hunt := s.hunter()
	queue := []view{{text: string(final)}}
	seen := map[seenView]bool{{queue[0].text, false}: true}
	budget := 256*len(final) + 1<<20
	for at := 0; at < len(queue); at++ {
		v := queue[at]
		queue[at] = view{}
		hunt.look(v)
		for _, next := range decodings(v) {
			key := seenView{next.text, next.joined}
			if seen[key] || next.text == "" {
				continue
			}
			budget -= len(next.text)
			if next.depth > scanDepth || len(queue) > scanViews || budget < 0 {
				hunt.found(Value, next.path, "encoded too deeply to be looked through")
				return hunt.leaks
			}
			seen[key] = true
			queue = append(queue, next)
		}
	}
	return hunt.leaks
}

type seenView struct {
	text   string
	joined bool
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
	squeezed := squeeze(v.text)
	h.planted(v, lower)
	for _, o := range h.originals {
		if v.joined && len(o.text) < 7 {
			continue
		}
		text := v.text
		if o.fold {
			text = lower
		}
		if stands(text, o.text, v) || o.digits != "" && strings.Contains(squeezed, o.digits) {
			h.found(o.kind, v.path, "original of "+o.pseudonym)
		}
	}
	h.patterns(v, lower)
	if v.foreign && !v.joined {
		h.unlooked(v)
	}
}

// planted looks for canaries: values that were planted where nobody real is, so that their way out shows a hole.
func (h *hunter) planted(v view, lower string) {
	if len(h.r.canaries) == 0 {
		return
	}
	bare := bareWords(lower)
	for i, c := range h.r.canaries {
		if strings.Contains(lower, c) || len(h.r.bare[i]) >= minCanary && strings.Contains(bare, h.r.bare[i]) {
			h.found(Canary, v.path, fmt.Sprintf("canary %d of the configuration", i+1))
		}
	}
}

// minCanary is the shortest canary, in bytes: a shorter one would stand in innocent text.
const minCanary = 8

// bareWords keeps the letters and digits of a text in lower case.
func bareWords(lower string) string {
	return strings.Map(func(c rune) rune {
		if c >= 0x80 || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, lower)
}

// unlooked lets the redactor look at what it has not seen. What it would replace there must not leave.
func (h *hunter) unlooked(v view) {
	var walk func(node)
	walk = func(n node) {
		for _, sp := range n.spans {
			if sp.inner != nil {
				walk(*sp.inner)
				continue
			}
			if found := n.text[sp.start:sp.end]; strings.Contains(v.seen, found) || stoodIn(found) { // it stood there plainly, and was left for good reasons; or it is ours
				continue
			}
			h.found(Kind(strings.TrimPrefix(string(sp.kind), numeralMark)), v.path, fmt.Sprintf("would have been replaced, %d bytes", sp.end-sp.start))
		}
	}
	walk(h.r.Session().text(v.text, "", 0))
}

// standIn is a pseudonym with words, wherever it stands.
var standIn = regexp.MustCompile(`(?:(?i:bearer|basic|token|digest|apikey|negotiate)[ +]+)?(?:email-[0-9]+@example\.com|\b[a-z][a-z0-9_]*-[0-9]+)`)

// stoodIn says that a value is one that redaction gave, though a decoding took its plus sign, or glued to it what stood beside it.
func stoodIn(v string) bool {
	for country := range 4 {
		if countDigits(v) >= 7 && isZeroed(v, country, 0) {
			return true
		}
	}
	return standIn.MatchString(v) && len(alnum(standIn.ReplaceAllString(v, ""))) < 4
}

// stands says that needle stands in text, not as a part of a longer word; in joined text in more than one piece.
func stands(text, needle string, v view) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], needle)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(needle)
		if v.joined {
			if len(text) == len(v.text) && v.crosses(start, end) {
				return true
			}
		} else if left, right := start == 0 || !partOfWord(text[start-1]) || !partOfWord(text[start]), end == len(text) || !partOfWord(text[end]) || !partOfWord(text[end-1]); left && right {
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
