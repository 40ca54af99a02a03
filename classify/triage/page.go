package triage

import (
	_ "embed"
	"html/template"
	"net/http"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"when": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
}).Parse(pageText))

type pageData struct {
	Groups  []group
	Batches []batch
	Sums    []sum
	Now     time.Time
}

// sum is a bar of the picture: how many failures of a label were seen.
type sum struct {
	Label string
	Count int
	Width int // percent of the longest
}

// page answers GET /: everything at a glance. All words of traces pass through html/template.
func (h *handler) page(w http.ResponseWriter, r *http.Request) {
	gs, bs, err := h.list(r.Context())
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	d := pageData{Groups: gs, Now: time.Now(), Sums: sums(gs)}
	for i := range bs {
		d.Batches = append(d.Batches, showBatch(&bs[i]))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	if err := pageTemplate.Execute(w, d); err != nil {
		h.lg.Debug("page", "err", err) // the reader left
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
