// Package ratchet turns findings into regression cases and cases into pull requests: findings are grouped by fingerprint, a policy decides
// which groups are due, a due group becomes a case (redacted, proven red), and cases become batches, one pull request each.
//
// # What is stored
//
// One aggregate per fingerprint in the groups bucket (Group, key: the fingerprint's digest) and one per pull request in the batches bucket (Batch,
// key: its Key), each changed only by compare-and-set. The bytes of specimens and case files lie in the object store under their sha256.
// A batch is written before the groups that it holds point to it; the pointers are derived again at start. Of traces that go on with others of their
// session, one value per session in the sessions bucket (Session, key: sessionKey) holds sketches, for a day: see classify.Sketch.
// Which fingerprints a person said are one is in the aliases bucket (Merge, key: the alias's digest).
//
// # What holds
//
//   - Applying the same verdicts again changes nothing: groups and sessions remember the last sequence of FINDINGS that they took.
//   - What a session shows is said on FINDINGS and comes from there, as what a trace shows: there is one way into a group.
//   - A closed pull request is a no for its fingerprints until a person revives them: a new specimen never does.
//   - Nothing leaves that redaction has not passed.
package ratchet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/lineage"
)

// The bounds of a group, so that its value stays small.
const (
	maxSpecimens = 5
	maxSessions  = 8
	maxDecisions = 50
	maxSeen      = 256
	maxFollow    = 8
	maxTried     = 25   // specimens that may be refused before no more are stored
	maxText      = 1000 // bytes of one text
	maxReason    = 400  // bytes of a decision's reason
	maxSession   = 200  // bytes of a session's id
)

// Group is the findings of one fingerprint.
type Group struct {
	Fingerprint classify.Fingerprint `json:"fingerprint"`
	Rule        string               `json:"rule"`    // version of the rule that found it last
	Service     string               `json:"service"` // as its traces name it: that of the fingerprint may be scrubbed or hashed
	Form        classify.Form        `json:"form"`
	Severity    classify.Severity    `json:"severity"` // the worst seen
	Confidence  float64              `json:"confidence"`
	Title       string               `json:"title"`
	Why         string               `json:"why"` // of the newest specimen
	Count       int                  `json:"count"`
	Sessions    []string             `json:"sessions"` // the first few, to tell one user's bad day from a pattern
	FirstSeen   time.Time            `json:"first_seen"`
	LastSeen    time.Time            `json:"last_seen"`
	Specimens   []Specimen           `json:"specimens"`
	Decisions   []Decision           `json:"decisions"`
	Batch       string               `json:"batch"`   // key of the batch that holds it, "" for none
	Refused     string               `json:"refused"` // why no case could be made of any specimen so far
	Tried       int                  `json:"tried"`   // specimens of which no case could be made
	Applied     uint64               `json:"applied"` // sequence of the last message of FINDINGS that was folded in
	Follow      []string             `json:"follow"`  // ids of the fingerprints that were seen to follow from this failure, the first few
	Seen        []string             `json:"seen"`    // the latest traces with their revisions, so that a verdict published twice counts once

	Merged *Merge `json:"merged,omitzero"` // of an alias: into which group; this one takes nothing more, and keeps what it held then

	Fixed   time.Time `json:"fixed,omitzero"`   // when its case was merged: specimens from before make room for those of an escape
	Stale   []string  `json:"stale,omitzero"`   // service.version of what showed it before that
	Escapes int       `json:"escapes,omitzero"` // further specimens that were proposed since

	Began  *lineage.Began `json:"began,omitzero"`  // what came before the first sighting; nil when that is not known
	Spread lineage.Spread `json:"spread,omitzero"` // how the sightings lie over versions, models and prompts

	Source classify.Source `json:"source,omitzero"` // who gave the label: human where a person did, "" of groups that are older than this
	Days   []Day           `json:"days,omitzero"`   // sightings by day, the latest days that had any
	Untold []string        `json:"untold,omitzero"` // ids of decisions that the audit stream does not have yet
	Left   []string        `json:"left,omitzero"`   // ends of the ids of traces that were split off: they are not taken again
	Origin string          `json:"origin,omitzero"` // of what was split off: digest of the fingerprint that its traces show

	Edit  *Edit    `json:"edit,omitzero"`  // what a person wants its case to assert
	Offer *Offered `json:"offer,omitzero"` // the rule that was offered for it last

	digest string // of the fingerprint, where it is known already
}

// Specimen is one finding of the group, with the object that holds its trace.
type Specimen struct {
	TraceID    string            `json:"trace_id"`
	Revision   string            `json:"revision"`
	Object     string            `json:"object"` // sha256 of the trace's OTLP bytes in the object store
	Severity   classify.Severity `json:"severity"`
	Confidence float64           `json:"confidence"`
	Why        string            `json:"why"`
	Seen       time.Time         `json:"seen"`
	Refused    string            `json:"refused"` // why no case could be made of it; "" when one could, or none was tried

	Session    string   `json:"session,omitzero"`    // of a session's finding: the session's key; TraceID is then the trace that it stands on
	Traces     []string `json:"traces,omitzero"`     // of a session's finding: the traces that its evidence lies in
	Unrecorded string   `json:"unrecorded,omitzero"` // why there is no Object
	Version    string   `json:"version,omitzero"`    // service.version, "" where it is not told
	Of         string   `json:"of,omitzero"`         // key of the session that the trace is of, "" for none
}

// subject is what the specimen is of, and what counts once: a trace, or a session.
func (s *Specimen) subject() string { return cmp.Or(s.Session, s.TraceID) }

// Decision is what a person or a policy said of a group.
type Decision struct {
	Who    string    `json:"who"`
	When   time.Time `json:"when"`
	Choice string    `json:"choice"` // see Ask
	Reason string    `json:"reason"`
	As     string    `json:"as,omitzero"` // why a group was dismissed, or its pull request closed
	Digest string    `json:"digest"`      // of the case it is bound to, or of the alias that was merged; "" when it is on the whole group

	ID     string         `json:"id,omitzero"`
	Label  classify.Label `json:"label,omitzero"`  // that a person gave
	Was    classify.Label `json:"was,omitzero"`    // the label before that
	Until  time.Time      `json:"until,omitzero"`  // of a snooze
	Traces []string       `json:"traces,omitzero"` // that were split off
	From   string         `json:"from,omitzero"`   // of a label or a split: digest of the group that it was made on
	Of     string         `json:"of,omitzero"`     // of an undo: id of the decision that it took back
	Undone bool           `json:"undone,omitzero"` // it was taken back, and counts no more
}

// ID is the group's name: that of the case it may become.
func (g *Group) ID() string { return string(g.Fingerprint.Label) + "-" + g.Digest()[:10] }

// Digest is that of its fingerprint, and its key.
func (g *Group) Digest() string {
	if g.digest != "" {
		return g.digest
	}
	return g.Fingerprint.Digest()
}

// service is the name that targets are matched with.
func (g *Group) service() string { return cmp.Or(g.Service, g.Fingerprint.Service) }

// Occurrence is one finding on one trace revision, as FINDINGS carries it.
type Occurrence struct {
	Finding   Found
	Service   string
	TraceID   string
	Revision  string
	SessionID string
	Object    string // of the trace's bytes, "" when the worker did not keep them
	Seen      time.Time
	Sequence  uint64 // of the message in FINDINGS
	Follow    []string
	Again     bool // the trace's revision before, which this one replaces, was an occurrence too

	Session    string // key of the session that the finding is on, "" where it is on the trace alone
	Unrecorded string // of a session: why there is no Object
	Of         string // key of the session that the trace is of, "" for none

	Context *lineage.Context // what produced the trace; nil for a session
	Began   *lineage.Began   // what came before; taken over from the first occurrence alone
}

// subject is what counts once: the trace, or the session.
func (o *Occurrence) subject() string { return cmp.Or(o.Session, o.TraceID) }

// Take folds an occurrence in: a trace, or a session, counts once, whatever its revisions and however often one is published. It says whether the group changed.
func (g *Group) Take(o Occurrence) bool {
	i, key := g.seen(o.subject()), seenKey(o.subject(), o.Revision)
	if o.Sequence != 0 && o.Sequence <= g.Applied || i >= 0 && strings.TrimSuffix(g.Seen[i], retracted) == key || slices.Contains(g.Left, tail(o.subject())) {
		return false
	}
	f := o.Finding
	if g.Count == 0 && g.FirstSeen.IsZero() {
		g.Fingerprint, g.FirstSeen = f.Fingerprint, o.Seen
	}
	g.Service = clip(o.Service, maxText)
	g.Rule = clip(f.Rule, maxText)
	g.Form, g.Title, g.Why = f.Form, clip(f.Title, maxText), clip(f.Why, maxText)
	if g.Source != classify.SourceHuman {
		g.Source = f.Source
	}
	g.Severity = worse(g.Severity, f.Severity)
	g.Confidence = max(g.Confidence, f.Confidence)
	if !g.counts(i, o.Again) {
		g.begin(o, g.Count == 0)
		g.Count++
		g.sighted(o.Seen, 1)
	}
	g.FirstSeen, g.LastSeen = earlier(g.FirstSeen, o.Seen), later(g.LastSeen, o.Seen)
	g.remember(i, key)
	g.addSession(o.SessionID, o.TraceID)
	for _, id := range o.Follow {
		if len(g.Follow) < maxFollow && !slices.Contains(g.Follow, id) {
			g.Follow = append(g.Follow, id)
		}
	}
	g.addSpecimen(o)
	return true
}

// Retract takes a trace out, or a session by its key, whose new revision no longer shows the failure that the one before did. c is what produced the trace,
// nil where that is not known.
func (g *Group) Retract(subject, revision string, c *lineage.Context, sequence uint64) bool {
	i := g.seen(subject)
	if sequence != 0 && sequence <= g.Applied || g.Count == 0 || !g.counts(i, true) {
		return false
	}
	g.Count--
	g.remember(i, seenKey(subject, revision)+retracted)
	g.unsighted(subject)
	g.Specimens = slices.DeleteFunc(g.Specimens, func(s Specimen) bool { return s.subject() == subject })
	if c != nil {
		g.Spread.Add(*c, g.Fingerprint.Agent, -1)
	}
	if g.Count == 0 { // nothing is left of which to say how bad or how sure
		g.Severity, g.Confidence, g.Sessions, g.Refused, g.Tried = "", 0, nil, "", 0
	}
	return true
}

// Retracted says whether the latest revision of a trace, or of a session, that the group remembers no longer shows the failure.
func (g *Group) Retracted(subject string) bool {
	i := g.seen(subject)
	return i >= 0 && strings.HasSuffix(g.Seen[i], retracted)
}

// retracted marks a trace in Seen that does not count: its latest revision does not show the failure.
const retracted = "-"

// seenKey is what Seen holds of a trace: the end of its id, for some make ids that begin with zeros, and the beginning of its revision.
func seenKey(traceID, revision string) string {
	return tail(traceID) + revision[:min(len(revision), 12)]
}

func tail(traceID string) string { return traceID[max(0, len(traceID)-12):] }

// seen is where Seen has the trace, or -1 when it never was there or was too long ago.
func (g *Group) seen(traceID string) int {
	return slices.IndexFunc(g.Seen, func(k string) bool { return strings.HasPrefix(k, tail(traceID)) })
}

// counts says whether the trace at i of Seen is in the count. Of one that is not there any more, the verdict that replaces another says so.
func (g *Group) counts(i int, before bool) bool {
	if i < 0 {
		return before
	}
	return !strings.HasSuffix(g.Seen[i], retracted)
}

func (g *Group) remember(i int, key string) {
	if i >= 0 {
		g.Seen = slices.Delete(g.Seen, i, i+1)
	}
	g.Seen = last(append(g.Seen, key), maxSeen)
}

// addSession notes the session, or the trace where there is none, as one sighting.
func (g *Group) addSession(session, trace string) {
	if session == "" {
		session = "trace:" + trace
	}
	session = sessionName(session)
	if len(g.Sessions) < maxSessions && !slices.Contains(g.Sessions, session) {
		g.Sessions = append(g.Sessions, session)
	}
}

// addSpecimen keeps the occurrence in place of its trace's earlier revision, or where there is room for it.
func (g *Group) addSpecimen(o Occurrence) {
	if o.Object == "" && o.Unrecorded == "" {
		return
	}
	f := o.Finding
	s := Specimen{TraceID: o.TraceID, Revision: o.Revision, Object: o.Object, Severity: f.Severity, Confidence: f.Confidence, Why: clip(f.Why, maxText), Seen: o.Seen, Of: o.Of}
	if o.Context != nil {
		s.Version = clip(o.Context.Version, 200)
	}
	if o.Session != "" {
		s.Session, s.Traces, s.Unrecorded = o.Session, tracesOf(f.Finding), clip(o.Unrecorded, maxText)
	}
	if i := slices.IndexFunc(g.Specimens, func(old Specimen) bool { return old.subject() == o.subject() }); i >= 0 {
		g.Specimens[i] = s
	} else if i, ok := g.room(f.Severity); ok {
		g.Specimens = append(slices.Delete(g.Specimens, i, min(i+1, len(g.Specimens))), s)
	}
}

// unsettled says whether another trace of the specimen's session may explain what it shows.
func (g *Group) unsettled(sp Specimen) bool {
	return sp.Of != "" && slices.Contains(mayBeSettled, g.Fingerprint.Label)
}

// tracesOf are the traces that a session's finding has its evidence in, in its order.
func tracesOf(f classify.Finding) (out []string) {
	for _, e := range f.Evidence {
		if !slices.Contains(out, e.TraceID) && len(out) < maxParts {
			out = append(out, e.TraceID)
		}
	}
	return out
}

// Wants says whether the group would keep another specimen of that severity: workers ask it before they store a trace's bytes.
func (g *Group) Wants(s classify.Severity) bool {
	_, ok := g.room(s)
	return ok
}

// room is the place in Specimens for another one: behind the last, or that of one that gives way, which is the first of which no case could be made,
// within bounds, or else the first that is less severe.
func (g *Group) room(s classify.Severity) (int, bool) {
	if len(g.Specimens) < maxSpecimens {
		return len(g.Specimens), true
	}
	if g.Tried < maxTried {
		if i := slices.IndexFunc(g.Specimens, func(have Specimen) bool { return have.Refused != "" }); i >= 0 {
			return i, true
		}
	}
	if i := slices.IndexFunc(g.Specimens, func(have Specimen) bool { return have.Seen.Before(g.Fixed) }); i >= 0 {
		return i, true
	}
	i := slices.IndexFunc(g.Specimens, func(have Specimen) bool { return rank(have.Severity) < rank(s) })
	return i, i >= 0
}

// Candidates are the specimens in the order in which a case is tried of them: the worst first, then the surest, then the oldest.
func (g *Group) Candidates() []Specimen {
	return slices.SortedStableFunc(slices.Values(g.Specimens), func(a, b Specimen) int {
		return cmp.Or(cmp.Compare(rank(b.Severity), rank(a.Severity)), cmp.Compare(b.Confidence, a.Confidence), a.Seen.Compare(b.Seen), cmp.Compare(a.TraceID, b.TraceID))
	})
}

// refuse notes why no case could be made of specimens, by subject, and why none of the group, "" when one could. It says whether that is news.
func (g *Group) refuse(why map[string]string, group string) bool {
	changed := g.Refused != group
	g.Refused = group
	for i := range g.Specimens {
		s := &g.Specimens[i]
		reason, ok := why[s.subject()]
		if !ok || s.Refused == reason {
			continue
		}
		if s.Refused == "" {
			g.Tried++
		}
		s.Refused, changed = reason, true
	}
	return changed
}

// Decide records a decision; the oldest give way. What was merged is told to the audit stream where that is settled, anything else from here.
func (g *Group) Decide(d Decision) {
	d.Who, d.Reason = clip(d.Who, 200), clip(d.Reason, maxReason)
	after := ""
	if n := len(g.Decisions); n > 0 {
		after = g.Decisions[n-1].ID
	}
	d.ID = cmp.Or(d.ID, d.id(g.Fingerprint.Digest(), after))
	g.Decisions = last(append(g.Decisions, d), maxDecisions)
	if d.Choice != ChoiceMerge {
		g.Untold = last(append(g.Untold, d.ID), maxDecisions)
	}
}

// decideOnce records a decision unless the latest one on the same digest made the same choice.
func (g *Group) decideOnce(d Decision) bool {
	for _, have := range slices.Backward(g.Decisions) {
		if have.Digest == d.Digest && !have.Undone {
			if have.Choice == d.Choice {
				return false
			}
			break
		}
	}
	g.Decide(d)
	return true
}

// Denied returns the decision that keeps the group out of pull requests, if the latest word is such.
func (g *Group) Denied() (Decision, bool) {
	d, ok := g.latest(ChoiceDeny, ChoiceDismiss, ChoiceApprove, ChoiceRevive)
	return d, ok && (d.Choice == ChoiceDeny || d.Choice == ChoiceDismiss)
}

// Approved says whether a person's latest word lets the group through without more sightings.
func (g *Group) Approved() bool {
	d, ok := g.latest(ChoiceDeny, ChoiceDismiss, ChoiceApprove)
	return ok && d.Choice == ChoiceApprove
}

// latest is the last decision that is one of the choices and was not taken back.
func (g *Group) latest(choices ...string) (Decision, bool) {
	for _, d := range slices.Backward(g.Decisions) {
		if !d.Undone && slices.Contains(choices, d.Choice) {
			return d, true
		}
	}
	return Decision{}, false
}

func worse(a, b classify.Severity) classify.Severity {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

func rank(s classify.Severity) int {
	return slices.Index([]classify.Severity{classify.Info, classify.Warning, classify.Blocking}, s)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func last[T any](s []T, n int) []T {
	if len(s) > n {
		return slices.Clone(s[len(s)-n:])
	}
	return s
}
