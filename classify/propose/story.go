package propose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/classify/fixture"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

const (
	maxStory   = 12 << 10 // bytes of one file of testdata
	maxSaid    = 300      // bytes of one text in it
	maxMatches = 3        // stories of labelled runs
)

// testdata tells runs as stories that the rule was run on: labelled ones as match, healthy ones as near, and one of each that cannot be judged as blind. A run
// that no story tells such that the rule says the same of it is left out; without a story of each kind there is no testdata.
func testdata(c Candidate, pos, neg []*view, o Options) []File {
	if o.Redact == nil {
		return []File{}
	}
	r, err := ruleOf(c.Rule)
	if err != nil {
		return []File{}
	}
	var out []File
	add := func(kind fixture.Kind, name, why string, lines []string) bool {
		text := why + "\n-- trajectory --\n" + strings.Join(lines, "\n") + "\n"
		if len(text) > maxStory || says(r, c.Rule.Name, name, text) != kind || o.Redact("", text) != text {
			return false
		}
		out = append(out, File{name, text})
		return true
	}
	matches, nears, blind := 0, 0, false
	for _, v := range pos {
		if slices.Contains(c.Missed, v.t.TraceID) || matches == maxMatches {
			continue
		}
		lines := shorten(story(v.t, o.Redact), func(l []string) bool {
			return says(r, c.Rule.Name, "match", "-- trajectory --\n"+strings.Join(l, "\n")+"\n") == fixture.Match
		})
		if !add(fixture.Match, fmt.Sprintf("match-%d.txtar", matches+1), "A labelled run, shortened to what shows it.", lines) {
			continue
		}
		matches++
		if !blind {
			blind = add(fixture.Blind, "blind-cut.txtar", "The same, of a trace that was cut at a limit: what is not there may have been.", cut(lines))
		}
	}
	for _, v := range nearest(pos, neg) {
		if nears < 2 && !slices.Contains(c.Collisions, v.t.TraceID) && add(fixture.Near, fmt.Sprintf("near-%d.txtar", nears+1), "A healthy run.", story(v.t, o.Redact)) {
			nears++
		}
	}
	if matches == 0 || nears == 0 || !blind {
		return []File{}
	}
	return out
}

func ruleOf(d custom.Definition) (classify.Rule, error) {
	rules, problems, err := custom.New([]custom.Definition{d}, nil)
	if err != nil || len(problems) > 0 {
		return classify.Rule{}, cmp.Or(err, fmt.Errorf("%d problems", len(problems)))
	}
	return rules[0], nil
}

// says is what a rule says of a story, "" of what is none.
func says(r classify.Rule, rule, name, text string) fixture.Kind {
	report, err := fixture.Parse(rule+"/"+name, []byte(text)).Run(r)
	if err != nil {
		return ""
	}
	return fixture.KindOf(report)
}

// nearest are the healthy runs, those that call most of what labelled runs call first.
func nearest(pos, neg []*view) []*view {
	called := map[string]bool{}
	for _, v := range pos {
		for _, tool := range v.tools {
			called[tool] = true
		}
	}
	alike := func(v *view) (n int) {
		for _, tool := range v.tools {
			if called[tool] {
				n++
			}
		}
		return n
	}
	out := slices.Clone(neg)
	slices.SortStableFunc(out, func(a, b *view) int {
		return cmp.Or(cmp.Compare(alike(b), alike(a)), cmp.Compare(len(a.calls), len(b.calls)))
	})
	return out[:min(len(out), 20)]
}

// cut is a story of a trace that was truncated.
func cut(lines []string) []string {
	return append(slices.Clone(lines), "gap "+string(trajectory.FactWhole)+" the trace was cut at a limit")
}

// story tells a run in the form of package texttraj, redacted, one line for each thing that happened. The ids of its spans are new.
func story(t *trajectory.Trajectory, redact func(key, text string) string) []string {
	line := func(key, text string) string {
		text = strings.ToValidUTF8(redact(key, text), "?")
		text = strings.Join(strings.Fields(text), " ")
		if len(text) > maxSaid {
			text = strings.ToValidUTF8(text[:maxSaid], "") + " ..."
		}
		return text
	}
	head := "trace service=" + option(line("", t.Service))
	if !t.Complete.HasRoot {
		head += " noroot"
	}
	if t.RootError != nil {
		head += " error=" + strconv.Quote(line("", t.RootError.Message))
	}
	out := []string{head}
	if len(t.ToolsOffered) > 0 {
		out = append(out, "tools all")
		for _, d := range t.ToolsOffered {
			out = append(out, "  "+strings.Join(strings.Fields(d.Name), "_"))
		}
	}
	told := teller{line: line, redact: redact, t: t, model: map[int]int{}}
	for _, s := range t.Steps {
		out = append(out, told.step(s)...)
	}
	return out
}

func option(s string) string {
	if s == "" || strings.ContainsAny(s, " \"=\\") {
		return strconv.Quote(s)
	}
	return s
}

// teller tells the steps of one run.
type teller struct {
	line   func(key, text string) string
	redact func(key, text string) string
	t      *trajectory.Trajectory
	model  map[int]int // of model calls: their number in the story
	calls  int
}

func (w *teller) step(s trajectory.Step) []string {
	switch s.Kind {
	case trajectory.StepUser:
		return []string{"user " + w.line("", s.Text)}
	case trajectory.StepReply:
		return []string{"reply " + w.line("", s.Text)}
	case trajectory.StepHandoff:
		h := w.t.Handoffs[s.Index]
		return []string{"handoff " + name(h.From) + " " + name(h.To)}
	case trajectory.StepModel:
		return []string{w.modelCall(&w.t.ModelCalls[s.Index], s.Index)}
	case trajectory.StepTool:
		return w.toolCall(&w.t.ToolCalls[s.Index])
	}
	return nil
}

func name(s string) string { return cmp.Or(strings.Join(strings.Fields(s), "_"), "-") }

func (w *teller) modelCall(m *trajectory.ModelCall, i int) string {
	w.model[i] = len(w.model) + 1
	text := fmt.Sprintf("model m%d", w.model[i])
	put := func(key, value string) {
		if value != "" {
			text += " " + key + "=" + option(value)
		}
	}
	put("agent", w.line("", m.Agent))
	if m.Offered != nil && len(w.t.ToolsOffered) > 0 {
		text += " tools=all"
	}
	put("model", m.ModelRequested)
	put("finish", string(m.FinishReason))
	if n := m.Usage.Input; n != nil {
		put("in", strconv.FormatInt(*n, 10))
	}
	if m.Error != nil {
		put("error", cmp.Or(w.line("", m.Error.Message), "failed"))
		if m.Error.Code != 0 {
			put("code", strconv.Itoa(m.Error.Code))
		}
	}
	return text
}

func (w *teller) toolCall(c *trajectory.ToolCall) []string {
	w.calls++
	out := []string{strings.TrimRight(fmt.Sprintf("call c%d %s %s", w.calls, name(c.Name), w.value(c.Arguments)), " ")}
	more := func(format string, args ...any) {
		out = append(out, strings.TrimRight("  "+fmt.Sprintf(format, args...), " "))
	}
	result := ""
	if c.HasResult {
		result = w.value(c.Result)
	}
	switch c.Outcome {
	case trajectory.OutcomeOK, trajectory.OutcomeError, trajectory.OutcomeDenied:
		switch {
		case result != "":
			more("%s %s", c.Outcome, result)
		case c.Outcome == trajectory.OutcomeError && c.Error != nil:
			more("fails %s", w.line("", c.Error.Message))
		default:
			more("%s null", c.Outcome)
		}
	case trajectory.OutcomeMissing, trajectory.OutcomeTimeout:
		more("%s", c.Outcome)
	default:
		if result != "" {
			more("result %s", result)
		}
	}
	if c.Error != nil && c.Error.Code != 0 {
		more("code %d", c.Error.Code)
	}
	if !c.Requested {
		more("unrequested")
	}
	if c.Recalled {
		more("recalled")
	}
	return out
}

// value tells arguments or a result: JSON as it is after redaction, else the text on one line. One that is too long is cut, as text.
func (w *teller) value(v trajectory.Value) string {
	text := v.Raw
	if v.JSON != nil {
		text = string(v.JSON)
		if safe := w.redact("", text); len(safe) <= 4*maxSaid && !strings.ContainsAny(safe, "\n\r") {
			return safe
		}
	}
	text = w.line("", text)
	return strings.TrimLeft(text, "{[")
}

// maxShorten bounds how often the rule is asked while a story is shortened.
const maxShorten = 200

// shorten leaves out of a story what the rule does not need to match: whole things that happened, with the indented lines below them.
func shorten(lines []string, matches func([]string) bool) []string {
	if !matches(lines) {
		return lines
	}
	asked := 0
	for i := len(lines) - 1; i > 0 && asked < maxShorten; i-- {
		if strings.HasPrefix(lines[i], " ") || strings.HasPrefix(lines[i], "user ") || strings.HasPrefix(lines[i], "reply ") || strings.HasPrefix(lines[i], "tools ") {
			continue
		}
		end := i + 1
		for end < len(lines) && strings.HasPrefix(lines[end], " ") {
			end++
		}
		less := append(slices.Clone(lines[:i]), lines[end:]...)
		if asked++; matches(less) {
			lines = less
		}
	}
	return lines
}
