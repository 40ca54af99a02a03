package main

import (
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// offered: every tool of the agent with its parameters, and no other.
func (j *judged) offered() {
	var names, bare []string
	of := j.of.offers()
	for tool, params := range of {
		def := j.definition(tool)
		switch {
		case def == nil:
			names = append(names, tool)
		case len(def.Schema) == 0 && len(params) > 0 && j.schemaInData(params):
			bare = append(bare, tool)
		case len(def.Schema) > 0 && slices.ContainsFunc(params, func(p string) bool { return !strings.Contains(string(def.Schema), `"`+p+`"`) }):
			bare = append(bare, tool)
		}
	}
	slices.Sort(names)
	more := j.offersMore(of)
	j.judge(tools, j.scenario, len(names)+len(bare)+len(more) == 0, func() bool { return len(names) < len(of) || j.listsTools(of) }, "not offered %v, without schema %v, more %v", names, bare, more)
}

// listsTools says whether the data names tools that nobody called, other than in a sentence.
func (j *judged) listsTools(of map[string][]string) bool {
	n := 0
	for tool := range of {
		called := slices.ContainsFunc(j.run.calls, func(c call) bool { return c.tool == tool })
		if !called && (j.whole().values[canonical(tool)] || j.whole().hasText(tool+",")) && !j.whole().hasText(tool+", ") {
			n++
		}
	}
	return n > 1
}

func (j *judged) offersMore(of map[string][]string) []string {
	var more []string
	for _, t := range j.pawl.all {
		for _, d := range t.ToolsOffered {
			if _, ok := of[d.Name]; !ok && !slices.Contains(more, d.Name) {
				more = append(more, d.Name)
			}
		}
	}
	return more
}

func (j *judged) definition(tool string) *trajectory.ToolDef {
	var found *trajectory.ToolDef
	for _, t := range j.pawl.all {
		for i := range t.ToolsOffered {
			if d := &t.ToolsOffered[i]; d.Name == tool && (found == nil || len(found.Schema) == 0) {
				found = d
			}
		}
	}
	return found
}

// schemaInData says whether an object of the data has the tool's parameters as the keys of its properties.
func (j *judged) schemaInData(params []string) bool {
	for _, p := range j.whole().keys["properties"] {
		o, _ := p.(map[string]any)
		if len(o) == len(params) && !slices.ContainsFunc(params, func(p string) bool { return o[p] == nil }) {
			return true
		}
	}
	return false
}

// handoffs: no run of these scenarios hands over.
func (j *judged) handoffs() {
	for _, t := range j.pawl.all {
		for _, h := range t.Handoffs {
			j.wrong(handoffs, j.scenario, "nobody handed over from %q to %q", h.From, h.To)
			return
		}
	}
	j.right(handoffs, 1)
}

func (j *judged) users() {
	var got []string
	for _, t := range j.pawl.all {
		for i, m := range t.UserMessages {
			if slices.Contains(t.UserMessages[:i], m) {
				j.wrong(userMessages, j.scenario, "%.60q twice in one trace", m)
			} else if !slices.Contains(got, m) {
				got = append(got, m)
			}
		}
	}
	for _, want := range j.run.users {
		i := slices.Index(got, want)
		j.judge(userMessages, j.scenario, i >= 0, func() bool { return j.whole().hasText(want) }, "%q, got %.200q", want, got)
		if i >= 0 {
			got = slices.Delete(got, i, i+1)
		}
	}
	for _, m := range got {
		j.wrong(userMessages, j.scenario, "no user said %.120q", m)
	}
}

// foretold: a trace that ends with the answer of one turn holds nothing that was said in a later one.
func (j *judged) foretold() {
	for _, t := range j.pawl.all {
		turn := -1
		if t.Reply != nil {
			turn = slices.Index(j.run.replies, strings.TrimSpace(*t.Reply))
		}
		for i := turn + 1; turn >= 0 && len(j.run.replies) == len(j.run.users) && i < len(j.run.users); i++ {
			if slices.Contains(t.UserMessages, j.run.users[i]) {
				j.wrong(userMessages, j.scenario, "%q was said in a later turn than that of trace %s", j.run.users[i], t.TraceID)
			}
		}
	}
}

func (j *judged) replies() {
	var got []string
	for _, t := range j.pawl.all {
		for _, text := range answersOf(t) {
			if text = strings.TrimSpace(text); text != "" && !slices.Contains(got, text) {
				got = append(got, text)
			}
		}
	}
	if len(j.run.replies) == 0 && len(got) == 0 {
		j.right(reply, 1) // none, as it was
	}
	for _, want := range j.run.replies {
		i := slices.Index(got, want)
		j.judge(reply, j.scenario, i >= 0, func() bool { return j.whole().hasText(want) }, "%q, got %.200q", want, got)
		if i >= 0 {
			got = slices.Delete(got, i, i+1)
		}
	}
	got = slices.DeleteFunc(got, j.run.returned)
	for _, m := range got {
		j.wrong(reply, j.scenario, "nobody answered %.120q", m)
	}
}

// answersOf are the reply of a trace and, where it holds several turns, those of the earlier ones.
func answersOf(t *trajectory.Trajectory) []string {
	var out []string
	for _, s := range t.Steps {
		if s.Kind == trajectory.StepReply {
			out = append(out, s.Text)
		}
	}
	if t.Reply != nil && !slices.Contains(out, *t.Reply) {
		out = append(out, *t.Reply)
	}
	return out
}

func (j *judged) sessions() {
	for _, t := range j.pawl.all {
		if !t.IsAgent() {
			continue
		}
		inData := slices.ContainsFunc(j.raw.spans, func(s rawSpan) bool { return strings.EqualFold(s.trace, t.TraceID) && mentions(s, j.run.truth.Session) })
		if !inData && t.SessionID != "" {
			j.wrong(session, j.scenario, "got %q, which is not in the data", t.SessionID)
			continue
		}
		j.judge(session, j.scenario, t.SessionID == j.run.truth.Session, func() bool { return inData }, "got %q, want %q", t.SessionID, j.run.truth.Session)
	}
}

func mentions(s rawSpan, text string) bool {
	for _, v := range s.attrs {
		if strings.Contains(canonical(v), text) {
			return true
		}
	}
	return false
}
