package ratchet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Edit is what a person wants the case of a group to assert. It is on one specimen, and holds for the cases made of that: the digest says which one the
// person looked at. What the rule found stays asserted.
type Edit struct {
	Who     string    `json:"who"`
	When    time.Time `json:"when"`
	Of      string    `json:"of"`      // digest of the case that was looked at
	Digest  string    `json:"digest"`  // of the case that came of it
	Subject string    `json:"subject"` // of the specimen
	Expect  string    `json:"expect"`  // a regcase.Expect, as JSON
}

// maxEdit bounds an edit, in bytes: it lies in its group.
const maxEdit = 12 << 10

// ChoiceEdit and ChoiceUnedit stand in the audit stream.
const (
	ChoiceEdit   = "edit"
	ChoiceUnedit = "unedit"
)

// expect is what it asserts, nil where there is no edit.
func (e *Edit) expect() (*regcase.Expect, error) {
	if e == nil {
		return nil, nil
	}
	x, err := regcase.DecodeExpect([]byte(e.Expect))
	if err != nil {
		return nil, fmt.Errorf("what %s edited cannot be read any more (%w): edit it anew or drop the edit", e.Who, err)
	}
	return &x, nil
}

// edited has a case assert what a person wrote. What was found must stay: a case that does not say so is another case.
func edited(c *regcase.Case, e regcase.Expect) error {
	was, err := json.Marshal(c.Expect.Never, json.Deterministic(true))
	if err != nil {
		return err
	}
	is, err := json.Marshal(e.Never, json.Deterministic(true))
	if err != nil {
		return err
	}
	if string(was) != string(is) {
		return &Refused{"/expect/never is what the rule found, with the parameters that it was found by: leave it as it is, or dismiss the group as a false alarm"}
	}
	c.Expect, c.Weak = e, weak(&e)
	return nil
}

// EditCase has the case of the group of an id assert what a person wrote, YAML or JSON of a regcase.Expect; "" drops an earlier edit. digest is that of the case
// which the person looked at. The case is made and tried anew with it, and its preview returned. *Refused says why it is not to be so.
func (a *Absorber) EditCase(ctx context.Context, id, who string, now time.Time, digest string, text []byte) (Preview, error) {
	who = strings.TrimSpace(who)
	if why := nameless(who); why != "" {
		return Preview{}, &Refused{why}
	}
	g, err := a.home(ctx, id)
	if err != nil {
		return Preview{}, err
	}
	before, _, err := a.draft(ctx, now, &g)
	if err != nil {
		return Preview{}, err
	}
	if why, err := a.uneditable(ctx, &g, before, digest, len(text) == 0); err != nil || why != "" {
		return Preview{}, cmp.Or(err, error(&Refused{why}))
	}
	e := (*Edit)(nil)
	if len(text) > 0 {
		if e, err = a.tryEdit(ctx, now, g, before, text); err != nil {
			return Preview{}, err
		}
		e.Who, e.When, e.Of = clip(who, 200), now.UTC(), digest
	}
	if err := a.keepEdit(ctx, &g, e, digest); err != nil {
		return Preview{}, err
	}
	d := Decision{Who: clip(who, 200), When: now.UTC(), Choice: ChoiceUnedit, Digest: digest}
	if e != nil {
		d.Choice, d.Digest = ChoiceEdit, e.Digest
	}
	if err := a.Tell(ctx, "edit", &g, d); err != nil {
		a.lg.Warn("an edit is not told to the audit stream", "group", id, "err", err)
	}
	return a.Preview(ctx, g.ID(), now)
}

// uneditable says why the case of a digest cannot be edited, "" if it can.
func (a *Absorber) uneditable(ctx context.Context, g *Group, before *Made, digest string, drop bool) (string, error) {
	proposed, sent, err := a.proposed(ctx, g)
	switch {
	case err != nil:
		return "", err
	case drop && g.Edit == nil:
		return "nobody edited it: there is nothing to drop", nil
	case sent:
		return "its pull request is out: change the files there, what people change before they merge stays", nil
	case digest == "":
		return "send the digest of the case that you looked at: GET /v1/groups/{id}/case has it", nil
	case drop && before == nil:
		return "", nil // it may be the edit for which none can be made
	case before == nil:
		return "there is no case to edit: GET /v1/groups/{id}/case says why", nil
	case before.Digest != digest && proposed != digest:
		return "the case changed since you looked: look at it again, then edit", nil
	}
	return "", nil
}

// tryEdit makes the case with what a person wrote.
func (a *Absorber) tryEdit(ctx context.Context, now time.Time, g Group, before *Made, text []byte) (*Edit, error) {
	x, err := regcase.DecodeExpect(text)
	if err != nil {
		return nil, &Refused{"this is not what a case may expect: " + err.Error()}
	}
	doc, err := json.Marshal(x, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	if len(doc) > maxEdit {
		return nil, &Refused{fmt.Sprintf("it takes %d bytes of at most %d", len(doc), maxEdit)}
	}
	if err := a.lastLook(string(doc)); err != nil {
		return nil, &Refused{"it holds what must not leave: " + err.Error()}
	}
	e := &Edit{Who: "you", Subject: before.subject(), Expect: string(doc)}
	g.Edit = e
	made, no, err := a.draft(ctx, now, &g)
	if err != nil {
		return nil, err
	}
	if made == nil {
		return nil, &Refused{cmp.Or(no.first, "no case can be made of that just now: try again later")}
	}
	e.Digest = made.Digest
	return e, nil
}

// subject is what the specimen of a made case is of.
func (m *Made) subject() string { return cmp.Or(m.Session, m.TraceID) }

// errEdited says that somebody else was first.
var errEdited = &Refused{"somebody edited it just now: look at it again, then edit"}

// keepEdit stores an edit, or drops it, and has a case that has not left made anew.
func (a *Absorber) keepEdit(ctx context.Context, g *Group, e *Edit, digest string) error {
	fp, raced := g.Fingerprint.Digest(), false
	err := a.changeGroup(ctx, fp, func(now *Group) bool {
		if raced = (now.Edit == nil) != (g.Edit == nil) || now.Edit != nil && now.Edit.Digest != g.Edit.Digest || now.Merged != nil; raced {
			return false
		}
		now.Edit = e
		for i := range now.Specimens {
			now.Specimens[i].Refused = ""
		}
		now.Refused = ""
		return true
	})
	if raced {
		return errEdited
	}
	if err != nil {
		return err
	}
	if g.Batch != "" {
		b, err := a.batch(ctx, g.Batch)
		if err != nil && !errors.Is(err, queue.ErrNotFound) {
			return err
		}
		if i := slices.IndexFunc(b.Members, func(m Member) bool { return m.Fingerprint == fp }); err == nil && i >= 0 {
			if err := a.withdraw(ctx, g.Batch, b.Members[i]); err != nil {
				return err
			}
		}
	}
	a.touch(fp, true)
	return nil
}
