package triage

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
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

// Query chooses groups of GET /v1/groups and their order; what is zero lets all through.
type Query struct {
	Life    ratchet.Life
	Status  string // the word before the colon: waits, due, no case, preview, open, merged, ...
	Label   classify.Label
	Service string
	Verdict classify.Verdict // unclassified, or failing
	Text    string           // in id, title, why, service, agent, or a shown trace's id, whatever the case
	Sort    string           // new | growing | count | last
	Limit   int              // 0: all
	Cursor  string
}

var sorts = []string{"last", "new", "growing", "count"}

var groupParams = []string{"life", "status", "label", "service", "verdict", "q", "sort", "limit", "cursor"}

// parseQuery reads the query of GET /v1/groups.
func parseQuery(v url.Values) (q Query, err error) {
	for name := range v {
		if !slices.Contains(groupParams, name) {
			return q, fmt.Errorf("there is no parameter %q: known are %v", name, groupParams)
		}
	}
	q = Query{Life: ratchet.Life(v.Get("life")), Status: v.Get("status"), Label: classify.Label(v.Get("label")), Service: v.Get("service"),
		Verdict: classify.Verdict(v.Get("verdict")), Text: v.Get("q"), Sort: cmp.Or(v.Get("sort"), sorts[0]), Cursor: v.Get("cursor")}
	switch {
	case q.Life != "" && !slices.Contains(ratchet.Lives, q.Life):
		return q, fmt.Errorf("life is one of %v", ratchet.Lives)
	case !slices.Contains(sorts, q.Sort):
		return q, fmt.Errorf("sort is one of %v", sorts)
	case q.Verdict != "" && q.Verdict != classify.Failing && q.Verdict != classify.Unclassified:
		return q, fmt.Errorf("verdict is %s or %s: others have no groups", classify.Failing, classify.Unclassified)
	case v.Get("limit") == "" && q.Cursor == "":
		return q, nil
	}
	q.Limit, err = limitOf(v.Get("limit"), usualPage)
	return q, err
}

func limitOf(text string, usual int) (int, error) {
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > largestPage {
		return 0, fmt.Errorf("limit is a number from 1 to %d", largestPage)
	}
	return n, nil
}

// scene is what lists of groups are made of, read once for a request.
type scene struct {
	h        *handler
	now      time.Time
	groups   []ratchet.Group
	batches  map[string]*ratchet.Batch
	past     map[string]*lineage.History
	deployed map[string][]string
	status   func(*ratchet.Group) string
}

func (h *handler) sceneOf(ctx context.Context, now time.Time) (s scene, err error) {
	s = scene{h: h, now: now, batches: map[string]*ratchet.Batch{}, deployed: map[string][]string{}}
	if s.groups, err = h.src.Groups(ctx); err != nil {
		return s, err
	}
	bs, err := h.src.Batches(ctx)
	if err != nil {
		return s, err
	}
	for i := range bs {
		s.batches[bs[i].Key()] = &bs[i]
	}
	if s.past, err = h.histories(ctx); err != nil {
		return s, err
	}
	for name, past := range s.past {
		s.deployed[name] = ratchet.Deployed(past)
	}
	s.status = h.src.Status(s.groups, s.batches)
	return s, nil
}

func (s *scene) life(g *ratchet.Group) ratchet.Life { return g.Life(s.deployed[g.Service], s.now) }

func (s *scene) show(g *ratchet.Group) group {
	return s.h.show(g, s.status, s.batches, s.past)
}

// listing is a page of groups.
type listing struct {
	Groups []group
	Total  int                  // that the query lets through
	Lives  map[ratchet.Life]int // of those that the query lets through but for its life
	Next   string               // cursor; "" at the end
}

// row is a group on its way into a list.
type row struct {
	g   *ratchet.Group
	id  string
	key int64 // greatest first
}

// listing lists groups. ErrCursor says that the cursor is none of this list.
func (h *handler) listing(ctx context.Context, q Query, now time.Time) (listing, error) {
	s, err := h.sceneOf(ctx, now)
	if err != nil {
		return listing{}, err
	}
	return s.list(q)
}

func (s *scene) list(q Query) (listing, error) {
	out := listing{Groups: []group{}, Lives: map[ratchet.Life]int{}}
	after, err := readCursor(q)
	if err != nil {
		return out, err
	}
	var rows []row
	for i := range s.groups {
		g := &s.groups[i]
		if g.Count == 0 || g.Merged != nil || !q.fits(g) || q.Status != "" && stateOf(s.status(g)) != q.Status {
			continue
		}
		life := s.life(g)
		if out.Lives[life]++; q.Life == "" || q.Life == life {
			rows = append(rows, row{g, g.ID(), q.key(g, s.now)})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(b.key, a.key), strings.Compare(a.id, b.id)) })
	out.Total = len(rows)
	if after != nil {
		from, _ := slices.BinarySearchFunc(rows, *after, func(a, b row) int { return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.id, b.id), -1) })
		rows = rows[from:]
	}
	if q.Limit > 0 && len(rows) > q.Limit {
		rows = rows[:q.Limit]
		out.Next = writeCursor(q, rows[len(rows)-1])
	}
	for _, r := range rows {
		out.Groups = append(out.Groups, s.show(r.g))
	}
	return out, nil
}

// fits says whether a group passes, its status and life aside.
func (q *Query) fits(g *ratchet.Group) bool {
	f := &g.Fingerprint
	switch {
	case q.Label != "" && f.Label != q.Label, q.Service != "" && f.Service != q.Service && g.Service != q.Service:
		return false
	case q.Verdict != "" && (f.Label == classify.NoLabel) != (q.Verdict == classify.Unclassified):
		return false
	case q.Text == "":
		return true
	}
	text := strings.ToLower(q.Text)
	for _, s := range []string{g.Title, g.Why, g.Service, f.Agent, g.ID()} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return slices.ContainsFunc(g.Specimens, func(s ratchet.Specimen) bool { return strings.HasPrefix(s.TraceID, text) })
}

func (q *Query) key(g *ratchet.Group, now time.Time) int64 {
	switch q.Sort {
	case "new":
		return g.FirstSeen.UnixMicro()
	case "growing":
		return int64(g.Growth(now))
	case "count":
		return int64(g.Count)
	}
	return g.LastSeen.UnixMicro()
}

// stateOf is the word of a status.
func stateOf(status string) string {
	word, _, _ := strings.Cut(status, ":")
	return strings.TrimPrefix(word, "pull request ")
}

func writeCursor(q Query, last row) string {
	return base64.RawURLEncoding.EncodeToString([]byte(q.Sort + " " + strconv.FormatInt(last.key, 10) + " " + last.id))
}

func readCursor(q Query) (*row, error) {
	if q.Cursor == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	parts := strings.SplitN(string(text), " ", 3)
	if err != nil || len(parts) != 3 || parts[0] != q.Sort {
		return nil, ErrCursor
	}
	key, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || key == math.MinInt64 {
		return nil, ErrCursor
	}
	return &row{id: parts[2], key: key}, nil
}

// linkNext points to the next page of a list.
func linkNext(w http.ResponseWriter, r *http.Request, cursor string) {
	q := r.URL.Query()
	q.Set("cursor", cursor)
	w.Header().Set("Link", "<"+r.URL.Path+"?"+q.Encode()+`>; rel="next"`)
}

// groups answers GET /v1/groups.
func (h *handler) groups(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		h.fail(w, http.StatusBadRequest, err.Error())
		return
	}
	l, err := h.listing(r.Context(), q, time.Now())
	if errors.Is(err, ErrCursor) {
		h.fail(w, http.StatusBadRequest, "cursor is not one that this list gave, in this order: begin again without it")
		return
	}
	if l.Next != "" {
		linkNext(w, r, l.Next)
	}
	w.Header().Set("Pawl-Total", strconv.Itoa(l.Total))
	h.answer(w, l.Groups, err)
}
