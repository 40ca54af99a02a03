package triage

import (
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
	"github.com/pawl-dev/pawl/ratchet"
)

// groupData is a group as its page shows it.
type groupData struct {
	shownGroup
	Snoozed  time.Time
	Growth   int
	Spark    spark
	Rule     string
	Plain    string // why no rule explains it; "" of what has a label
	BatchID  string // of its pull request, "" for none
	Parts    []shownPart
	Done     []shownDecision
	UndoID   string // of the latest decision, where that can be taken back
	Compared []comparedRow
	Lost     int // specimens whose trace is gone
	Near     []nearGroup
	Ignored  bool
	Labelled bool // by a person
	Dialogs  dialogs
	Bad      *saidOnce
}

func (d groupData) saying() *saidOnce { return d.Bad }

type shownPart struct{ Key, Value string }

type shownDecision struct {
	ratchet.Decision
	Words string
}

// nearGroup is one that a person may mean when merging.
type nearGroup struct{ ID, Title string }

// dialogs is what the forms of decisions need.
type dialogs struct {
	Labels  []string // that exist
	Decides bool     // the caller's role may
	Named   bool     // the caller has a name
	Role    Role
	Next    string
	Decide  bool // this process takes decisions
}

func (h *handler) dialogs(r *http.Request, used []string) dialogs {
	c := callerOf(r.Context())
	d := dialogs{Decides: c.Decides, Named: c.Name != "", Role: c.Role(), Next: hereOf(r), Decide: h.src.Decide != nil}
	for _, l := range classify.Labels() {
		d.Labels = append(d.Labels, string(l))
	}
	for _, l := range used {
		if l != string(classify.NoLabel) && !slices.Contains(d.Labels, l) {
			d.Labels = append(d.Labels, l)
		}
	}
	slices.Sort(d.Labels)
	return d
}

// groupPage answers GET /groups/{id}: a failure with its specimens, what made them one group, and what was decided.
func (h *handler) groupPage(w http.ResponseWriter, r *http.Request) {
	h.groupWith(w, r, http.StatusOK, nil)
}

// groupWith answers with a group's page, and what a form that it sent had to say.
func (h *handler) groupWith(w http.ResponseWriter, r *http.Request, code int, bad *saidOnce) {
	now := time.Now()
	s, err := h.sceneOf(r.Context(), now)
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	i := indexOf(s.groups, r.PathValue("id"))
	if i < 0 || !shownOn(&s.groups[i]) {
		h.failPage(w, r, ErrNotFound)
		return
	}
	d, err := h.groupData(r, &s, i)
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	d.Bad = bad
	h.pageCode(w, r, code, "group.html", d.Title, d)
}

// indexOf is where the group of an id is, -1 for nowhere. Only those whose label the id begins with are named, which takes a digest each.
func indexOf(gs []ratchet.Group, id string) int {
	return slices.IndexFunc(gs, func(g ratchet.Group) bool {
		return strings.HasPrefix(id, string(g.Fingerprint.Label)+"-") && g.ID() == id
	})
}

func (h *handler) groupData(r *http.Request, w *scene, i int) (d groupData, err error) {
	g := &w.groups[i]
	d.shownGroup = showGroup(g, mergedInto(w.show(g), g, w.groups), w.past[g.Service])
	d.Snoozed, d.Growth, d.Spark = g.SnoozedUntil(w.now), g.Growth(w.now), sparkOf(g.Days, w.now)
	d.Why = sentence(d.Why)
	if d.URL != "" {
		d.Status = strings.TrimSuffix(strings.TrimSuffix(d.Status, d.URL), ": ")
	}
	d.Rule, d.Parts, d.Labelled = g.Rule, partsOf(g.Fingerprint), g.Source == classify.SourceHuman
	if g.Fingerprint.Label == classify.NoLabel {
		d.Plain = whyPlain(g)
	}
	if b := w.batches[g.Batch]; b != nil {
		d.BatchID = b.ID()
	}
	_, d.Ignored = g.Denied()
	for _, x := range slices.Backward(g.Decisions) {
		d.Done = append(d.Done, shownDecision{x, decisionWords(x)})
	}
	if x, ok := g.Undoable(); ok {
		d.UndoID = x.ID
	}
	d.Compared, d.Lost, err = h.compare(r, d.Specimens)
	if err != nil {
		return d, err
	}
	used := map[string]bool{}
	for j := range w.groups {
		o := &w.groups[j]
		used[string(o.Fingerprint.Label)] = true
		if j != i && o.Merged == nil && o.Count > 0 && o.Fingerprint.Label == g.Fingerprint.Label && o.Fingerprint.Service == g.Fingerprint.Service && len(d.Near) < maxNear {
			d.Near = append(d.Near, nearGroup{o.ID(), o.Title})
		}
	}
	d.Dialogs = h.dialogs(r, sortedKeys(used, strings.Compare))
	return d, nil
}

const maxNear = 30

// mergedInto adds to an alias where its sightings are counted now.
func mergedInto(listed group, g *ratchet.Group, gs []ratchet.Group) group {
	if m := g.Merged; m != nil {
		listed.Into = nameOf(gs, m.Into)
		listed.Merged = fmt.Sprintf("merged into %s by %s at %s because %s", listed.Into, m.Who, m.When.UTC().Format("2006-01-02 15:04:05"), m.Reason)
		listed.Status = listed.Merged
	}
	return listed
}

// partsOf are a fingerprint's parts in words: what is equal in all findings of the group.
func partsOf(f classify.Fingerprint) (out []shownPart) {
	out = append(out, shownPart{"label", string(f.Label)}, shownPart{"service", cmp.Or(f.Service, "(none)")}, shownPart{"agent", cmp.Or(f.Agent, "(no name)")})
	for _, p := range f.Parts {
		value := f.Part(p.Key)
		var list []string
		if json.Unmarshal(p.Value, &list) == nil {
			value = strings.Join(list, ", ")
		}
		out = append(out, shownPart{strings.ReplaceAll(p.Key, "_", " "), cmp.Or(value, "(empty)")})
	}
	return out
}

// decisionWords is what a decision says, in a sentence's part.
func decisionWords(d ratchet.Decision) string {
	text := cmp.Or(pastTense(d.Choice), d.Choice)
	switch {
	case d.Label != "":
		text += " " + string(d.Label)
		if d.Was != "" {
			text += ", was " + string(d.Was)
		}
	case d.As != "":
		text += asWords(d.As)
	case !d.Until.IsZero():
		text += " until " + d.Until.UTC().Format("2 Jan 15:04")
	case len(d.Traces) > 0:
		text += fmt.Sprintf(" off %d traces", len(d.Traces))
	}
	return text
}

// comparedRow is one fact of every specimen.
type comparedRow struct {
	Name   string
	Values []string
	Same   bool
}

// compare reads the specimens' traces and tells what differs. lost counts those that are gone.
func (h *handler) compare(r *http.Request, sps []shownSpecimen) (rows []comparedRow, lost int, err error) {
	if len(sps) < 2 {
		return nil, 0, nil
	}
	facts := make([][]shownPart, len(sps))
	for i, s := range sps {
		t, err := h.src.Trace(r.Context(), s.TraceID)
		switch {
		case errors.Is(err, ErrNotFound):
			lost++
		case err != nil:
			return nil, 0, err
		default:
			facts[i] = factsOf(trajectory.Build(t))
		}
	}
	return compareFacts(facts), lost, nil
}

// compareFacts lines the facts of runs up; a run without any has dashes. Rows that differ come first.
func compareFacts(runs [][]shownPart) (rows []comparedRow) {
	whole := slices.IndexFunc(runs, func(f []shownPart) bool { return f != nil })
	if whole < 0 {
		return nil
	}
	for k, fact := range runs[whole] {
		row := comparedRow{Name: fact.Key, Same: true}
		for _, run := range runs {
			if run == nil {
				row.Values = append(row.Values, "–")
				continue
			}
			row.Values = append(row.Values, run[k].Value)
			row.Same = row.Same && run[k].Value == fact.Value
		}
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b comparedRow) int { return boolRank(a.Same) - boolRank(b.Same) })
	return rows
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

const maxPath = 12 // tools of a path

// factsOf are what tells runs apart, the same facts of each in the same order.
func factsOf(t *trajectory.Trajectory) []shownPart {
	s := shownTrace{Trajectory: t}
	for i := range t.ModelCalls {
		s.count(&t.ModelCalls[i])
	}
	tokens := "not told"
	if s.HasTokens {
		tokens = grouped(int(s.Input)) + " / " + grouped(int(s.Output))
	}
	failed := 0
	for i := range t.ToolCalls {
		if o := t.ToolCalls[i].Outcome; o != trajectory.OutcomeOK && o != trajectory.OutcomeUnknown {
			failed++
		}
	}
	reply := "none"
	if t.Reply != nil {
		reply = fmt.Sprintf("%d characters", len([]rune(*t.Reply)))
	}
	wrong := "none"
	if e := t.RootError; e != nil {
		wrong = cmp.Or(e.Type, e.Message, "error")
	}
	return []shownPart{{"version", cmp.Or(t.Version, "not told")}, {"models", cmp.Or(strings.Join(s.Models, ", "), "not told")}, {"route", cmp.Or(t.Route, "none")}, {"agents", cmp.Or(strings.Join(t.Agents, ", "), "not told")},
		{"user turns", fmt.Sprint(len(t.UserMessages))}, {"tools called", toolPath(t)}, {"failed calls", fmt.Sprint(failed)}, {"model calls", fmt.Sprint(len(t.ModelCalls))}, {"tokens in / out", tokens},
		{"took", took(t.End.Sub(t.Start))}, {"reply", reply}, {"error at the root", wrong}, {"tools offered", fmt.Sprint(len(t.ToolsOffered))}}
}

// toolPath is the tools in order, repeats counted.
func toolPath(t *trajectory.Trajectory) string {
	var parts []string
	for i := 0; i < len(t.ToolCalls); {
		n := 1
		for i+n < len(t.ToolCalls) && t.ToolCalls[i+n].Name == t.ToolCalls[i].Name {
			n++
		}
		part := t.ToolCalls[i].Name
		if n > 1 {
			part += fmt.Sprintf(" ×%d", n)
		}
		if i += n; len(parts) == maxPath {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, part)
	}
	return cmp.Or(strings.Join(parts, " → "), "none")
}
