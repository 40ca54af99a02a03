package match

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Follows says why a user's recorded next message cannot follow what the agent answered this time, "" where nothing speaks against it. recorded is the
// answer that the message followed, said is what the user had said before. Only what is plain in the words counts: the message answers a question that
// was not asked; the agent asks for other data than the message gives; the message speaks of something that only the recorded answer had named.
func Follows(recorded, answer, next string, said []string) string {
	was, is := asked(recorded), asked(answer)
	before := strings.Join(append(slices.Clone(said), answer), "\n")
	gave, had, now := read(next), read(recorded), read(before)
	for _, id := range gave.ids {
		if slices.Contains(had.ids, id) && !slices.Contains(now.ids, id) {
			return fmt.Sprintf("the user speaks of %s, which the agent did not name this time", short(id))
		}
	}
	if was != "" && is == "" {
		return "it answers a question that the agent did not ask this time"
	}
	wants, wanted := slots(is), slots(was)
	switch {
	case len(wants) == 0 || slices.ContainsFunc(wants, func(s string) bool { return slices.Contains(wanted, s) }):
		return ""
	case len(wanted) > 0:
		return fmt.Sprintf("the agent asks for %s this time, and it gives %s", strings.Join(wants, ", "), strings.Join(wanted, ", "))
	}
	for _, w := range wants {
		if is, known := given[w]; known && is.MatchString(strings.ToLower(next)) {
			return ""
		} else if !known {
			return ""
		}
	}
	return fmt.Sprintf("the agent asks for %s this time, and it gives none", strings.Join(wants, ", "))
}

var (
	question = regexp.MustCompile(`[^.!?？؟。！\n]*[?？؟]`)
	// an offer at the end of an answer asks for nothing
	offer = regexp.MustCompile(`(?i)(anything|something) else|help (you )?(with|further)|(sonst|noch) (noch )?etwas|weiterhelfen|algo más|더 도와|도와드릴|他に|お手伝い`)
)

// asked is what a text asks, in its own words; "" where it asks nothing but whether more is wanted.
func asked(text string) string {
	var out []string
	for _, q := range question.FindAllString(text, -1) {
		if !offer.MatchString(q) {
			out = append(out, q)
		}
	}
	return strings.Join(out, " ")
}

// data are the kinds of data that an agent asks for, by how they are called.
var data = []struct {
	name  string
	words *regexp.Regexp
}{
	{"an e-mail address", regexp.MustCompile(`(?i)e-?mail|correo|이메일|メール`)},
	{"a telephone number", regexp.MustCompile(`(?i)\b(tele)?phone|\bmobile|telefon|handynummer|teléfono|móvil|전화|휴대폰|電話|携帯`)},
	{"an order number", regexp.MustCompile(`(?i)\border|bestell|pedido|주문|注文`)},
	{"a tracking number", regexp.MustCompile(`(?i)\btracking|\bparcel|\bshipment|sendung|paket|seguimiento|envío|운송장|송장|追跡`)},
	{"a date", regexp.MustCompile(`(?i)\bdates?\b|\bwhen\b|datum|\bwann\b|fecha|cuándo|날짜|언제|日付|いつ`)},
	{"a card", regexp.MustCompile(`(?i)\bcard|kreditkarte|tarjeta|카드|カード`)},
	{"a postal address", regexp.MustCompile(`(?i)\b(postal|street|delivery|shipping|home) address|\bzip\b|postcode|anschrift|postleitzahl|dirección|código postal|주소|住所`)},
	{"a reason", regexp.MustCompile(`(?i)\breason|\bwhy\b|\bgrund\b|warum|motivo|por qué|이유|왜|理由|なぜ`)},
	{"an amount", regexp.MustCompile(`(?i)\bamount|\bhow (much|many)|betrag|wie ?viele?|cuánt|importe|금액|얼마|몇 개|金額|いくつ|いくら`)},
}

// given is how data of a kind looks, where that can be told.
var given = map[string]*regexp.Regexp{
	"an e-mail address":  regexp.MustCompile(`@`),
	"a telephone number": regexp.MustCompile(`[0-9][0-9 ()/-]{5,}`),
	"an order number":    regexp.MustCompile(`[0-9]`),
	"a tracking number":  regexp.MustCompile(`[0-9]`),
}

// slots are the kinds of data that a question asks for.
func slots(question string) (out []string) {
	if question == "" {
		return nil
	}
	for _, d := range data {
		if d.words.MatchString(question) {
			out = append(out, d.name)
		}
	}
	return out
}
