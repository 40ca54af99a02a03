package triage

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet"
)

// shownBatch is a pull request as pages show it, before it is one too.
type shownBatch struct {
	batch
	Title    string
	Pull     int // GitHub's number, 0 before there is one
	Opened   time.Time
	Advisory []string
	Sealed   string
	Parked   *ghpr.Parked
	Receipt  *ghpr.Receipt
	Steps    []shownWrite
	Asleep   bool
	Next     time.Time // when pawl looks again
}

// shownWrite is one of an intent's writes and what became of it.
type shownWrite struct {
	Name string
	ghpr.Step
}

func pull(b *ratchet.Batch) shownBatch {
	out := shownBatch{batch: showBatch(b), Opened: b.Opened, Advisory: b.Advisory, Sealed: b.Sealed}
	out.Title = strings.ReplaceAll(string(b.Label), "_", " ") + " in " + cmp.Or(b.Service, "(no service.name)")
	in := b.Intent
	if in == nil {
		return out
	}
	out.Title, out.Parked, out.Asleep, out.Next = cmp.Or(in.Title, out.Title), in.Parked, in.Asleep, in.NotBefore
	out.Steps = []shownWrite{{"branch", in.Steps.Ref}, {"pull request", in.Steps.PR}, {"labels", in.Steps.Labels}}
	if in.Receipt.State != "" {
		out.Receipt, out.Pull = &in.Receipt, in.Receipt.Number
	}
	return out
}

// rankOfState is how much a pull request's state wants a person.
func rankOfState(state string) int {
	i := slices.Index([]string{"parked", "stuck", "open", "waiting", "sending", "preview", "full", "collecting", "closed", "merged", "absorbed", "withdrawn"}, state)
	if i < 0 {
		return len(state)
	}
	return i
}

// pullsPage answers GET /pulls: every pull request with its state, those that want a person first.
func (h *handler) pullsPage(w http.ResponseWriter, r *http.Request) {
	bs, err := h.batchList(r)
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	d := struct {
		State  string
		States []tab
		Pulls  []shownBatch
		Pager  pager
	}{State: r.URL.Query().Get("state")}
	counts := map[string]int{}
	var all []shownBatch
	for i := range bs {
		b := pull(&bs[i])
		counts[b.State]++
		if d.State == "" || b.State == d.State {
			all = append(all, b)
		}
	}
	d.States = append(d.States, tab{"All", "/pulls", len(bs), d.State == ""})
	for _, s := range sortedKeys(counts, func(a, b string) int { return cmp.Compare(rankOfState(a), rankOfState(b)) }) {
		d.States = append(d.States, tab{s, "/pulls?state=" + s, counts[s], s == d.State})
	}
	slices.SortStableFunc(all, func(a, b shownBatch) int { return cmp.Compare(rankOfState(a.State), rankOfState(b.State)) })
	d.Pager = pagerOf(r, len(all))
	d.Pulls = all[d.Pager.From:d.Pager.To]
	h.page(w, r, "pulls.html", "Pull requests", d)
}

// batchList reads the batches in the order of /v1/batches.
func (h *handler) batchList(r *http.Request) ([]ratchet.Batch, error) {
	bs, err := h.src.Batches(r.Context())
	if err != nil {
		return nil, err
	}
	slices.SortFunc(bs, func(a, b ratchet.Batch) int { return cmp.Or(b.Opened.Compare(a.Opened), cmp.Compare(a.Key(), b.Key())) })
	return bs, nil
}

// batchPage answers GET /batches/{id}: the pull request as it would be, or is, with what became of each write.
func (h *handler) batchPage(w http.ResponseWriter, r *http.Request) {
	b, err := h.batchOf(r)
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	d := struct {
		shownBatch
		Plan *ghpr.Plan
		Body string
		Diff []diffLine
	}{shownBatch: pull(&b)}
	if b.Intent != nil {
		plan, err := h.src.Plan(r.Context(), b)
		if err != nil {
			h.failPage(w, r, err)
			return
		}
		d.Plan, d.Body, d.Diff = &plan, bodyOf(plan.Body), diffLines(plan.Diff)
	}
	h.page(w, r, "batch.html", d.shownBatch.Title, d)
}

// bodyOf is a pull request's body without pawl's marker.
func bodyOf(text string) string {
	if _, body, ok := ghpr.ParseMarker(text); ok {
		return body
	}
	return text
}

// diffLine is a line of a diff and the class that colours it.
type diffLine struct{ Class, Text string }

const maxDiffShown = 4000 // lines

func diffLines(diff string) (out []diffLine) {
	for line := range strings.Lines(diff) {
		if len(out) == maxDiffShown {
			return append(out, diffLine{"at", "… more lines are in the JSON"})
		}
		line = strings.TrimSuffix(line, "\n")
		class := ""
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "diff "):
			class = "at"
		case strings.HasPrefix(line, "+"):
			class = "add"
		case strings.HasPrefix(line, "-"):
			class = "del"
		}
		out = append(out, diffLine{class, line})
	}
	return out
}

// setOf is a repository's set as the pull requests tell it.
type setOf struct {
	Repo, Base, Dir string
	Merged          int
	Open, Waiting   int // cases in pull requests that are open, or not out yet
	Refused         int // in ones that were closed
	Parked          int
	Weak            []ratchet.Member // merged
	Again           []againCase      // merged, and seen since
	Gone            []ratchet.Member // their ground was lost after they were sent
	Labels          []labelCount
	Advisory        []string
}

type againCase struct {
	ID, Title string
	Last      time.Time
	Escapes   int
}

type labelCount struct {
	Label classify.Label
	N     int
	Width int // percent of the most
}

// setPage answers GET /set: what stands in each repository's set, and what there is to worry about.
func (h *handler) setPage(w http.ResponseWriter, r *http.Request) {
	bs, err := h.batchList(r)
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	gs, err := h.src.Groups(r.Context())
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	h.page(w, r, "set.html", "Set", sets(bs, gs))
}

func sets(bs []ratchet.Batch, gs []ratchet.Group) []*setOf {
	byPrint := make(map[string]*ratchet.Group, len(gs))
	for i := range gs {
		byPrint[gs[i].Digest()] = &gs[i]
	}
	at, labels := map[[3]string]*setOf{}, map[*setOf]map[classify.Label]int{}
	var out []*setOf
	for i := range bs {
		b := &bs[i]
		key := [3]string{b.Repo, b.Base, b.Set}
		s := at[key]
		if s == nil {
			s = &setOf{Repo: b.Repo, Base: b.Base, Dir: b.Set}
			at[key], labels[s] = s, map[classify.Label]int{}
			out = append(out, s)
		}
		for _, a := range b.Advisory {
			if !slices.Contains(s.Advisory, a) {
				s.Advisory = append(s.Advisory, a)
			}
		}
		s.add(b, byPrint, labels[s])
	}
	for _, s := range out {
		s.Labels = labelCounts(labels[s])
	}
	slices.SortFunc(out, func(a, b *setOf) int {
		return cmp.Or(cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.Base, b.Base), cmp.Compare(a.Dir, b.Dir))
	})
	return out
}

// add counts a batch's cases by what became of it.
func (s *setOf) add(b *ratchet.Batch, byPrint map[string]*ratchet.Group, labels map[classify.Label]int) {
	state, _, _ := b.Status()
	for _, m := range b.Members {
		switch state {
		case "merged", "absorbed":
			s.Merged++
			labels[b.Label]++
			if m.Weak {
				s.Weak = append(s.Weak, m)
			}
			if g := byPrint[m.Fingerprint]; g != nil && !g.Fixed.IsZero() && g.LastSeen.After(g.Fixed) && !m.Escaped {
				s.Again = append(s.Again, againCase{g.ID(), g.Title, g.LastSeen, g.Escapes})
			}
		case "open":
			s.Open++
		case "closed":
			s.Refused++
		case "parked", "stuck":
			s.Parked++
		default:
			s.Waiting++
		}
		if m.Gone != "" {
			s.Gone = append(s.Gone, m)
		}
	}
}

func labelCounts(of map[classify.Label]int) (out []labelCount) {
	most := 1
	for _, l := range sortedKeys(of, func(a, b classify.Label) int { return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b)) }) {
		most = max(most, of[l])
		out = append(out, labelCount{l, of[l], max(1, 100*of[l]/most)})
	}
	return out
}
