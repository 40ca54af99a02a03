package ratchet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ratchet/redact"
)

// Erasure is what Erase blanked, or with dry would.
type Erasure struct {
	Groups    int `json:"groups"`    // whose words held the value
	Specimens int `json:"specimens"` // whose recordings did
	Flags     int `json:"flags"`     // traces and windows of which outsiders said it
	// Unexplained are runs that said it of themselves and that no rule explains.
	Unexplained int `json:"unexplained"`
	// Judgements are what a model said of traces, and its votes.
	Judgements int `json:"judgements"`
	// Messages of streams were deleted, told anew without it, or dropped from the quarantine.
	Messages int `json:"messages"`
	// Unread are messages that hold it and that no reader has come to yet: it comes back from them, and can be erased then.
	Unread    int      `json:"unread"`
	Withdrawn []string `json:"withdrawn"` // ids of cases that nobody had seen yet: they are made anew, without it
	Left      []string `json:"left"`      // what holds it and is out: pull requests by their address, or what says of them
}

// Erase blanks a person's value in the groups and in the recordings of their specimens, which lie unredacted in the object store. Ids, counts and
// fingerprints stay; they hold no values. A case that has not left is taken back and made anew; one that has is named, for people to erase it in the set.
func (a *Absorber) Erase(ctx context.Context, s redact.Subject, dry bool) (Erasure, error) {
	e := eraser{a: a, s: s, dry: dry, objects: map[string]string{}, Erasure: Erasure{Withdrawn: []string{}, Left: []string{}}}
	if err := e.batches(ctx); err != nil {
		return e.Erasure, fmt.Errorf("erase in batches: %w", err)
	}
	for entry, err := range a.q.Groups.All(ctx) {
		if err != nil {
			return e.Erasure, fmt.Errorf("erase in groups: %w", err)
		}
		if err := e.group(ctx, entry.Key, entry.Value); err != nil {
			return e.Erasure, fmt.Errorf("erase in group %.12s: %w", entry.Key, err)
		}
	}
	for _, step := range []func(context.Context) error{e.flags, e.services, e.judgements, e.streams} {
		if err := step(ctx); err != nil {
			return e.Erasure, err
		}
	}
	return e.Erasure, e.drop(ctx)
}

type eraser struct {
	a       *Absorber
	s       redact.Subject
	dry     bool
	objects map[string]string // the old recording -> the blanked one
	Erasure
}

// group blanks one group's recordings first, then its words with the pointers to them: a kill in between leaves pointers to what is still there.
func (e *eraser) group(ctx context.Context, key string, value []byte) error {
	var g Group
	if err := json.Unmarshal(value, &g); err != nil {
		return err
	}
	found := 0
	for _, s := range g.Specimens {
		hit, err := e.object(ctx, s.Object)
		if err != nil {
			return err
		}
		if hit {
			found++
		}
	}
	words := e.words(&g)
	e.Specimens += found
	if words {
		e.Groups++
	}
	if e.dry || !words && found == 0 {
		return nil
	}
	return e.a.changeGroup(ctx, key, func(g *Group) bool {
		e.words(g)
		for i := range g.Specimens {
			if to, ok := e.objects[g.Specimens[i].Object]; ok {
				g.Specimens[i].Object = to
			}
		}
		return true
	})
}

// words blanks the texts of a group and says whether any held the value.
func (e *eraser) words(g *Group) (changed bool) {
	texts := []*string{&g.Title, &g.Why, &g.Refused}
	for i := range g.Specimens {
		texts = append(texts, &g.Specimens[i].Why, &g.Specimens[i].Refused)
	}
	for i := range g.Decisions {
		texts = append(texts, &g.Decisions[i].Reason)
	}
	for i := range g.Sessions {
		texts = append(texts, &g.Sessions[i])
	}
	if g.Edit != nil {
		texts = append(texts, &g.Edit.Expect)
	}
	for _, t := range texts {
		if e.s.In(*t) {
			*t, changed = e.s.Blank(*t), true
		}
	}
	return changed
}

// object blanks a recording and says whether it held the value. One that would be no recording any more is dropped: the specimen then has none.
func (e *eraser) object(ctx context.Context, digest string) (bool, error) {
	if digest == "" {
		return false, nil
	}
	if _, done := e.objects[digest]; done {
		return true, nil
	}
	doc, err := e.a.q.Objects.Get(ctx, digest)
	if errors.Is(err, queue.ErrNotFound) || err == nil && !e.s.In(string(doc)) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e.objects[digest] = ""
	if e.dry {
		return true, nil
	}
	clean := []byte(e.s.Blank(string(doc)))
	if _, err := recordedIn(clean); err != nil {
		return true, nil
	}
	e.objects[digest], err = e.a.q.Objects.Put(ctx, clean)
	return true, err
}

// batches takes back the cases that hold the value and have not left, and names those that have.
func (e *eraser) batches(ctx context.Context) error {
	bs, err := e.a.Batches(ctx)
	if err != nil {
		return err
	}
	for i := range bs {
		b := &bs[i]
		for _, m := range slices.Clone(b.Members) {
			yaml, trace, err := e.a.content(ctx)(m)
			if err != nil && !errors.Is(err, queue.ErrNotFound) {
				return err
			}
			if !e.s.In(yaml+"\n"+trace) && !e.s.In(m.Title+"\n"+m.Why+"\n"+m.Began) {
				continue
			}
			if !b.unsent() && m.Update != waits {
				e.Left = append(e.Left, orDefault(b.Intent.Receipt.URL, b.Key())+": case "+m.CaseID)
				continue
			}
			e.Withdrawn = append(e.Withdrawn, m.CaseID)
			if e.dry {
				continue
			}
			if err := e.a.withdraw(ctx, b.Key(), m); err != nil {
				return err
			}
			for _, object := range []string{m.YAML, m.Trace} {
				e.objects[object] = ""
			}
		}
		if err := e.rule(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// rule blanks the files of a rule that has not left, so that its batch is frozen anew, and names one that has.
func (e *eraser) rule(ctx context.Context, b *Batch) error {
	if b.Rule == nil || !slices.ContainsFunc(b.Rule.Files, func(f ghpr.File) bool { return e.s.In(f.Content) }) {
		return nil
	}
	if !b.unsent() {
		e.Left = append(e.Left, orDefault(b.Intent.Receipt.URL, b.Key())+": testdata of the rule "+b.Rule.Name)
		return nil
	}
	e.Withdrawn = append(e.Withdrawn, "testdata of the rule "+b.Rule.Name)
	if e.dry {
		return nil
	}
	return e.a.changeBatch(ctx, b.Key(), func(stored *Batch) error {
		if stored.Rule == nil || !stored.unsent() {
			return errRace
		}
		for i := range stored.Rule.Files {
			stored.Rule.Files[i].Content = e.s.Blank(stored.Rule.Files[i].Content)
		}
		stored.Intent, stored.Body, stored.Preview, stored.Fault = nil, "", "", ""
		return nil
	})
}

// drop deletes what was blanked, when nothing points to it any more.
func (e *eraser) drop(ctx context.Context) error {
	if e.dry {
		return nil
	}
	for old := range e.objects {
		if err := e.a.q.Objects.Delete(ctx, old); err != nil {
			return err
		}
	}
	return nil
}
