package ratchet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/classify/sight"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/record"
)

// Worker judges whole traces and publishes one verdict per trace revision. It is safe for concurrent use.
type Worker struct {
	lg        *slog.Logger
	q         *queue.Queue
	out       *outbox
	engine    *classify.Engine
	baselines func() *baseline.Snapshot
	flags     *Flags    // nil: none
	readers   sync.Pool // of *trajectory.Reader: each remembers tool definitions, and serves one trace at a time
	contexts  lineage.Reader
}

// NewWorker makes a worker; baselines gives the snapshot to judge by.
func NewWorker(lg *slog.Logger, q *queue.Queue, engine *classify.Engine, baselines func() *baseline.Snapshot) *Worker {
	w := &Worker{lg: lg.With("component", "work"), q: q, out: newOutbox(q.Findings), engine: engine, baselines: baselines}
	w.readers.New = func() any { return new(trajectory.Reader) }
	return w
}

// Heed has the worker count what outsiders say of traces. It is called before the first Judge.
func (w *Worker) Heed(flags *Flags) { w.flags = flags }

// ErrNotAgent says that a trace holds nothing of an agent: no model call, no tool call, no agent span.
var ErrNotAgent = errors.New("not an agent's trace")

// Judge classifies one revision of a trace and publishes the verdict. previous is what it returned for the trace's last revision, empty at first;
// the result is to be kept for the next. Judging the same revision again publishes nothing new. Of a trace that is flagged the note that is kept with its
// flags goes before previous: it was judged again since.
func (w *Worker) Judge(ctx context.Context, t trajectory.Trace, revision string, previous []byte, seen time.Time) (note []byte, err error) {
	defer w.flags.turn(t.ID)()
	return w.judge(ctx, t, revision, previous, seen)
}

// judge does what Judge says, for whoever has the trace's turn.
func (w *Worker) judge(ctx context.Context, t trajectory.Trace, revision string, previous []byte, seen time.Time) (note []byte, err error) {
	flagged, records := w.flags.Of(t.ID), revision
	if flagged != nil {
		revision, previous = flagged.revision(revision), either(flagged.Note, previous)
	}
	reader := w.readers.Get().(*trajectory.Reader)
	tr := reader.Build(t)
	w.readers.Put(reader)
	if !tr.IsAgent() && len(previous) == 0 {
		return nil, ErrNotAgent
	}
	report := w.engine.Classify(tr, w.baselines())
	var claims []classify.Claim
	if flagged != nil {
		report, claims = report.Flagged(), flagged.claims()
	}
	v := Verdict{TraceID: t.ID, Revision: revision, SessionID: tr.SessionID, Service: tr.Service, Verdict: report.Verdict, Findings: []Found{}, Seen: seen.UTC()}
	if len(previous) > 0 {
		v.Replaces = new(Previous)
		if err := json.Unmarshal(previous, v.Replaces); err != nil {
			return nil, fmt.Errorf("note of trace %s: %w", t.ID, err)
		}
		v.Replaces.Same = v.Replaces.Records == records
	}
	now := Previous{Revision: revision, Fingerprints: []string{}, Verdict: report.Verdict, Service: tr.Service, Records: records}
	for _, f := range report.Findings {
		v.Findings = append(v.Findings, NewFound(f))
	}
	if report.Verdict == classify.Unclassified {
		v.Findings = append(v.Findings, NewFound(classify.NoLabelFinding(tr, claims...)))
	}
	for _, f := range roots(v.Findings) {
		now.Fingerprints = append(now.Fingerprints, f.Fingerprint.Digest())
	}
	v.Inapplicable, v.Sight, v.Context = report.Inapplicable, sight.Look(tr), w.contexts.ContextOf(tr)
	if report.Verdict == classify.Unclassified {
		v.Unexplained = v.Findings[len(v.Findings)-1].Why
	}
	if report.Verdict == classify.Passing {
		run := baseline.Measure(tr)
		v.Run = &run
	}
	if how := w.engine.Left(tr, report); how != classify.NotLeft {
		v.Left = new(NewFound(classify.LeftFinding(tr, how)))
	}
	if key := v.session(); key != "" && (classify.Continues(tr) || v.Left != nil || w.engine.WantsWords()) {
		v.Sketch, now.Session = w.sketch(tr), key
	}
	if v.Object, err = w.keep(ctx, t, v.Findings); err != nil {
		return nil, err
	}
	if err := w.publish(ctx, v); err != nil {
		return nil, err
	}
	note, err = json.Marshal(keptNote{now, Summarise(tr, report)}, jsontext.AllowInvalidUTF8(true))
	if err == nil && flagged != nil {
		err = w.flags.joined(ctx, flagged, report.Verdict, note)
	}
	return note, err
}

// either is a where there is anything, else b.
func either(a, b []byte) []byte {
	if len(a) > 0 {
		return a
	}
	return b
}

// keptNote is what the assembler keeps beside a trace.
type keptNote struct {
	Previous
	Is Summary `json:"is"`
}

// Summary is what lists show of a kept trace without reading it: as it was judged when it was complete, by itself and not in its session.
type Summary struct {
	Service   string           `json:"service"`
	SessionID string           `json:"session"`
	Verdict   classify.Verdict `json:"verdict"`
	Labels    []classify.Label `json:"labels"` // of its findings, each once
	Start     time.Time        `json:"start"`
}

// Summarise makes the summary of a trace and what the rules say of it.
func Summarise(t *trajectory.Trajectory, r classify.Report) Summary {
	return Summary{clip(t.Service, maxText), sessionName(t.SessionID), r.Verdict, labelsOf(r), t.Start}
}

// ReadSummary reads the summary out of what Judge returned; ok is false where there is none, as in what earlier versions left.
func ReadSummary(kept []byte) (s Summary, ok bool) {
	var n keptNote
	if len(kept) == 0 || json.Unmarshal(kept, &n) != nil {
		return s, false
	}
	return n.Is, n.Is.Verdict != ""
}

func labelsOf(r classify.Report) []classify.Label {
	out := []classify.Label{}
	for _, f := range r.Findings {
		if !slices.Contains(out, f.Label) {
			out = append(out, f.Label)
		}
	}
	return out
}

// sketch is what the trace's session is judged by.
func (w *Worker) sketch(tr *trajectory.Trajectory) []byte {
	doc, cut, err := classify.Sketch(tr)
	switch {
	case err != nil:
		w.lg.Error("a trace's session is judged without it: report this", "trace", tr.TraceID, "err", err)
	case cut > 0:
		w.lg.Info("a trace is too long for its session to be judged by all of it", "trace", tr.TraceID, "steps", len(tr.Steps), "left_out", cut)
	}
	return doc
}

// keep stores the trace for the groups that still want a specimen; it returns "" when none does.
func (w *Worker) keep(ctx context.Context, t trajectory.Trace, fs []Found) (string, error) {
	if wanted, err := wantAny(ctx, w.q, roots(fs)); err != nil || !wanted {
		return "", err
	}
	doc, err := record.Encode(t, func(string) bool { return true }, func(_, text string) string { return text })
	if err != nil {
		return "", err
	}
	return w.q.Objects.Put(ctx, doc)
}

// wantAny says whether the group of any of the findings still wants a specimen.
func wantAny(ctx context.Context, q *queue.Queue, fs []Found) (bool, error) {
	for _, f := range fs {
		if f.Form == classify.FormNone && f.Label != classify.NoLabel { // of what waits for a label somebody looks at a trace
			continue
		}
		if wanted, err := wants(ctx, q, f); err != nil || wanted {
			return wanted, err
		}
	}
	return false, nil
}

func wants(ctx context.Context, q *queue.Queue, f Found) (bool, error) {
	fp := f.Fingerprint.Digest()
	e, err := q.Groups.Get(ctx, fp)
	if errors.Is(err, queue.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	var g Group
	if err := json.Unmarshal(e.Value, &g); err != nil {
		return false, fmt.Errorf("group %.12s: %w", fp, err)
	}
	if g.Merged != nil { // one hop always leads home
		if e, err = q.Groups.Get(ctx, g.Merged.Into); err != nil {
			return false, err
		}
		g = Group{}
		if err := json.Unmarshal(e.Value, &g); err != nil {
			return false, fmt.Errorf("group %.12s: %w", fp, err)
		}
	}
	return g.Wants(f.Severity), nil
}

func (w *Worker) publish(ctx context.Context, v Verdict) error {
	doc, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true)) // the receivers mend text; what reaches this otherwise must not come back for ever
	if err != nil {
		return fmt.Errorf("verdict on trace %s: %w", v.TraceID, err)
	}
	if err := w.out.publish(ctx, v.TraceID+" "+v.Revision, doc); err != nil {
		return fmt.Errorf("verdict on trace %s: %w", v.TraceID, err)
	}
	return nil
}
