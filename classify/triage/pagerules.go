package triage

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/classify/sight"
	"github.com/pawl-dev/pawl/ratchet"
)

// ruleRow is a rule as its page shows it.
type ruleRow struct {
	shownRule
	Spark  spark
	Shares []shareRow
}

// shareRow is how often a rule was right, on somebody's findings.
type shareRow struct {
	On    string
	Text  string // 9 of 10
	Width int    // percent right
	Range string // the interval, in percent
}

func shareOf(on string, p precision) (shareRow, bool) {
	if p.Judged == 0 {
		return shareRow{}, false
	}
	return shareRow{cmp.Or(p.Set, on), fmt.Sprintf("%d of %d", p.Right, p.Judged), 100 * p.Right / p.Judged, fmt.Sprintf("%.0f to %.0f %%", 100*p.Low, 100*p.High)}, true
}

// rulesPage answers GET /rules: how often each rule is right, what it found, and where it is blind. Rules that found something come first.
func (h *handler) rulesPage(w http.ResponseWriter, r *http.Request) {
	list, err := h.ruleList(r)
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	services, err := h.src.Services(r.Context())
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	d := struct {
		Rules    []ruleRow
		Services []ratchet.Service
	}{Services: services}
	now := time.Now()
	for i := range list {
		row := ruleRow{shownRule: list[i], Spark: sparkOf(list[i].Days, now)}
		if s, ok := shareOf("decisions here", list[i].Own); ok {
			row.Shares = append(row.Shares, s)
		}
		if s, ok := shareOf("others' data", list[i].Measured); ok {
			row.Shares = append(row.Shares, s)
		}
		d.Rules = append(d.Rules, row)
	}
	slices.SortStableFunc(d.Rules, func(a, b ruleRow) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rule, b.Rule)) })
	h.page(w, r, "rules.html", "Rules", d)
}

// factRow is how far a service tells a fact.
type factRow struct {
	Words      string
	Seen, Of   int
	Unit       string
	Width      int
	Remedy     string
	Whole, Ask bool
}

// servicesPage answers GET /services?name=: what pawl sees of a service, what is wrong with its telemetry, and what would mend it.
func (h *handler) servicesPage(w http.ResponseWriter, r *http.Request) {
	services, err := h.src.Services(r.Context())
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	name := r.URL.Query().Get("name")
	i := slices.IndexFunc(services, func(s ratchet.Service) bool { return s.Name == name })
	if i < 0 {
		h.failPage(w, r, ErrNotFound)
		return
	}
	s := services[i]
	d := struct {
		ratchet.Service
		Checks []sight.Check
		Told   []factRow
	}{Service: s, Checks: sight.Examine(&s.Service)}
	for _, f := range s.Facts {
		if f.Seen < f.Of || sight.Asked(f.Fact) {
			d.Told = append(d.Told, factRow{sight.Words(f.Fact), f.Seen, f.Of, fmt.Sprint(f.Fact.Unit()), 100 * f.Seen / max(1, f.Of), f.Remedy, f.Seen == f.Of, sight.Asked(f.Fact)})
		}
	}
	h.page(w, r, "service.html", cmp.Or(s.Name, "(no service.name)"), d)
}

// auditPage answers GET /audit?group=&who=&cursor=: what was decided, the latest first.
func (h *handler) auditPage(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	d := struct {
		Group, Who  string
		Told        []ratchet.Told
		First, Next string
		Elsewhere   bool
	}{Group: q.Get("group"), Who: q.Get("who"), Elsewhere: h.src.Audit == nil}
	if !d.Elsewhere {
		f, err := h.auditFilter(r.Context(), d.Group, d.Who)
		if err != nil {
			h.failPage(w, r, err)
			return
		}
		var before uint64
		if text := q.Get("cursor"); text != "" {
			if before, err = ratchet.ParseCursor(text); err != nil {
				h.problem(w, r, http.StatusBadRequest, "That page of the list is not one that pawl gave: begin again.")
				return
			}
			d.First = with(q, "cursor", "")
		}
		told, next, err := h.src.Audit(r.Context(), f, before, pageRows)
		if err != nil {
			h.failPage(w, r, err)
			return
		}
		if d.Told = told; next > 0 {
			d.Next = with(q, "cursor", ratchet.Cursor(next))
		}
	}
	h.page(w, r, "audit.html", "Audit log", d)
}
