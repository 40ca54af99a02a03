package classify

import (
	"crypto/sha256"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Said is what of a user's message tells whether the user asks for the same once more, or for anything else. A sketch holds it in place of the words.
type Said struct {
	Again bool     // asks to look or try once more: whether there is news, a refresh
	Push  bool     // says that it is not done, not right, or to go on
	Bare  bool     // is too short to ask for anything of its own, and no thanks
	Words []string // marks of the words, sorted, each once, maxSaid of them: equal words have equal marks, and unequal ones nearly always unequal
}

// maxSaid bounds the words of a message that are looked at. The longest messages are told apart by how they begin.
const maxSaid = 32

// SaidOf reads a user's message, or what a sketch holds of it.
func SaidOf(text string) Said {
	if s, ok := readSaid(text); ok {
		return s
	}
	low := strings.ToLower(text[:min(len(text), 2000)])
	s := Said{Words: marks(low, maxSaid)}
	s.Again = len(low) < 300 && onceAgain.MatchString(low)
	s.Push = !s.Again && len(low) < 400 && pushing.MatchString(low)
	s.Bare = !s.Again && !s.Push && bare(low)
	return s
}

// Near says that two messages say nearly the same: at least four of five words are in both.
func (s Said) Near(o Said) bool {
	both := 0
	for _, w := range s.Words {
		if slices.Contains(o.Words, w) {
			both++
		}
	}
	return both*5 >= 4*(len(s.Words)+len(o.Words)-both)
}

// Names says that the message names what a call is about: all words of one of its shorter arguments.
func (s Said) Names(v trajectory.Value) bool {
	for _, name := range namesIn(v) {
		if !slices.ContainsFunc(name, func(w string) bool { return !slices.Contains(s.Words, w) }) {
			return true
		}
	}
	return false
}

// How people ask for the same once more, in the languages that are written most.
var onceAgain = regexp.MustCompile(`\b((check|look|try|search|run|do|call|test|fetch|load|ask|see|send|read|get|go|query|verify|please|it|that|this|one)( \w+){0,3} again\b|again,? please|once (more|again)|one more time|another (try|look|time)|retry|re-?(check|try|fresh|run|load|do|peat|send|query|test|fetch)\b|` +
	`(any|some) (news|updates?|luck|progress|changes?|answer)|what('s| is) (the )?(status|latest|new)|(and|how about|what about|is it|are they|ready)[\w ]{0,20}\bnow\s*\?|\byet\s*\?|still (nothing|there|down|open|running|pending)\s*\?|update me|` +
	`noch ?(mal|einmal)|nochmals|erneut|gibt es (etwas )?neue|neuigkeiten|schon da|und jetzt|encore une fois|r[ée]essa\w+|[àa] nouveau|de nouveau|du nouveau|des nouvelles|et maintenant|otra vez|de nuevo|nuevamente|alguna (novedad|noticia)|reint[ée]nt\w+|vuelve a|y ahora|` +
	`de novo|novamente|outra vez|alguma novidade|e agora|di nuovo|ancora una volta|riprova\w*|novit[àa]|e adesso|opnieuw|nog (eens|een keer)|nogmaals|jeszcze raz|ponownie|spr[óo]buj)|` +
	`ещё раз|еще раз|снова|повтори|обнови|再(试|試|查|看|来|來|找|次|一次)|重试|重試|刷新|重新|もう一度|もういちど|再度|再試行|更新して|다시|새로고침`)

// How people say that it is not done, or to go on.
var pushing = regexp.MustCompile(`\b(continue|(go|carry|move) on|keep (going|trying|at it)|go ahead|proceed|finish (it|this|that)|get on with|still|wrong|incorrect|not (right|correct|working|fixed|done|solved|what|helpful|good|true|there|it|yet|the)|that('s| is) not|never|` +
	`(didn|doesn|isn|wasn|hasn|won|can|aren|haven)['’]?t|does not|did not|is not|has not|cannot|no luck|nope|nothing (changed|happened|works?)|fail(s|ed|ing)?|broken|useless|come on|figure it out|fix (it|this|that)|do (it|something|better)|solve (it|this)|please (fix|help|do|solve)|hurry|i (already )?(said|told you)|you keep|something else|differently|another way|must be|should be|same (error|problem|issue|result|answer|thing)|` +
	`weiter\w*|falsch|immer noch|noch immer|noch nicht|(geht|klappt|stimmt|funktioniert) (\w+ )?nicht|nicht (richtig|gut|da|was)|nein|toujours|c'est faux|incorrecte?|ne marche|vas-y|continuez|poursui\w+|contin[úu]a|sigue|siga|todav[íi]a|a[úu]n|incorrecto|no (funciona|es correcto|sirve)|ainda|errado|n[ãa]o (funciona|est[áa])|sbagliato|ancora|non (va|funziona)|ga (door|verder)|nog steeds|werkt niet|dalej|nadal|kontynuuj|nie dzia[łl]a)\b|` +
	`продолж|дальше|всё ещё|все еще|неверно|неправильно|не работает|继续|繼續|还是|還是|仍然|不对|不對|错了|錯了|続け|まだ|違い|違う|계속|아직|틀렸|안 돼`)

// bare says that a message is so short that it asks for nothing of its own, and thanks for nothing.
func bare(low string) bool {
	ws := words(low)
	return len(ws) <= 3 && strings.IndexFunc(low, isDigit) < 0 && len(low) <= 30 && low != "" && !thanks.MatchString(low)
}

var thanks = regexp.MustCompile(`\b(thank|thx|danke|merci|gracias|obrigad|grazie|bedankt|dzi[eę]k|hi|hello|hey|hallo|bye)|спасибо|谢|謝|ありがと|감사`)

// marks are those of a text's words.
func marks(low string, most int) []string {
	var out []string
	for _, w := range words(low) {
		if m := mark(w); !slices.Contains(out, m) {
			if out = append(out, m); len(out) == most {
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// words are the runs of letters and digits; of scripts that write without blanks each letter stands alone.
func words(low string) []string {
	var out []string
	start := -1
	cut := func(end int) {
		if start >= 0 {
			out = append(out, low[start:end])
		}
		start = -1
	}
	for i, r := range low {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			cut(i)
			out = append(out, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if start < 0 {
				start = i
			}
		default:
			cut(i)
		}
	}
	cut(len(low))
	return out
}

// mark stands for a word: twelve bits of its digest, too few to read it from.
func mark(word string) string {
	sum := sha256.Sum256([]byte(word))
	return letters(sum[:2])[:3]
}

// Bounds of what of a call's arguments may name what it is about.
const (
	maxNames     = 8
	maxNameWords = 4
)

// namesIn are the shorter arguments of a call, each as the marks of its words.
func namesIn(v trajectory.Value) [][]string {
	if v.JSON == nil || v.Truncated {
		return nil
	}
	if names, ok := readNames(v.JSON); ok {
		return names
	}
	var doc any
	if json.Unmarshal(v.JSON, &doc) != nil {
		return nil
	}
	var out [][]string
	var walk func(doc any, depth int)
	walk = func(doc any, depth int) {
		if depth > 4 || len(out) >= maxNames {
			return
		}
		switch d := doc.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(d)) {
				walk(d[k], depth+1)
			}
		case []any:
			for _, e := range d {
				walk(e, depth+1)
			}
		case string:
			if len(d) < 3 || len(d) > 80 {
				return
			}
			if ws := words(strings.ToLower(d)); len(ws) > 0 && len(ws) <= maxNameWords {
				out = append(out, marks(strings.ToLower(d), maxNameWords))
			}
		case float64:
			if text := strconv.FormatFloat(d, 'f', -1, 64); len(text) >= 3 {
				out = append(out, marks(text, maxNameWords))
			}
		}
	}
	walk(doc, 0)
	return out
}

// readNames reads what a sketch holds of arguments.
func readNames(v jsontext.Value) ([][]string, bool) {
	var held struct {
		ID string `json:"call_id"`
	}
	if !strings.Contains(string(v), `"call_id":"`) || json.Unmarshal(v, &held) != nil {
		return nil, false
	}
	digest, list, ok := strings.Cut(held.ID, namesMark)
	if !ok || !isDigest(digest) {
		return nil, false
	}
	var out [][]string
	for name := range strings.FieldsSeq(list) {
		out = append(out, strings.Split(name, "+"))
	}
	return out, true
}

const (
	namesMark = " names "
	saidMark  = " said"
)

// names writes what readNames reads.
func names(v trajectory.Value) string {
	var b strings.Builder
	b.WriteString(namesMark)
	for i, n := range namesIn(v) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.Join(n, "+"))
	}
	return b.String()
}

// spoken writes of a user's message its digest and what readSaid reads. "" is "".
func spoken(text string) string {
	if text == "" {
		return ""
	}
	s := SaidOf(text)
	out := digest(text) + saidMark
	if s.Again {
		out += " .again"
	}
	if s.Push {
		out += " .push"
	}
	if s.Bare {
		out += " .bare"
	}
	if len(s.Words) > 0 {
		out += " " + strings.Join(s.Words, " ")
	}
	return out
}

func readSaid(text string) (s Said, ok bool) {
	d, list, ok := strings.Cut(text, saidMark)
	if !ok || !isDigest(d) || list != "" && list[0] != ' ' {
		return Said{}, false
	}
	for w := range strings.FieldsSeq(list) {
		switch w {
		case ".again":
			s.Again = true
		case ".push":
			s.Push = true
		case ".bare":
			s.Bare = true
		default:
			s.Words = append(s.Words, w)
		}
	}
	return s, true
}
