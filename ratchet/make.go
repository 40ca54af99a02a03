package ratchet

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/record"
	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Refused says why no case can be made of a failure. It is an answer, not a fault: the group stays and shows the reason.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

// Lacking is a Refused that a setting would mend.
type Lacking struct {
	Refused
	Setting string // what to set, in a sentence
}

// Unwrap gives the refusal.
func (l *Lacking) Unwrap() error { return &l.Refused }

// Maker makes cases. It is safe for concurrent use.
type Maker struct {
	Engine   *classify.Engine
	Oracle   *oracle.Oracle // says what a case says of a run, as the gate will
	Redactor *redact.Redactor
	Catalog  *catalog.Catalog
}

// Sightings say how often and when a failure was seen, which goes into the case's provenance, and what healthy runs of its route are known.
type Sightings struct {
	Count       int
	First, Last time.Time
	Traces      []string
	Healthy     *baseline.Snapshot // what budgets are taken from; nil: the snapshot that the finding was made with, which then knows healthy runs alone
	Controls    []trajectory.Trace // passing runs of the same service, agent and route, best first; MaxControls of them are looked at
	Expect      *regcase.Expect    // what a person wants asserted; nil: what pawl would
}

// Made is a case ready to be written.
type Made struct {
	Case    regcase.Case
	Digest  string   // the case digest
	TraceID string   // of the trace that is its recording
	Session string   // key of the session that its specimen is of, "" for one trace's
	Why     string   // the finding's sentence, redacted
	YAML    []byte   // case.yaml
	Trace   []byte   // trace.json
	Whole   int      // bytes of the redacted recording before it was trimmed to Trace
	Healed  []string // the rule's repairs after which the case passes

	Replaced []redact.Replacement // what the redacted traces, healthy ones among them, have stand-ins for
}

// Make turns one finding into a case. The traces are the one that the finding is on or, of a session's finding, all of the session, in any order;
// those after its last evidence are left out. They are redacted and pruned, read back, and must still show the finding; everything in the case is taken
// from the redacted traces. Then the case is tried (package admit), and its recording trimmed to what is needed for that. The snapshot is the one that
// the finding was made with; it may be nil.
func (m *Maker) Make(traces []trajectory.Trace, f classify.Finding, s Sightings, base *baseline.Snapshot) (Made, error) {
	if f.Form == classify.FormNone || f.Form == "" {
		return Made{}, &Refused{"a case cannot assert " + string(f.Label) + ": it is reported only"}
	}
	if len(traces) == 0 {
		return Made{}, &Refused{"no trace of it is at hand"}
	}
	s.Controls = lookedAt(s.Controls)
	made, err := m.make(upTo(traces, f.TraceID()), f, s, base)
	if reason, refused := AsRefused(err); refused && len(s.Controls) > 0 && strings.HasPrefix(reason, secondLook) {
		// What one of the healthy runs gives away by its context looks like something in this one that is none: better a case without them.
		s.Controls = nil
		return m.make(upTo(traces, f.TraceID()), f, s, base)
	}
	return made, err
}

// make is Make of traces in order.
func (m *Maker) make(traces []trajectory.Trace, f classify.Finding, s Sightings, base *baseline.Snapshot) (Made, error) {
	session := m.Redactor.Session()
	redacted := redactor(session, append(slices.Clone(traces), s.Controls...))
	r, err := m.prove(traces, f, base, redacted)
	if err != nil {
		return Made{}, err
	}
	counts := session.Counts() // of the recording alone
	controls, err := m.healthy(s.Controls, base, redacted)
	if err != nil {
		return Made{}, err
	}
	c, err := m.compose(r, controls, s, base, counts)
	if err != nil {
		return Made{}, err
	}
	if s.Expect != nil {
		if err := edited(&c, *s.Expect); err != nil {
			return Made{}, err
		}
	}
	whole, why := len(r.doc), r.found.Why
	proof, err := m.admit(&c, &r, controls, base, s.Expect != nil)
	if err != nil {
		return Made{}, err
	}
	c.Provenance.Kills, c.Provenance.Control = append([]string{}, proof.Kills...), orNil(proof.Control)
	c.Trace = regcase.TraceFile{File: regcase.JSONFile, SHA256: regcase.SHA256(r.doc)}
	made, err := seal(c, why, r.doc, session)
	made.TraceID, made.Whole, made.Healed, made.Replaced = cmp.Or(f.TraceID(), traces[len(traces)-1].ID), whole, proof.Healed, session.Replaced()
	return made, err
}

// recording is a redacted recording that shows the failure.
type recording struct {
	doc    []byte                 // as trace.json holds it
	traces []trajectory.Trace     // what is in it
	run    *trajectory.Trajectory // of a session the join
	found  classify.Finding       // as it stands on the run
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
func (m *Maker) prove(traces []trajectory.Trace, f classify.Finding, base *baseline.Snapshot, redacted record.Redact) (recording, error) {
	for _, keep := range []func(trace, span string) bool{partsOf(traces, f), everything} {
		doc, err := record.EncodeSession(traces, keep, redacted)
		if err != nil {
			return recording{}, err
		}
		r, shown, err := m.reread(doc, f, base)
		if shown || err != nil {
			return r, err
		}
	}
	return recording{}, &Refused{"the redacted recording no longer shows " + string(f.Label) + ": a case made of it could not fail"}
}

// reread reads a recording back and says whether it shows the finding.
func (m *Maker) reread(doc []byte, f classify.Finding, base *baseline.Snapshot) (recording, bool, error) {
	traces, err := recordedIn(doc)
	if err != nil {
		return recording{}, false, err
	}
	r := recording{doc: doc, traces: traces, run: m.runOf(traces)}
	for _, got := range m.findings(r.run, base) {
		if got.Fingerprint.Equal(f.Fingerprint) {
			got.Fingerprint.Aliases = f.Fingerprint.Aliases
			r.found = got
			return r, true, nil
		}
	}
	return r, false, nil
}

// runOf builds the run that a recording holds.
func (m *Maker) runOf(traces []trajectory.Trace) *trajectory.Trajectory {
	var parts []*trajectory.Trajectory
	for _, t := range traces {
		p := trajectory.Build(t)
		m.Engine.Price(p)
		parts = append(parts, p)
	}
	return trajectory.Join(parts)
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
	traces, err := recordedIn(doc)
	if err != nil {
		return nil, err
	}
	var parts []*trajectory.Trajectory
	for _, t := range traces {
		parts = append(parts, trajectory.Build(t))
	}
	return trajectory.Join(parts), nil
}

func recordedIn(doc []byte) ([]trajectory.Trace, error) {
	td, ld, err := record.Decode(doc)
	if err != nil {
		return nil, err
	}
	traces := trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs{ld})
	if len(traces) == 0 {
		return nil, errors.New("recorded trace: holds no trace")
	}
	return traces, nil
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

// compose writes down what the recording and the healthy runs tell.
func (m *Maker) compose(r recording, controls []*trajectory.Trajectory, s Sightings, base *baseline.Snapshot, counts map[redact.Kind]int) (regcase.Case, error) {
	t, f := r.run, r.found
	c := regcase.Case{
		APIVersion: regcase.APIVersion, Kind: regcase.Kind, ID: f.Fingerprint.ID(), Title: f.Title, Form: string(f.Form),
		State: regcase.State{Name: regcase.Pending}, Labels: []string{string(f.Label)}, Fingerprint: f.Fingerprint,
		Provenance: provenance(cmp.Or(f.TraceID(), t.TraceID), f, s, counts), Context: contextOf(t, f.Fingerprint.Agent), Input: inputOf(t),
		Tools: m.tools(t), Fixtures: fixtures(t),
		Runs: regcase.Runs{N: 5, Mode: "soft", Rate: 0.8},
	}
	if len(c.Input.Turns) == 0 {
		remedy := remedyFor(t, trajectory.FactUserMessages)
		return c, &Lacking{Refused{"the trace holds no user message, so the case would have no input to run: " + remedy}, remedy}
	}
	if f.Form == classify.FormFault && !slices.ContainsFunc(c.Fixtures, func(f regcase.Fixture) bool { return f.Fault != nil }) {
		if outside(f.Label) {
			return c, &Refused{"what failed was no tool's call, so a run of the case could not be made to meet it again"}
		}
		c.Form = string(classify.FormNever) // nothing failed outside that could be injected: the agent never called the tool at all
	}
	c.Fixtures = append(c.Fixtures, healthyFixtures(c.Fixtures, controls)...)
	var err error
	c.Expect, err = expect(t, f, cmp.Or(s.Healthy, base))
	c.Weak = weak(&c.Expect)
	return c, err
}

// weak says that nothing is asserted which a refusal of everything would break.
func weak(e *regcase.Expect) bool {
	return e.Trajectory == nil && e.Response == nil && e.State == nil && len(e.Criteria) == 0 && len(e.Liveness.Calls) == 0
}

// outside says that a label tells what the outside did.
func outside(l classify.Label) bool {
	return l == classify.UpstreamError || l == classify.PermissionDenied || l == classify.ProtocolError || l == classify.SilentTimeout
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
func provenance(recorded string, f classify.Finding, s Sightings, counts map[redact.Kind]int) regcase.Provenance {
	traces := []string{recorded}
	for _, id := range s.Traces {
		if !slices.Contains(traces, id) && len(traces) < maxTraces {
			traces = append(traces, id)
		}
	}
	p := regcase.Provenance{Source: string(f.Source), Rule: f.Rule, Confidence: f.Confidence, Count: s.Count, FirstSeen: s.First.UTC(), LastSeen: s.Last.UTC(),
		Traces: traces, Redactor: redact.Version, Redactions: map[string]int{}, Kills: []string{}}
	for kind, n := range counts {
		p.Redactions[string(kind)] = n
	}
	return p
}

// maxCase bounds the two files of a case together, in bytes: a reviewer is to open them, and ten of them make a pull request.
const maxCase = 8 << 20

// secondLook begins the reason of a case that is refused for what is still in it.
const secondLook = "a second look found what redaction had missed: "

// seal renders the case and lets nothing out that still looks like a secret or like personal data.
func seal(c regcase.Case, why string, trace []byte, session *redact.Session) (Made, error) {
	digest, err := c.Digest()
	if err != nil {
		return Made{}, err
	}
	text, err := regcase.Encode(c)
	if errors.Is(err, regcase.ErrTooLarge) {
		return Made{}, &Refused{err.Error()}
	}
	if err != nil {
		return Made{}, err
	}
	if n := len(text) + len(trace); n > maxCase {
		return Made{}, &Refused{fmt.Sprintf("its redacted recording takes %.1f MiB, more than the %d MiB that belong into a repository", float64(n)/(1<<20), maxCase>>20)}
	}
	for _, b := range [][]byte{text, trace, []byte(why)} {
		if err := session.Verify(b); err != nil {
			return Made{}, &Refused{secondLook + err.Error()}
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
