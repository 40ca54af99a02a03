// Package regcase holds the regression case as it lies on disk: <set>/<label>/<id>/case.yaml with trace.json beside it.
//
// A case is canonical: the same case gives the same bytes, everywhere and always. There is no index file, so two pull requests with
// different cases never conflict. A case never holds anything that redaction has not passed.
package regcase

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
)

// APIVersion is the version of the case format that this package writes, and the only one it reads.
const APIVersion = "pawl/v1alpha1"

// Kind is the kind of document.
const Kind = "Case"

// Case is one regression test. Every field of the format has its place; nil and empty are written, never left out.
type Case struct {
	APIVersion  string               `yaml:"apiVersion" json:"apiVersion"`
	Kind        string               `yaml:"kind" json:"kind"`
	ID          string               `yaml:"id" json:"id"`       // <label>-<first hex digits of the fingerprint's digest>
	Title       string               `yaml:"title" json:"title"` // from a template: no text of the trace but tool names and numbers
	Form        string               `yaml:"form" json:"form"`   // never | budget | fault
	State       State                `yaml:"state" json:"state"`
	Owner       *string              `yaml:"owner" json:"owner"`
	Labels      []string             `yaml:"labels" json:"labels"` // the first is primary and names the directory
	Fingerprint classify.Fingerprint `yaml:"fingerprint" json:"fingerprint"`
	Provenance  Provenance           `yaml:"provenance" json:"provenance"`
	Context     Context              `yaml:"context" json:"context"`
	Input       Input                `yaml:"input" json:"input"`
	Tools       []Tool               `yaml:"tools" json:"tools"`
	Fixtures    []Fixture            `yaml:"fixtures" json:"fixtures"`
	Expect      Expect               `yaml:"expect" json:"expect"`
	Runs        Runs                 `yaml:"runs" json:"runs"`
	Live        *Live                `yaml:"live" json:"live"`
	Green       *Green               `yaml:"green" json:"green"`
	Weak        bool                 `yaml:"weak" json:"weak"` // nothing is asserted but what must not happen: an agent that refuses everything passes
	Trace       TraceFile            `yaml:"trace" json:"trace"`
}

// Provenance says where the case came from. It is outside the case digest.
type Provenance struct {
	Source     string         `yaml:"source" json:"source"` // rule | judge | human
	Rule       string         `yaml:"rule" json:"rule"`     // name@version
	Confidence float64        `yaml:"confidence" json:"confidence"`
	Count      int            `yaml:"count" json:"count"`
	FirstSeen  time.Time      `yaml:"first_seen" json:"first_seen"`
	LastSeen   time.Time      `yaml:"last_seen" json:"last_seen"`
	Traces     []string       `yaml:"traces" json:"traces"`         // at most three trace ids
	Redactor   string         `yaml:"redactor" json:"redactor"`     // version of the redactor
	Redactions map[string]int `yaml:"redactions" json:"redactions"` // count by kind
	Kills      []string       `yaml:"kills" json:"kills"`
	Control    *string        `yaml:"control" json:"control"`
}

// Context says what produced the run.
type Context struct {
	Service        string  `yaml:"service" json:"service"`
	ServiceVersion *string `yaml:"service_version" json:"service_version"`
	SystemPrompt   *string `yaml:"system_prompt" json:"system_prompt"` // sha256:...
	Tools          *string `yaml:"tools" json:"tools"`                 // sha256:...
	Model          *string `yaml:"model" json:"model"`
}

// Input is what the agent is given: of a session all its turns.
type Input struct {
	Mode      string            `yaml:"mode" json:"mode"`           // recorded | simulated: where the turns after the first come from
	Turns     []Turn            `yaml:"turns" json:"turns"`         // at least one
	Variables map[string]string `yaml:"variables" json:"variables"` // about the user, as the agent may look them up
	Clock     *time.Time        `yaml:"clock" json:"clock"`         // the time that the agent is told it is; null: its own
	Goal      string            `yaml:"goal" json:"goal"`           // of simulated turns: what the user wants
	Facts     []string          `yaml:"facts" json:"facts"`         // of simulated turns: what the user knows
}

// Turn is one message of the user and, where a further turn follows, what the agent answered in the recording: a run whose answer no longer
// fits cannot go on with the recorded next turn.
type Turn struct {
	User  string  `yaml:"user" json:"user"`
	Reply *string `yaml:"reply" json:"reply"`
}

// Tool is one tool that the agent was offered.
type Tool struct {
	Name         string  `yaml:"name" json:"name"`
	SchemaSHA256 *string `yaml:"schema_sha256" json:"schema_sha256"` // over the canonical schema
	Effect       string  `yaml:"effect" json:"effect"`               // read | write | unknown
	Idempotent   bool    `yaml:"idempotent" json:"idempotent"`       // the team's catalog declares that twice does no more than once
	Schema       JSON    `yaml:"schema" json:"schema"`               // the schema itself, only where the team's catalog supplied it and no span does
	Execution    JSON    `yaml:"execution" json:"execution"`         // the declaration, null when the team made none
}

// Fixture is one recorded answer of a tool. Result is null and Fault set where the outside failed.
type Fixture struct {
	Tool      string  `yaml:"tool" json:"tool"`
	Arguments JSON    `yaml:"arguments" json:"arguments"`
	Result    JSON    `yaml:"result" json:"result"`
	Fault     *string `yaml:"fault" json:"fault"` // error | denied | timeout | missing
	From      string  `yaml:"from" json:"from"`   // recording | healthy
}

// Runs says how often the gate runs the case and how many must pass.
type Runs struct {
	N    int     `yaml:"n" json:"n"`
	Mode string  `yaml:"mode" json:"mode"` // hard | soft
	Rate float64 `yaml:"rate" json:"rate"`
}

// Live says that the failure was reproduced on the live agent: Red of Of runs at Commit showed it.
type Live struct {
	Commit string `yaml:"commit" json:"commit"`
	Red    int    `yaml:"red" json:"red"`
	Of     int    `yaml:"of" json:"of"`
}

// Green is the proof that it is mended: Passed of Of runs at Commit, on the default branch, passed. An enforced case holds the runs that
// enforced it, a pending one its best so far: a fall below that blocks.
type Green struct {
	Commit string `yaml:"commit" json:"commit"`
	Passed int    `yaml:"passed" json:"passed"`
	Of     int    `yaml:"of" json:"of"`
}

// TraceFile names the recorded failing trace beside the case.
type TraceFile struct {
	File   string `yaml:"file" json:"file"`
	SHA256 string `yaml:"sha256" json:"sha256"`
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

// Dir is the case's directory inside its set, with forward slashes.
func (c *Case) Dir() string { return c.Labels[0] + "/" + c.ID }

// SHA256 is the lower-case hex digest of b.
func SHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
