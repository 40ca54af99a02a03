package triage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/ratchet"
)

// pageRows is how many rows a page of a long list has.
const pageRows = 50

// tab is one of several views of a list.
type tab struct {
	Name, Path string
	N          int
	At         bool
}

// pager is where a page of a list lies in it.
type pager struct {
	From, To, Of          int
	First, Previous, Next string // queries; "" for none
}

// pagerOf reads which page of a list of n is asked for.
func pagerOf(r *http.Request, n int) pager {
	q := r.URL.Query()
	at, err := strconv.Atoi(q.Get("page"))
	if err != nil || at < 1 {
		at = 1
	}
	at = min(at, max(1, (n+pageRows-1)/pageRows))
	p := pager{From: (at - 1) * pageRows, To: min(n, at*pageRows), Of: n}
	if at > 1 {
		p.Previous = with(q, "page", strconv.Itoa(at-1))
	}
	if at > 2 {
		p.First = with(q, "page", "")
	}
	if p.To < n {
		p.Next = with(q, "page", strconv.Itoa(at+1))
	}
	return p
}

// with is a query with one value changed, "" to take it out.
func with(q url.Values, key, value string) string {
	out := url.Values{}
	for k, v := range q {
		if k != key && len(v) > 0 && v[0] != "" {
			out.Set(k, v[0])
		}
	}
	if value != "" {
		out.Set(key, value)
	}
	if len(out) == 0 {
		return "?"
	}
	return "?" + out.Encode()
}

// inboxFilter is what the inbox is asked for.
type inboxFilter struct {
	Life, Label, Service, Text, Sort string
}

// The views of the inbox beside the lives of groups.
const (
	viewOpen = ""    // all that is neither resolved nor ignored
	viewAll  = "all" // everything
)

var inboxSorts = [][2]string{{"", "new and growing first"}, {"last", "last seen"}, {"new", "first seen"}, {"growing", "growing most"}, {"count", "seen most"}}

// inboxGroup is a group that the inbox may show, with what it is sorted by.
type inboxGroup struct {
	*ratchet.Group
	life   ratchet.Life
	growth int
}

// inboxRow is a row of the inbox.
type inboxRow struct {
	group
	Snoozed  time.Time
	Growth   int
	Spark    spark
	Versions []string
	Plain    string // why no rule explains it; "" of what has a label
	Reason   string // of a dismissal
}

type inboxData struct {
	inboxFilter
	Tabs     []tab
	Rows     []inboxRow
	Pager    pager
	Sorts    [][2]string
	Labels   []string
	Services []string
	Any      bool // there are groups at all
	Chosen   bool // a filter is on
	Dialogs  dialogs
	Bad      *saidOnce
}

func (d inboxData) saying() *saidOnce { return d.Bad }

// inboxPage answers GET /: the groups that want a person.
func (h *handler) inboxPage(w http.ResponseWriter, r *http.Request) {
	h.inbox(w, r, http.StatusOK, nil)
}

// inbox answers with the inbox, and what a form that it sent had to say.
func (h *handler) inbox(w http.ResponseWriter, r *http.Request, code int, bad *saidOnce) {
	now := time.Now()
	d, err := h.inboxOf(r, now)
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	d.Bad = bad
	h.pageCode(w, r, code, "inbox.html", "Inbox", d)
}

func (h *handler) inboxOf(r *http.Request, now time.Time) (d inboxData, err error) {
	q := r.URL.Query()
	d.inboxFilter = inboxFilter{Life: q.Get("life"), Label: q.Get("label"), Service: q.Get("service"), Text: strings.TrimSpace(q.Get("q")), Sort: q.Get("sort")}
	w, err := h.sceneOf(r.Context(), now)
	if err != nil {
		return d, err
	}
	want := Query{Label: classify.Label(d.Label), Service: d.Service, Text: d.Text}
	var fit []inboxGroup
	lives, labels, services := map[ratchet.Life]int{}, map[string]bool{}, map[string]bool{}
	for i := range w.groups {
		g := &w.groups[i]
		if g.Count == 0 || g.Merged != nil {
			continue
		}
		d.Any = true
		labels[string(g.Fingerprint.Label)], services[g.Fingerprint.Service] = true, true
		if !want.fits(g) {
			continue
		}
		life := w.life(g)
		lives[life]++
		if d.shows(life) {
			fit = append(fit, inboxGroup{g, life, g.Growth(now)})
		}
	}
	slices.SortStableFunc(fit, inboxOrder(d.Sort))
	d.Tabs, d.Sorts = d.tabs(q, lives), inboxSorts
	d.Labels, d.Services = sortedKeys(labels, strings.Compare), sortedKeys(services, strings.Compare)
	d.Pager = pagerOf(r, len(fit))
	for _, g := range fit[d.Pager.From:d.Pager.To] {
		d.Rows = append(d.Rows, inboxRowOf(g, &w))
	}
	d.Chosen = d.Label+d.Service+d.Text != ""
	d.Dialogs = h.dialogs(r, d.Labels)
	return d, nil
}

// shows says whether the view that is asked for has groups of that life.
func (f *inboxFilter) shows(l ratchet.Life) bool {
	switch f.Life {
	case viewOpen:
		return l != ratchet.LifeIgnored && l != ratchet.LifeResolved
	case viewAll:
		return true
	}
	return string(l) == f.Life
}

func (f *inboxFilter) tabs(q url.Values, lives map[ratchet.Life]int) []tab {
	clean := url.Values{}
	for k, v := range q {
		if k != "page" {
			clean[k] = v
		}
	}
	open, all := 0, 0
	for l, n := range lives {
		all += n
		if l != ratchet.LifeIgnored && l != ratchet.LifeResolved {
			open += n
		}
	}
	out := []tab{{"Open", "/" + with(clean, "life", viewOpen), open, f.Life == viewOpen}}
	for _, l := range []ratchet.Life{ratchet.LifeNew, ratchet.LifeEscalating, ratchet.LifeRegressed, ratchet.LifeOngoing, ratchet.LifeResolved, ratchet.LifeIgnored} {
		out = append(out, tab{strings.ToUpper(string(l[:1])) + string(l[1:]), "/" + with(clean, "life", string(l)), lives[l], f.Life == string(l)})
	}
	return append(out, tab{"All", "/" + with(clean, "life", viewAll), all, f.Life == viewAll})
}

// inboxOrder is the order of the inbox: what is new, grows or came back before the rest, of those the ones that grow most, then the latest.
func inboxOrder(by string) func(a, b inboxGroup) int {
	last := func(a, b inboxGroup) int { return b.LastSeen.Compare(a.LastSeen) }
	switch by {
	case "last":
		return last
	case "new":
		return func(a, b inboxGroup) int { return cmp.Or(b.FirstSeen.Compare(a.FirstSeen), last(a, b)) }
	case "growing":
		return func(a, b inboxGroup) int { return cmp.Or(cmp.Compare(b.growth, a.growth), last(a, b)) }
	case "count":
		return func(a, b inboxGroup) int { return cmp.Or(cmp.Compare(b.Count, a.Count), last(a, b)) }
	}
	return func(a, b inboxGroup) int {
		return cmp.Or(cmp.Compare(urgency(a.life), urgency(b.life)), cmp.Compare(b.growth, a.growth), last(a, b))
	}
}

func urgency(l ratchet.Life) int {
	switch l {
	case ratchet.LifeNew, ratchet.LifeEscalating, ratchet.LifeRegressed:
		return 0
	case ratchet.LifeOngoing:
		return 1
	}
	return 2
}

const maxVersionsShown = 3

func inboxRowOf(g inboxGroup, s *scene) inboxRow {
	row := inboxRow{group: s.show(g.Group), Snoozed: g.SnoozedUntil(s.now), Growth: g.growth, Spark: sparkOf(g.Days, s.now)}
	for _, v := range g.Group.Spread {
		if v.Kind == lineage.KindVersion && v.Value != "" && len(row.Versions) < maxVersionsShown {
			row.Versions = append(row.Versions, v.Value)
		}
	}
	if g.Fingerprint.Label == classify.NoLabel {
		row.Plain = whyPlain(g.Group)
	}
	row.Why = sentence(row.Why)
	if row.URL != "" {
		row.Status = strings.TrimSuffix(strings.TrimSuffix(row.Status, row.URL), ": ")
	}
	if d, no := g.Denied(); no {
		row.Reason = fmt.Sprintf("%s by %s%s: %s", pastTense(d.Choice), d.Who, asWords(d.As), d.Reason)
	}
	return row
}

func asWords(as string) string {
	if as == "" {
		return ""
	}
	return " as " + strings.ReplaceAll(as, "_", " ")
}

func pastTense(choice string) string {
	return map[string]string{ratchet.ChoiceDeny: "denied", ratchet.ChoiceDismiss: "dismissed", ratchet.ChoiceApprove: "approved", ratchet.ChoiceLabel: "labelled", ratchet.ChoiceSnooze: "snoozed",
		ratchet.ChoiceWake: "woken", ratchet.ChoiceRevive: "revived", ratchet.ChoiceUndo: "undone", ratchet.ChoiceSplit: "split", ratchet.ChoiceMerge: "merged"}[choice]
}

// whyPlain says what made a group fail though no rule explains it, in the words of its fingerprint.
func whyPlain(g *ratchet.Group) string {
	f := g.Fingerprint
	switch class := f.Part("class"); {
	case class != "":
		return "No rule explains it: runs ended in " + class
	case f.Part("error") == "no_reply":
		return "No rule explains it: runs ended without a reply"
	case f.Part("error") == "feedback":
		return "No rule explains it: " + f.Part("name") + " says that it is bad"
	case f.Part("source") != "":
		return "No rule explains it: " + f.Part("source") + " says that it is bad"
	}
	return "No rule explains it"
}

// spark is sightings per day as a picture.
type spark struct {
	Label string
	Width int
	Bars  []sparkBar
}

type sparkBar struct {
	X, Y, H float64
	Late    bool // of the last seven days
}

const sparkDays = 28

func sparkOf(days []ratchet.Day, now time.Time) spark {
	today, most, week, all := ratchet.DayOf(now), 1, 0, 0
	var n [sparkDays]int
	for _, d := range days {
		if i := d.Day - today + sparkDays - 1; i >= 0 && i < sparkDays {
			n[i] += d.N
			most, all = max(most, n[i]), all+d.N
			if i >= sparkDays-7 {
				week += d.N
			}
		}
	}
	s := spark{Width: 5 * sparkDays, Label: fmt.Sprintf("%d sightings in %d days, %d of them in the last 7", all, sparkDays, week)}
	for i, v := range n {
		if v > 0 {
			height := max(2, 26*float64(v)/float64(most))
			s.Bars = append(s.Bars, sparkBar{X: float64(5 * i), Y: 27 - height, H: height, Late: i >= sparkDays-7})
		}
	}
	return s
}

// failPage answers a page's error.
func (h *handler) failPage(w http.ResponseWriter, r *http.Request, err error) {
	if !wantsPage(r) && r.Method != http.MethodPost {
		h.answer(w, nil, err)
		return
	}
	switch {
	case errors.Is(err, ErrNotFound):
		h.problem(w, r, http.StatusNotFound, "There is no such thing here. It may have been kept for its time and gone.")
	case errors.Is(err, context.Canceled):
		h.problem(w, r, http.StatusServiceUnavailable, "The request was given up.")
	default:
		h.lg.Error("page", "path", r.URL.Path, "err", err)
		h.problem(w, r, http.StatusServiceUnavailable, "The store did not answer. Try again.")
	}
}
