package triage

import (
	"embed"
	"html/template"
	"net/http"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/sight"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
)

//go:embed *.html
var oldFiles embed.FS

var oldPages = template.Must(template.New("").Funcs(template.FuncMap{
	"when":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"body":  bodyOf,
	"short": shortID,
	"count": func(s ratchet.Service, v string) int { return s.Verdicts[classify.Verdict(v)] },

	"checks":  func(s ratchet.Service) []sight.Check { return sight.Examine(&s.Service) },
	"words":   sight.Words,
	"asked":   sight.Asked,
	"percent": func(n, of int) int { return 100 * n / max(of, 1) },
}).ParseFS(oldFiles, "*.html"))

// bodyOf is a pull request's body without pawl's marker.
func bodyOf(text string) string {
	if _, body, ok := ghpr.ParseMarker(text); ok {
		return body
	}
	return text
}

type pageData struct {
	Groups   []group
	Batches  []batch
	Services []ratchet.Service
	Sums     []sum
	Flags    []flagged
	Now      time.Time
}

// sum is a bar of the picture: how many failures of a label were seen.
type sum struct {
	Label string
	Count int
	Width int // percent of the longest
}

// page answers GET /: everything at a glance. All words of traces pass through html/template.
func (h *handler) overview(w http.ResponseWriter, r *http.Request) {
	gs, bs, err := h.list(r.Context())
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	services, err := h.src.Services(r.Context())
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	d := pageData{Groups: gs, Services: services, Now: time.Now(), Sums: sums(gs), Flags: h.flagList()}
	for i := range bs {
		d.Batches = append(d.Batches, showBatch(&bs[i]))
	}
	h.render(w, "page.html", d)
}

// batchPage answers GET /batches/{number}: what the batch writes, as a person reads it.
func (h *handler) batchPage(w http.ResponseWriter, r *http.Request) {
	p, err := h.planOf(r)
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	h.render(w, "batch.html", p)
}

// tracePage answers GET /traces/{id}: the trace step by step, with what the rules say of it.
func (h *handler) tracePage(w http.ResponseWriter, r *http.Request) {
	t, err := h.src.Trace(r.Context(), r.PathValue("id"))
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	tr := trajectory.Build(t)
	h.render(w, "trace.html", struct {
		Trajectory *trajectory.Trajectory
		Report     classify.Report
		Steps      []shownStep
		Said       []said
	}{tr, h.src.Judge(tr), steps(tr), h.flagsOf(tr.TraceID)})
}

// shownStep is a step in words.
type shownStep struct {
	Kind, Span, What, Result string
	Failed                   bool
}

func steps(t *trajectory.Trajectory) []shownStep {
	out := make([]shownStep, 0, len(t.Steps))
	for _, s := range t.Steps {
		d := shownStep{Kind: string(s.Kind), Span: s.SpanID, What: s.Text}
		switch s.Kind {
		case trajectory.StepModel:
			m := t.ModelCalls[s.Index]
			d.What, d.Failed = m.ModelRequested+" "+m.Text, m.Error != nil
			if m.Error != nil {
				d.Result = m.Error.Message
			}
		case trajectory.StepTool:
			c := t.ToolCalls[s.Index]
			d.What, d.Result = c.Name+" "+c.Arguments.Raw, c.Result.Raw
			d.Failed = c.Outcome != trajectory.OutcomeOK && c.Outcome != trajectory.OutcomeUnknown
			if c.Error != nil {
				d.Result = c.Error.Message
			}
		case trajectory.StepHandoff:
			d.What = t.Handoffs[s.Index].From + " to " + t.Handoffs[s.Index].To
		}
		out = append(out, d)
	}
	return out
}

func (h *handler) render(w http.ResponseWriter, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	if err := oldPages.ExecuteTemplate(w, name, data); err != nil {
		h.lg.Debug("page", "name", name, "err", err) // the reader left
	}
}

func sums(gs []group) []sum {
	var out []sum
	at := map[string]int{}
	most := 1
	for _, g := range gs {
		l := string(g.Label)
		if _, ok := at[l]; !ok {
			at[l] = len(out)
			out = append(out, sum{Label: l})
		}
		out[at[l]].Count += g.Count
		most = max(most, out[at[l]].Count)
	}
	for i := range out {
		out[i].Width = max(1, 100*out[i].Count/most)
	}
	return out
}
