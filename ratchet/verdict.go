package ratchet

import (
	"slices"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/sight"
)

// Verdict is a line of a message of FINDINGS: what one revision of one trace showed. A newer revision of the trace names in Replaces what the older one said.
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
	Unexplained  string                  `json:"unexplained"` // of an unclassified trace: what it says of itself
}

// Previous is what an earlier revision of the same trace said; the assembler keeps it beside the trace.
type Previous struct {
	Revision     string   `json:"revision"`
	Fingerprints []string `json:"fingerprints"` // digests
}

// gone are the fingerprints that the trace's earlier revision showed and this one does not.
func (v Verdict) gone() (out []string) {
	if v.Replaces == nil {
		return nil
	}
	for _, fp := range v.Replaces.Fingerprints {
		if !slices.ContainsFunc(v.Findings, func(f Found) bool { return f.Fingerprint.Digest() == fp }) {
			out = append(out, fp)
		}
	}
	return out
}

// had says whether the earlier revision, nil for none, showed the finding.
func (p *Previous) had(f Found) bool {
	return p != nil && slices.Contains(p.Fingerprints, f.Fingerprint.Digest())
}

// Found is a finding with what a case needs of it and the CLI's JSON does not show.
type Found struct {
	classify.Finding
	Form  classify.Form `json:"form"`
	Title string        `json:"title"`
}

// NewFound takes over a finding.
func NewFound(f classify.Finding) Found { return Found{Finding: f, Form: f.Form, Title: f.Title} }
