package propose

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// keys are the arguments of a tool's calls, with the runs that have each.
func (w *vocabulary) keys(tool string, lists ...[]*view) map[string]int {
	out := map[string]int{}
	for _, list := range lists {
		for _, v := range list {
			for key := range v.keysOf(tool) {
				out[key]++
			}
		}
	}
	return out
}

func (v *view) keysOf(tool string) map[string]bool {
	out := map[string]bool{}
	for _, i := range v.of[tool] {
		for key := range v.calls[i].args {
			if plain.MatchString(key) {
				out[key] = true
			}
		}
	}
	return out
}

// maxKeys bounds the arguments of one tool that are looked at.
const maxKeys = 24

// ofArguments says what a tool's arguments are.
func (w *vocabulary) ofArguments(x string) {
	guard := ""
	if w.seen(x, func(c *call) bool { return c.told && c.args == nil }) {
		guard = "type(c.arguments) == map && "
	}
	pos := w.keys(x, w.pos)
	names := slices.Sorted(maps.Keys(w.keys(x, w.pos, w.neg)))
	for _, key := range names[:min(len(names), maxKeys)] {
		in := guard + `"` + key + `" in c.arguments`
		family := "argument " + x + " " + key
		if pos[key] > 0 {
			w.exists(x, in, "called "+x+" with the argument "+key, family, costShape+1, func(c *call) bool { _, ok := c.args[key]; return ok })
		}
		w.exists(x, guard+`!("`+key+`" in c.arguments)`, "called "+x+" without the argument "+key, family, costShape, func(c *call) bool {
			_, ok := c.args[key]
			return c.told && c.args != nil && !ok
		})
		if pos[key] > 0 {
			w.ofValue(x, key, in, `c.arguments["`+key+`"]`, "called "+x+" with %s as "+key, family, func(c *call) (any, bool) { v, ok := c.args[key]; return v, ok })
		}
	}
}

// seen says whether any run has such a call of a tool.
func (w *vocabulary) seen(tool string, test func(*call) bool) bool {
	has := func(v *view) bool { return v.any(tool, test) }
	return slices.ContainsFunc(w.pos, has) || slices.ContainsFunc(w.neg, has)
}

// shapes are kinds of text that an argument, or a reply, may be of.
var shapes = []struct {
	says, pattern string
	whole         bool // the text is nothing else
}{
	{"an empty text", `^\s*$`, true},
	{"digits", `^[0-9]+$`, true},
	{"an e-mail address", `[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}`, false},
	{"a link", `https?://`, false},
	{"a date", `[0-9]{4}-[0-9]{2}-[0-9]{2}`, false},
	{"an amount of money", `[$€£] ?[0-9]|[0-9] ?(USD|EUR|GBP|dollars|euros)`, false},
	{"a path", `^(/|\./|\.\./)`, true},
	{"several lines", `\n`, false},
}

// ofValue says what one value of a call is: of which type, of which kind of text, over which number, which word. in asks whether it is there.
func (w *vocabulary) ofValue(x, key, in, at, says, family string, of func(*call) (any, bool)) {
	types := map[string]bool{}
	for _, v := range w.pos {
		v.any(x, func(c *call) bool {
			if val, ok := of(c); ok {
				types[typeOf(val)] = true
			}
			return false
		})
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		test, article := typeTests[name](at), map[string]string{"null": "null", "list": "a list", "map": "an object", "text": "a text", "number": "a number", "bool": "true or false"}[name]
		w.exists(x, in+" && "+test, fmt.Sprintf(says, article), family, costKind, func(c *call) bool { val, ok := of(c); return ok && typeOf(val) == name })
	}
	if types["text"] {
		text := func(c *call) (string, bool) {
			val, _ := of(c)
			s, ok := val.(string)
			return s, ok
		}
		guard := in + " && " + typeTests["text"](at) + " && "
		for _, k := range shapes {
			re := regexp.MustCompile(k.pattern)
			w.exists(x, guard+at+".matches("+quote(k.pattern)+")", fmt.Sprintf(says, k.says), family, costKind+1, func(c *call) bool { s, ok := text(c); return ok && re.MatchString(s) })
		}
		for _, word := range w.words(x, key, text) {
			w.exists(x, in+" && "+at+` == "`+word+`"`, fmt.Sprintf(says, word), family, costWord, func(c *call) bool { s, ok := text(c); return ok && s == word })
		}
	}
	if types["number"] {
		w.ofNumber(x, in, at, says, family, of)
	}
	for _, b := range []bool{true, false} {
		if types["bool"] {
			w.exists(x, fmt.Sprintf("%s && %s == %v", in, at, b), fmt.Sprintf(says, fmt.Sprint(b)), family, costKind, func(c *call) bool { val, ok := of(c); return ok && val == b })
		}
	}
}

var typeTests = map[string]func(string) string{
	"text":   func(at string) string { return "type(" + at + ") == string" },
	"number": func(at string) string { return "type(" + at + ") in [int, double]" },
	"bool":   func(at string) string { return "type(" + at + ") == bool" },
	"list":   func(at string) string { return "type(" + at + ") == list" },
	"map":    func(at string) string { return "type(" + at + ") == map" },
	"null":   func(at string) string { return at + " == null" },
}

func typeOf(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case float64:
		return "number"
	case bool:
		return "bool"
	case []any:
		return "list"
	case map[string]any:
		return "map"
	}
	return "null"
}

// ofNumber says that a number of a call is over, or under, those of healthy runs.
func (w *vocabulary) ofNumber(x, in, at, says, family string, of func(*call) (any, bool)) {
	extreme := func(sign float64) func(v *view) (float64, bool) {
		return func(v *view) (most float64, told bool) {
			v.any(x, func(c *call) bool {
				val, _ := of(c)
				if n, ok := val.(float64); ok && (!told || n*sign > most) {
					most, told = n*sign, true
				}
				return false
			})
			return most, told
		}
	}
	for _, n := range w.between(false, extreme(1)) {
		w.exists(x, in+" && "+typeTests["number"](at)+" && "+at+" >= "+number(n, false), fmt.Sprintf(says, number(n, true)+" or more"), family, costNumber, func(c *call) bool {
			val, _ := of(c)
			f, ok := val.(float64)
			return ok && f >= n
		})
	}
	for _, m := range w.between(false, extreme(-1)) {
		w.exists(x, in+" && "+typeTests["number"](at)+" && "+at+" <= "+number(-m, false), fmt.Sprintf(says, number(-m, true)+" or less"), family, costNumber, func(c *call) bool {
			val, _ := of(c)
			f, ok := val.(float64)
			return ok && f <= -m
		})
	}
}

const (
	maxWords = 12 // different values of what is a small set
	minRuns  = 2  // labelled runs that a word of theirs is of, at least
)

// word is a value of small letters or of capitals alone.
var word = regexp.MustCompile(`^([a-z][a-z0-9_-]{0,23}|[A-Z][A-Z0-9_-]{0,23})$`)

// words are the values of a small set, which several runs have, of words that name no person, and redaction leaves as they are.
func (w *vocabulary) words(tool, key string, of func(*call) (string, bool)) (out []string) {
	if w.redact == nil {
		return nil
	}
	all, runs, total := map[string]bool{}, map[string]int{}, 0
	for i, v := range append(slices.Clone(w.pos), w.neg...) {
		here := map[string]bool{}
		v.any(tool, func(c *call) bool {
			if s, ok := of(c); ok {
				all[s], here[s] = true, true
				total++
			}
			return false
		})
		for s := range here {
			if i < len(w.pos) {
				runs[s]++
			}
		}
	}
	if len(all) > maxWords || total >= 4 && 2*len(all) > total {
		return nil
	}
	for _, s := range slices.Sorted(maps.Keys(runs)) {
		if runs[s] >= minRuns && word.MatchString(s) && w.authored(s) && w.redact(key, s) == s {
			out = append(out, s)
		}
	}
	return out
}

// ofResults says what a tool's results hold.
func (w *vocabulary) ofResults(x string) {
	keys := map[string]bool{}
	for _, v := range w.pos {
		v.any(x, func(c *call) bool {
			if m, ok := c.result.(map[string]any); ok {
				for key := range m {
					if plain.MatchString(key) {
						keys[key] = true
					}
				}
			}
			return false
		})
	}
	names := slices.Sorted(maps.Keys(keys))
	for _, key := range names[:min(len(names), maxKeys)] {
		in := `type(c.result) == map && "` + key + `" in c.result`
		of := func(c *call) (any, bool) { m, _ := c.result.(map[string]any); v, ok := m[key]; return v, ok }
		family := "result " + x + " " + key
		w.exists(x, in, "has a result of "+x+" with "+key, family, costShape+1, func(c *call) bool { _, ok := of(c); return ok })
		w.ofValue(x, key, in, `c.result["`+key+`"]`, "has a result of "+x+" with %s as "+key, family, of)
	}
	w.phrases("has a result of "+x+" that says %q", "result "+x, func(v *view) (texts []string) {
		v.any(x, func(c *call) bool {
			if s, ok := c.result.(string); ok {
				texts = append(texts, s)
			}
			return false
		})
		return texts
	}, func(pattern string) (string, string) {
		test := "type(c.result) == string && c.result.matches(" + pattern + ")"
		return calls(x) + ".exists(c, " + test + ")", calls(x) + ".filter(c, " + test + ")"
	})
}

// ofWords says what the user, the reply and errors say.
func (w *vocabulary) ofWords() {
	reply := func(v *view) []string {
		if v.t.Reply == nil {
			return nil
		}
		return []string{*v.t.Reply}
	}
	for _, k := range shapes {
		if k.whole && k.says != "an empty text" {
			continue
		}
		re := regexp.MustCompile(k.pattern)
		w.add(statement{when: "has(t.reply) && t.reply.matches(" + quote(k.pattern) + ")", says: "has " + k.says + " in its reply", family: "reply", cost: costKind,
			holds: func(v *view) bool { return slices.ContainsFunc(reply(v), re.MatchString) }})
	}
	w.phrases("says %q in its reply", "reply", reply, func(pattern string) (string, string) { return "has(t.reply) && t.reply.matches(" + pattern + ")", "" })
	w.phrases("was told %q by its user", "user", func(v *view) []string { return v.t.UserMessages }, func(pattern string) (string, string) {
		return "t.user_messages.exists(u, u.matches(" + pattern + "))", ""
	})
	w.phrases("has a tool call whose error says %q", "any failed", func(v *view) (texts []string) {
		v.any("", func(c *call) bool {
			if c.Error != nil {
				texts = append(texts, c.Error.Message)
			}
			return false
		})
		return texts
	}, func(pattern string) (string, string) {
		test := "has(c.error) && c.error.message.matches(" + pattern + ")"
		return "t.tool_calls.exists(c, " + test + ")", "t.tool_calls.filter(c, " + test + ")"
	})
	w.phrases("ended in an error that says %q", "run error", func(v *view) []string {
		if v.t.RootError == nil {
			return nil
		}
		return []string{v.t.RootError.Message}
	}, func(pattern string) (string, string) {
		return "has(t.error) && t.error.message.matches(" + pattern + ")", ""
	})
}

const (
	maxPhrases = 40 // of one place, the most frequent
	maxTextRun = 20_000
)

// phrases are words, and pairs of them, that several labelled runs have in one place and few healthy ones: as redaction leaves them, in small letters.
func (w *vocabulary) phrases(says, family string, texts func(*view) []string, write func(pattern string) (when, evidence string)) {
	if w.redact == nil || len(w.pos) < minRuns {
		return
	}
	n := map[string]int{}
	for _, v := range w.pos {
		for p := range w.phrasesOf(texts(v)) {
			n[p]++
		}
	}
	healthy := map[string]int{}
	for _, v := range w.neg {
		for p := range w.phrasesOf(texts(v)) {
			if n[p] > 0 {
				healthy[p]++
			}
		}
	}
	var all []string
	for _, p := range slices.Sorted(maps.Keys(n)) {
		if n[p] >= minRuns && 2*n[p] >= len(w.pos) && 5*healthy[p] <= len(w.neg) {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int {
		return 100*(n[b]-n[a]) + 10*(healthy[a]-healthy[b]) + len(a) - len(b)
	})
	for _, p := range all[:min(len(all), maxPhrases)] {
		pattern := `(?i)\b` + strings.ReplaceAll(p, " ", `\s+`) + `\b`
		re := regexp.MustCompile(pattern)
		when, evidence := write(quote(pattern))
		w.add(statement{when: when, evidence: evidence, says: fmt.Sprintf(says, p), family: family, cost: costPhrase, holds: func(v *view) bool { return slices.ContainsFunc(texts(v), re.MatchString) }})
	}
}

// phrasesOf are the words of small letters, and the pairs of neighbours, in texts after redaction: those alone that name no person.
func (w *vocabulary) phrasesOf(texts []string) map[string]bool {
	out := map[string]bool{}
	for _, text := range texts {
		text = w.redact("", text[:min(len(text), maxTextRun)])
		last := ""
		for _, tok := range strings.FieldsFunc(text, unicode.IsSpace) {
			tok = strings.Trim(tok, `.,;:!?"'()[]{}`)
			if !small.MatchString(tok) || !w.authored(tok) {
				last = ""
				continue
			}
			if len(tok) >= 4 && !common[tok] {
				out[tok] = true
			}
			if last != "" && !(common[tok] && common[last]) {
				out[last+" "+tok] = true
			}
			last = tok
		}
	}
	return out
}

// quote writes a text as a literal of the expression language.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}
