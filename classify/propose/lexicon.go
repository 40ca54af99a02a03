package propose

import (
	"regexp"
	"strings"
	"unicode"
)

// Which words of a run may stand in a rule: those that its team wrote, in the names, descriptions and schemas of tools, and those of the lists below. Any other
// may be a person's name, however it is spelt, and no list of names is long enough.

// small is a word of a text.
var small = regexp.MustCompile(`^[a-z]{2,24}$`)

// read takes in the words that the team wrote.
func (w *vocabulary) read() {
	for _, list := range [][]*view{w.pos, w.neg} {
		for _, v := range list {
			for _, d := range v.t.ToolsOffered {
				w.take(d.Name)
				w.take(d.Description)
				w.take(string(d.Schema))
			}
			for _, tool := range v.tools {
				w.take(tool)
			}
		}
	}
}

func (w *vocabulary) take(text string) {
	for _, tok := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if tok == strings.ToLower(tok) || tok == strings.ToUpper(tok) {
			w.written[strings.ToLower(tok)] = true
		}
	}
}

// authored says that all parts of a word may stand in a rule.
func (w *vocabulary) authored(text string) bool {
	for _, part := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if !w.written[part] && !common[part] && !telling[part] {
			return false
		}
	}
	return true
}

// common are words that say nothing of what a text is about.
var common = wordsOf(`a about after all already also an and another any are as at back be because been before but by can could did do does done else enough first for from had has have here how i if
	in instead into is it its just last later let like make may me more most must my need never new next no not nothing now of on once one only or other our out over own please same see should so
	some still such than that the their them then there these they this those to too try two under until up us use was we were what when where which while who why will with within without would yet
	you your yours`)

// telling are words in which programs and agents tell how something went.
var telling = wordsOf(`abort aborted accept accepted access account action active add added allowed answer api apologize argument arguments array attempt attempts authentication authorization authorized
	available bad blank block blocked body broken busy call called calls cancel canceled cancelled cannot capacity check closed code complete completed confirm confirmed conflict connect connection
	content context correct count create created currency data date deadline declined delete deleted denied detail details disabled done draft dropped duplicate email empty enabled end ended error
	errors exceed exceeded exceeds exception execute executed exist existing exists expected expired fail failed fails failing failure fault field fields file files finished forbidden format found
	full get given gone guess handle help id incomplete incorrect index information input insufficient internal interrupted invalid issue item items json key length limit limited limits line list
	lost match matched matches maximum memory message messages method minimum misconfigured missing model name network none null number object ok open order orders outage output overloaded page parameter
	parameters parse parsing partial path payment pending permission permissions policy price problem process processed processing product products property provide provided quota range rate reach
	reached read ready received record records refund refunds refused reject rejected reply request requested requests required requires reset resource response rest result results retry retries return returned
	returns right running schema search seconds send sending sent server service session set size sorry start started state status step stop stopped string success successful successfully support
	supported syntax system temporarily temporary terminated throttled time timed timeout times token tokens tool tools total transfer true false type unable unauthenticated unauthorized unavailable
	unchanged undefined unexpected unhandled unknown unprocessable unsupported update updated url user valid validate validated validation value values version wait warning window write wrong`)

func wordsOf(list string) map[string]bool {
	out := map[string]bool{}
	for f := range strings.FieldsSeq(list) {
		out[f] = true
	}
	return out
}
