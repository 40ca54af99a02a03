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
	APIVersion  string               `json:"apiVersion" jsonschema:"required"`
	Kind        string               `json:"kind" jsonschema:"required"`
	ID          string               `json:"id" jsonschema:"required"`                                     // <label>-<first hex digits of the fingerprint's digest>
	Title       string               `json:"title" jsonschema:"required,minLength=1,maxLength=1000"`       // from a template: no text of the trace but tool names and numbers
	Form        string               `json:"form" jsonschema:"required,enum=never,enum=budget,enum=fault"` // never | budget | fault
	State       State                `json:"state" jsonschema:"required"`
	Owner       *string              `json:"owner"`
	Labels      []string             `json:"labels" jsonschema:"required,minItems=1"` // the first is primary and names the directory
	Fingerprint classify.Fingerprint `json:"fingerprint" jsonschema:"required"`
	Provenance  Provenance           `json:"provenance" jsonschema:"required"`
	Context     Context              `json:"context"`
	Input       Input                `json:"input" jsonschema:"required"`
	Tools       []Tool               `json:"tools"`
	Fixtures    []Fixture            `json:"fixtures"`
	Expect      Expect               `json:"expect" jsonschema:"required"`
	Runs        Runs                 `json:"runs" jsonschema:"required"`
	Live        *Live                `json:"live"`
	Green       *Green               `json:"green"`
	Weak        bool                 `json:"weak"` // nothing is asserted but what must not happen: an agent that refuses everything passes
	Trace       TraceFile            `json:"trace" jsonschema:"required"`
}

// Provenance says where the case came from. It is outside the case digest.
type Provenance struct {
	Source     string         `json:"source" jsonschema:"required,enum=rule,enum=judge,enum=human"` // rule | judge | human
	Rule       string         `json:"rule"`                                                         // name@version
	Confidence float64        `json:"confidence" jsonschema:"minimum=0,maximum=1"`
	Count      int            `json:"count" jsonschema:"minimum=0"`
	FirstSeen  time.Time      `json:"first_seen"`
	LastSeen   time.Time      `json:"last_seen"`
	Traces     []string       `json:"traces" jsonschema:"maxItems=3"` // at most three trace ids
	Redactor   string         `json:"redactor"`                       // version of the redactor
	Redactions map[string]int `json:"redactions"`                     // count by kind
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
	Mode      string            `json:"mode" jsonschema:"required,enum=recorded,enum=simulated"` // recorded | simulated: where the turns after the first come from
	Turns     []Turn            `json:"turns" jsonschema:"required,minItems=1"`                  // at least one
	Variables map[string]string `json:"variables"`                                               // about the user, as the agent may look them up
	Clock     *time.Time        `json:"clock"`                                                   // the time that the agent is told it is; null: its own
	Goal      string            `json:"goal"`                                                    // of simulated turns: what the user wants
	Facts     []string          `json:"facts"`                                                   // of simulated turns: what the user knows
}

// Turn is one message of the user and, where a further turn follows, what the agent answered in the recording: a run whose answer no longer
// fits cannot go on with the recorded next turn.
type Turn struct {
	User  string  `json:"user" jsonschema:"required,minLength=1"`
	Reply *string `json:"reply"`
}

// Tool is one tool that the agent was offered.
type Tool struct {
	Name         string  `json:"name" jsonschema:"required,minLength=1"`
	SchemaSHA256 *string `json:"schema_sha256"`                                                  // over the canonical schema
	Effect       string  `json:"effect" jsonschema:"required,enum=read,enum=write,enum=unknown"` // read | write | unknown
	Idempotent   bool    `json:"idempotent"`                                                     // the team's catalog declares that twice does no more than once
	Schema       JSON    `json:"schema"`                                                         // the schema itself, only where the team's catalog supplied it and no span does
	Execution    JSON    `json:"execution"`                                                      // the declaration, null when the team made none
}

// Fixture is one recorded answer of a tool. Result is null and Fault set where the outside failed.
type Fixture struct {
	Tool      string  `json:"tool" jsonschema:"required,minLength=1"`
	Arguments JSON    `json:"arguments"`
	Result    JSON    `json:"result"`
	Fault     *string `json:"fault" jsonschema:"enum=error,enum=denied,enum=timeout,enum=missing"` // error | denied | timeout | missing
	From      string  `json:"from" jsonschema:"required,enum=recording,enum=healthy"`              // recording | healthy
}

// Runs says how often the gate runs the case and how many must pass.
type Runs struct {
	N    int     `json:"n" jsonschema:"required,minimum=1,maximum=1000"`
	Mode string  `json:"mode" jsonschema:"required,enum=hard,enum=soft"` // hard | soft
	Rate float64 `json:"rate" jsonschema:"required,exclusiveMinimum=0,maximum=1"`
}

// Live says that the failure was reproduced on the live agent: Red of Of runs at Commit showed it.
type Live struct {
	Commit string `json:"commit" jsonschema:"required"`
	Red    int    `json:"red" jsonschema:"required,minimum=0"`
	Of     int    `json:"of" jsonschema:"required,minimum=1"`
}

// Green is the proof that it is mended: Passed of Of runs at Commit, on the default branch, passed. An enforced case holds the runs that
// enforced it, a pending one its best so far: a fall below that blocks.
type Green struct {
	Commit string `json:"commit" jsonschema:"required"`
	Passed int    `json:"passed" jsonschema:"required,minimum=0"`
	Of     int    `json:"of" jsonschema:"required,minimum=1"`
}

// TraceFile names the recorded failing trace beside the case.
type TraceFile struct {
	File   string `json:"file" jsonschema:"required"`
	SHA256 string `json:"sha256" jsonschema:"required"`
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
