package redact

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Session is one consistent mapping from values to pseudonyms, for one case. It is not safe for concurrent use.
//
// What it learns by context in one place (the value of "user.id", a password after its key) it replaces in all places
// of the same call and of later calls. Feed everything of a case to Learn first when the order of calls is not the
// order in which context appears.
type Session struct {
	r       *Redactor
	exact   map[string]Kind // originals learnt, to be replaced wherever they stand
	sorted  []string        // keys of exact, longest first
	lengths []int           // their lengths, shortest first
	names   map[string]*Replacement
	numbers map[string]int    // identity -> number
	next    map[string]int    // series -> last number given
	taken   map[string]string // pseudonym -> identity
	cache   map[string][]hit  // plain text -> what the rules found there
}

// Replacement tells of one value what became of it, without telling the value.
type Replacement struct {
	Kind      Kind
	Pseudonym string
	Bytes     int // length of the original
	Times     int // how often it was replaced
}

// maxLooks bounds how often a text is looked at; two are enough for all but contrived ones.
const maxLooks = 8

// Text redacts a string: prose, or any encoding that the package knows.
func (s *Session) Text(text string) string { return s.Field("", text) }

// Field redacts the text of a field whose name says what it may hold: an attribute, a header, an object's key. An empty
// key is no name.
func (s *Session) Field(key, text string) string {
	n := s.text(text, key, 0)
	for range maxLooks {
		if !s.learn(n) {
			break
		}
		n = s.text(text, key, 0)
	}
	s.number(n)
	return string(s.render(nil, n))
}

// JSON redacts one JSON value. Structure, whitespace, order of keys and number literals stay as they were; numbering
// follows the canonical order (keys sorted), so two spellings of one value get the same pseudonyms. It fails on what is
// not exactly one JSON value.
func (s *Session) JSON(doc []byte) ([]byte, error) {
	text := string(doc)
	n, err := s.document(text, "", 0)
	for range maxLooks {
		if err != nil || !s.learn(n) {
			break
		}
		n, err = s.document(text, "", 0)
	}
	if err != nil {
		return nil, fmt.Errorf("redact: parse JSON: %w", err)
	}
	s.number(n)
	return s.render(nil, n), nil
}

// Learn looks through text without changing it, so that what its context gives away is replaced everywhere later on.
func (s *Session) Learn(text string) { s.LearnField("", text) }

// LearnField is Learn for the text of a named field.
func (s *Session) LearnField(key, text string) { s.learn(s.text(text, key, 0)) }

// Counts returns how many values were replaced so far, by kind; each occurrence counts.
func (s *Session) Counts() map[Kind]int {
	counts := map[Kind]int{}
	for _, r := range s.names {
		if r.Times > 0 {
			counts[r.Kind] += r.Times
		}
	}
	return counts
}

// Replaced lists what was replaced so far, sorted by kind and pseudonym.
func (s *Session) Replaced() []Replacement {
	out := []Replacement{}
	for _, r := range s.names {
		if r.Times > 0 {
			out = append(out, *r)
		}
	}
	slices.SortFunc(out, func(a, b Replacement) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(len(a.Pseudonym), len(b.Pseudonym)),
			cmp.Compare(a.Pseudonym, b.Pseudonym), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Times, b.Times))
	})
	return out
}

// learn remembers the originals of an analysis and says whether any of them was new.
func (s *Session) learn(n node) bool {
	before := len(s.exact)
	s.collect(n)
	if len(s.exact) == before {
		return false
	}
	s.sorted = s.sorted[:0]
	for v := range s.exact {
		s.sorted = append(s.sorted, v)
	}
	slices.SortFunc(s.sorted, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	s.lengths = s.lengths[:0]
	for _, v := range slices.Backward(s.sorted) {
		if n := len(s.lengths); n == 0 || s.lengths[n-1] != len(v) {
			s.lengths = append(s.lengths, len(v))
		}
	}
	return true
}

func (s *Session) collect(n node) {
	for _, sp := range n.spans {
		if sp.inner != nil {
			s.collect(*sp.inner)
			continue
		}
		v := n.text[sp.start:sp.end]
		if _, known := s.exact[v]; !known && memorable(v) {
			s.exact[v] = Kind(strings.TrimPrefix(string(sp.kind), numeralMark))
		}
	}
}

// memorable keeps out of the exact values what would hit innocent text: short ones and everyday words.
func memorable(v string) bool {
	if len(v) < 4 || everyday[strings.ToLower(v)] {
		return false
	}
	digits := countDigits(v)
	return digits < len(v) || digits >= 6
}

// pseudonym returns the stand-in of an original, giving the next number of its series to a new one.
func (s *Session) pseudonym(kind Kind, original string) *Replacement {
	base, numeral := strings.CutPrefix(string(kind), numeralMark)
	name := original
	if numeral {
		name = numeralMark + original
	}
	if r, ok := s.names[name]; ok {
		return r
	}
	id := s.r.identity(kind, original)
	n, known := s.numbers[id]
	series := seriesOf(kind, original)
	if !known {
		n = s.next[series] + 1
	}
	p := s.r.shape(kind, original, n)
	for owner, used := s.taken[p]; used && owner != id; owner, used = s.taken[p] {
		n++
		p = s.r.shape(kind, original, n)
	}
	s.taken[p] = id
	if !known {
		s.numbers[id] = n
	}
	s.next[series] = max(n, s.next[series])
	r := &Replacement{Kind: Kind(base), Pseudonym: p, Bytes: len(original)}
	s.names[name] = r
	return r
}

// reserve keeps a pseudonym that was already in the input from being given to another value.
func (s *Session) reserve(p string) {
	if _, ok := s.taken[p]; !ok {
		s.taken[p] = "literal:" + p
	}
}
