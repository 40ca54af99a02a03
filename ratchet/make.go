package ratchet

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/record"
	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Refused says why no case can be made of a failure. It is an answer, not a fault: the group stays and shows the reason.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

// Maker makes cases. It is safe for concurrent use.
type Maker struct {
	Engine   *classify.Engine
	Redactor *redact.Redactor
	Catalog  *catalog.Catalog
}

// Sightings say how often and when a failure was seen; they go into the case's provenance.
type Sightings struct {
	Count       int
	First, Last time.Time
	Traces      []string
	Healthy     *baseline.Snapshot // what budgets are taken from; nil: the snapshot that the finding was made with, which then knows healthy runs alone
}

// Made is a case ready to be written.
type Made struct {
	Case    regcase.Case
	Digest  string // the case digest
	TraceID string // of the trace that is its recording
	Session string // key of the session that its specimen is of, "" for one trace's
	Why     string // the finding's sentence, redacted
	YAML    []byte // case.yaml
	Trace   []byte // trace.json
}

// Make turns one finding into a case. The traces are the one that the finding is on or, of a session's finding, all of the session, in any order;
// those after its last evidence are left out. They are redacted and pruned, read back, and must still show the finding (the red proof); everything
// in the case is taken from the redacted traces. The snapshot is the one that the finding was made with; it may be nil.
func (m *Maker) Make(traces []trajectory.Trace, f classify.Finding, s Sightings, base *baseline.Snapshot) (Made, error) {
	if f.Form == classify.FormNone || f.Form == "" {
		return Made{}, &Refused{"a case cannot assert " + string(f.Label) + ": it is reported only"}
	}
	if len(traces) == 0 {
		return Made{}, &Refused{"no trace of it is at hand"}
	}
	session := m.Redactor.Session()
	traces = upTo(traces, f.TraceID())
	red, found, trace, err := m.prove(traces, f, base, session)
	if err != nil {
		return Made{}, err
	}
	c, err := m.compose(red, found, s, base, session)
	if err != nil {
		return Made{}, err
	}
	c.Trace = regcase.TraceFile{File: regcase.JSONFile, SHA256: regcase.SHA256(trace)}
	made, err := seal(c, found.Why, trace, session)
	made.TraceID = cmp.Or(f.TraceID(), traces[len(traces)-1].ID)
	return made, err
}

// upTo puts the traces of a session in order and leaves out what began after the one that the finding stands on. A single trace is left as it is.
func upTo(traces []trajectory.Trace, last string) []trajectory.Trace {
	traces = slices.Clone(traces)
	slices.SortFunc(traces, trajectory.CompareTraces)
	if i := slices.IndexFunc(traces, func(t trajectory.Trace) bool { return t.ID == last }); i >= 0 {
		traces = traces[:i+1]
	}
	return traces
}

// prove redacts the traces, classifies what came out and returns the finding as it stands there: its words hold nothing that redaction has not
// passed. It prunes first and falls back to the whole traces where pruning lost the failure.
func (m *Maker) prove(traces []trajectory.Trace, f classify.Finding, base *baseline.Snapshot, session *redact.Session) (*trajectory.Trajectory, classify.Finding, []byte, error) {
	redacted := redactor(session, traces)
	for _, keep := range []func(trace, span string) bool{partsOf(traces, f), everything} {
		doc, err := record.EncodeSession(traces, keep, redacted)
		if err != nil {
			return nil, f, nil, err
		}
		tr, err := Reread(doc)
		if err != nil {
			return nil, f, nil, err
		}
		for _, got := range m.findings(tr, base) {
			if got.Fingerprint.Equal(f.Fingerprint) {
				got.Fingerprint.Aliases = f.Fingerprint.Aliases
				return tr, got, doc, nil
			}
		}
	}
	return nil, f, nil, &Refused{"the redacted recording no longer shows " + string(f.Label) + ": a case made of it could not fail"}
}

// findings are those on a trace, or those that span a session.
func (m *Maker) findings(t *trajectory.Trajectory, base *baseline.Snapshot) []classify.Finding {
	if t.Traces != nil {
		return m.Engine.ClassifySession(t, base)
	}
	return m.Engine.Classify(t, base).Findings
}

// Reread builds the trajectory of a recorded trace.json: of several traces that of their session.
func Reread(doc []byte) (*trajectory.Trajectory, error) {
	td, ld, err := record.Decode(doc)
	if err != nil {
		return nil, err
	}
	var parts []*trajectory.Trajectory
	for _, t := range trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs{ld}) {
		parts = append(parts, trajectory.Build(t))
	}
	if len(parts) == 0 {
		return nil, errors.New("recorded trace: holds no trace")
	}
	return trajectory.Join(parts), nil
}

func everything(string, string) bool { return true }

// redactor lets the session look at every text first, so that what one place gives away by its context is replaced in all.
func redactor(session *redact.Session, traces []trajectory.Trace) record.Redact {
	_, _ = record.EncodeSession(traces, everything, func(key, text string) string { session.LearnField(key, text); return text })
	return session.Field
}

// partsOf keeps, of every trace, the spans that its trajectory is made of, those that the finding points to, and all their ancestors.
func partsOf(traces []trajectory.Trace, f classify.Finding) func(traceID, spanID string) bool {
	keep := map[string]map[string]bool{}
	for _, t := range traces {
		keep[t.ID] = spansOf(t, f)
	}
	return func(traceID, spanID string) bool { return keep[traceID][spanID] }
}

func spansOf(t trajectory.Trace, f classify.Finding) map[string]bool {
	tr := trajectory.Build(t)
	keep := map[string]bool{}
	for _, s := range tr.Steps {
		keep[s.SpanID] = true
	}
	for _, c := range tr.ToolCalls {
		keep[c.SpanID], keep[c.RequestSpanID], keep[c.ResultSpanID] = true, true, true
	}
	for _, c := range tr.ModelCalls {
		keep[c.SpanID] = true
	}
	for _, e := range f.Evidence {
		keep[e.SpanID] = true
	}
	parent := map[string]string{}
	for i := range t.Spans {
		parent[t.Spans[i].ID] = t.Spans[i].ParentID
	}
	for _, id := range slices.Collect(maps.Keys(keep)) {
		for range len(t.Spans) { // bounded, for a trace may hold a cycle
			id = parent[id]
			if id == "" || keep[id] {
				break
			}
			keep[id] = true
		}
	}
	return keep
}

func (m *Maker) compose(t *trajectory.Trajectory, f classify.Finding, s Sightings, base *baseline.Snapshot, session *redact.Session) (regcase.Case, error) {
	c := regcase.Case{
		APIVersion: regcase.APIVersion, Kind: regcase.Kind, ID: f.Fingerprint.ID(), Title: f.Title, Form: string(f.Form),
		State: regcase.State{Name: regcase.Pending}, Labels: []string{string(f.Label)}, Fingerprint: f.Fingerprint,
		Provenance: provenance(cmp.Or(f.TraceID(), t.TraceID), f, s, session), Context: contextOf(t, f.Fingerprint.Agent), Input: regcase.Input{Mode: "recorded", Turns: turns(t), Variables: map[string]string{}, Facts: []string{}},
		Tools: m.tools(t), Fixtures: fixtures(t),
		Runs: regcase.Runs{N: 5, Mode: "soft", Rate: 0.8},
	}
	if len(c.Input.Turns) == 0 {
		return c, &Refused{"the trace holds no user message, so the case would have no input to run: " + remedyFor(t, trajectory.FactUserMessages)}
	}
	var err error
	c.Expect, err = expect(t, f, cmp.Or(s.Healthy, base))
	c.Weak = c.Expect.Trajectory == nil && c.Expect.Response == nil && len(c.Expect.Criteria) == 0 // nothing that a refusal of everything would break
	if !slices.ContainsFunc(c.Fixtures, func(f regcase.Fixture) bool { return f.Fault != nil }) && f.Form == classify.FormFault {
		c.Form = string(classify.FormNever) // nothing failed outside that could be injected: the agent never called the tool at all
	}
	return c, err
}

func remedyFor(t *trajectory.Trajectory, fact trajectory.Fact) string {
	if g, lacks := t.Lacks(fact); lacks {
		return g.Remedy
	}
	return "record the user's messages with the spans"
}

// maxTraces is how many trace ids a case names.
const maxTraces = 3

// provenance names the trace that is the case's recording before the others.
func provenance(recorded string, f classify.Finding, s Sightings, session *redact.Session) regcase.Provenance {
	traces := []string{recorded}
	for _, id := range s.Traces {
		if !slices.Contains(traces, id) && len(traces) < maxTraces {
			traces = append(traces, id)
		}
	}
	p := regcase.Provenance{Source: string(f.Source), Rule: f.Rule, Confidence: f.Confidence, Count: s.Count, FirstSeen: s.First.UTC(), LastSeen: s.Last.UTC(),
		Traces: traces, Redactor: redact.Version, Redactions: map[string]int{}, Kills: []string{}}
	for kind, n := range session.Counts() {
		p.Redactions[string(kind)] = n
	}
	return p
}

// contextOf is what the failing agent ran with.
func contextOf(t *trajectory.Trajectory, agent string) regcase.Context {
	all := lineage.ContextOf(t)
	c := regcase.Context{Service: t.Service, ServiceVersion: orNil(all.Version)}
	a := all.Of(agent)
	if a == nil {
		return c
	}
	if d := a.PromptsDigest(); d != "" {
		c.SystemPrompt = orNil("sha256:" + d)
	}
	if d := a.ToolsDigest(); d != "" {
		c.Tools = orNil("sha256:" + d)
	}
	if len(a.Models) > 0 {
		c.Model = orNil(strings.Join(a.Models, ", "))
	}
	return c
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func turns(t *trajectory.Trajectory) []regcase.Turn {
	out := []regcase.Turn{}
	for _, u := range t.UserMessages {
		out = append(out, regcase.Turn{User: u})
	}
	return out
}

func (m *Maker) tools(t *trajectory.Trajectory) []regcase.Tool {
	out := []regcase.Tool{}
	for _, d := range t.ToolsOffered {
		tool := regcase.Tool{Name: d.Name, Effect: string(catalog.EffectUnknown)}
		if d.Schema != nil {
			tool.SchemaSHA256 = orNil(regcase.SHA256(regcase.NewJSON(d.Schema)))
		}
		if known, ok := m.Catalog.Tool(d.Name); ok {
			tool.Effect, tool.Idempotent = string(known.Effect), known.Idempotent
			if b, err := json.Marshal(known.Execution, json.Deterministic(true)); err == nil && known.Execution != nil {
				tool.Execution = b
			}
		}
		out = append(out, tool)
	}
	return out
}

// fixtures are the recorded answers, each (tool, arguments, result) once, in order: a loop needs its answer once, polling needs all of them.
func fixtures(t *trajectory.Trajectory) []regcase.Fixture {
	out := []regcase.Fixture{}
	for _, c := range t.ToolCalls {
		f := regcase.Fixture{Tool: c.Name, Arguments: valueJSON(c.Arguments), From: "recording"}
		switch {
		case c.HasResult && c.Outcome == trajectory.OutcomeOK:
			f.Result = valueJSON(c.Result)
		case c.Outcome == trajectory.OutcomeUnknown:
			if !c.HasResult {
				continue
			}
			f.Result = valueJSON(c.Result)
		default:
			f.Fault = orNil(string(c.Outcome))
			f.Result = faultJSON(c)
		}
		same := func(g regcase.Fixture) bool {
			return g.Tool == f.Tool && string(g.Arguments) == string(f.Arguments) && string(g.Result) == string(f.Result) && orEmpty(g.Fault) == orEmpty(f.Fault)
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, f)
		}
	}
	return out
}

func faultJSON(c trajectory.ToolCall) regcase.JSON {
	switch {
	case c.HasResult:
		return valueJSON(c.Result)
	case c.Error != nil && c.Error.Message != "":
		b, err := json.Marshal(c.Error.Message)
		if err != nil {
			return nil
		}
		return b
	}
	return nil
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func valueJSON(v trajectory.Value) regcase.JSON {
	if v.JSON != nil {
		return regcase.NewJSON(v.JSON)
	}
	if v.Parsed == trajectory.ParsedAbsent {
		return nil
	}
	b, err := json.Marshal(v.Raw)
	if err != nil {
		return nil
	}
	return b
}

// expect asserts what the label's form can: the rule itself, frozen, or numbers from healthy runs of the route.
func expect(t *trajectory.Trajectory, f classify.Finding, base *baseline.Snapshot) (regcase.Expect, error) {
	e := regcase.Expect{Never: []regcase.Never{}, Liveness: regcase.Liveness{Reply: true, NoError: true, Calls: []string{}}, Criteria: []regcase.Criterion{}}
	if f.Form == classify.FormBudget {
		b, err := budget(t, base)
		e.Budget = b
		return e, err
	}
	params, err := json.Marshal(f.Params, json.Deterministic(true))
	if err != nil {
		return e, fmt.Errorf("parameters of %s: %w", f.Rule, err)
	}
	if f.Params == nil {
		params = nil
	}
	e.Never = append(e.Never, regcase.Never{Label: string(f.Label), Rule: f.Rule, Severity: string(leastWarning(f.Severity)), Params: params, Policy: regcase.JSON(f.Policy.JSON())})
	return e, nil
}

// leastWarning is the severity at which a case fails a run: a provisional finding that a person made a case of is a warning from then on.
func leastWarning(s classify.Severity) classify.Severity {
	if s == classify.Info {
		return classify.Warning
	}
	return s
}

// minHealthy is how many healthy runs give a budget.
const minHealthy = 5

// tolerance is how far above the healthy runs a budget lies.
const tolerance = 0.2

func budget(t *trajectory.Trajectory, base *baseline.Snapshot) (*regcase.Budget, error) {
	run := baseline.Measure(t)
	stats := base.Stats(run.Key, baseline.TotalTokens)
	if stats.N < minHealthy {
		return nil, &Refused{fmt.Sprintf("%d healthy runs of the route are known: a number to hold the agent to needs %d", stats.N, minHealthy)}
	}
	// The upper end of healthy runs, not their middle: a route answers short questions and long ones, and a healthy answer to this one must pass.
	tokens := int64(math.Ceil(stats.P95))
	b := &regcase.Budget{TotalTokens: &tokens, CostUSD: costBudget(run, base), Tolerance: tolerance, Baseline: base.Digest()}
	tooMany := run.Values[baseline.TotalTokens] > float64(tokens)*(1+tolerance)
	tooDear := b.CostUSD != nil && run.Values[baseline.Cost] > *b.CostUSD*(1+tolerance)
	if !tooMany && !tooDear {
		return nil, &Refused{"the recorded run is inside the budget that healthy runs give: a case made of it could not fail"}
	}
	return b, nil
}

// costBudget is what healthy runs cost at the upper end, in USD, rounded up to a millionth; nil where too few of them, or the recorded run
// itself, tell.
func costBudget(run baseline.Run, base *baseline.Snapshot) *float64 {
	stats := base.Stats(run.Key, baseline.Cost)
	if _, told := run.Values[baseline.Cost]; !told || stats.N < minHealthy {
		return nil
	}
	return new(math.Ceil(stats.P95*1e6) / 1e6)
}

// maxCase bounds the two files of a case together, in bytes: a reviewer is to open them, and ten of them make a pull request.
const maxCase = 8 << 20

// seal renders the case and lets nothing out that still looks like a secret or like personal data.
func seal(c regcase.Case, why string, trace []byte, session *redact.Session) (Made, error) {
	digest, err := c.Digest()
	if err != nil {
		return Made{}, err
	}
	text, err := regcase.Encode(c)
	if err != nil {
		return Made{}, err
	}
	if n := len(text) + len(trace); n > maxCase {
		return Made{}, &Refused{fmt.Sprintf("its redacted recording takes %.1f MiB, more than the %d MiB that belong into a repository", float64(n)/(1<<20), maxCase>>20)}
	}
	for _, b := range [][]byte{text, trace, []byte(why)} {
		if err := session.Verify(b); err != nil {
			return Made{}, &Refused{"a second look found what redaction had missed: " + err.Error()}
		}
	}
	return Made{Case: c, Digest: digest, Why: why, YAML: text, Trace: trace}, nil
}

// AsRefused returns the reason if err is a refusal.
func AsRefused(err error) (string, bool) {
	if r, ok := errors.AsType[*Refused](err); ok {
		return r.Reason, true
	}
	return "", false
}
