package ratchet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Batch is the cases of one pull request. It collects until it is shut, which is for good; frozen, its intent alone says what is written. A batch whose
// cases were all taken back stays, empty, so that its number is not given again.
type Batch struct {
	Repo    string         `json:"repo"`
	Base    string         `json:"base"`
	Set     string         `json:"set"`
	Label   classify.Label `json:"label"`
	Service string         `json:"service"`
	Number  int            `json:"number"`
	Opened  time.Time      `json:"opened"` // when the first case joined
	Members []Member       `json:"members"`
	Shut    bool           `json:"shut"`    // no more cases join: it is full, or was frozen once
	Intent  *ghpr.Intent   `json:"intent"`  // nil until the batch is frozen; without body and contents of files, which are objects
	Body    string         `json:"body"`    // object with the intent's body
	Preview string         `json:"preview"` // object with the preview, "" for none
	Told    bool           `json:"told"`    // the groups know that the pull request was closed
	Fault   string         `json:"fault"`   // why it cannot be frozen or previewed, "" when it can

	Onboard *Onboarding `json:"onboard,omitzero"` // the batch is a repository's onboarding, with one example case
	Rule    *RuleFiles  `json:"rule,omitzero"`    // a rule that it brings, by which its cases were made

	Advisory []string `json:"advisory,omitzero"` // what keeps the base's rules from holding the set, as its pull request says

	LateSince time.Time `json:"late_since,omitzero"` // when the first of the cases that wait to join the open pull request did
	LateBody  string    `json:"late_body,omitzero"`  // object with the body of the intent's update
	Sealed    string    `json:"sealed,omitzero"`     // why the open pull request takes no more cases
}

// Member is one case of a batch.
type Member struct {
	Fingerprint string    `json:"fingerprint"` // digest
	CaseID      string    `json:"case_id"`
	CaseDigest  string    `json:"case_digest"`
	TraceID     string    `json:"trace_id"`         // of the trace that is the case's recording
	Session     string    `json:"session,omitzero"` // key of the session whose traces are the recording, "" for one trace
	Title       string    `json:"title"`
	Why         string    `json:"why"`
	Rule        string    `json:"rule"`
	Confidence  float64   `json:"confidence"`
	Count       int       `json:"count"`
	FirstSeen   time.Time `json:"first_seen"`
	LastSeen    time.Time `json:"last_seen"`
	Weak        bool      `json:"weak"`
	YAML        string    `json:"yaml"`           // object digest of case.yaml
	Trace       string    `json:"trace"`          // object digest of trace.json
	Shown       string    `json:"shown,omitzero"` // how the case was shown to be red: on its recording, or live too
	Known       string    `json:"known,omitzero"` // how often its rule is right, and on whose data
	Began       string    `json:"began,omitzero"` // Markdown: what had changed when the failure began; "" when nothing is known

	Escaped bool   `json:"escaped,omitzero"`  // a further specimen: the failure came back although its case was green
	Update  string `json:"update,omitzero"`   // "" when the pull request was opened with it, waits, or the id of the update that brings it
	Gone    string `json:"gone,omitzero"`     // why its ground is lost, though it was sent
	GoneToo bool   `json:"gone_too,omitzero"` // the pull request says so, or is told to
}

// subject is what the case's specimen is of.
func (m *Member) subject() string { return cmp.Or(m.Session, m.TraceID) }

// Key names the batch in its bucket.
func (b *Batch) Key() string {
	if b.Onboard != nil {
		return fmt.Sprintf("%s %s onboarding", b.Repo, b.Base)
	}
	return fmt.Sprintf("%s %s %s %s %d", b.Repo, b.Base, b.Label, b.Service, b.Number)
}

// ID names the batch for good, whatever others come before it in a list: the first of its key's SHA-256. It is no number.
func (b *Batch) ID() string {
	sum := sha256.Sum256([]byte(b.Key()))
	return "b" + hex.EncodeToString(sum[:6])
}

// series says whether batches of that target, label and service are numbered with this one.
func (b *Batch) series(t Target, label classify.Label, service string) bool {
	return b.Repo == t.Repo && b.Base == t.Base && b.Label == label && b.Service == service
}

// Collecting says whether cases may still join.
func (b *Batch) Collecting() bool { return b.Intent == nil && !b.Shut }

// unsent says that nothing of the batch has left: it may still be taken back.
func (b *Batch) unsent() bool {
	return b.Intent == nil || b.Intent.Receipt.State == "" && b.Intent.Parked == nil && untouched(b.Intent.Steps.Ref) && untouched(b.Intent.Steps.PR)
}

func untouched(s ghpr.Step) bool { return s.Outcome == ghpr.Planned && s.Sends == 0 }

// waits marks a case that is to join an open pull request and is in no update yet.
const waits = "waits"

// growable says whether more cases may join the batch's open pull request.
func (b *Batch) growable() bool {
	in := b.Intent
	return in != nil && b.Onboard == nil && b.Sealed == "" && in.Parked == nil && in.Steps.PR.Outcome == ghpr.Confirmed && in.Receipt.State == ghpr.StateOpen &&
		!slices.Contains(in.Receipt.Labels, ghpr.StopLabel)
}

// late are the cases that wait to join the open pull request.
func (b *Batch) late() (out []Member) {
	for _, m := range b.Members {
		if m.Update == waits {
			out = append(out, m)
		}
	}
	return out
}

// news says whether the open pull request is to be told something.
func (b *Batch) news() bool {
	return slices.ContainsFunc(b.Members, func(m Member) bool { return m.Update == waits || m.Gone != "" && !m.GoneToo })
}

// Join adds a case, once per fingerprint.
func (b *Batch) Join(m Member) {
	if b.member(m.Fingerprint) < 0 {
		b.Members = append(b.Members, m)
	}
}

// maxMembers bounds the cases of a batch, in bytes as they are stored: the intent has to fit beside them.
const maxMembers = queue.MaxValue / 2

// large says that a batch's value has no room for another case.
func (b *Batch) large() bool {
	doc, err := json.Marshal(b.Members)
	return err != nil || len(doc) > maxMembers
}

// member is the index of the case of a fingerprint, -1 for none.
func (b *Batch) member(fp string) int {
	return slices.IndexFunc(b.Members, func(m Member) bool { return m.Fingerprint == fp })
}

// has says whether the batch has the case: of the same failure, and for a further specimen the very same.
func (b *Batch) has(m Member) bool {
	i := b.member(m.Fingerprint)
	return i >= 0 && (!m.Escaped || b.Members[i].CaseID == m.CaseID)
}

// holds says whether both hold the same cases in the same order.
func (b *Batch) holds(o *Batch) bool {
	return slices.EqualFunc(b.Members, o.Members, func(x, y Member) bool { return x.Fingerprint == y.Fingerprint && x.CaseDigest == y.CaseDigest })
}

// NewMember describes a made case. yaml and trace are the digests of its two files in the object store.
func NewMember(made Made, yaml, trace string) Member {
	c := made.Case
	return Member{Fingerprint: c.Fingerprint.Digest(), CaseID: c.ID, CaseDigest: made.Digest, TraceID: made.TraceID, Session: made.Session, Title: c.Title, Why: clip(made.Why, maxText), Rule: c.Provenance.Rule,
		Confidence: c.Provenance.Confidence, Count: c.Provenance.Count, FirstSeen: c.Provenance.FirstSeen, LastSeen: c.Provenance.LastSeen,
		Weak: c.Weak, YAML: yaml, Trace: trace, Shown: shown(c.Live)}
}

// shown says how a case was seen to be red; never more than that.
func shown(l *regcase.Live) string {
	if l == nil || l.Red == 0 {
		return "on the recording"
	}
	return fmt.Sprintf("reproduced live %d of %d", l.Red, l.Of)
}

// Content gives a member's two files: case.yaml and trace.json.
type Content func(Member) (yaml, trace string, err error)

// Change renders the pull request of a batch: names, numbers and templates of ours outside, words of the trace only inside fences.
func (b *Batch) Change(content Content) (ghpr.Change, error) {
	c := ghpr.Change{Repo: b.Repo, Base: b.Base, Dir: b.Set, Key: b.Key(), Slug: slug(string(b.Label)), Title: b.title(), Labels: []string{"pawl"}}
	for _, m := range b.Members {
		if err := b.files(&c.Files, &c.Body, m, content); err != nil {
			return c, err
		}
		c.Identities = append(c.Identities, m.identity())
	}
	c.Body = b.body(c.Body)
	if b.Onboard != nil {
		b.Onboard.change(b, &c)
	}
	if b.Rule != nil {
		b.Rule.change(&c)
	}
	return c, nil
}

// Growth renders what the open pull request is to become: the cases that wait, and the whole text anew.
func (b *Batch) Growth(content Content) (ghpr.Growth, error) {
	g := ghpr.Growth{Title: b.title()}
	var none []ghpr.File
	for _, m := range b.Members {
		files := &none
		if m.Update == waits {
			files = &g.Files
		}
		if err := b.files(files, &g.Body, m, content); err != nil {
			return g, err
		}
		g.Identities = append(g.Identities, m.identity())
	}
	g.CommitMessage = fmt.Sprintf("pawl: %d more for %s", len(b.late()), b.Label)
	g.Body = b.body(g.Body)
	return g, nil
}

func (m *Member) identity() string { return m.Fingerprint + " " + m.CaseDigest }

// files adds a case's files, and its evidence for the body.
func (b *Batch) files(files *[]ghpr.File, body *[]ghpr.Block, m Member, content Content) error {
	yaml, trace, err := content(m)
	if err != nil {
		return fmt.Errorf("files of case %s: %w", m.CaseID, err)
	}
	dir := b.Set + "/" + string(b.Label) + "/" + strings.ReplaceAll(m.CaseID, ".", "/") // a further specimen lies below the first
	*files = append(*files, ghpr.File{Path: dir + "/" + regcase.CaseFile, Content: yaml}, ghpr.File{Path: dir + "/" + regcase.JSONFile, Content: trace})
	*body = append(*body, ghpr.Block{Text: ghpr.Details("Evidence: "+m.CaseID, evidence(m, yaml)), Optional: true})
	return nil
}

func slug(label string) string { return strings.ReplaceAll(label, "_", "-")[:min(len(label), 40)] }

// plainTitle holds our own words alone.
func (b *Batch) plainTitle() string {
	what := fmt.Sprintf("%d regression cases", len(b.Members))
	if len(b.Members) == 1 {
		what = "a regression case"
	}
	if b.Rule != nil {
		what = "a rule and " + what
	}
	return fmt.Sprintf("pawl: %s for %s", what, b.Label)
}

// title names the service too, if there is room for it and its name can stand there as it is.
func (b *Batch) title() string {
	title := b.plainTitle()
	if in := " in " + b.Service; b.Service != "" && classify.SafeName(b.Service) == b.Service && len(title)+len(in) <= ghpr.MaxTitle {
		title += in
	}
	return title
}
