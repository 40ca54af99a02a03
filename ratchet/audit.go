package ratchet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/queue"
)

// Told is an entry of the audit stream: what was decided, by whom and when. Nothing there is ever changed. A decision stands in its group first, marked as
// untold, and is told from there, after a kill too: it may come twice within a process's end, and its ID tells so.
type Told struct {
	Sequence uint64    `json:"sequence"`
	Kind     string    `json:"kind"`  // decision | merge | edit
	Group    string    `json:"group"` // id; of a merge that of the alias
	Digest   string    `json:"digest"`
	Decision Decision  `json:"decision"`
	Stored   time.Time `json:"stored"`
}

// audited is an entry as it is stored: that of a decision, or of a merge with what was decided on its alias.
type audited struct {
	Kind     string    `json:"kind"`
	Group    string    `json:"group,omitzero"`
	Digest   string    `json:"digest,omitzero"`
	Decision *Decision `json:"decision,omitzero"`
	Alias    string    `json:"alias,omitzero"`
	ID       string    `json:"id,omitzero"` // of the alias
	Merge    *Merge    `json:"merge,omitzero"`

	Decisions []Decision `json:"decisions,omitzero"`
}

// tellDecisions puts the decisions of a group that the audit stream does not have into it.
func (a *Absorber) tellDecisions(ctx context.Context, fp string) error {
	g, err := a.Group(ctx, fp)
	if err != nil || len(g.Untold) == 0 {
		return err
	}
	for _, id := range g.Untold {
		i := slices.IndexFunc(g.Decisions, func(d Decision) bool { return d.ID == id })
		if i < 0 {
			continue
		}
		if err := a.Tell(ctx, "decision", &g, g.Decisions[i]); err != nil {
			return err
		}
	}
	return a.changeGroup(ctx, fp, func(now *Group) bool {
		n := len(now.Untold)
		now.Untold = slices.DeleteFunc(now.Untold, func(id string) bool { return slices.Contains(g.Untold, id) })
		return len(now.Untold) < n
	})
}

// Tell puts one entry about a group into the audit stream: kind is decision, or edit of what its case expects.
func (a *Absorber) Tell(ctx context.Context, kind string, g *Group, d Decision) error {
	fp := g.Fingerprint.Digest()
	if d.ID == "" {
		d.ID = d.id(fp, "")
	}
	doc, err := json.Marshal(audited{Kind: kind, Group: g.ID(), Digest: fp, Decision: &d})
	if err != nil {
		return err
	}
	if _, err := a.q.Audit.Append(ctx, kind+" "+d.ID, doc); err != nil {
		return fmt.Errorf("tell of a decision on %s: %w", g.ID(), err)
	}
	return nil
}

// AuditFilter chooses entries; what is zero lets all through.
type AuditFilter struct {
	Groups []string        // ids
	Who    string          // exactly
	Allow  func(Told) bool // nil: all
}

// maxAudited bounds the entries that one question reads: a filter that lets few through gives a short page with a cursor.
const maxAudited = 5000

// Audit gives entries from the latest on, at most limit of them: those below the sequence before, or of all where that is 0. next is where the following page
// begins, 0 at the end.
func (a *Absorber) Audit(ctx context.Context, f AuditFilter, before uint64, limit int) (out []Told, next uint64, err error) {
	info, err := a.q.Audit.Info(ctx)
	if err != nil {
		return nil, 0, err
	}
	seq := info.Last + 1
	if before > 0 {
		seq = min(seq, before)
	}
	for read := 0; seq > info.First && info.Messages > 0; read++ {
		if len(out) >= limit || read >= maxAudited {
			return out, seq, nil
		}
		seq--
		m, err := a.q.Audit.Get(ctx, seq)
		if errors.Is(err, queue.ErrNotFound) {
			continue
		}
		if err != nil {
			return out, 0, err
		}
		if t, ok := readTold(m); ok && f.lets(&t) {
			out = append(out, t)
		}
	}
	return out, 0, nil
}

func (f *AuditFilter) lets(t *Told) bool {
	return (len(f.Groups) == 0 || slices.Contains(f.Groups, t.Group)) && (f.Who == "" || t.Decision.Who == f.Who) && (f.Allow == nil || f.Allow(*t))
}

func readTold(m queue.Message) (Told, bool) {
	var e audited
	if err := json.Unmarshal(m.Data, &e); err != nil {
		return Told{}, false
	}
	t := Told{Sequence: m.Seq, Kind: e.Kind, Group: e.Group, Digest: e.Digest, Stored: m.Stored.UTC()}
	switch {
	case e.Decision != nil:
		t.Decision = *e.Decision
	case e.Merge != nil:
		t.Group, t.Digest = e.ID, e.Alias
		t.Decision = Decision{ID: "merge-" + e.Alias[:min(len(e.Alias), 10)], Who: e.Merge.Who, When: e.Merge.When, Choice: ChoiceMerge, Reason: e.Merge.Reason, Digest: e.Merge.Into}
	default:
		return t, false
	}
	return t, true
}

// Cursor and ParseCursor write and read a sequence of the audit stream.
func Cursor(seq uint64) string { return strconv.FormatUint(seq, 10) }

// ParseCursor reads what Cursor wrote.
func ParseCursor(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }

// tellAll tells what a kill left untold, once after the start: later on whoever decides tells it, or notes that it has to be told.
func (a *Absorber) tellAll(ctx context.Context) error {
	a.mu.Lock()
	untold := a.untold
	a.untold = map[string]bool{}
	a.mu.Unlock()
	var errs []error
	for _, fp := range slices.Sorted(maps.Keys(untold)) {
		if err := a.tellDecisions(ctx, fp); err != nil && !errors.Is(err, queue.ErrNotFound) {
			a.tellLater(fp)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (a *Absorber) tellLater(fp string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.untold[fp] = true
}
