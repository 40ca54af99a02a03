package ratchet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Batch is the cases of one pull request. It collects until Frozen is set; from then on its intent alone says what is written.
type Batch struct {
	Repo    string         `json:"repo"`
	Base    string         `json:"base"`
	Set     string         `json:"set"`
	Label   classify.Label `json:"label"`
	Service string         `json:"service"`
	Number  int            `json:"number"`
	Opened  time.Time      `json:"opened"` // when the first case joined
	Members []Member       `json:"members"`
	Intent  *ghpr.Intent   `json:"intent"`  // nil while the batch collects; without body and contents of files, which are objects
	Body    string         `json:"body"`    // object with the intent's body
	Preview string         `json:"preview"` // object with the preview, "" for none
	Told    bool           `json:"told"`    // the groups know that the pull request was closed
}

// Member is one case of a batch.
type Member struct {
	Fingerprint string    `json:"fingerprint"` // digest
	CaseID      string    `json:"case_id"`
	CaseDigest  string    `json:"case_digest"`
	Title       string    `json:"title"`
	Why         string    `json:"why"`
	Rule        string    `json:"rule"`
	Confidence  float64   `json:"confidence"`
	Count       int       `json:"count"`
	FirstSeen   time.Time `json:"first_seen"`
	LastSeen    time.Time `json:"last_seen"`
	Weak        bool      `json:"weak"`
	YAML        string    `json:"yaml"`  // object digest of case.yaml
	Trace       string    `json:"trace"` // object digest of trace.json
}

// Key names the batch in its bucket.
func (b *Batch) Key() string {
	return fmt.Sprintf("%s %s %s %s %d", b.Repo, b.Base, b.Label, b.Service, b.Number)
}

// same says whether a case of that target, label and service belongs into this series of batches.
func (b *Batch) same(t Target, label classify.Label, service string) bool {
	return b.Repo == t.Repo && b.Base == t.Base && b.Set == t.Set && b.Label == label && b.Service == service
}

// Collecting says whether cases may still join.
func (b *Batch) Collecting() bool { return b.Intent == nil }

// Join adds a case, once per fingerprint.
func (b *Batch) Join(m Member) {
	if !slices.ContainsFunc(b.Members, func(o Member) bool { return o.Fingerprint == m.Fingerprint }) {
		b.Members = append(b.Members, m)
	}
}

// NewMember describes a made case. yaml and trace are the digests of its two files in the object store.
func NewMember(made Made, yaml, trace string) Member {
	c := made.Case
	return Member{Fingerprint: c.Fingerprint.Digest(), CaseID: c.ID, CaseDigest: made.Digest, Title: c.Title, Why: made.Why, Rule: c.Provenance.Rule,
		Confidence: c.Provenance.Confidence, Count: c.Provenance.Count, FirstSeen: c.Provenance.FirstSeen, LastSeen: c.Provenance.LastSeen,
		Weak: c.Weak, YAML: yaml, Trace: trace}
}

// Content gives a member's two files: case.yaml and trace.json.
type Content func(Member) (yaml, trace string, err error)

// Change renders the pull request of a batch: names, numbers and templates of ours outside, words of the trace only inside fences.
func (b *Batch) Change(content Content) (ghpr.Change, error) {
	c := ghpr.Change{Repo: b.Repo, Base: b.Base, Dir: b.Set, Key: b.Key(), Slug: slug(string(b.Label)), Title: b.title(), Labels: []string{"pawl"}}
	c.Body = append(c.Body, ghpr.Block{Text: b.lead()}, ghpr.Block{Text: b.table()})
	for _, m := range b.Members {
		yaml, trace, err := content(m)
		if err != nil {
			return c, fmt.Errorf("files of case %s: %w", m.CaseID, err)
		}
		dir := b.Set + "/" + string(b.Label) + "/" + m.CaseID
		c.Files = append(c.Files, ghpr.File{Path: dir + "/" + regcase.CaseFile, Content: yaml}, ghpr.File{Path: dir + "/" + regcase.JSONFile, Content: trace})
		c.Identities = append(c.Identities, m.Fingerprint+" "+m.CaseDigest)
		c.Body = append(c.Body, ghpr.Block{Text: ghpr.Details("Evidence: "+m.CaseID, evidence(m, yaml)), Optional: true})
	}
	c.Body = append(c.Body, ghpr.Block{Text: meaning})
	return c, nil
}

func slug(label string) string { return strings.ReplaceAll(label, "_", "-")[:min(len(label), 40)] }

func (b *Batch) title() string {
	what := fmt.Sprintf("%d regression cases", len(b.Members))
	if len(b.Members) == 1 {
		what = "a regression case"
	}
	return fmt.Sprintf("pawl: %s for %s in %s", what, b.Label, classify.SafeName(b.Service))
}

func (b *Batch) lead() string {
	return fmt.Sprintf("%s failed with **%s**. This adds what happened to the regression set, so that it does not come back unseen.\n\n"+
		"Each case enters as `pending`: it is reported and blocks nothing until the failure is fixed and the case is enforced. Each was shown to be red on its own redacted recording.",
		ghpr.Inline(b.Service, 80), b.Label)
}

func (b *Batch) table() string {
	var t strings.Builder
	t.WriteString("| case | what happened | rule | seen | first | last |\n|---|---|---|---|---|---|\n")
	for _, m := range b.Members {
		fmt.Fprintf(&t, "| `%s` | %s | %s, %.0f %% sure | %d× | %s | %s |\n", m.CaseID, ghpr.Inline(m.Title, 120), "`"+m.Rule+"`", 100*m.Confidence, m.Count,
			m.FirstSeen.UTC().Format("2006-01-02 15:04"), m.LastSeen.UTC().Format("2006-01-02 15:04"))
	}
	return t.String()
}

func evidence(m Member, yaml string) string {
	note := ""
	if m.Weak {
		note = "\n\nThis case is _weak_: it says what must not happen and no more, so an agent that refuses everything would pass it. Add what a good answer does."
	}
	return "Why:\n\n" + ghpr.Fence("text", m.Why) + "\n\nThe case:\n\n" + ghpr.Fence("yaml", yaml) + note
}

const meaning = "**Merging** adds the cases to the set, which only grows and tightens from then on. **Closing** without merging is a no: these failures are not proposed again " +
	"until a person revives them in pawl.\n\nPersonal data and secrets were replaced by numbered stand-ins, the same one for the same value, before the files were made. " +
	"The whole recording is `trace.json` beside each case."
