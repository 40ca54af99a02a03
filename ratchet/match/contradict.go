package match

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// contradiction finds what one text says and the other says otherwise; its kind is "" where there is none. It speaks only where both texts say
// something of one kind and neither says what the other does: a text that merely leaves something out contradicts nothing.
func contradiction(a, b *reading) (kind, x, y string) {
	for _, find := range []func(a, b *reading) (string, string, string){otherID, otherNumber, otherName, reversed} {
		if kind, x, y = find(a, b); kind != "" {
			return kind, x, y
		}
	}
	return "", "", ""
}

func otherID(a, b *reading) (string, string, string) {
	for _, x := range a.ids {
		for _, y := range b.ids {
			if !slices.Contains(b.ids, x) && !slices.Contains(a.ids, y) && kindOfID(x) != "" && kindOfID(x) == kindOfID(y) {
				return "id", x, y
			}
		}
	}
	return "", "", ""
}

func otherName(a, b *reading) (string, string, string) {
	for _, x := range a.names {
		for _, y := range b.names {
			if x.kind == y.kind && !slices.Contains(b.names, x) && !slices.Contains(a.names, y) && (max(len(a.names), len(b.names)) <= 2 || sync(a, b) >= 0.5) {
				return "name", x.word, y.word
			}
		}
	}
	return "", "", ""
}

// lone are the quantities that the other text does not have.
func lone(of, in []quantity) (out []quantity) {
	for _, q := range of {
		if !slices.ContainsFunc(in, q.equal) {
			out = append(out, q)
		}
	}
	return out
}

func otherNumber(a, b *reading) (string, string, string) {
	xs, ys := lone(a.quantities, b.quantities), lone(b.quantities, a.quantities)
	if len(xs) == 0 || len(ys) == 0 {
		return "", "", ""
	}
	alike := sync(a, b) >= 0.8
	for _, x := range xs {
		for _, y := range ys {
			if kind := x.against(y, a, b, alike); kind != "" && alone(x, a, b) && !x.near(y) && !madeOf(x, b.quantities) && !madeOf(y, a.quantities) {
				return kind, x.raw, y.raw
			}
		}
	}
	return "", "", ""
}

// alone says that a quantity can be laid beside one of the other text: there are few of its kind in either, or the texts are much alike. Of many
// numbers nobody can tell which stands in the place of which.
func alone(q quantity, a, b *reading) bool {
	count := func(r *reading) (n int) {
		for _, o := range r.quantities {
			if o.unit == q.unit {
				n++
			}
		}
		return n
	}
	few, short := max(count(a), count(b)) <= 2, max(len(a.sentences), len(b.sentences)) <= 2
	return few && short || sync(a, b) >= 0.5
}

var currencies = set("usd eur gbp krw jpy chf cent")

// against says of what kind two quantities are, if one stands in the place of the other: alike says that the texts are the same in all but numbers.
func (q quantity) against(o quantity, a, b *reading, alike bool) string {
	switch {
	case currencies[q.unit] && currencies[o.unit]:
		if q.unit != o.unit && !slices.Equal(q.values, o.values) {
			return "" // perhaps changed from one into the other
		}
		return "amount"
	case q.unit != o.unit:
		return ""
	case q.unit == dateUnit || q.unit == clockUnit:
		return "date"
	case q.unit == weekdayUnit:
		if alike || sync(a, b) >= 0.3 {
			return "date"
		}
		return ""
	case q.unit == "%":
		return "number"
	case q.unit != "":
		if alike || sync(a, b) >= 0.3 {
			return "number"
		}
		return ""
	case q.noun != "" && q.noun == o.noun, alike:
		return "number"
	}
	return ""
}

// madeOf says that a quantity is the sum, the difference or the product of two others: then nothing is contradicted, something was worked out.
func madeOf(q quantity, of []quantity) bool {
	if q.unit == dateUnit || q.unit == clockUnit || q.unit == weekdayUnit {
		return false
	}
	is := func(v float64) bool {
		return slices.ContainsFunc(q.values, func(w float64) bool { return math.Abs(v-w) <= 1e-6*math.Max(1, math.Abs(w)) })
	}
	of = of[:min(len(of), 100)]
	for i, x := range of {
		for _, y := range of[i+1:] {
			if v, w := x.values[0], y.values[0]; is(v+w) || is(v-w) || is(w-v) || is(v*w) && v != 1 && w != 1 {
				return true
			}
		}
	}
	return false
}

// bag counts words that are no numbers.
func bag(words []string) map[string]int {
	out := map[string]int{}
	for _, w := range words {
		if !strings.ContainsAny(w, "0123456789") && numerals[w] == 0 {
			out[w]++
		}
	}
	return out
}

// dice is the share of words that two bags have in common.
func dice(a, b map[string]int) float64 {
	n, common := 0, 0
	for w, c := range a {
		n, common = n+c, common+min(c, b[w])
	}
	for _, c := range b {
		n += c
	}
	if n == 0 {
		return 1
	}
	return 2 * float64(common) / float64(n)
}

// sync is how far two texts use the same words.
func sync(a, b *reading) float64 { return dice(bag(a.words()), bag(b.words())) }

func (r *reading) words() (out []string) {
	for _, s := range r.sentences {
		out = append(out, s.words...)
	}
	return out
}

// sameWords is the share of words from which two sentences are one that was reversed.
const sameWords = 0.75

// reversed finds two sentences that agree in all but what negates one of them, or in a word and its opposite.
func reversed(a, b *reading) (string, string, string) {
	if len(a.sentences)*len(b.sentences) > 10000 {
		return "", "", ""
	}
	for i := range a.sentences {
		if t := a.sentences[i].partner(b.sentences); t != nil && a.sentences[i].denies(t) && t.partner(a.sentences) == &a.sentences[i] {
			return "negation", short(a.sentences[i].text), short(t.text)
		}
	}
	if len(a.sentences) > 0 && len(b.sentences) > 0 {
		s, t := a.sentences[0], b.sentences[0]
		if s.answer != "" && t.answer != "" && s.answer != t.answer && min(len(s.words), len(t.words)) == 0 {
			return "negation", short(s.text), short(t.text)
		}
	}
	return "", "", ""
}

// partner is the sentence of the other text that uses the most of the same words; of equals one that says the same.
func (s *sentence) partner(of []sentence) *sentence {
	var best *sentence
	most := 0.0
	for i := range of {
		t := &of[i]
		if s.question != t.question {
			continue
		}
		near := s.likeness(t)
		if near > most || near == most && best != nil && s.denies(best) && !s.denies(t) {
			best, most = t, near
		}
	}
	if most < sameWords {
		return nil
	}
	return best
}

// likeness is the share of words that two sentences have in common. Where neither denies more than the other those with an opposite are left out.
func (s *sentence) likeness(t *sentence) float64 {
	x, y := bag(s.words), bag(t.words)
	if s.denials != t.denials {
		return dice(x, y)
	}
	for _, words := range []map[string]int{x, y} {
		for w := range words {
			if _, sided := sideOf(w); sided {
				delete(words, w)
			}
		}
	}
	for w := range x {
		for v := range y {
			if y[w] == 0 && x[v] == 0 && prefixed(w, v) {
				delete(x, w)
				delete(y, v)
			}
		}
	}
	if len(x) == 0 && len(y) == 0 {
		if s.shares(t) {
			return 1
		}
		return 0
	}
	return dice(x, y)
}

// shares says that both have a word of one pair of opposites.
func (s *sentence) shares(t *sentence) bool {
	return slices.ContainsFunc(s.sides, func(x side) bool {
		return slices.ContainsFunc(t.sides, func(y side) bool { return x.pair == y.pair })
	})
}

// denies says that one sentence reverses the other: by one negation or by one opposite, and not by both. What denies twice may deny another part
// of what it says, and words in another order may say another thing.
func (s *sentence) denies(t *sentence) bool {
	switch more, fewer := max(s.denials, t.denials), min(s.denials, t.denials); {
	case more == fewer:
		return more < 2 && s.opposed(t) == 1 && s.inStep(t)
	case more == 1:
		return s.opposed(t) == 0 && s.inStep(t)
	}
	return false
}

// inStep says that the words which both sentences have stand in the same order.
func (s *sentence) inStep(t *sentence) bool {
	only := func(words, other []string) (out []string) {
		for _, w := range words {
			if slices.Contains(other, w) && !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
		return out
	}
	return slices.Equal(only(s.words, t.words), only(t.words, s.words))
}

// opposed counts the pairs of which each sentence has another side.
func (s *sentence) opposed(t *sentence) int {
	n, seen := 0, map[int]bool{}
	for _, x := range s.sides {
		other := side{x.pair, !x.right}
		if !seen[x.pair] && slices.Contains(t.sides, other) && !slices.Contains(t.sides, x) && !slices.Contains(s.sides, other) {
			n++
		}
		seen[x.pair] = true
	}
	for _, w := range s.words {
		if _, sided := sideOf(w); !sided && !slices.Contains(t.words, w) && slices.ContainsFunc(t.words, func(v string) bool { return prefixed(w, v) && !slices.Contains(s.words, v) }) {
			n++
		}
	}
	return n
}

// denying are the beginnings by which a word becomes its opposite.
var denying = []string{"un", "in", "im", "il", "ir", "dis", "non", "non-", "des", "miss", "비", "불", "미", "부", "不", "未", "無", "非"}

// prefixed says that one word is the other with a beginning that denies it: locked and unlocked.
func prefixed(w, v string) bool {
	if len(w) < len(v) {
		w, v = v, w
	}
	return len(v) >= 4 && slices.Contains(denying, strings.TrimSuffix(w, v)) && strings.HasSuffix(w, v)
}

// doubtOf says what keeps two texts from being taken for one, though nothing contradicts: "" where nothing does.
func doubtOf(a, b *reading) string {
	if xs := lone(a.quantities, b.quantities); len(xs) > 0 {
		return fmt.Sprintf("%s is not in the reply", short(xs[0].raw))
	}
	for _, id := range a.ids {
		if !slices.Contains(b.ids, id) {
			return fmt.Sprintf("%s is not in the reply", short(id))
		}
	}
	for _, n := range a.names {
		if !slices.Contains(b.names, n) {
			return fmt.Sprintf("%s is not in the reply", n.word)
		}
	}
	x, y := a.whole(), b.whole()
	switch {
	case (x.denials > 0) != (y.denials > 0) || x.denials%2 != y.denials%2:
		return "one of the texts denies something"
	case x.opposed(&y) > 0:
		return "a word of one is the opposite of a word of the other"
	case x.question != y.question:
		return "one of them asks"
	case x.answer != y.answer && x.answer != "" && y.answer != "":
		return "one says yes and the other no"
	case turned(a, b):
		return "the same words stand in another order"
	}
	if i := onlyOther(x.words, y.words); i >= 0 {
		return fmt.Sprintf("they differ in one word alone, %s and %s", short(x.words[i]), short(y.words[i]))
	}
	return ""
}

// onlyOther is the one place in which two texts have another word, -1 where there is none or more. Alive and dead are near each other as vectors go,
// so that no threshold tells such a pair from two words for one thing.
func onlyOther(x, y []string) int {
	at := -1
	if len(x) != len(y) {
		return at
	}
	for i := range x {
		switch {
		case x[i] == y[i]:
		case at >= 0:
			return -1
		default:
			at = i
		}
	}
	return at
}

// whole is the text as one sentence.
func (r *reading) whole() (out sentence) {
	for _, s := range r.sentences {
		out.words, out.sides = append(out.words, s.words...), append(out.sides, s.sides...)
		out.denials, out.question = out.denials+s.denials, out.question || s.question
		out.answer = cmpOr(out.answer, s.answer)
	}
	return out
}

// turned says that two texts have the same words, or name the same people, places and things, in another order: who did what to whom may be
// turned round.
func turned(a, b *reading) bool {
	x, y := a.words(), b.words()
	if !slices.Equal(x, y) {
		slices.Sort(x)
		slices.Sort(y)
		if slices.Equal(x, y) {
			return true
		}
	}
	var names [2][]string
	for i, r := range []*reading{a, b} {
		other := []*reading{b, a}[i]
		for _, n := range r.names {
			if slices.Contains(other.names, n) {
				names[i] = append(names[i], n.word)
			}
		}
		for _, id := range r.ids {
			if slices.Contains(other.ids, id) {
				names[i] = append(names[i], "\x00"+id)
			}
		}
	}
	slices.SortStableFunc(names[0], byKind)
	slices.SortStableFunc(names[1], byKind)
	return !slices.Equal(names[0], names[1])
}

// byKind puts ids before names and leaves the order within each.
func byKind(a, b string) int {
	x, y := strings.HasPrefix(a, "\x00"), strings.HasPrefix(b, "\x00")
	switch {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}
