package ratchet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Session is what is kept of the traces of one conversation with one service, so that they can be judged together once it is quiet. Key in the
// sessions bucket: sessionKey. It holds sketches, no content; the bucket lets go of it queue.KeepSessions after its last change.
type Session struct {
	Service string    `json:"service"`
	ID      string    `json:"id"`
	Parts   []Part    `json:"parts"` // by trace id
	Left    int       `json:"left"`  // parts that gave way to others, the oldest first
	Last    time.Time `json:"last"`  // when the latest span of any part was received
	Judged  string    `json:"judged"`
	Said    *Previous `json:"said"`    // what the latest verdict on the session showed; nil when none was published
	Applied uint64    `json:"applied"` // sequence of the last message of FINDINGS that was folded in

	After time.Time `json:"after,omitzero"` // when the latest span of a trace was received that brought no sketch, as far as a user seemed to have left before it
}

// Part is the latest revision of one trace of a session.
type Part struct {
	TraceID  string    `json:"trace_id"`
	Revision string    `json:"revision"`
	Seen     time.Time `json:"seen"`
	Shows    []Shown   `json:"shows,omitzero"` // what the trace shows by itself
	Sketch   []byte    `json:"sketch"`

	Context *lineage.Context `json:"context,omitzero"` // what produced the trace, where a finding on it may be settled

	Left *Found `json:"left,omitzero"` // that the user left, if nothing comes after the trace
}

// left is the part with which the user left the conversation, nil where something came after it.
func (s *Session) left() *Part {
	var last *Part
	for i := range s.Parts {
		if last == nil || s.Parts[i].Seen.After(last.Seen) {
			last = &s.Parts[i]
		}
	}
	if last == nil || last.Left == nil || s.After.After(last.Seen) {
		return nil
	}
	return last
}

// Follow notes that a trace came which brings no sketch. It says whether the session changed.
func (s *Session) Follow(v Verdict) bool {
	if _, have := s.part(v.TraceID); have || !v.Seen.After(s.After) || len(s.Parts) == 0 {
		return false
	}
	s.After, s.Last = v.Seen, later(s.Last, v.Seen)
	return true
}

// Shown is a failure that a single trace shows.
type Shown struct {
	Fingerprint string            `json:"fingerprint"` // digest
	Severity    classify.Severity `json:"severity"`
	NoLabel     bool              `json:"no_label,omitzero"` // it is the group of what no rule explains
}

// explained are the groups of what no rule explained in single traces that findings on the session stand on: they explain it.
func (s *Session) explained(fs []Found) (out []Settled) {
	for _, p := range s.Parts {
		if !slices.ContainsFunc(fs, func(f Found) bool {
			return f.Label != classify.NoLabel && slices.Contains(tracesOf(f.Finding), p.TraceID)
		}) {
			continue
		}
		for _, w := range p.Shows {
			if w.NoLabel {
				out = append(out, Settled{p.TraceID, p.Revision, w.Fingerprint, p.Context})
			}
		}
	}
	return out
}

// maxParts is how many traces of a session are judged together. So many may be less: their sketches have to fit into one value.
const maxParts = 64

// sessionKey names the session of a service's conversation, "" for a trace that is of none.
func sessionKey(service, id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(service + "\x00" + id))
	return hex.EncodeToString(sum[:])
}

// sessionName is a session's id as it is kept: longer ones than anybody reads become digests, so that two that begin alike are still two.
func sessionName(id string) string {
	if len(id) <= maxSession {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Take folds in a verdict on one of the session's traces; it replaces what an earlier revision said. It says whether the session changed.
func (s *Session) Take(v Verdict, sequence uint64) bool {
	i, have := s.part(v.TraceID)
	if sequence <= s.Applied || have && s.Parts[i].Revision == v.Revision {
		return false
	}
	p := Part{TraceID: v.TraceID, Revision: v.Revision, Seen: v.Seen, Sketch: v.Sketch, Left: v.Left}
	for _, f := range roots(v.Findings) {
		p.Shows = append(p.Shows, Shown{f.Fingerprint.Digest(), f.Severity, f.Label == classify.NoLabel})
		if slices.Contains(mayBeSettled, f.Label) || f.Label == classify.NoLabel {
			p.Context = withoutTools(v.Context)
		}
	}
	if have {
		s.Parts[i] = p
	} else {
		s.Parts = slices.Insert(s.Parts, i, p)
	}
	s.Service, s.ID, s.Last = clip(v.Service, maxText), sessionName(v.SessionID), later(s.Last, v.Seen)
	for len(s.Parts) > maxParts {
		s.giveWay()
	}
	return true
}

// Drop takes a trace out whose new revision is of another session, or of none.
func (s *Session) Drop(traceID string, sequence uint64) bool {
	i, have := s.part(traceID)
	if sequence <= s.Applied || !have {
		return false
	}
	s.Parts = slices.Delete(s.Parts, i, i+1)
	return true
}

// Hear folds in a verdict on the session itself. What was said before and is not replaced stays said.
func (s *Session) Hear(v Verdict, sequence uint64) bool {
	if sequence <= s.Applied {
		return false
	}
	said := &Previous{Revision: v.Revision, Fingerprints: []string{}}
	for _, f := range roots(v.Findings) {
		said.Fingerprints = append(said.Fingerprints, f.Fingerprint.Digest())
	}
	for _, fp := range s.said() {
		if !slices.Contains(said.Fingerprints, fp) && (v.Replaces == nil || !slices.Contains(v.Replaces.Fingerprints, fp)) {
			said.Fingerprints = append(said.Fingerprints, fp)
		}
	}
	for _, done := range v.Settled {
		if i, have := s.part(done.TraceID); have && s.Parts[i].Revision == done.Revision {
			s.Parts[i].Shows = slices.DeleteFunc(s.Parts[i].Shows, func(w Shown) bool { return w.Fingerprint == done.Fingerprint })
		}
	}
	s.Judged, s.Said = v.Revision, said
	return true
}

// said are the digests of the fingerprints that the session showed.
func (s *Session) said() []string { return s.Said.fingerprints() }

// replaces is what a verdict with these findings takes the place of. What is no longer seen has only been forgotten where traces gave way, or where not all
// of the session could be judged.
func (s *Session) replaces(fs []Found, all bool) *Previous {
	if s.Said == nil {
		return nil
	}
	p := Previous{Revision: s.Said.Revision, Fingerprints: []string{}}
	for _, fp := range s.said() {
		if s.Left == 0 && all || slices.ContainsFunc(fs, func(f Found) bool { return f.Fingerprint.Digest() == fp }) {
			p.Fingerprints = append(p.Fingerprints, fp)
		}
	}
	return &p
}

func (s *Session) part(traceID string) (int, bool) {
	return slices.BinarySearchFunc(s.Parts, traceID, func(p Part, id string) int { return strings.Compare(p.TraceID, id) })
}

// giveWay lets go of the part that was received first.
func (s *Session) giveWay() {
	oldest := 0
	for i, p := range s.Parts {
		if p.Seen.Before(s.Parts[oldest].Seen) {
			oldest = i
		}
	}
	s.Parts = slices.Delete(s.Parts, oldest, oldest+1)
	s.Left++
}

// encode writes the session's value. Parts give way until it fits.
func (s *Session) encode() ([]byte, error) {
	for {
		doc, err := json.Marshal(s)
		if err != nil || len(doc) <= queue.MaxValue || len(s.Parts) == 0 {
			return doc, err
		}
		s.giveWay()
	}
}

// Revision is the digest of the revisions of the session's traces.
func (s *Session) Revision() string {
	h := sha256.New()
	for _, p := range s.Parts {
		fmt.Fprintf(h, "%q %q\n", p.TraceID, p.Revision)
	}
	if !s.After.IsZero() {
		fmt.Fprintf(h, "after %d\n", s.After.UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// open says whether there is anything to judge that was not: of a single trace its own verdict says all, unless the session showed more before.
func (s *Session) open() bool {
	return (len(s.Parts) > 1 || len(s.said()) > 0 || s.left() != nil) && s.Judged != s.Revision()
}

// shown says whether one of the traces shows the failure by itself, no less severe: then it is counted there.
func (s *Session) shown(f classify.Finding) bool {
	fp := f.Fingerprint.Digest()
	return slices.ContainsFunc(s.Parts, func(p Part) bool {
		return slices.ContainsFunc(p.Shows, func(w Shown) bool { return w.Fingerprint == fp && rank(w.Severity) >= rank(f.Severity) })
	})
}

// mayBeSettled are the labels of what a later trace of the session may explain. No case is made of them before the session is quiet, within bounds.
var mayBeSettled = []classify.Label{classify.MissingToolResult}

// withoutTools is what of a context groups count.
func withoutTools(c lineage.Context) *lineage.Context {
	c.Agents = slices.Clone(c.Agents)
	for i := range c.Agents {
		c.Agents[i].Tools = nil
	}
	return &c
}

// parts reads what is known of the session's traces: nil where they turn out to be no one conversation.
func (s *Session) parts() ([]*trajectory.Trajectory, error) {
	var parts []*trajectory.Trajectory
	for _, p := range s.Parts {
		t, err := classify.ReadSketch(p.Sketch)
		if err != nil {
			return nil, fmt.Errorf("trace %s: %w", p.TraceID, err)
		}
		parts = append(parts, t)
	}
	if len(trajectory.Sessions(parts)) > 1 {
		return nil, nil
	}
	return parts, nil
}
