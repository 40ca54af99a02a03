package judge

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// shown is a run as the model sees it: one JSON object a line.
type shown struct {
	text  string
	cut   string           // what was left out, in words; "" for nothing
	spans map[string]words // what stands on each span, as it is shown
}

// words are the texts on one span.
type words struct {
	did  []string // by the agent: its words, its calls with their arguments; and errors
	told []string // to the agent: by users, by tools
	tool string   // that is called there
	kind trajectory.StepKind
}

// The widths to which long texts are cut, one after the other, until the run is short enough; then steps in the middle give way.
var widths = []int{1 << 20, 8000, 4000, 2000, 1000, 500, 250}

// show renders a run within max bytes. It is a function of its arguments alone.
func show(t *trajectory.Trajectory, signs string, max int) shown {
	var s shown
	for _, width := range widths {
		if s = render(t, signs, width, 0); len(s.text) <= max {
			return s
		}
	}
	narrow := widths[len(widths)-1]
	out := sort.Search(len(t.Steps), func(n int) bool { return len(render(t, signs, narrow, n).text) <= max })
	return render(t, signs, narrow, out)
}

// line is one line of a run. Members that are not there are left out: the model is told so.
type line struct {
	Span      string   `json:"span,omitzero"`
	Kind      string   `json:"kind"`
	Agent     string   `json:"agent,omitzero"`
	Tool      string   `json:"tool,omitzero"`
	Text      string   `json:"text,omitzero"`
	Arguments string   `json:"arguments,omitzero"`
	Outcome   string   `json:"outcome,omitzero"`
	Result    string   `json:"result,omitzero"`
	Error     string   `json:"error,omitzero"`
	Finish    string   `json:"finish,omitzero"`
	From      string   `json:"from,omitzero"`
	To        string   `json:"to,omitzero"`
	Tools     []string `json:"tools,omitzero"`
}

type renderer struct {
	t     *trajectory.Trajectory
	width int
	cut   int // texts that were cut
	b     strings.Builder
	spans map[string]words
}

// render shows a run with texts of at most width bytes, and without out steps in the middle.
func render(t *trajectory.Trajectory, signs string, width, out int) shown {
	r := &renderer{t: t, width: width, spans: map[string]words{}}
	r.head(signs)
	from := (len(t.Steps) - out + 1) / 2
	for i := range t.Steps {
		if out > 0 && i == from {
			r.write(line{Kind: "left_out", Text: fmt.Sprintf("%d steps", out)})
		}
		if i < from || i >= from+out {
			r.step(&t.Steps[i])
		}
	}
	s := shown{text: r.b.String(), spans: r.spans}
	var cuts []string
	if r.cut > 0 {
		cuts = append(cuts, fmt.Sprintf("%d long texts", r.cut))
	}
	if out > 0 {
		cuts = append(cuts, fmt.Sprintf("%d of %d steps", out, len(t.Steps)))
	}
	if t.Complete.Truncated {
		cuts = append(cuts, "what pawl or the sender had cut before")
	}
	s.cut = strings.Join(cuts, ", ")
	return s
}

func (r *renderer) head(signs string) {
	if signs != "" {
		r.write(line{Kind: "signs", Text: r.clip(signs)})
	}
	if r.t.SystemPrompt != "" {
		r.write(line{Kind: "system", Text: r.clip(r.t.SystemPrompt)})
	}
	var tools []string
	for _, d := range r.t.ToolsOffered {
		tools = append(tools, d.Name)
	}
	if len(tools) > 0 {
		slices.Sort(tools)
		r.write(line{Kind: "tools_offered", Tools: tools})
	}
}

func (r *renderer) step(s *trajectory.Step) {
	l := line{Span: s.SpanID, Kind: string(s.Kind), Agent: s.Agent}
	switch s.Kind {
	case trajectory.StepModel:
		m := &r.t.ModelCalls[s.Index]
		l.Text, l.Finish, l.Error = r.clip(m.Text), string(m.FinishReason), r.fault(m.Error)
		r.note(s.SpanID, s.Kind, "", []string{l.Text, l.Error, l.Finish}, nil)
	case trajectory.StepTool:
		c := &r.t.ToolCalls[s.Index]
		l.Tool, l.Arguments, l.Outcome, l.Error = c.Name, r.clip(c.Arguments.Raw), string(c.Outcome), r.fault(c.Error)
		if c.HasResult {
			l.Result = r.clip(c.Result.Raw)
		}
		for _, span := range []string{s.SpanID, c.SpanID, c.RequestSpanID} {
			r.note(span, s.Kind, c.Name, []string{c.Name, l.Arguments, l.Error, l.Outcome}, nil)
		}
		for _, span := range []string{s.SpanID, c.SpanID, c.ResultSpanID} {
			r.note(span, s.Kind, c.Name, nil, []string{l.Result})
		}
	case trajectory.StepHandoff:
		h := &r.t.Handoffs[s.Index]
		l.From, l.To = h.From, h.To
		r.note(s.SpanID, s.Kind, "", []string{h.From, h.To}, nil)
	case trajectory.StepUser, trajectory.StepRetrieval:
		l.Text = r.clip(s.Text)
		r.note(s.SpanID, s.Kind, "", nil, []string{l.Text})
	default:
		l.Text = r.clip(s.Text)
		r.note(s.SpanID, s.Kind, "", []string{l.Text}, nil)
	}
	r.write(l)
}

func (r *renderer) fault(e *trajectory.Error) string {
	if e == nil {
		return ""
	}
	return r.clip(strings.TrimSpace(e.Type + " " + e.Message))
}

// note keeps what is shown of a span, for quotes to be found there.
func (r *renderer) note(span string, kind trajectory.StepKind, tool string, did, told []string) {
	if span == "" {
		return
	}
	w := r.spans[span]
	for _, text := range did {
		if text != "" && !slices.Contains(w.did, text) {
			w.did = append(w.did, text)
		}
	}
	for _, text := range told {
		if text != "" && !slices.Contains(w.told, text) {
			w.told = append(w.told, text)
		}
	}
	w.tool, w.kind = cmp.Or(w.tool, tool), cmp.Or(w.kind, kind)
	r.spans[span] = w
}

// clip keeps the beginning and the end of a long text.
func (r *renderer) clip(text string) string {
	if len(text) <= r.width {
		return text
	}
	r.cut++
	head, tail := r.width*2/3, len(text)-r.width/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s [%d bytes are cut here] %s", text[:head], tail-head, text[tail:])
}

func (r *renderer) write(l line) {
	b, err := json.Marshal(l, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		b = []byte(`{"kind":"unreadable"}`) // cannot happen: texts and lists of texts
	}
	r.b.Write(b)
	r.b.WriteByte('\n')
}
