// Package regcase holds the regression case as it lies on disk: <set>/<label>/<id>/case.yaml with trace.json beside it.
//
// A case is canonical: the same case gives the same bytes, everywhere and always. There is no index file, so two pull requests with
// different cases never conflict. A case never holds anything that redaction has not passed.
package regcase

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
)

// APIVersion is the version of the case format that this package writes. It reads OldVersion too.
const APIVersion = "pawl/v1"

// Kind is the kind of document.
const Kind = "Case"

// Case is one regression test. Every field of the format has its place; nil and empty are written, never left out.
type Case struct {
	APIVersion  string               `json:"apiVersion"`
	Kind        string               `json:"kind"`
	ID          string               `json:"id"`    // <label>-<first hex digits of the fingerprint's digest>
	Title       string               `json:"title"` // from a template: no text of the trace but tool names and numbers
	Form        string               `json:"form"`  // never | budget | fault
	State       State                `json:"state"`
	Owner       *string              `json:"owner"`
	Labels      []string             `json:"labels"` // the first is primary and names the directory
	Fingerprint classify.Fingerprint `json:"fingerprint"`
	Provenance  Provenance           `json:"provenance"`
	Context     Context              `json:"context"`
	Input       Input                `json:"input"`
	Tools       []Tool               `json:"tools"`
	Fixtures    []Fixture            `json:"fixtures"`
	Expect      Expect               `json:"expect"`
	Runs        Runs                 `json:"runs"`
	Live        *Live                `json:"live"`
	Green       *Green               `json:"green"`
	Weak        bool                 `json:"weak"` // nothing is asserted but what must not happen: an agent that refuses everything passes
	Trace       TraceFile            `json:"trace"`
}

// Provenance says where the case came from. It is outside the case digest.
type Provenance struct {
	Source     string         `json:"source"` // rule | judge | human
	Rule       string         `json:"rule"`   // name@version
	Confidence float64        `json:"confidence"`
	Count      int            `json:"count"`
	FirstSeen  time.Time      `json:"first_seen"`
	LastSeen   time.Time      `json:"last_seen"`
	Traces     []string       `json:"traces"`     // at most three trace ids
	Redactor   string         `json:"redactor"`   // version of the redactor
	Redactions map[string]int `json:"redactions"` // count by kind
	Kills      []string       `json:"kills"`
	Control    *string        `json:"control"`
}

// Context says what produced the run.
type Context struct {
	Service        string  `json:"service"`
	ServiceVersion *string `json:"service_version"`
	SystemPrompt   *string `json:"system_prompt"` // sha256:...
	Tools          *string `json:"tools"`         // sha256:...
	Model          *string `json:"model"`
}

// Input is what the agent is given: of a session all its turns.
type Input struct {
	Mode      string            `json:"mode"`      // recorded | simulated: where the turns after the first come from
	Turns     []Turn            `json:"turns"`     // at least one
	Variables map[string]string `json:"variables"` // about the user, as the agent may look them up
	Clock     *time.Time        `json:"clock"`     // the time that the agent is told it is; null: its own
	Goal      string            `json:"goal"`      // of simulated turns: what the user wants
	Facts     []string          `json:"facts"`     // of simulated turns: what the user knows
}

// Turn is one message of the user and, where a further turn follows, what the agent answered in the recording: a run whose answer no longer
// fits cannot go on with the recorded next turn.
type Turn struct {
	User  string  `json:"user"`
	Reply *string `json:"reply"`
}

// Tool is one tool that the agent was offered.
type Tool struct {
	Name         string  `json:"name"`
	SchemaSHA256 *string `json:"schema_sha256"` // over the canonical schema
	Effect       string  `json:"effect"`        // read | write | unknown
	Idempotent   bool    `json:"idempotent"`    // the team's catalog declares that twice does no more than once
	Schema       JSON    `json:"schema"`        // the schema itself, only where the team's catalog supplied it and no span does
	Execution    JSON    `json:"execution"`     // the declaration, null when the team made none
}

// Fixture is one recorded answer of a tool. Result is null and Fault set where the outside failed.
type Fixture struct {
	Tool      string  `json:"tool"`
	Arguments JSON    `json:"arguments"`
	Result    JSON    `json:"result"`
	Fault     *string `json:"fault"` // error | denied | timeout | missing
	From      string  `json:"from"`  // recording | healthy
}

// Runs says how often the gate runs the case and how many must pass.
type Runs struct {
	N    int     `json:"n"`
	Mode string  `json:"mode"` // hard | soft
	Rate float64 `json:"rate"`
}

// Live says that the failure was reproduced on the live agent: Red of Of runs at Commit showed it.
type Live struct {
	Commit string `json:"commit"`
	Red    int    `json:"red"`
	Of     int    `json:"of"`
}

// Green is the proof that it is mended: Passed of Of runs at Commit, on the default branch, passed. An enforced case holds the runs that
// enforced it, a pending one its best so far: a fall below that blocks.
type Green struct {
	Commit string `json:"commit"`
	Passed int    `json:"passed"`
	Of     int    `json:"of"`
}

// TraceFile names the recorded failing trace beside the case.
type TraceFile struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

// Digest is the case's content digest, sha256 hex over what the case asserts and runs on: title, state, owner and provenance are outside, so
// that counting another occurrence or moving a case from pending to enforced leaves it alone.
func (c *Case) Digest() (string, error) {
	label := ""
	if len(c.Labels) > 0 {
		label = c.Labels[0]
	}
	body := struct {
		Label    string    `json:"label"`
		Form     string    `json:"form"`
		Input    Input     `json:"input"`
		Tools    []Tool    `json:"tools"`
		Fixtures []Fixture `json:"fixtures"`
		Expect   Expect    `json:"expect"`
		Runs     Runs      `json:"runs"`
		Trace    string    `json:"trace"`
	}{label, c.Form, c.Input, c.Tools, c.Fixtures, c.Expect, c.Runs, c.Trace.SHA256}
	b, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("digest of case %s: %w", c.ID, err)
	}
	v := jsontext.Value(b)
	if err := canonicalize(&v); err != nil {
		return "", fmt.Errorf("digest of case %s: %w", c.ID, err)
	}
	return SHA256(v), nil
}

// Dir is the case's directory inside its set, with forward slashes: <label>/<id>, and of a further specimen <label>/<id of the first>/<2, 3 or 4>.
func (c *Case) Dir() string { return c.Labels[0] + "/" + strings.ReplaceAll(c.ID, ".", "/") }

// Specimen says whether the case is a further specimen of a failure: it escaped a case that was green.
func (c *Case) Specimen() bool { return strings.Contains(c.ID, ".") }

// SHA256 is the lower-case hex digest of b.
func SHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
