// Package exports holds what `pawl export` writes to the readers of the tools that it is written for, out of npm:
//
//	npm install --prefix DIR agentevals promptfoo && AGENTEVALS_DIR=DIR PROMPTFOO_DIR=DIR go test ./test/exports -v
//
// Each test is skipped without node and without its variable.
package exports

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/export"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/regcase/casetest"
)

func arbitrary(t testing.TB, n uint64) regcase.Set {
	t.Helper()
	set := regcase.Set{Cases: map[string]*regcase.Entry{}}
	for seed := range n {
		c := casetest.Case(rand.New(rand.NewPCG(seed, 5)))
		digest, err := c.Digest()
		if err != nil {
			t.Fatal(err)
		}
		set.Cases[digest] = &regcase.Entry{Case: c, Digest: digest, Dir: c.Dir()} // ids repeat over seeds, digests do not
	}
	return set
}

func exported(t testing.TB, f export.Format) []byte {
	t.Helper()
	r, err := export.Write(arbitrary(t, 400), f)
	if err != nil || r.Cases == 0 {
		t.Fatal(r.Cases, err)
	}
	return r.Data
}

func needs(t *testing.T, variable string) (node, dir string) {
	t.Helper()
	node, err := exec.LookPath("node")
	dir = os.Getenv(variable)
	if err != nil || dir == "" {
		t.Skip("needs node, and " + variable + " set to where npm installed it")
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return node, dir
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []call `json:"tool_calls,omitzero"`
	CallID  string `json:"tool_call_id,omitzero"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type line struct {
	Case       string              `json:"case"`
	Mode       string              `json:"trajectoryMatchMode"`
	Arguments  string              `json:"toolArgsMatchMode"`
	Overrides  map[string][]string `json:"toolArgsMatchOverrides"`
	References []message           `json:"referenceOutputs"`
}

// trial is one run of one exported case, and what agentevals must say of it.
type trial struct {
	Line    line      `json:"line"`
	Outputs []message `json:"outputs"`
	what    string
	want    bool
}

// trials are the run that is as expected, one with a call too few, one with a call too many, and one with another value in a field that counts.
func trials(l line) []trial {
	first := slices.IndexFunc(l.References, func(m message) bool { return m.Calls != nil })
	out := []trial{{l, l.References, "as expected", true}}
	out = append(out, trial{l, slices.Delete(slices.Clone(l.References), first, first+2), "a call too few", l.Mode == "subset"})
	var extra call
	extra.ID, extra.Type, extra.Function.Name, extra.Function.Arguments = "x", "function", "another_tool", "{}"
	more := slices.Insert(slices.Clone(l.References), first, message{Role: "assistant", Calls: []call{extra}}, message{Role: "tool", CallID: "x", Content: "{}"})
	out = append(out, trial{l, more, "a call too many", l.Mode == "superset"})
	for i, m := range l.References {
		if m.Calls == nil || l.Arguments != "exact" && len(l.Overrides[m.Calls[0].Function.Name]) == 0 {
			continue
		}
		other := slices.Clone(l.References)
		other[i].Calls = slices.Clone(m.Calls)
		other[i].Calls[0].Function.Arguments = changed(l.Overrides[m.Calls[0].Function.Name])
		return append(out, trial{l, other, "another value", false})
	}
	return out
}

// changed are arguments with another value in each of these fields.
func changed(fields []string) string {
	args := map[string]string{"nothing": "of the kind"}
	for _, f := range fields {
		args[f] = "of another kind"
	}
	b, err := json.Marshal(args, json.Deterministic(true))
	if err != nil {
		return "{}"
	}
	return string(b)
}

func TestAgentEvals(t *testing.T) {
	node, dir := needs(t, "AGENTEVALS_DIR")
	var all []trial
	var input bytes.Buffer
	for text := range bytes.Lines(exported(t, export.AgentEvals)) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		for _, x := range trials(l) {
			if err := json.MarshalWrite(&input, x); err != nil {
				t.Fatal(err)
			}
			input.WriteByte('\n')
			all = append(all, x)
		}
	}
	file := filepath.Join(t.TempDir(), "trials.jsonl")
	if err := os.WriteFile(file, input.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), node, "evaluate.mjs", dir, file).Output()
	if err != nil {
		t.Fatal(err)
	}
	var scores []bool
	if err := json.Unmarshal(out, &scores); err != nil || len(scores) != len(all) {
		t.Fatalf("%d scores of %d: %v", len(scores), len(all), err)
	}
	for i, x := range all {
		if scores[i] != x.want {
			t.Errorf("%s, %s, arguments %s %v: agentevals says %v of a run that is %s: %+v", x.Line.Case, x.Line.Mode, x.Line.Arguments, x.Line.Overrides, scores[i], x.what, x.Outputs)
		}
	}
	t.Logf("%d trials of agentevals' own evaluator", len(all))
}

// promptfoo's own validation takes the export, and refuses one that is not of its shape. It looks at little of an assertion, so its own functions
// are asked too: each assertion on calls holds of a run that does what is asked, and not of one that calls another tool.
func TestPromptfoo(t *testing.T) {
	node, dir := needs(t, "PROMPTFOO_DIR")
	good := exported(t, export.Promptfoo)
	if out, err := validate(t, node, dir, good); err != nil || !strings.Contains(out, "Configuration is valid") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := validate(t, node, dir, []byte(`{"providers":["echo"],"prompts":["x"],"tests":[{"assert":5}]}`)); err == nil && strings.Contains(out, "Configuration is valid") {
		t.Errorf("promptfoo takes anything:\n%s", out)
	}
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, good, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "assert.mjs", dir, file)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "PROMPTFOO_DISABLE_TELEMETRY=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		Asked, Met, Missed int
		Wrong              []jsontext.Value
	}
	if err := json.Unmarshal(out[bytes.LastIndexByte(bytes.TrimSpace(out), '\n')+1:], &got, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, w := range got.Wrong[:min(5, len(got.Wrong))] {
		t.Errorf("promptfoo judges otherwise: %s", w)
	}
	if got.Asked < 100 {
		t.Errorf("only %d assertions", got.Asked)
	}
	t.Logf("%d assertions by promptfoo's own functions: %d hold of what is asked, %d fail of another tool", got.Asked, got.Met, got.Missed)
}

func validate(t *testing.T, node, dir string, config []byte) (string, error) {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "promptfooconfig.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, filepath.Join(dir, "node_modules/promptfoo/dist/src/entrypoint.js"), "validate", "config", "-c", file)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "PROMPTFOO_CONFIG_DIR="+home, "PROMPTFOO_DISABLE_TELEMETRY=1", "PROMPTFOO_DISABLE_UPDATE=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// What is not said elsewhere is named, and the plain form says all.
func TestLost(t *testing.T) {
	set := arbitrary(t, 200)
	for _, f := range export.Formats() {
		r, err := export.Write(set, f)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := export.Write(set, f); err != nil || !bytes.Equal(r.Data, again.Data) {
			t.Errorf("%s: two exports of one set differ, %v", f, err)
		}
		if f == export.JSONL && (len(r.Lost) > 0 || len(r.Left) > 0) || f != export.JSONL && len(r.Lost) == 0 {
			t.Errorf("%s: lost %d, left %d", f, len(r.Lost), len(r.Left))
		}
		if r.Retired == 0 || bytes.Contains(r.Data, []byte(`"retired":`)) {
			t.Errorf("%s: %d retired cases left out", f, r.Retired)
		}
	}
}

// The plain form is the case again.
func TestPlainForm(t *testing.T) {
	for text := range bytes.Lines(exported(t, export.JSONL)) {
		var l struct {
			Digest string       `json:"digest"`
			Dir    string       `json:"dir"`
			Case   regcase.Case `json:"case"`
		}
		if err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		if digest, err := l.Case.Digest(); err != nil || digest != l.Digest || l.Case.Check() != nil {
			t.Fatalf("%s: %s became %s, %v", l.Case.ID, l.Digest, digest, err)
		}
	}
}
