package trajectory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Telemetry is what a trace shows of those who sent it: who speaks, and what is wrong with how it was recorded.
type Telemetry struct {
	Emitters []Emitter // by name

	Orphans  int // spans whose parent is not here though the trace has others: those above a missing root are not counted
	Unplaced int // content records that fit no single call
	Spanless int // content records of spans that never came
	Doubled  int // model calls that two instrumentations describe; they count once here
	Skewed   int // spans that another machine's clock puts before what called them
	Backward int // spans that end before they start
	Cut      int // spans that pawl cut, for they were larger than a message of the stream may be, and one more when it cut the trace

	Sampled bool // a span says that it is one of several: the others were not kept
	RunID   bool // what stands where the conversation's id belongs is the id of one run or one answer

	DoubledBy []string // the scopes of a doubled call, in pairs "a + b"
}

// Emitter is an instrumentation whose spans say something: the dialect that they speak, and its scope's name and version.
type Emitter struct {
	Dialect string `json:"dialect"`
	Scope   string `json:"scope"`
	Version string `json:"version"`
}

// Compare orders emitters by dialect, scope and version.
func (e Emitter) Compare(o Emitter) int {
	return cmp.Or(cmp.Compare(e.Dialect, o.Dialect), cmp.Compare(e.Scope, o.Scope), cmp.Compare(e.Version, o.Version))
}

// telemetry looks at how the trace was recorded.
func (b *builder) telemetry() {
	t := &b.out.Telemetry
	t.Unplaced = b.unplaced
	if b.trace.Truncated {
		t.Cut++
	}
	tops := 0
	for _, n := range b.nodes {
		if n.parent == nil && n.span.ParentID != "" && n.span.ParentID != missingParent {
			tops++
		}
		b.recording(n)
	}
	if t.Orphans = tops; b.root == nil { // one of them stands below the root that is missing
		t.Orphans = max(0, tops-1)
	}
	slices.SortFunc(t.Emitters, Emitter.Compare)
	slices.Sort(t.DoubledBy)
}

// recording notes how one span was recorded.
func (b *builder) recording(n *node) {
	t, s := &b.out.Telemetry, n.span
	if n.dialect != nil && n.facts.Role != RoleNone {
		if e := (Emitter{n.dialect.Name, s.Scope, s.ScopeVersion}); !slices.Contains(t.Emitters, e) {
			t.Emitters = append(t.Emitters, e)
		}
	}
	if s.ParentID == missingParent {
		t.Spanless += len(s.Logs)
	}
	if o := n.stands(); o != n && n.facts.Role == RoleModel && o.span.Scope != s.Scope {
		t.Doubled++
		names := []string{o.span.Scope, s.Scope}
		slices.Sort(names)
		if pair := strings.Join(names, " + "); !slices.Contains(t.DoubledBy, pair) {
			t.DoubledBy = append(t.DoubledBy, pair)
		}
	}
	if p := n.parent; p != nil && n.shift > p.shift && !s.Start.IsZero() {
		t.Skewed++
	}
	if s.Backward {
		t.Backward++
	}
	if n.cutByPawl() {
		t.Cut++
	}
	t.Sampled = t.Sampled || sampled(s)
	t.RunID = t.RunID || n.facts.Run != "" && b.out.SessionID == ""
}

// sampled says whether a span states that it was kept with a chance below one.
func sampled(s *Span) bool {
	if n := s.Attrs.Int("SampleRate"); n != nil && *n > 1 { // Honeycomb's libraries: one of n
		return true
	}
	if p := s.Attrs.Float("sampler.param"); p != nil && *p < 1 && s.Attrs.Text("sampler.type") == "probabilistic" { // Jaeger's
		return true
	}
	for member := range strings.SplitSeq(s.TraceState, ",") {
		if fields, ok := strings.CutPrefix(strings.TrimSpace(member), "ot="); ok && belowOne(fields) {
			return true
		}
	}
	return false
}

// belowOne says whether OpenTelemetry's member of a trace state names a threshold (th) above 0, or a p-value above 0 as it was called before.
func belowOne(fields string) bool {
	for field := range strings.SplitSeq(fields, ";") {
		key, value, _ := strings.Cut(field, ":")
		if key == "th" && strings.Trim(value, "0") != "" {
			return true
		}
		if p, err := strconv.Atoi(value); key == "p" && err == nil && p > 0 {
			return true
		}
	}
	return false
}
