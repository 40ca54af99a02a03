package trajectory

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"
)

// grow makes the tree of spans: nodes in order, parents first.
func (b *builder) grow() {
	spans := make([]*Span, 0, len(b.trace.Spans))
	for i := range b.trace.Spans {
		spans = append(spans, &b.trace.Spans[i])
	}
	orphans := b.orphanedLogs()
	for i := range orphans {
		spans = append(spans, &orphans[i])
	}
	b.placeRecords(spans)
	slices.SortFunc(spans, compareSpans)
	byID := make(map[string]*node, len(spans))
	all := make([]*node, 0, len(spans))
	store := make([]node, len(spans))
	for i, s := range spans {
		n := &store[i]
		n.span = s
		if byID[s.ID] == nil {
			byID[s.ID] = n
			all = append(all, n)
		}
	}
	for _, n := range all {
		p := byID[n.span.ParentID]
		if p == nil && isPending(n.span) {
			p = byID[n.span.Attrs.Text("logfire.pending_parent_id")]
		}
		if p != nil && p != n {
			n.parent = p
		}
	}
	cutCycles(all)
	var roots []*node
	for _, n := range all {
		if n.parent == nil {
			roots = append(roots, n)
			continue
		}
		n.parent.children = append(n.parent.children, n)
	}
	b.place(roots)
	for _, n := range roots {
		if n.span.ParentID == "" && b.root == nil {
			b.root = n
		}
	}
}

// cutCycles frees a span whose parents lead back to it: broken senders make such.
func cutCycles(all []*node) {
	const walking, done = 1, 2 // in order, which is given later
	var path []*node
	for _, n := range all {
		path = path[:0]
		for m := n; m != nil && m.order != done; m = m.parent {
			if m.order == walking {
				m.parent = nil
				break
			}
			m.order = walking
			path = append(path, m)
		}
		for _, m := range path {
			m.order = done
		}
	}
}

// place gives every node its time and puts all in order: a parent before its children, otherwise by time. A child from another resource
// whose clock is off is moved under its parent; within one resource a child never starts before its parent.
func (b *builder) place(roots []*node) {
	stack := slices.Clone(roots)
	slices.Reverse(stack)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n.settleTime()
		n.order = len(b.nodes)
		b.nodes = append(b.nodes, n)
		for _, c := range slices.Backward(n.children) {
			stack = append(stack, c)
		}
	}
	slices.SortStableFunc(b.nodes, func(x, y *node) int { return cmp.Or(x.start.Compare(y.start), cmp.Compare(x.order, y.order)) })
}

func (n *node) settleTime() {
	n.start, n.end = n.span.Start, n.span.End
	p := n.parent
	switch {
	case p == nil && n.start.IsZero():
		n.start = n.firstStart()
		return
	case p == nil:
		return
	case n.start.IsZero():
		n.start = p.start.Add(-p.shift)
	}
	if sameClock(n.span, p.span) || n.span.Start.IsZero() {
		n.shift = p.shift
	} else if late := n.start.After(p.end) && !p.end.IsZero(); late || n.start.Before(p.start) {
		n.shift = p.start.Sub(n.span.Start)
	}
	n.start = n.start.Add(n.shift)
	if !n.end.IsZero() {
		n.end = n.end.Add(n.shift)
	}
	if n.start.Before(p.start) {
		n.start = p.start
	}
	if !n.end.IsZero() && n.end.Before(n.start) {
		n.end = n.start
	}
}

// firstStart is the earliest start that a span or one below it states, for one that states none; else its end.
func (n *node) firstStart() time.Time {
	first := n.span.End
	below := slices.Clone(n.children)
	for len(below) > 0 {
		c := below[len(below)-1]
		below = append(below[:len(below)-1], c.children...)
		if s := c.span.Start; !s.IsZero() && (first.IsZero() || s.Before(first)) {
			first = s
		}
	}
	return first
}

// sameClock says whether two spans come from one process, as far as their resources tell.
func sameClock(a, b *Span) bool {
	if reflect.ValueOf(a.Resource).Pointer() == reflect.ValueOf(b.Resource).Pointer() {
		return true // one resource of one request, as mostly
	}
	for _, k := range []string{"service.name", "service.instance.id", "host.name", "process.pid"} {
		if a.Resource.Text(k) != b.Resource.Text(k) {
			return false
		}
	}
	return true
}

// orphanedLogs makes a span of the records that name one which never came, so that what they say is not lost.
func (b *builder) orphanedLogs() []Span {
	byID := map[string]*Span{}
	for i := range b.trace.Logs {
		l := &b.trace.Logs[i]
		moved := isADOTRecord(l)
		if l.SpanID == "" || !moved && !isMessageEvent(l.Name) {
			continue
		}
		s := byID[l.SpanID]
		if s == nil {
			s = &Span{TraceID: l.TraceID, ID: l.SpanID, ParentID: missingParent, Name: l.Name, Start: l.Time, Resource: l.Resource, Scope: l.Scope}
			if moved {
				s.Name = "" // the record's is the scope's
			}
			byID[l.SpanID] = s
		}
		s.Logs = append(s.Logs, *l)
		if l.Time.After(s.Start) {
			s.End = l.Time
		}
	}
	out := make([]Span, 0, len(byID))
	for _, s := range byID {
		out = append(out, *s)
	}
	return out // grow sorts
}

// missingParent marks a span of which only records came: it is no root.
const missingParent = "?"

// dropPending takes out the start markers of Logfire whose real span came: it is the marker's parent. A marker alone stands for a span that
// never ended.
func (b *builder) dropPending() {
	for _, n := range b.nodes {
		if n.survey.families&pendingKey == 0 || !isPending(n.span) {
			continue
		}
		n.end = time.Time{}
		if n.parent != nil && n.parent.span.ID == n.span.ParentID {
			n.facts.Role = RoleInner
		}
	}
}

// pendingKey is the family of the markers' key.
var pendingKey = familyOf("logfire.span_type")

func isPending(s *Span) bool { return s.Attrs.Text("logfire.span_type") == "pending_span" }

// nameAgents gives every node its agent: the nearest agent span around it, and the name that it or that span states.
func (b *builder) nameAgents() {
	for _, n := range b.topDown() {
		if n.parent != nil {
			n.agent, n.agentName = n.parent.agent, n.parent.agentName
		}
		if n.facts.Role == RoleAgent {
			n.agent = n
		}
		if name := cmp.Or(n.subAgent(), n.facts.Agent); name != "" && n.facts.Role != RoleTool && !(n.facts.Frame && n.aroundAgents()) {
			n.agentName = name
		}
	}
	for _, n := range b.nodes {
		if n.facts.Role != RoleNone && n.facts.Role != RoleInner && n.agentName != "" && !slices.Contains(b.out.Agents, n.agentName) {
			b.out.Agents = append(b.out.Agents, n.agentName)
		}
	}
}

// aroundAgents says whether a run of an agent that has a name of its own lies below.
func (n *node) aroundAgents() bool {
	return slices.ContainsFunc(n.children, func(c *node) bool {
		return c.facts.Role == RoleAgent && c.facts.Agent != "" && !c.facts.Frame || c.aroundAgents()
	})
}

// topDown returns the nodes with every parent before its children.
func (b *builder) topDown() []*node {
	out := make([]*node, 0, len(b.nodes))
	for _, n := range b.nodes {
		if n.parent == nil {
			out = append(out, n)
		}
	}
	for i := 0; i < len(out); i++ {
		out = append(out, out[i].children...)
	}
	return out
}

// above yields the ancestors of a node, nearest first.
func (n *node) above(yield func(*node) bool) {
	for p := n.parent; p != nil; p = p.parent {
		if !yield(p) {
			return
		}
	}
}

// stands returns the node that stands for what this one describes.
func (n *node) stands() *node {
	for n.folded != nil {
		n = n.folded
	}
	return n
}

func (n *node) attr(keys ...string) string {
	for _, k := range keys {
		if s := n.span.Attrs.Str(k); s != "" && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}
