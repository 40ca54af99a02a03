package ratchet

import (
	"cmp"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/classify/sight"
)

// Verdict is a line of a message of FINDINGS: what one revision of one trace showed. A newer revision of the trace names in Replaces what the older one said.
//
// A verdict on a session names it in Session: its findings are those that no single trace shows, each on the trace of its last evidence. Its Revision is the
// session's, and it counts as no trace.
type Verdict struct {
	TraceID   string           `json:"trace_id"`
	Revision  string           `json:"revision"`
	SessionID string           `json:"session_id"`
	Service   string           `json:"service"`
	Verdict   classify.Verdict `json:"verdict"`
	Findings  []Found          `json:"findings"`
	Replaces  *Previous        `json:"replaces"`
	Object    string           `json:"object"` // sha256 of the trace's bytes in the object store, "" when no group wanted them
	Seen      time.Time        `json:"seen"`   // when pawl received the trace's last span
	Run       *baseline.Run    `json:"run"`    // of a passing trace: what the baselines learn

	Inapplicable []classify.Inapplicable `json:"inapplicable"`
	Sight        sight.Trace             `json:"sight"`       // what the trace shows of its emitters
	Context      lineage.Context         `json:"context"`     // what produced the trace; empty on a session
	Unexplained  string                  `json:"unexplained"` // of an unclassified trace: what it says of itself

	Sketch     []byte `json:"sketch,omitzero"`     // of a trace that goes on with others of its session: what the session is judged by
	Session    string `json:"session,omitzero"`    // of a verdict on a session: its key
	Unrecorded string `json:"unrecorded,omitzero"` // of a verdict on a session: why there is no Object

	Judged bool `json:"judged,omitzero"` // it is what a model says of a trace that no rule explains: it replaces the worker's verdict on that revision

	Settled []Settled `json:"settled,omitzero"` // of a verdict on a session: what single traces seemed to show

	Left *Found `json:"left,omitzero"` // of a trace: that its user left, if nothing of the session comes after it
}

// Settled is a failure that a trace shows by itself and that another trace of its session explains: a call that is answered there.
type Settled struct {
	TraceID     string `json:"trace_id"`
	Revision    string `json:"revision"`
	Fingerprint string `json:"fingerprint"` // digest

	Context *lineage.Context `json:"context"` // what produced the trace, as far as groups count it
}

// onSession says whether the verdict is on a session, not on a trace.
func (v *Verdict) onSession() bool { return v.Session != "" }

// session is the key of the session that the verdict is on, or that its trace is of; "" for none.
func (v *Verdict) session() string { return cmp.Or(v.Session, sessionKey(v.Service, v.SessionID)) }

// failing says that the trace shows a failure.
func (v *Verdict) failing() bool { return v.Verdict == classify.Failing }

// subject is what the verdict is on: the id of its trace, or the key of its session.
func (v *Verdict) subject() string { return cmp.Or(v.Session, v.TraceID) }

// Previous is what an earlier revision of the same trace said; the assembler keeps it beside the trace.
type Previous struct {
	Revision     string   `json:"revision"`
	Fingerprints []string `json:"fingerprints"`     // digests
	Session      string   `json:"session,omitzero"` // key of the session that got the revision's sketch, "" for none

	Verdict classify.Verdict `json:"verdict,omitzero"` // with Service, where the trace was counted; "" is not known
	Service string           `json:"service,omitzero"`
	Records string           `json:"records,omitzero"` // the revision of the trace's records, whatever people said of it
	Same    bool             `json:"same,omitzero"`    // the newer revision is of the same records: only what is said of the trace is new
}

func (p *Previous) fingerprints() []string {
	if p == nil {
		return nil
	}
	return p.Fingerprints
}

// gone are the groups, by digest, that the trace's earlier revision was in and this one is not. home leads an alias to its group.
func (v Verdict) gone(home func(string) string) (out []string) {
	for _, fp := range v.Replaces.fingerprints() {
		if !sameGroup(home, v.Findings, fp) && !slices.Contains(out, home(fp)) {
			out = append(out, home(fp))
		}
	}
	return out
}

// had says whether the earlier revision, nil for none, was in the finding's group.
func (p *Previous) had(f Found, home func(string) string) bool {
	return slices.ContainsFunc(p.fingerprints(), func(fp string) bool { return home(fp) == home(f.Fingerprint.Digest()) })
}

// Found is a finding with what a case needs of it and the CLI's JSON does not show.
type Found struct {
	classify.Finding
	Form  classify.Form `json:"form"`
	Title string        `json:"title"`
}

// roots are the findings that are failures of their own: what only follows from another opens no group.
func roots(fs []Found) (out []Found) {
	for _, f := range fs {
		if f.Because == nil {
			out = append(out, f)
		}
	}
	return out
}

// following are the ids of the findings that are consequences of f.
func following(fs []Found, f Found) (ids []string) {
	for _, g := range fs {
		if g.Because != nil && *g.Because == f.Fingerprint.ID() {
			ids = append(ids, g.Fingerprint.ID())
		}
	}
	return ids
}

// NewFound takes over a finding.
func NewFound(f classify.Finding) Found { return Found{Finding: f, Form: f.Form, Title: f.Title} }
