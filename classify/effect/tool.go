package effect

import (
	"slices"
	"strings"
	"unicode"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Tool is what a tool does to the world, and how that is known.
type Tool struct {
	Name    string
	Effect  catalog.Effect
	By      string   // "the catalog", "its annotations" or "its name"; "" when unknown
	Twice   Twice    // what doing it twice does
	Verb    *Verb    // the verb of its name, nil when none is known
	Thing   *Verb    // the verb of what it makes: pay of create_charge; nil for most
	Objects []string // the other words of its name, in the singular
}

// Writes says that the tool is known to change something. A tool of which nobody knows is not taken to write, nor to read.
func (t Tool) Writes() bool { return t.Effect == catalog.EffectWrite }

// Reads says that the tool is known to change nothing.
func (t Tool) Reads() bool { return t.Effect == catalog.EffectRead }

// ToolOf says what the called tool does: by the catalog, else by the annotations of its definition, else by the verb of its name.
func ToolOf(t *trajectory.Trajectory, c *catalog.Catalog, call *trajectory.ToolCall) Tool {
	tool := byName(call.Name)
	if d, ok := c.Tool(call.Name); ok && d.Effect != catalog.EffectUnknown {
		tool.Effect, tool.By = d.Effect, "the catalog"
		if d.Idempotent || d.Effect == catalog.EffectRead {
			tool.Twice = Harmless
		} else if tool.Verb == nil || tool.Verb.Effect == catalog.EffectRead {
			tool.Twice = Doubles
		}
		return tool
	}
	if d, ok := definition(t, call); ok {
		tool.annotated(d)
	}
	return tool
}

func definition(t *trajectory.Trajectory, call *trajectory.ToolCall) (trajectory.ToolDef, bool) {
	if call.Model >= 0 {
		if d, ok := t.ModelCalls[call.Model].Offered.Tool(call.Name); ok {
			return d, true
		}
	}
	return (&trajectory.ToolSet{Tools: t.ToolsOffered}).Tool(call.Name)
}

// annotated takes what the server says of its tool. Hints may be wrong, so a hint that a tool only reads does not stand against a writing
// name: then nothing is known.
func (t *Tool) annotated(d trajectory.ToolDef) {
	switch {
	case d.ReadOnly == trajectory.HintYes && t.Writes():
		t.Effect, t.By, t.Twice = catalog.EffectUnknown, "", Harmless
	case d.ReadOnly == trajectory.HintYes:
		t.Effect, t.By = catalog.EffectRead, "its annotations"
	case d.ReadOnly == trajectory.HintNo && !t.Reads():
		t.Effect, t.By = catalog.EffectWrite, "its annotations"
		if t.Verb == nil && d.Idempotent == trajectory.HintNo {
			t.Twice = Doubles
		}
	}
	if d.Idempotent == trajectory.HintYes {
		t.Twice = Harmless
	}
}

// byName reads a tool's name. The first verb of its last part decides, save that "or" and "and" join two, of which the writing one counts; words
// that are things as often as verbs are verbs only where they stand first and no other verb is there.
func byName(name string) Tool {
	words := Words(catalog.Normalise(name))
	t := Tool{Name: name, Effect: catalog.EffectUnknown}
	at := verbAt(words, len(words)-len(Words(lastPart(catalog.Normalise(name)))))
	if at >= 0 {
		v := verbs[words[at]]
		t.Verb, t.Effect, t.Twice, t.By = v, v.Effect, v.Twice, "its name"
		if k := slices.IndexFunc(words[at+1:], carries); k >= 0 && v.Name == "create" {
			t.Thing = verbs[words[at+1+k]]
		}
		if v.Twice == Doubtful && harmless[words[at]] {
			t.Twice = Harmless
		}
	}
	for i, w := range words {
		if i != at && len(w) > 2 && !small[w] {
			t.Objects = append(t.Objects, singular(w))
		}
	}
	if t.Writes() && slices.ContainsFunc(words, func(w string) bool { return pretends[w] }) {
		t.Effect, t.Twice = catalog.EffectUnknown, Harmless
	}
	return t
}

// verbAt returns where the verb stands among the words, -1 when there is none. The words before from are a namespace.
func verbAt(words []string, from int) int {
	at := -1
	for i := from; i < len(words); i++ {
		v := verbs[words[i]]
		if v == nil || nouns[words[i]] {
			continue
		}
		joined := i > 0 && (words[i-1] == "or" || words[i-1] == "and")
		if at < 0 || joined && v.Effect == catalog.EffectWrite && verbs[words[at]].Effect == catalog.EffectRead {
			at = i
		}
	}
	last := len(words) - 1
	switch {
	case at >= 0 || last <= from:
		return at
	case light[words[from]] && !(words[from] == "process" && words[last] == "order") && slices.ContainsFunc(words[from+1:], carries):
		return from + 1 + slices.IndexFunc(words[from+1:], carries)
	case nouns[words[last]] && verbs[words[last]].Effect == catalog.EffectRead && !imperative[words[from]]:
		return last
	case verbs[words[from]] != nil:
		return from
	}
	return -1
}

// light are verbs that leave it to the thing to say what is done: issue_refund, make_payment.
var light = map[string]bool{"issue": true, "make": true, "place": true, "initiate": true, "perform": true, "process": true, "request": true}

// carries says that the word is a thing that tells by itself what is done.
func carries(w string) bool { return nouns[w] && verbs[w].Twice == Doubles }

// imperative are words that are things at times, but not where a name begins with them.
var imperative = map[string]bool{"set": true, "put": true, "patch": true, "mark": true, "close": true, "merge": true, "change": true, "complete": true, "make": true}

// lastPart is a name without its namespace: "email.send_email" is send_email.
func lastPart(name string) string {
	if i := strings.LastIndexAny(name, "./"); i >= 0 && i < len(name)-1 {
		name = name[i+1:]
	}
	if i := strings.LastIndex(name, "__"); i >= 0 && i < len(name)-2 {
		name = name[i+2:]
	}
	return name
}

// pretends are words that turn a writing name into something else: nobody knows then.
var pretends = map[string]bool{"draft": true, "preview": true, "dry": true, "simulate": true, "mock": true, "plan": true, "suggest": true,
	"propose": true, "think": true, "thought": true}

var small = map[string]bool{"the": true, "for": true, "with": true, "from": true, "and": true, "all": true, "new": true, "tool": true, "api": true, "its": true, "mcp": true, "into": true, "information": true, "details": true}

func singular(w string) string {
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && len(w) > 3:
		return w[:len(w)-1]
	}
	return w
}

// Words splits a name at its signs and at its humps, in lower case: "email.sendMessage" is email, send, message.
func Words(name string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return out
}
