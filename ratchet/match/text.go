package match

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// The least similarity of meaning, as the cosine of two embeddings: of most replies, of chat, and of formal texts. A case may set its own.
const (
	DefaultThreshold = 0.93
	ChatThreshold    = 0.88
	FormalThreshold  = 0.97
)

// Bounds of what is read of a text, in bytes, and in sentences, numbers and ids: beyond them two texts are equal or not decided.
const (
	maxText  = 64 << 10
	maxParts = 2000
)

// Response compares a reply with the expected one: equal words hold; a contradiction never does; else their embeddings decide, and without an
// Embedder nothing does. A threshold of 0 is the default.
func (m Matcher) Response(e *regcase.Response, reply string) Answer {
	v := m.compare(e.Text, reply, e.Threshold)
	switch v.truth {
	case yes:
		return Answer{}
	case unknown:
		return Answer{Undecided: []string{v.why}}
	}
	return Answer{Mismatches: []Mismatch{v.mismatch}}
}

// meaning says whether two texts say the same, and why not.
func (m Matcher) meaning(want, got string, threshold float64) (truth, string) {
	v := m.compare(want, got, threshold)
	return v.truth, v.why
}

// verdict is how a comparison of two texts ends: why is of unknown and no, mismatch of no.
type verdict struct {
	truth    truth
	why      string
	mismatch Mismatch
}

func differs(kind, want, got string) verdict {
	return verdict{no, kind, Mismatch{-1, "text/" + kind, short(want), short(got)}}
}

func undecided(why string) verdict { return verdict{truth: unknown, why: why} }

func (m Matcher) compare(want, got string, threshold float64) verdict {
	if want == got {
		return verdict{truth: yes}
	}
	if len(want)+len(got) > 2*maxText {
		return undecided(fmt.Sprintf("the texts are longer than the %d KiB that are compared", maxText>>10))
	}
	a, b := read(want), read(got)
	switch {
	case a.plain == b.plain:
		return verdict{truth: yes}
	case a.plain == "" || b.plain == "":
		return differs("empty", cmpOr(a.plain, "nothing"), cmpOr(b.plain, "nothing"))
	}
	if max(a.parts(), b.parts()) > maxParts {
		return undecided(fmt.Sprintf("the texts have more than %d sentences, numbers or ids", maxParts))
	}
	if kind, x, y := contradiction(a, b); kind != "" {
		return differs(kind, x, y)
	}
	doubt := doubtOf(a, b)
	if doubt == "" && slices.Equal(a.content(), b.content()) {
		return verdict{truth: yes}
	}
	return m.byMeaning(want, got, threshold, doubt)
}

// byMeaning asks the Embedder. What is in doubt never passes, however near the vectors are: those of a statement and its opposite nearly agree.
func (m Matcher) byMeaning(want, got string, threshold float64, doubt string) verdict {
	if m.Embed == nil {
		return undecided(cmpOr(doubt, "the words differ") + "; without an embeddings endpoint other words are not decided: configure gate.embeddings, or match a pattern")
	}
	near, err := m.similarity(want, got)
	if err != nil {
		return undecided("the embeddings endpoint gave no answer: " + err.Error())
	}
	if threshold <= 0 {
		threshold = DefaultThreshold
	}
	switch {
	case near < threshold:
		v := differs("meaning", want, got)
		v.why = fmt.Sprintf("similarity %.3f is below %.3f", near, threshold)
		return v
	case doubt != "":
		return undecided(fmt.Sprintf("similarity is %.3f, but %s", near, doubt))
	}
	return verdict{truth: yes}
}

// similarity is the cosine of the two texts' vectors.
func (m Matcher) similarity(a, b string) (float64, error) {
	v, err := m.Embed(a, b)
	switch {
	case err != nil:
		return 0, err
	case len(v) != 2 || len(v[0]) == 0 || len(v[0]) != len(v[1]):
		return 0, fmt.Errorf("it gave vectors of no use for two texts")
	}
	var dot, x, y float64
	for i := range v[0] {
		p, q := float64(v[0][i]), float64(v[1][i])
		dot, x, y = dot+p*q, x+p*p, y+q*q
	}
	if x == 0 || y == 0 || math.IsNaN(dot/math.Sqrt(x*y)) {
		return 0, fmt.Errorf("it gave a vector of zeros")
	}
	return dot / math.Sqrt(x*y), nil
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// reading is a text as it is compared.
type reading struct {
	plain      string // in one spelling: lower case, no marks of layout
	sentences  []sentence
	quantities []quantity
	ids        []string
	names      []name
}

// parts is how many of one kind it has, at most.
func (r *reading) parts() int {
	return max(len(r.sentences), len(r.quantities), len(r.ids), len(r.names))
}

// sentence is one of a text.
type sentence struct {
	text     string
	words    []string // in order, stems, without what negates and what fills
	denials  int      // how many words deny
	question bool
	sides    []side // words that have an opposite
	answer   string // yes or no, as its first word
}

var (
	layout   = regexp.MustCompile("(?m)^\\s*(?:[-*•>]+|#+|\\d{1,2}[.)])\\s+|[*_`]{1,3}|\\[([^\\]\\n]*)\\]\\([^)\\n]*\\)")
	stops    = regexp.MustCompile(`[.!?]+(?:["')\]]*\s+|$)|[。！？]+|\n+`)
	kindly   = regexp.MustCompile(`(^|[.!?。\n]\s*)(?:(?:please )?(?:do not|don't) hesitate[^.!?\n]*[.!?]?|let me know[^.!?\n]*[.!?]?|feel free[^.!?\n]*[.!?]?|no (?:problem|worries)[.!,]?|(?:hi|hello|hey|dear [a-z]+|thanks|thank you|sure|certainly|of course|hallo|guten tag|gerne|danke|natürlich|hola|gracias|claro|por supuesto)(?: [a-z]+)?[,!.]|zögern sie nicht[^.!?\n]*[.!?]?|no dude[^.!?\n]*[.!?]?|안녕하세요[,.!]?|감사합니다[.!]?|네[,.]|お問い合わせありがとうございます。?|こんにちは[、。！]?)\s*`)
	quotes   = strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "–", "-", "—", "-", "−", "-", "…", "...", "　", " ", "\u00a0", " ", "\u202f", " ", "×", "x")
	blanks   = regexp.MustCompile(`[ \t\r\f\v]+`)
	unfilled = regexp.MustCompile(`\s*\n\s*`)
)

// read takes a text apart. It knows English, German, Spanish, French, Korean and Japanese; of other languages it sees numbers, ids and dates in
// figures, and what it does not see it does not decide.
func read(s string) *reading {
	s = norm.NFKC.String(strings.ToValidUTF8(s, "\uFFFD"))
	s = quotes.Replace(s)
	s = layout.ReplaceAllString(s, "$1")
	s = unfilled.ReplaceAllString(blanks.ReplaceAllString(s, " "), "\n")
	r := &reading{names: namesOf(s)}
	low := strings.TrimSpace(strings.ToLower(s))
	low = strings.TrimSpace(kindly.ReplaceAllString(low, "$1 "))
	r.plain = strings.Join(strings.Fields(strings.Trim(strings.ReplaceAll(low, "\n", " "), " .!。！")), " ")
	rest, ids := idsOf(low)
	r.ids = ids
	r.quantities = quantitiesOf(rest)
	r.sentences = sentencesOf(low)
	return r
}

func sentencesOf(text string) (out []sentence) {
	from := 0
	add := func(to int, end string) {
		if t := strings.TrimSpace(text[from:to]); strings.IndexFunc(t, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 {
			out = append(out, sentenceOf(t, strings.ContainsAny(end, "?？")))
		}
	}
	for _, at := range stops.FindAllStringIndex(text, -1) {
		add(at[0], text[at[0]:at[1]])
		from = at[1]
	}
	add(len(text), "")
	return out
}

// content is all words of the text in order, with what negates: equal content is one text in two spellings.
func (r *reading) content() []string {
	var out []string
	for _, s := range r.sentences {
		out = append(out, s.words...)
		out = append(out, fmt.Sprint(s.denials, s.question))
	}
	return out
}
