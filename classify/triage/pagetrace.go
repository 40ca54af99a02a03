package triage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

const (
	maxSpansShown = 1000
	maxStepsShown = 1000
	maxSaidShown  = 20_000  // bytes of one text
	maxRawShown   = 1 << 20 // bytes of a trace's OTLP
	foldAfter     = 600     // characters of a text that are shown unfolded
	maxDepth      = 6       // of the waterfall's indents
)

// tracePage answers GET /traces/{id}: its spans in time and its conversation side by side, with what the rules saw where they saw it.
func (h *handler) tracePage(w http.ResponseWriter, r *http.Request) {
	t, err := h.src.Trace(r.Context(), r.PathValue("id"))
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	tr := trajectory.Build(t)
	h.page(w, r, "trace.html", "Trace "+shortID(tr.TraceID), showTrace(&t, tr, h.src.Judge(tr), h.flagsOf(tr.TraceID)))
}

// shownTrace is a trace as its page shows it.
type shownTrace struct {
	*trajectory.Trajectory
	Report             classify.Report
	Said               []said
	Fall               []shownSpan
	SpansLeft          int
	Talk               []shownStep
	StepsLeft          int
	Took               time.Duration
	Input, Output      int64
	Cost               float64
	Models             []string
	Elsewhere          []classify.Evidence // in other traces, or on spans that are not here
	NotTold            []trajectory.Gap
	HasTokens, HasCost bool
}

// shownSpan is a row of the waterfall.
type shownSpan struct {
	ID, Name, Kind string
	Depth          int
	X, Width       float64 // percent of the trace's time
	Took           string
	Error          bool
	Step           bool // the conversation has it
	Seen           []seenHere
}

// seenHere is what a rule saw on a span.
type seenHere struct {
	Label classify.Label
	What  string
}

// shownStep is a step of the conversation.
type shownStep struct {
	ID, Kind, Who, Span, At string
	Text                    shownText
	Arguments, Result       shownText
	Outcome, Detail         string
	Seen                    []seenHere
	Failed                  bool
	Anchor                  bool // it stands for its span
}

// shownText is a text with what is folded away of it.
type shownText struct {
	Text string
	Cut  int // bytes that are not shown
	Long bool
}

func textOf(s string) shownText {
	out := shownText{Text: s}
	if len(s) > maxSaidShown {
		out.Text = strings.ToValidUTF8(s[:maxSaidShown], "")
		out.Cut = len(s) - len(out.Text)
	}
	out.Long = len(out.Text) > foldAfter || strings.Count(out.Text, "\n") > 14
	return out
}

// valueText is a value as people read it: JSON on lines of its own.
func valueText(v trajectory.Value) shownText {
	if v.JSON != nil && len(v.JSON) <= maxSaidShown {
		var b bytes.Buffer
		if json.Indent(&b, v.JSON, "", "  ") == nil {
			return textOf(b.String())
		}
	}
	return textOf(v.Raw)
}

func showTrace(t *trajectory.Trace, tr *trajectory.Trajectory, rep classify.Report, say []said) shownTrace {
	out := shownTrace{Trajectory: tr, Report: rep, Said: say, Took: tr.End.Sub(tr.Start), NotTold: tr.Gaps}
	seen := map[string][]seenHere{}
	here := map[string]bool{}
	for i := range t.Spans {
		here[t.Spans[i].ID] = true
	}
	for _, f := range rep.Findings {
		for _, e := range f.Evidence {
			if !here[e.SpanID] || e.TraceID != "" && e.TraceID != tr.TraceID {
				out.Elsewhere = append(out.Elsewhere, e)
				continue
			}
			seen[e.SpanID] = append(seen[e.SpanID], seenHere{f.Label, e.What})
		}
	}
	for i := range tr.ModelCalls {
		out.count(&tr.ModelCalls[i])
	}
	out.Fall, out.SpansLeft = waterfall(t, tr, seen)
	out.Talk, out.StepsLeft = talk(tr, seen)
	return out
}

func (s *shownTrace) count(m *trajectory.ModelCall) {
	if m.Usage.Input != nil {
		s.Input, s.HasTokens = s.Input+*m.Usage.Input, true
	}
	if m.Usage.Output != nil {
		s.Output, s.HasTokens = s.Output+*m.Usage.Output, true
	}
	if m.Usage.CostUSD != nil {
		s.Cost, s.HasCost = s.Cost+*m.Usage.CostUSD, true
	}
	if name := cmp.Or(m.ModelResponded, m.ModelRequested); name != "" && !slices.Contains(s.Models, name) {
		s.Models = append(s.Models, name)
	}
}

// waterfall lays the spans out as a tree, children below their parents in order of time, each at its place in the trace's time.
func waterfall(t *trajectory.Trace, tr *trajectory.Trajectory, seen map[string][]seenHere) (out []shownSpan, left int) {
	kinds, steps := map[string]string{}, map[string]bool{}
	for _, s := range tr.Steps {
		steps[s.SpanID] = true
		if s.Kind == trajectory.StepModel || s.Kind == trajectory.StepTool || s.Kind == trajectory.StepRetrieval {
			kinds[s.SpanID] = string(s.Kind)
		}
	}
	start, end := bounds(t)
	whole := max(1, float64(end.Sub(start)))
	for _, at := range tree(t.Spans) {
		s := &t.Spans[at.index]
		if len(out) == maxSpansShown && len(seen[s.ID]) == 0 {
			left++
			continue
		}
		row := shownSpan{ID: s.ID, Name: cmp.Or(s.Name, "(no name)"), Kind: kinds[s.ID], Depth: min(at.depth, maxDepth), Error: s.Status == trajectory.StatusError, Step: steps[s.ID], Seen: seen[s.ID], Took: "never ended"}
		row.X = max(0, min(100, 100*float64(s.Start.Sub(start))/whole))
		row.Width = 0.4
		if !s.End.IsZero() {
			row.Width = max(0.4, 100*float64(s.End.Sub(s.Start))/whole)
			row.Took = took(s.End.Sub(s.Start))
		}
		row.X = min(row.X, 99.6)
		row.Width = min(row.Width, 100-row.X)
		out = append(out, row)
	}
	return out, left
}

func bounds(t *trajectory.Trace) (start, end time.Time) {
	for i := range t.Spans {
		s := &t.Spans[i]
		if start.IsZero() || s.Start.Before(start) {
			start = s.Start
		}
		if s.Start.After(end) {
			end = s.Start
		}
		if s.End.After(end) {
			end = s.End
		}
	}
	return start, end
}

type placed struct{ index, depth int }

// tree is the order of the spans, each behind its parent; one whose parent is not here, or is itself below it, is a root.
func tree(spans []trajectory.Span) []placed {
	at, below := map[string]int{}, map[string][]int{}
	for i := range spans {
		at[spans[i].ID] = i
	}
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return spans[a].Start.Compare(spans[b].Start) })
	var roots []int
	for _, i := range order {
		p := spans[i].ParentID
		if _, ok := at[p]; !ok || p == spans[i].ID {
			roots = append(roots, i)
			continue
		}
		below[p] = append(below[p], i)
	}
	out, done := make([]placed, 0, len(spans)), make([]bool, len(spans))
	descend := func(root int) {
		stack := []placed{{root, 0}}
		for len(stack) > 0 {
			p := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if done[p.index] {
				continue
			}
			done[p.index] = true
			out = append(out, p)
			for _, c := range slices.Backward(below[spans[p.index].ID]) {
				stack = append(stack, placed{c, p.depth + 1})
			}
		}
	}
	for _, i := range roots {
		descend(i)
	}
	for _, i := range order { // of a ring
		descend(i)
	}
	return out
}

// talk is the conversation, step by step.
func talk(tr *trajectory.Trajectory, seen map[string][]seenHere) (out []shownStep, left int) {
	anchors := anchorsOf(tr.Steps)
	for i, s := range tr.Steps {
		d := showStep(tr, &s)
		if d.Anchor = s.SpanID != "" && anchors[s.SpanID] == i; d.Anchor { // what was seen on a span that is several steps is told once
			d.Seen = seen[s.SpanID]
		}
		if len(out) >= maxStepsShown && len(d.Seen) == 0 {
			left++
			continue
		}
		d.ID, d.At = fmt.Sprintf("step-%d", i), took(max(0, s.Start.Sub(tr.Start)))
		out = append(out, d)
	}
	return out, left
}

// anchorsOf gives of each span the step that stands for it: the first that is the agent's doing. A model call brings the user's message along, which did nothing.
func anchorsOf(steps []trajectory.Step) map[string]int {
	out := map[string]int{}
	for i, s := range steps {
		at, ok := out[s.SpanID]
		if !ok || steps[at].Kind == trajectory.StepUser && s.Kind != trajectory.StepUser {
			out[s.SpanID] = i
		}
	}
	return out
}

func showStep(tr *trajectory.Trajectory, s *trajectory.Step) shownStep {
	d := shownStep{Kind: string(s.Kind), Span: s.SpanID, Who: s.Agent, Text: textOf(s.Text)}
	switch s.Kind {
	case trajectory.StepModel:
		m := &tr.ModelCalls[s.Index]
		d.Detail, d.Text = cmp.Or(m.ModelResponded, m.ModelRequested), textOf(m.Text)
		d.Outcome = string(m.FinishReason)
		d.fail(m.Error)
	case trajectory.StepTool:
		c := &tr.ToolCalls[s.Index]
		d.Detail, d.Outcome, d.Arguments = c.Name, string(c.Outcome), valueText(c.Arguments)
		if c.HasResult {
			d.Result = valueText(c.Result)
		}
		d.Failed = c.Outcome != trajectory.OutcomeOK && c.Outcome != trajectory.OutcomeUnknown
		d.fail(c.Error)
	case trajectory.StepHandoff:
		d.Detail = tr.Handoffs[s.Index].From + " → " + tr.Handoffs[s.Index].To
	case trajectory.StepError:
		d.Failed = true
	}
	return d
}

func (d *shownStep) fail(e *trajectory.Error) {
	if e == nil {
		return
	}
	d.Failed = true
	if msg := strings.TrimSpace(e.Type + " " + e.Message); d.Result.Text == "" {
		d.Result = textOf(msg)
	} else {
		d.Text = textOf(msg)
	}
}

// took is a duration in few digits.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// rawPage answers GET /traces/{id}/raw: the trace as it came in.
func (h *handler) rawPage(w http.ResponseWriter, r *http.Request) {
	if h.src.Spans == nil {
		h.problem(w, r, http.StatusNotFound, keptElsewhere)
		return
	}
	rec, err := h.src.Spans(r.Context(), r.PathValue("id"), time.Time{})
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	var b bytes.Buffer
	if json.Indent(&b, rec.Document, "", "  ") != nil {
		b.Write(rec.Document)
	}
	d := struct {
		ID, Text string
		Cut      int
		Left     bool
	}{ID: r.PathValue("id"), Left: rec.Truncated}
	d.Text = strings.ToValidUTF8(string(b.Bytes()[:min(b.Len(), maxRawShown)]), "")
	d.Cut = b.Len() - len(d.Text)
	h.page(w, r, "raw.html", "Trace "+shortID(d.ID)+" as it came in", d)
}

// tracesPage answers GET /traces: the kept traces, page by page.
func (h *handler) tracesPage(w http.ResponseWriter, r *http.Request) {
	d := struct {
		Filter             KeptFilter
		Since              string
		Page               KeptPage
		Services           []string
		Verdicts           []classify.Verdict
		Labels             []classify.Label
		Elsewhere          bool
		First, Next, Wrong string
	}{Verdicts: []classify.Verdict{classify.Failing, classify.Unclassified, classify.Incomplete, classify.Passing}, Labels: classify.Labels()}
	q := r.URL.Query()
	d.Since = q.Get("since")
	d.Filter = KeptFilter{Service: q.Get("service"), Verdict: classify.Verdict(q.Get("verdict")), Label: classify.Label(q.Get("label")), Text: strings.TrimSpace(q.Get("q"))}
	if life, ok := map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "72h": 72 * time.Hour}[d.Since]; ok {
		d.Filter.Since = time.Now().Add(-life)
	}
	if d.Elsewhere = h.src.Kept == nil; !d.Elsewhere {
		var err error
		d.Page, err = h.src.Kept(r.Context(), d.Filter, q.Get("cursor"), pageRows)
		if errors.Is(err, ErrCursor) {
			h.problem(w, r, http.StatusBadRequest, "That page of the list is not one that pawl gave: begin again.")
			return
		}
		if err != nil {
			h.failPage(w, r, err)
			return
		}
	}
	ss, err := h.src.Services(r.Context())
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	for i := range ss {
		if ss[i].Name != "" {
			d.Services = append(d.Services, ss[i].Name)
		}
	}
	d.Next, d.First = with(q, "cursor", d.Page.Next), with(q, "cursor", "")
	if d.Page.Next == "" {
		d.Next = ""
	}
	if q.Get("cursor") == "" {
		d.First = ""
	}
	h.page(w, r, "traces.html", "Traces", d)
}
