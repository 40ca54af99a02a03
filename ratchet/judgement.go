package ratchet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	jury "github.com/pawl-dev/pawl/classify/judge"
	"github.com/pawl-dev/pawl/ingest/queue"
)

// Judgement is what is asked of the jury about one trace that no rule explains, and what became of it. Key in the judgements bucket: tracePrefix and the
// trace's id. It is made when the trace's verdict is folded, and changed by compare-and-set alone. What it says counts once its own verdict, which goes over
// FINDINGS as every other does, is folded: a kill at any point leaves it where it was, with the votes that were given.
type Judgement struct {
	TraceID   string         `json:"trace_id"`
	Revision  string         `json:"revision"` // of the verdict that asks
	Service   string         `json:"service"`
	SessionID string         `json:"session_id"`
	Object    string         `json:"object"` // of the trace's bytes, "" when the worker did not keep them
	Seen      time.Time      `json:"seen"`
	Of        string         `json:"of"` // digest of the group of what no rule explains
	State     JudgementState `json:"state"`
	Opinion   jury.Opinion   `json:"opinion"`
	Waits     string         `json:"waits"`      // of one that was tried: for what
	NotBefore time.Time      `json:"not_before"` // when to ask again
	Tries     int            `json:"tries"`      // that came to nothing
	Says      *Verdict       `json:"says"`       // of a label: the verdict that tells the groups
	Changes   int            `json:"changes"`
}

// JudgementState says where a judgement stands.
type JudgementState string

// The states.
const (
	JudgementWaiting JudgementState = "waiting" // to be asked, or to be asked again: Waits says why
	JudgementSaid    JudgementState = "said"    // it has a label, and the groups do not know yet
	JudgementCounted JudgementState = "counted" // it has a label, and the trace is in that group
	JudgementDone    JudgementState = "done"    // it has none: the trace stays with what no rule explains
)

// The kinds of keys in the judgements bucket.
const (
	tracePrefix     = "trace/"     // a Judgement
	votesPrefix     = "votes/"     // []jury.Vote under the digest of their question
	signaturePrefix = "signature/" // which traces of a group of what no rule explains were asked about
	dayPrefix       = "day/"       // what was spent, by date
)

// keepJudgements is how long judgements are kept: labels by people are held against them.
const keepJudgements = 90 * 24 * time.Hour

// told is the digest of the group that the label put the trace into, "" for none.
func (j *Judgement) told() string {
	if j.Says == nil || len(j.Says.Findings) == 0 {
		return ""
	}
	return j.Says.Findings[0].Fingerprint.Digest()
}

// judgement reads what was asked about a trace; nil for nothing.
func (a *Absorber) judgement(ctx context.Context, traceID string) (*Judgement, error) {
	e, err := a.q.Judgements.Get(ctx, tracePrefix+traceID)
	if errors.Is(err, queue.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j := new(Judgement)
	if err := json.Unmarshal(e.Value, j); err != nil {
		return nil, fmt.Errorf("judgement of trace %s: %w", traceID, err)
	}
	return j, nil
}

// changeJudgement changes the judgement of a revision of a trace that waits; one that was overtaken is left as it is. It says whether it was changed.
func (a *Absorber) changeJudgement(ctx context.Context, traceID, revision string, change func(*Judgement)) (changed bool, err error) {
	err = a.q.Judgements.Update(ctx, tracePrefix+traceID, func(old []byte) ([]byte, error) {
		changed = false
		var j Judgement
		if old == nil || json.Unmarshal(old, &j) != nil || j.Revision != revision || j.State != JudgementWaiting {
			return nil, nil
		}
		change(&j)
		j.Changes++
		changed = true
		return json.Marshal(j)
	})
	if err != nil {
		return false, fmt.Errorf("judgement of trace %s: %w", traceID, err)
	}
	return changed, nil
}

// Judgements are what was asked of the jury, the latest first.
func (a *Absorber) Judgements(ctx context.Context) (out []Judgement, err error) {
	for e, err := range a.q.Judgements.All(ctx) {
		if err != nil {
			return nil, fmt.Errorf("judgements: %w", err)
		}
		if !strings.HasPrefix(e.Key, tracePrefix) {
			continue
		}
		var j Judgement
		if err := json.Unmarshal(e.Value, &j); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Key, err)
		}
		out = append(out, j)
	}
	slices.SortStableFunc(out, func(x, y Judgement) int { return y.Seen.Compare(x.Seen) })
	return out, nil
}

// heard are the judgements that verdicts of one fold speak of, by trace, as they are to be kept once the groups have taken the verdicts; nil of a trace whose
// judgement is to go.
type heard map[string]*Judgement

// hear looks at verdicts before they are folded. A trace that no rule explains is asked about. One that was put into a group by what a model said, and has a
// newer verdict, leaves that group. What a model said of a revision that was overtaken does not count, nor of what a person has labelled meanwhile: home leads
// an alias to its group.
func (a *Absorber) hear(ctx context.Context, vs []sequenced, home func(string) string) ([]sequenced, heard, error) {
	h := heard{}
	out := make([]sequenced, 0, len(vs))
	for _, v := range vs {
		stands, err := a.hearOne(ctx, &v, h, home)
		if err != nil {
			return nil, nil, err
		}
		if stands {
			out = append(out, v)
		}
	}
	return out, h, nil
}

func (a *Absorber) hearOne(ctx context.Context, v *sequenced, h heard, home func(string) string) (stands bool, err error) {
	if v.onSession() {
		return true, a.hearSession(ctx, v, h)
	}
	asks := a.opts.Jury != nil && v.Verdict.Verdict == classify.Unclassified && len(v.Findings) > 0
	if v.Replaces == nil && !asks && !v.Judged {
		return true, nil
	}
	j, err := h.get(ctx, a, v.TraceID)
	if err != nil {
		return false, err
	}
	if v.Judged {
		if j == nil || j.State != JudgementSaid || v.Replaces == nil || j.Revision != v.Replaces.Revision {
			return false, nil
		}
		now := *j
		if now.State = JudgementCounted; home(j.Of) != j.Of {
			now.State, now.Says, now.Waits = JudgementDone, nil, labelledMeanwhile
		}
		h[v.TraceID] = &now
		return now.State == JudgementCounted, nil
	}
	if j != nil && j.Revision == v.Revision {
		return true, nil
	}
	if j != nil {
		v.overtake(j)
		h[v.TraceID] = nil
	}
	if !asks {
		return true, nil
	}
	of := v.Findings[len(v.Findings)-1].Fingerprint.Digest()
	if home(of) != of {
		return true, nil
	}
	if j == nil {
		if wanted, err := a.wantsOpinion(ctx, of, v.TraceID, v.Seen); err != nil || !wanted {
			return true, err
		}
	}
	h[v.TraceID] = &Judgement{TraceID: v.TraceID, Revision: v.Revision, Service: v.Service, SessionID: v.SessionID, Object: v.Object, Seen: v.Seen, Of: of, State: JudgementWaiting}
	return true, nil
}

const labelledMeanwhile = "a person has labelled what went wrong in this way"

// overtake has the verdict take the trace out of the group that a model's word on an earlier revision had put it into.
func (v *sequenced) overtake(j *Judgement) {
	if j.State != JudgementCounted {
		return
	}
	before := Previous{Revision: j.Revision}
	if v.Replaces != nil {
		before = *v.Replaces
	}
	before.Fingerprints = append(slices.Clone(before.Fingerprints), j.told())
	v.Replaces = &before
}

// hearSession has a session that explains a trace take it out of the group of a model's label too.
func (a *Absorber) hearSession(ctx context.Context, v *sequenced, h heard) error {
	for _, d := range slices.Clone(v.Settled) {
		j, err := h.get(ctx, a, d.TraceID)
		if err != nil {
			return err
		}
		if j == nil || j.Of != d.Fingerprint || j.Revision != d.Revision {
			continue
		}
		if j.State == JudgementCounted {
			d.Fingerprint = j.told()
			v.Settled = append(slices.Clone(v.Settled), d)
		}
		h[d.TraceID] = nil
	}
	return nil
}

// get is the judgement of a trace as the fold has left it so far.
func (h heard) get(ctx context.Context, a *Absorber, traceID string) (*Judgement, error) {
	if j, known := h[traceID]; known {
		return j, nil
	}
	return a.judgement(ctx, traceID)
}

// keepHeard stores what was heard. After a kill before it the same verdicts are heard again, and the groups know that they have them.
func (a *Absorber) keepHeard(ctx context.Context, h heard) error {
	for traceID, j := range h {
		if err := a.lasting(a.keepOne(ctx, traceID, j)); err != nil {
			return err
		}
	}
	return nil
}

func (a *Absorber) keepOne(ctx context.Context, traceID string, j *Judgement) error {
	if j == nil {
		a.bench.forget(traceID)
		return a.q.Judgements.Delete(ctx, tracePrefix+traceID)
	}
	err := a.q.Judgements.Update(ctx, tracePrefix+traceID, func(old []byte) ([]byte, error) {
		var have Judgement
		if old != nil && json.Unmarshal(old, &have) == nil && have.Revision == j.Revision && have.State != JudgementSaid {
			return nil, nil // it goes on already
		}
		return json.Marshal(j)
	})
	if err == nil && j.State == JudgementWaiting {
		a.bench.await(traceID, j.NotBefore)
	}
	return err
}

// signature is which traces of one group of what no rule explains were asked about lately.
type signature struct {
	Since  time.Time `json:"since"`
	Traces []string  `json:"traces"` // ends of their ids
}

// signatureFor is how long a group's traces count: a week later the jury looks at it again.
const signatureFor = 7 * 24 * time.Hour

// wantsOpinion says whether the jury is asked about one more trace of a group. To ask again about the same changes nothing.
func (a *Absorber) wantsOpinion(ctx context.Context, of, traceID string, seen time.Time) (wanted bool, err error) {
	err = a.q.Judgements.Update(ctx, signaturePrefix+of, func(old []byte) ([]byte, error) {
		s := signature{Since: seen}
		if old != nil {
			if err := json.Unmarshal(old, &s); err != nil {
				return nil, err
			}
		}
		if seen.Sub(s.Since) > signatureFor {
			s = signature{Since: seen}
		}
		if wanted = slices.Contains(s.Traces, tail(traceID)); wanted {
			return nil, nil
		}
		if wanted = len(s.Traces) < a.opts.Jury.perSignature(); !wanted {
			return nil, nil
		}
		s.Traces = append(s.Traces, tail(traceID))
		return json.Marshal(s)
	})
	return wanted, err
}
