package rule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// claim is one thing that an answer states and that a result contradicts.
type claim struct {
	step  int    // of the answer
	kind  string // amount, total, date, email or identifier
	field field  // what contradicts it
	sure  float64
}

// field is one value in a tool's result, with the keys above it and the other values of its object, which tell whose it is.
type field struct {
	call    int
	pointer []string
	words   []string
	text    string
	beside  string // flat: all of the object that it stands in
}

// answers lists the replies of a run, by step, in order.
func answers(t *trajectory.Trajectory) (steps []int) {
	for i, s := range t.Steps {
		if s.Kind == trajectory.StepReply && strings.TrimSpace(s.Text) != "" {
			steps = append(steps, i)
		}
	}
	return steps
}

// stated is one sentence of an answer.
var sentenceEnd = regexp.MustCompile(`[.!?]["')]?\s+|\n+|;\s`)

// unsaid are words under which a sentence does not state a fact: it asks, supposes, or speaks of about how much.
var unsaid = regexp.MustCompile(`(?i)\?|\b(if|would|could|might|may (?:be|have|not|vary|differ|need|take|also)|should you|assum\w*|example|e\.g|such as|like|format|about|around|approx\w*|roughly|nearly|almost|over|under|more than|less than|up to|at least|at most|between|range|estimat\w*|usually|typically|limit|maximum|minimum|instead of|not|no longer|was|previous\w*|original\w*|before|unless|until|save|saving\w*|wenn|falls|etwa|ungefähr|environ|aproximad\w*|circa)\b`)

func (m *maker) inReply() []classify.Finding {
	var out []classify.Finding
	for _, step := range answers(m.t) {
		text := m.t.Steps[step].Text
		if !strings.ContainsAny(text, "0123456789@") {
			continue
		}
		fields := sync.OnceValue(func() []field { return m.fields(step) }) // most answers state nothing to compare
		for _, sentence := range sentenceEnd.Split(text, 200) {
			if c, ok := m.contradicted(step, text, sentence, fields); ok {
				out = append(out, m.claimFinding(c))
			}
		}
	}
	return out
}

// contradicted looks at one sentence of an answer.
func (m *maker) contradicted(step int, text, sentence string, fields func() []field) (claim, bool) {
	if !strings.ContainsAny(sentence, "0123456789@") || unsaid.MatchString(sentence) {
		return claim{}, false
	}
	for _, look := range []func(int, string, string, func() []field) (claim, bool){m.amountClaim, m.dateClaim, m.emailClaim, m.idClaim} {
		if c, ok := look(step, text, sentence, fields); ok {
			return c, true
		}
	}
	return claim{}, false
}

// fields lists the values of all results before a step that were not rejections.
func (m *maker) fields(step int) []field {
	var out []field
	for i := range m.t.ToolCalls {
		c := &m.t.ToolCalls[i]
		if !c.HasResult || c.Result.Truncated || c.Result.JSON == nil || failed(c) || looksFailed(c) || m.told().ran[i] >= step {
			continue
		}
		eachLeaf(c.Result.JSON, func(pointer []string, value, beside string) {
			if len(out) < 2000 {
				out = append(out, field{i, pointer, wordsOf(pointer), value, beside})
			}
		})
	}
	return out
}

func wordsOf(pointer []string) []string {
	var out []string
	for _, p := range pointer {
		out = append(out, keyWords(p)...)
	}
	return out
}

// subjects are the names of things in a sentence, flat.
var subjectShape = regexp.MustCompile(`\b[A-Za-z]{2,8}[-_#]?\d{3,}\b|#\s?\d{3,}\b|\b\d{5,}\b`)

func subjects(sentence string) []string {
	var out []string
	for _, s := range subjectShape.FindAllString(money.ReplaceAllString(sentence, " "), 10) {
		out = append(out, flat(s))
	}
	return out
}

// about keeps the fields that stand with what the sentence names; all of them when it names nothing.
func about(fields []field, sentence string) []field {
	names := subjects(sentence)
	if len(names) == 0 {
		return fields
	}
	return slices.DeleteFunc(slices.Clone(fields), func(f field) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(f.beside, n) })
	})
}

// single returns the one value that all these fields have; false when there is none or more than one.
func single(fields []field) (field, bool) {
	for _, f := range fields {
		if f.text != fields[0].text {
			return field{}, false
		}
	}
	if len(fields) == 0 {
		return field{}, false
	}
	return fields[0], true
}

var (
	moneyWords = wordSet(`total amount price cost fee balance sum subtotal charge charged refund due paid payment tax vat discount shipping fare value budget credit debit invoice salary deposit betrag summe preis kosten montant prix total importe precio saldo gesamt`)
	totalWords = regexp.MustCompile(`(?i)\b(total\w*|sum|altogether|combined|in all|overall|gesamt\w*|insgesamt|summe|totale?|somme)\b`)
)

// amountClaim finds an amount that nobody told, that does not follow from what was told, and that the result's one amount of that name contradicts.
func (m *maker) amountClaim(step int, text, sentence string, known func() []field) (claim, bool) {
	amounts := amountsIn(sentence)
	if len(amounts) != 1 {
		return claim{}, false
	}
	n, fields := amounts[0], known()
	var here []field
	for _, f := range about(fields, sentence) {
		if w := lastWord(f); moneyWords[w] && isNumber(f.text) {
			here = append(here, f)
		}
	}
	by, kind, ok := contradiction(n, text, sentence, here)
	if !ok || m.figures(step, fields).explain(n) {
		return claim{}, false
	}
	return claim{step: step, kind: kind, field: by, sure: 0.85}, true
}

func lastWord(f field) string {
	for _, w := range slices.Backward(f.words) {
		if !isDigits(w) && w != "usd" && w != "eur" && w != "gbp" && w != "cents" {
			return w
		}
	}
	return ""
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

var wholeNumber = regexp.MustCompile(`^(?:` + currency + `\s?)?(?:` + digitsOf + `)(?:\s?` + currency + `)?$`)

func isNumber(text string) bool { return wholeNumber.MatchString(text) }

// contradiction says which field says otherwise: the one amount of that name, else the only amount there is, else the parts that a total is the
// sum of. A field whose value the answer states too contradicts nothing.
func contradiction(n number, text, sentence string, fields []field) (field, string, bool) {
	low := strings.ToLower(sentence)
	var named, parts []field
	for _, f := range fields {
		if strings.Contains(low, lastWord(f)) {
			named = append(named, f)
		}
	}
	by, ok := single(named)
	if len(named) == 0 {
		by, ok = single(fields)
	}
	if ok && len(fields) > 0 {
		return by, "amount", !states(text, by.text)
	}
	if !totalWords.MatchString(sentence) || slices.ContainsFunc(fields, func(f field) bool { return totalWords.MatchString(lastWord(f)) }) {
		return field{}, "", false
	}
	parts = fields
	for _, f := range parts {
		if f.call != parts[0].call || classify.SafePointer(f.pointer) != classify.SafePointer(parts[0].pointer) {
			return field{}, "", false
		}
	}
	if len(parts) < 2 {
		return field{}, "", false
	}
	return parts[0], "total", true
}

// states says that a text holds the number, however written.
func states(text, value string) bool {
	want := readNumber(anyNumber.FindString(value))
	for _, s := range anyNumber.FindAllString(text, 200) {
		for _, v := range readNumber(s).values {
			if want.near(v) {
				return true
			}
		}
	}
	return false
}

// figures collects the numbers that were told before a step, and those of the results by their keys.
func (m *maker) figures(step int, fields []field) *figures {
	f := &figures{}
	for x := range m.told().before(step, nil) {
		f.addText(withoutNames(x.text), x.user)
	}
	byKey := map[string][]float64{}
	var keys []string
	for _, x := range fields {
		if !isNumber(x.text) {
			continue
		}
		k := fmt.Sprint(x.call, classify.SafePointer(x.pointer))
		if byKey[k] == nil {
			keys = append(keys, k)
		}
		v, ok := valueIn(x.text)
		if !ok {
			continue
		}
		byKey[k] = append(byKey[k], v)
		if moneyWords[lastWord(x)] {
			f.money = with(f.money, v)
		}
	}
	for _, k := range keys {
		if len(byKey[k]) > 1 {
			f.groups = append(f.groups, byKey[k])
		}
	}
	f.groups = append(f.groups, priced(fields)...)
	return f
}

// nameWithDigits is what holds digits and is no quantity: an identifier, a day, a time.
var nameWithDigits = regexp.MustCompile(`\b[A-Za-z_]+[-_]?\d[\w-]*|\b\d{4}-\d\d-\d\d(T[\d:.]+Z?)?|\b\d{1,2}:\d\d(:\d\d)?\b`)

// withoutNames takes names with digits out of a text, but for codes of currencies before their amounts.
func withoutNames(text string) string {
	return nameWithDigits.ReplaceAllStringFunc(text, func(s string) string {
		if money.MatchString(s) {
			return s
		}
		return " "
	})
}

// priced multiplies, in lists of things, what each costs by how many there are.
func priced(fields []field) [][]float64 {
	var out []float64
	for i, a := range fields {
		for _, b := range fields[i+1:] {
			if a.call != b.call || a.beside != b.beside || len(a.pointer) < 2 || !isNumber(a.text) || !isNumber(b.text) {
				continue
			}
			x, okX := valueIn(a.text)
			y, okY := valueIn(b.text)
			if okX && okY {
				out = append(out, x*y)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return [][]float64{out}
}

// emailClaim finds an address that nobody told and that is a slip of the one that results name.
func (m *maker) emailClaim(step int, _, sentence string, fields func() []field) (claim, bool) {
	if strings.IndexByte(sentence, '@') < 0 {
		return claim{}, false
	}
	for _, mail := range emailShape.FindAllString(sentence, 5) {
		if m.literally(mail, step) || len(fields()) == 0 || m.told().holds(mail, step, nil) {
			continue
		}
		for _, f := range fields() {
			if other := emailShape.FindString(f.text); other != "" && slip(strings.ToLower(mail), strings.ToLower(other)) {
				return claim{step: step, kind: "email", field: f, sure: 0.85}, true
			}
		}
	}
	return claim{}, false
}

// literally says that a user or a result told just this before a step, as nearly always: then nobody need collect all that was told.
func (m *maker) literally(value string, step int) bool {
	return slices.ContainsFunc(m.t.Steps[:step], func(s trajectory.Step) bool {
		switch s.Kind {
		case trajectory.StepUser:
			return strings.Contains(s.Text, value)
		case trajectory.StepTool:
			return strings.Contains(textOf(m.t.ToolCalls[s.Index].Result), value)
		}
		return false
	})
}

// slip says that one address is the other but for a few letters, or for the domain.
func slip(a, b string) bool {
	mine, myHost, _ := strings.Cut(a, "@")
	other, otherHost, _ := strings.Cut(b, "@")
	if mine == other {
		return len(mine) >= 5 && myHost != otherHost
	}
	near, ok := classify.Nearest(mine, []string{other})
	return ok && near == other && myHost == otherHost && len(mine) >= 6 && lengthsWithin(mine, other, 1) && isDigits(onlyDigits(mine)) == isDigits(onlyDigits(other))
}

func lengthsWithin(a, b string, n int) bool { return len(a)-len(b) <= n && len(b)-len(a) <= n }

// idClaim finds an identifier that nobody told, of the same make as the one that results name, which the answer leaves out.
func (m *maker) idClaim(step int, text, sentence string, fields func() []field) (claim, bool) {
	for _, id := range businessID.FindAllString(sentence, 5) {
		if m.literally(id, step) || len(fields()) == 0 || m.told().holds(id, step, nil) {
			continue
		}
		var same []field
		for _, f := range fields() {
			if businessID.FindString(f.text) == f.text && makeOf(f.text) == makeOf(id) {
				same = append(same, f)
			}
		}
		if f, ok := single(same); ok && !strings.Contains(flat(text), flat(f.text)) {
			return claim{step: step, kind: "identifier", field: f, sure: 0.85}, true
		}
	}
	return claim{}, false
}

var businessID = regexp.MustCompile(`\b[A-Z]{2,6}-?\d{4,}\b`)

func makeOf(id string) string {
	return digitRuns.ReplaceAllStringFunc(id, func(d string) string { return strings.Repeat("#", len(d)) })
}

func (m *maker) claimFinding(c claim) classify.Finding {
	s := m.t.Steps[c.step]
	call := &m.t.ToolCalls[c.field.call]
	tool, pointer := classify.SafeName(call.Name), classify.SafePointer(c.field.pointer)
	f := m.in.Finding(s.Agent, classify.Word("where", "reply"), classify.Pointer("pointer", c.field.pointer), classify.Word("kind", c.kind))
	f.Step, f.Confidence, f.Severity = c.step, c.sure, classify.Blocking
	if c.kind == "date" {
		f.Severity = classify.Warning
	}
	f.Title = fmt.Sprintf("the answer states another %s than the result of %s", kindNames[c.kind], tool)
	f.Why = fmt.Sprintf("the answer states an %s that nobody told the agent and that does not follow from what was told, and the result of %s has another at %s.", kindNames[c.kind], tool, orRoot(pointer))
	if c.kind == "total" {
		f.Why = fmt.Sprintf("the answer states a total that is not the sum of %s in the result of %s, nor of some of them.", orRoot(pointer), tool)
	}
	if c.kind == "date" {
		f.Why = strings.Replace(f.Why, "an date", "a date", 1)
	}
	f.Evidence = []classify.Evidence{
		{SpanID: m.spanOf(c.step), What: "answer: " + kindNames[c.kind] + " that occurs nowhere before and cannot be computed"},
		{SpanID: firstOf(call.ResultSpanID, call.SpanID), What: "result: " + orRoot(pointer) + " says otherwise"},
	}
	return f
}

// spanOf is the span that shows a step, else that of the last model call before it.
func (m *maker) spanOf(step int) string {
	for i := step; i >= 0; i-- {
		if id := m.t.Steps[i].SpanID; id != "" && (i == step || m.t.Steps[i].Kind == trajectory.StepModel) {
			return id
		}
	}
	return ""
}
