package rule

import (
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// samePage looks, among the beats that no lap took, for calls that ask for one page after the other and get the same one each time.
func (l *looper) samePage(seq []beat, taken []bool) []classify.Finding {
	var out []classify.Finding
	for i := 0; i < len(seq); {
		n := l.pagesFrom(seq, taken, i)
		if n >= l.p.Warn {
			out = append(out, l.pageFinding(seq[i:i+n]))
		}
		i += max(n, 1)
	}
	return out
}

// pagesFrom counts the beats from i on that ask for a page of the same thing and get what the first one got.
func (l *looper) pagesFrom(seq []beat, taken []bool, i int) int {
	n, turned := 1, false
	for ; i+n < len(seq) && !taken[i] && !taken[i+n] && l.samePages(seq[i], seq[i+n]); n++ {
		turned = turned || seq[i+n].key != seq[i].key
	}
	if !turned {
		return 0
	}
	return n
}

// samePages says that two calls of a tool differ at most in the page that they ask for, and their good answers at most in its number.
func (l *looper) samePages(a, b beat) bool {
	x, y := &l.t.ToolCalls[a.calls[0]], &l.t.ToolCalls[b.calls[0]]
	if x.Name != y.Name || len(a.calls)+len(b.calls) != 2 || a.key == "" || b.key == "" || !l.goodAnswer(a.calls[0]) || !l.goodAnswer(b.calls[0]) {
		return false
	}
	got, _ := classify.Unpaged(l.answer(a.calls[0]).text)
	again, _ := classify.Unpaged(l.answer(b.calls[0]).text)
	return got == again && asks(a) == asks(b)
}

// asks is what a call asks for, besides the page.
func asks(b beat) string {
	tool, args, _ := strings.Cut(b.key, " ")
	args, _ = classify.Unpaged(args)
	return tool + " " + args
}

func (l *looper) goodAnswer(call int) bool {
	c := &l.t.ToolCalls[call]
	return !c.Recalled && !failed(c) && !looksFailed(c) && l.answer(call).known && l.answer(call).text != ""
}

func (l *looper) pageFinding(beats []beat) classify.Finding {
	first := &l.t.ToolCalls[beats[0].calls[0]]
	f := l.in.Finding(first.Agent, classify.Names("tools", catalog.Normalise(first.Name)), classify.Number("period", 1), classify.Word("result", "same_page"))
	if len(beats) < l.p.Match {
		f.Severity = classify.Warning
	}
	f.Confidence = 0.8
	f.Step = stepOf(l.t, trajectory.StepTool, beats[1].calls[0])
	f.Title = fmt.Sprintf("%s asked for %d pages and got the same one each time", classify.SafeName(catalog.Normalise(first.Name)), len(beats))
	f.Why = f.Title + ": the arguments differ in the page alone, and the answers in nothing."
	for i, b := range beats[:min(len(beats), maxEvidence)] {
		c := &l.t.ToolCalls[b.calls[0]]
		what := fmt.Sprintf("call %d of %d: %s", i+1, len(beats), classify.SafeName(c.Name))
		if i > 0 {
			what += ", another page asked for, the same answer"
		}
		f.Evidence = append(f.Evidence, classify.Evidence{TraceID: c.TraceID, SpanID: c.SpanID, What: what})
	}
	return f
}
