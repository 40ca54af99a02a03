package ratchet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/queue"
)

// Ask is what a person wants decided on a group.
//
// The choices: label gives what no rule explains a label, and it moves there; dismiss says that it is no failure of this team's agent, and As why; approve
// and deny are on the proposed case, or on the group before there is one; snooze puts the group off until a time, and wake ends that; revive ends a dismissal
// or a denial; undo takes back the latest decision that can be; split takes traces out into a group of their own; merge makes the group part of another, for good.
type Ask struct {
	Choice   string         `json:"choice"`
	Label    classify.Label `json:"label,omitzero"`    // of label: one of pawl's, or a new one
	As       string         `json:"as,omitzero"`       // of dismiss: false_alarm, intended, duplicate or not_ours
	Reason   string         `json:"reason,omitzero"`   // needed to dismiss, deny and merge
	Until    time.Time      `json:"until,omitzero"`    // of snooze
	Digest   string         `json:"digest,omitzero"`   // of the case that the person looked at; needed to approve or deny one
	Into     string         `json:"into,omitzero"`     // of merge: the id of a group
	Traces   []string       `json:"traces,omitzero"`   // of split: ids
	Decision string         `json:"decision,omitzero"` // of undo: the id of the decision, so that to ask again undoes nothing more
}

// The choices.
const (
	ChoiceLabel   = "label"
	ChoiceDismiss = "dismiss"
	ChoiceApprove = "approve"
	ChoiceDeny    = "deny"
	ChoiceSnooze  = "snooze"
	ChoiceWake    = "wake"
	ChoiceRevive  = "revive"
	ChoiceUndo    = "undo"
	ChoiceSplit   = "split"
	ChoiceMerge   = "merge"
)

// Choices are all of them.
var Choices = []string{ChoiceLabel, ChoiceDismiss, ChoiceApprove, ChoiceDeny, ChoiceSnooze, ChoiceWake, ChoiceRevive, ChoiceUndo, ChoiceSplit, ChoiceMerge}

// AsNotOurs says that a failure is another team's: it counts neither for nor against the rule.
const AsNotOurs = "not_ours"

// Dismissals are why a group may be dismissed.
var Dismissals = []string{AsFalseAlarm, AsIntended, AsDuplicate, AsNotOurs}

// longestSnooze bounds how long a group is put off.
const longestSnooze = 90 * 24 * time.Hour

// Decide records what a person decided on the group of an id, or on what that was merged into, and returns the group that holds it then: a label or a split
// gives another. To ask the same again changes nothing. The error is *Refused where it cannot be decided so, and queue.ErrNotFound where there is no such group.
func (a *Absorber) Decide(ctx context.Context, id, who string, now time.Time, ask Ask) (Group, error) {
	who, reason := strings.TrimSpace(who), ""
	if reason = cmp.Or(nameless(who), ask.wrong(now)); reason != "" {
		return Group{}, &Refused{reason}
	}
	ask.Reason = clip(strings.TrimSpace(ask.Reason), maxReason)
	if ask.Choice == ChoiceMerge {
		g, err := a.Merge(ctx, id, ask.Into, Merge{Who: who, When: now, Reason: ask.Reason})
		if no, ok := errors.AsType[*Unmergeable](err); ok {
			err = &Refused{no.Reason}
		}
		return g, err
	}
	g, err := a.home(ctx, id)
	if err != nil {
		return Group{}, err
	}
	d := Decision{Who: who, When: now.UTC(), Choice: ask.Choice, Reason: ask.Reason, As: ask.As, Label: ask.Label, Until: ask.Until.UTC(), Traces: ask.Traces}
	fp := g.Fingerprint.Digest()
	switch ask.Choice {
	case ChoiceLabel:
		fp, err = a.label(ctx, &g, d)
	case ChoiceSplit:
		fp, err = a.split(ctx, &g, d)
	case ChoiceUndo:
		fp, err = a.undo(ctx, &g, d, ask.Decision)
	default:
		err = a.decide(ctx, &g, d, ask.Digest)
	}
	if err != nil {
		return Group{}, err
	}
	a.touch(fp, ask.Choice == ChoiceApprove || ask.Choice == ChoiceRevive)
	if err := a.tellDecisions(ctx, fp); err != nil {
		a.lg.Warn("a decision is told to the audit stream later", "group", id, "err", err)
	}
	return a.seen(ctx, g.Fingerprint.Digest(), fp)
}

// seen reads the group that a decision led to, and has the view know it and the one that it was made on.
func (a *Absorber) seen(ctx context.Context, from, fp string) (Group, error) {
	if a.view != nil {
		for _, key := range []string{from, fp} {
			if err := a.view.Refresh(ctx, key); err != nil && !errors.Is(err, queue.ErrNotFound) {
				return Group{}, err
			}
		}
	}
	return a.Group(ctx, fp)
}

// nobody are the names that name nobody.
var nobody = []string{"", "unknown", "anonymous", "nobody", "somebody", "none", "null", "undefined", "-"}

// nameless says what is wrong with a person's name, "" for nothing.
func nameless(who string) string {
	if slices.Contains(nobody, strings.ToLower(who)) || len(who) > 200 || strings.ContainsFunc(who, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "who decides? A decision is a person's, by name: send a token of auth.tokens, or on this machine the header X-Pawl-Person with your name"
	}
	return ""
}

var labelForm = regexp.MustCompile(`^[a-z][a-z0-9_]{1,39}$`)

// wrong says what is wrong with the question itself, "" for nothing.
func (ask *Ask) wrong(now time.Time) string {
	switch {
	case !slices.Contains(Choices, ask.Choice):
		return fmt.Sprintf("choice is one of %s%s", strings.Join(Choices, ", "), didYouMean(ask.Choice, Choices))
	case ask.Choice == ChoiceLabel:
		return wrongLabel(ask.Label)
	case ask.Choice == ChoiceDismiss && !slices.Contains(Dismissals, ask.As):
		return fmt.Sprintf("as says why it is dismissed: one of %s", strings.Join(Dismissals, ", "))
	case (ask.Choice == ChoiceDismiss || ask.Choice == ChoiceDeny || ask.Choice == ChoiceMerge) && strings.TrimSpace(ask.Reason) == "":
		return "say the reason in a sentence: whoever meets this failure next reads it"
	case ask.Choice == ChoiceSnooze && (!ask.Until.After(now) || ask.Until.Sub(now) > longestSnooze):
		return fmt.Sprintf("until is a time from now on, at most %d days ahead", int(longestSnooze.Hours()/24))
	case ask.Choice == ChoiceMerge && ask.Into == "":
		return "into is the id of the group that this one becomes part of"
	case ask.Choice == ChoiceSplit && len(ask.Traces) == 0:
		return "traces are the ids of those that leave the group"
	}
	return ""
}

func wrongLabel(l classify.Label) string {
	var known []string
	for _, x := range classify.Labels() {
		known = append(known, string(x))
	}
	switch {
	case slices.Contains(known, string(l)):
		return ""
	case l == classify.NoLabel:
		return "unclassified is what it is called without a label: give it one, or dismiss it"
	case l.Reserved():
		return fmt.Sprintf("%s says that no label fits: give it one, or dismiss it", l)
	case !labelForm.MatchString(string(l)):
		return "a label is 2 to 40 small letters, digits and _, beginning with a letter: loop, or a new one such as wrong_currency"
	}
	if i := slices.IndexFunc(known, func(k string) bool { return classify.Edits(k, string(l)) <= 2 }); i >= 0 {
		return fmt.Sprintf("did you mean %q? A new label is not so like one that there is", known[i])
	}
	return ""
}

func didYouMean(word string, known []string) string {
	if hint := classify.DidYouMean(word, known); strings.HasPrefix(hint, "; did you mean") {
		return hint
	}
	return ""
}

// id names the decision on the group of a digest, after the decision of another id.
func (d *Decision) id(group, after string) string {
	doc, err := json.Marshal([]any{group, after, d.Who, d.When.UTC().Format(time.RFC3339Nano), d.Choice, d.As, d.Digest, d.Label, d.Of, d.Reason})
	if err != nil {
		doc = []byte(group + d.Who + d.Choice)
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:6])
}

// same says whether two decisions say the same, whoever made them and when.
func (d *Decision) same(e *Decision) bool {
	return d.Choice == e.Choice && d.As == e.As && d.Digest == e.Digest && d.Label == e.Label && d.Until.Equal(e.Until)
}

// home is the group of an id, or the one that it was merged or moved into.
func (a *Absorber) home(ctx context.Context, id string) (Group, error) {
	g, err := a.named(ctx, id)
	for hops := 0; err == nil && g.Merged != nil; hops++ {
		if g, err = a.Group(ctx, g.Merged.Into); errors.Is(err, queue.ErrNotFound) || err == nil && g.Merged != nil && hops == maxHops {
			err = &Refused{"somebody moves it elsewhere just now: look again"} // its aliases lead there, and it follows
		}
	}
	return g, err
}

// maxHops bounds how far an alias may be from home while groups are moved.
const maxHops = 4

// named reads the group of an id.
func (a *Absorber) named(ctx context.Context, id string) (Group, error) {
	if a.view != nil && a.view.Ready() {
		if fp, ok := a.view.Digest(id); ok {
			return a.Group(ctx, fp)
		}
	}
	gs, err := a.Groups(ctx)
	if err != nil {
		return Group{}, err
	}
	for i := range gs {
		if gs[i].ID() == id {
			return gs[i], nil
		}
	}
	return Group{}, fmt.Errorf("group %q: %w", id, queue.ErrNotFound)
}

// proposed is the digest of the group's proposed case, "" where there is none, and whether anything of its pull request may have left.
func (a *Absorber) proposed(ctx context.Context, g *Group) (digest string, sent bool, err error) {
	if g.Batch == "" {
		return "", false, nil
	}
	b, err := a.batch(ctx, g.Batch)
	if errors.Is(err, queue.ErrNotFound) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	digest = b.Digest(g.Fingerprint.Digest())
	return digest, !b.unsent(), nil
}

// Digest is that of the case of a fingerprint, "" where the batch has none.
func (b *Batch) Digest(fp string) string {
	if i := b.member(fp); i >= 0 {
		return b.Members[i].CaseDigest
	}
	return ""
}

// decide records a decision that stays on its group.
func (a *Absorber) decide(ctx context.Context, g *Group, d Decision, looked string) error {
	digest, _, err := a.proposed(ctx, g)
	if err != nil {
		return err
	}
	needs := d.Choice == ChoiceApprove || d.Choice == ChoiceDeny
	switch {
	case looked != "" && digest != "" && looked != digest:
		return &Refused{"the case changed since you looked: look at it again, then decide"}
	case looked == "" && digest != "" && needs:
		return &Refused{fmt.Sprintf("%s is on the proposed case: send the digest of the one that you looked at", d.Choice)}
	}
	d.Digest = cmp.Or(digest, looked)
	var refused string
	err = a.changeGroup(ctx, g.Fingerprint.Digest(), func(g *Group) bool {
		if refused = g.forbids(d); refused != "" || g.holds(d) {
			return false
		}
		g.Decide(d)
		return true
	})
	if err == nil && refused != "" {
		err = &Refused{refused}
	}
	return err
}

// holds says whether that is the latest word already.
func (g *Group) holds(d Decision) bool {
	about := []string{ChoiceDismiss, ChoiceDeny, ChoiceApprove, ChoiceRevive}
	if d.Choice == ChoiceSnooze || d.Choice == ChoiceWake {
		about = []string{ChoiceSnooze, ChoiceWake}
	}
	have, ok := g.latest(about...)
	return ok && have.same(&d)
}

// forbids says why the group does not take a decision, "" if it does.
func (g *Group) forbids(d Decision) string {
	_, denied := g.Denied()
	switch {
	case g.Merged != nil:
		return "it was merged into another group just now: look again"
	case d.Choice == ChoiceApprove && g.Fingerprint.Label == classify.NoLabel:
		return "no rule explains it, so there is no case to approve: label it first"
	case d.Choice == ChoiceApprove && (g.Form == classify.FormNone || g.Form == ""):
		return fmt.Sprintf("a case cannot assert %s as it was found here: there is nothing to approve", g.Fingerprint.Label)
	case d.Choice == ChoiceRevive && !denied && !g.holds(d):
		return "nobody dismissed or denied it: there is nothing to revive"
	case d.Choice == ChoiceWake && g.SnoozedUntil(d.When).IsZero() && !g.holds(d):
		return "nobody put it off: there is nothing to wake"
	}
	return ""
}

// undoable are the choices that can be taken back.
var undoable = []string{ChoiceLabel, ChoiceDismiss, ChoiceApprove, ChoiceDeny, ChoiceSnooze, ChoiceWake, ChoiceRevive, ChoiceSplit}

// Undoable is the latest decision if it can be taken back: an earlier one stands below those that came after.
func (g *Group) Undoable() (Decision, bool) {
	for _, d := range slices.Backward(g.Decisions) {
		if !d.Undone && d.Choice != ChoiceUndo {
			return d, d.ID != "" && slices.Contains(undoable, d.Choice)
		}
	}
	return Decision{}, false
}

// undo takes the latest decision back and returns the digest of the group that holds it then.
func (a *Absorber) undo(ctx context.Context, g *Group, d Decision, id string) (string, error) {
	fp := g.Fingerprint.Digest()
	if i := slices.IndexFunc(g.Decisions, func(x Decision) bool { return id != "" && x.ID == id }); i >= 0 && g.Decisions[i].Undone {
		return fp, nil
	}
	old, ok := g.Undoable()
	switch _, sent, err := a.proposed(ctx, g); {
	case err != nil:
		return fp, err
	case !ok && slices.ContainsFunc(g.Decisions, func(x Decision) bool { return !x.Undone && x.Choice != ChoiceUndo }):
		return fp, &Refused{"the latest decision cannot be taken back: what was merged stays so, and what GitHub says is changed there"}
	case !ok:
		return fp, &Refused{"there is nothing to undo"}
	case id != "" && old.ID != id:
		return fp, &Refused{"other decisions came after that one: undo those first"}
	case sent && old.Choice == ChoiceApprove:
		return fp, &Refused{"its pull request is out: close it there, that says no and is remembered"}
	}
	d.Of = old.ID
	switch {
	case old.Choice == ChoiceLabel && old.From != "": // where the judge's word was confirmed, nothing moved
		return old.From, a.move(ctx, g, old.From, Merge{Who: d.Who, When: d.When, Reason: d.Reason, Label: old.Was, Undo: old.ID})
	case old.Choice == ChoiceSplit:
		return old.From, a.move(ctx, g, old.From, Merge{Who: d.Who, When: d.When, Reason: d.Reason, Undo: old.ID})
	}
	var refused bool
	err := a.changeGroup(ctx, fp, func(g *Group) bool {
		now, ok := g.Undoable()
		if refused = !ok || now.ID != old.ID; refused {
			return false
		}
		g.takeBack(d)
		return true
	})
	if err == nil && refused {
		err = &Refused{"somebody decided something else just now: look again"}
	}
	return fp, err
}

// takeBack records an undo and marks what it takes back.
func (g *Group) takeBack(d Decision) {
	for i := range g.Decisions {
		if g.Decisions[i].ID == d.Of {
			g.Decisions[i].Undone = true
		}
	}
	g.Decide(d)
}

// Judged is the latest word of a person on a group that no rule explains: a label, or a dismissal. A judge is measured by it.
func (g *Group) Judged() (Decision, bool) {
	if g.Source != classify.SourceHuman && g.Source != classify.SourceJudge && g.Fingerprint.Label != classify.NoLabel {
		return Decision{}, false
	}
	return g.latest(ChoiceLabel, ChoiceDismiss)
}
