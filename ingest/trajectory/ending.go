package trajectory

import (
	"cmp"
	"slices"
	"strings"
)

// The keys by which any instrumentation, and the team's own code, names the conversation and the user on any span.
var (
	sessionKeys = []string{"session.id", "langfuse.session.id", "gen_ai.conversation.id", "thread_id", "conversation.id",
		"langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.metadata.conversation_id"}
	userKeys = []string{"user.id", "enduser.id", "langfuse.user.id", "langsmith.metadata.user_id"}
)

// identityKeys are the families of these keys: most spans have none.
var identityKeys = func() (all uint64) {
	for _, keys := range [][]string{sessionKeys, userKeys} {
		for _, k := range keys {
			all |= familyOf(k)
		}
	}
	return all
}()

// identity fills who and where: session, user, service, route, times.
func (b *builder) identity() {
	o := b.out
	o.Spans = len(b.trace.Spans)
	for _, n := range b.fromRoot() {
		o.SessionID, o.UserID = cmp.Or(o.SessionID, realSession(n.facts.SessionID)), cmp.Or(o.UserID, n.facts.UserID)
		named := n.survey.families&identityKeys != 0
		if named && o.SessionID == "" {
			o.SessionID = realSession(n.attr(sessionKeys...))
		}
		if named && o.UserID == "" {
			o.UserID = n.attr(userKeys...)
		}
		if o.Service == "" {
			o.Service = n.span.Resource.Text("service.name")
		}
		if o.Version == "" {
			o.Version = n.span.Resource.Text("service.version")
		}
	}
	for _, n := range b.nodes {
		if o.Start.IsZero() || n.start.Before(o.Start) {
			o.Start = n.start
		}
		o.End = laterOf(o.End, n.ended())
		if o.SessionID == "" {
			o.SessionID = realSession(n.span.Resource.Str("session.id"))
		}
		o.Feedback = append(o.Feedback, n.facts.Feedback...)
		o.Feedback = append(o.Feedback, evaluations(n.span)...)
	}
	for _, l := range b.trace.Logs {
		o.Service = cmp.Or(o.Service, l.Resource.Text("service.name"))
		if f, ok := evaluation(l.Event, l.SpanID); ok {
			o.Feedback = append(o.Feedback, f)
		}
	}
	o.Route = b.route()
}

// fromRoot returns the nodes with the root first: what it says of the whole trace counts before what its children say.
func (b *builder) fromRoot() []*node {
	if b.root == nil {
		return b.nodes
	}
	return append([]*node{b.root}, b.nodes...)
}

// realSession refuses what some emitters put in the conversation's place: the id of the previous response.
func realSession(id string) string {
	if strings.HasPrefix(id, "resp_") || strings.HasPrefix(id, "chatcmpl-") {
		return ""
	}
	return id
}

func (b *builder) route() string {
	top := b.root
	if top == nil && len(b.nodes) > 0 {
		top = b.nodes[0]
	}
	if top == nil {
		return ""
	}
	return cmp.Or(top.span.Attrs.Str("http.route"), scrubRoute(top.span.Name))
}

func evaluations(s *Span) []Feedback {
	var out []Feedback
	for _, e := range s.Events {
		if f, ok := evaluation(e, s.ID); ok {
			out = append(out, f)
		}
	}
	for _, l := range s.Logs {
		if f, ok := evaluation(l.Event, s.ID); ok {
			out = append(out, f)
		}
	}
	return out
}

// evaluation reads a score that the conventions' evaluation event carries.
func evaluation(e Event, span string) (Feedback, bool) {
	if e.Name != "gen_ai.evaluation.result" {
		return Feedback{}, false
	}
	a := e.all()
	f := Feedback{
		SpanID: span, Name: a.Str("gen_ai.evaluation.name"), Label: a.Str("gen_ai.evaluation.score.label"),
		Explanation: a.Str("gen_ai.evaluation.explanation"),
	}
	if v, ok := a.number("gen_ai.evaluation.score.value"); ok {
		f.Score = &v
	}
	return f, true
}

// ending fills the reply and the root's error.
func (b *builder) ending() {
	b.out.Reply = b.reply()
	b.out.RootError = b.rootError()
}

func (b *builder) rootError() *Error {
	for _, n := range []*node{b.root, b.lastAgent()} {
		if n != nil && n.err != nil && !b.smeared(n) {
			e := *n.err
			n.deeper(&e, 0)
			return &e
		}
	}
	return nil
}

func (b *builder) lastAgent() *node {
	for _, n := range slices.Backward(b.nodes) {
		if n.facts.Role == RoleAgent {
			return n
		}
	}
	return nil
}

// reply is what the agent answered at the end: what the root or the outermost agent says it did, else the text of the last model call
// that asked for nothing more and works for no tool.
func (b *builder) reply() *string {
	for _, n := range b.fromRoot() {
		if n.facts.Role != RoleAgent && n != b.root || n.facts.Role == RoleModel || n.agent != nil && n.agent != n {
			continue
		}
		if n.facts.Reply != "" {
			return new(n.facts.Reply)
		}
		if s := lastAnswer(n.facts.Output); s != "" {
			return &s
		}
	}
	for _, c := range slices.Backward(b.calls) {
		if toolAround(c.node) {
			continue
		}
		m := &b.out.ModelCalls[c.index]
		if len(m.ToolCalls) > 0 || len(c.node.facts.Output) == 0 || m.FinishReason == FinishToolCalls {
			return nil
		}
		return new(m.Text)
	}
	return nil
}

// toolAround says whether a call is made inside a tool: a sub-agent's, whose answer is the tool's result.
func toolAround(n *node) bool {
	for p := range n.above {
		if p.facts.Role == RoleTool {
			return true
		}
	}
	return false
}

// lastAnswer is the text of the last assistant message.
func lastAnswer(ms []Message) string {
	for _, m := range slices.Backward(ms) {
		if m.Role != "assistant" {
			continue
		}
		if s := textOf([]Message{m}); s != "" {
			return s
		}
	}
	return ""
}
