package trajectory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// The keys by which any instrumentation, and the team's own code, names the conversation and the user on any span.
var (
	sessionKeys = []string{"session.id", "langfuse.session.id", "gen_ai.conversation.id", "ai.telemetry.metadata.sessionId",
		"traceloop.association.properties.session_id", "traceloop.association.properties.thread_id",
		"langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.metadata.conversation_id", "conversation.id", "thread_id"}
	userKeys = []string{"user.id", "enduser.id", "langfuse.user.id", "ai.telemetry.metadata.userId",
		"traceloop.association.properties.user_id", "langsmith.metadata.user_id"}
)

// How many of these keys are more to be trusted than a dialect's own: the team's code sets them on spans of whatever dialect.
const (
	trustedSessionKeys = 2
	trustedUserKeys    = 3
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
		named := n.survey.families&identityKeys != 0
		if named && o.SessionID == "" {
			o.SessionID = b.session(n.namedSession(sessionKeys[:trustedSessionKeys]))
		}
		if named && o.UserID == "" {
			o.UserID = n.attr(userKeys[:trustedUserKeys]...)
		}
		o.SessionID, o.UserID = cmp.Or(o.SessionID, b.session(n.facts.SessionID)), cmp.Or(o.UserID, n.facts.UserID)
		if named && o.SessionID == "" {
			o.SessionID = b.session(n.namedSession(sessionKeys))
		}
		for i := 0; i < len(n.span.Logs) && o.SessionID == ""; i++ {
			if id := n.span.Logs[i].Attrs.Str(sessionKeys...); id != n.facts.Run {
				o.SessionID = b.session(id)
			}
		}
		if named && o.UserID == "" {
			o.UserID = n.attr(userKeys...)
		}
		if o.Service == "" {
			o.Service = n.span.Resource.Text("service.name")
		}
		if o.Version == "" {
			o.Version = cmp.Or(n.span.Resource.Text("service.version"), n.span.Attrs.Str("langfuse.release"))
		}
	}
	for _, n := range b.nodes {
		if o.Start.IsZero() || n.start.Before(o.Start) && !n.start.IsZero() {
			o.Start = n.start
		}
		o.End = laterOf(o.End, n.ended())
		if id := n.span.Resource.Str("session.id"); o.SessionID == "" && id != n.facts.Run {
			o.SessionID = b.session(id)
		}
		o.Feedback = append(o.Feedback, n.facts.Feedback...)
		o.Feedback = append(o.Feedback, evaluations(n.span)...)
	}
	for _, l := range b.trace.Logs {
		o.Service = cmp.Or(o.Service, l.Resource.Text("service.name"))
		if l.SpanID == "" {
			o.SessionID = cmp.Or(o.SessionID, b.session(l.Attrs.Str(sessionKeys...)))
		}
		if f, ok := evaluation(l.Event, l.SpanID); ok {
			o.Feedback = append(o.Feedback, f)
		}
	}
	o.Route = b.route()
	o.follows = b.linked()
}

// linked is the other trace that spans of this one are linked to, "" when it is none or several: a batch that works off what many sent is no
// conversation's next turn.
func (b *builder) linked() (trace string) {
	for i := range b.trace.Spans {
		for _, id := range b.trace.Spans[i].Links {
			if id == b.trace.ID || id == trace {
				continue
			}
			if trace != "" {
				return ""
			}
			trace = id
		}
	}
	return trace
}

// fromRoot returns the nodes with the root first: what it says of the whole trace counts before what its children say.
func (b *builder) fromRoot() []*node {
	if b.root == nil {
		return b.nodes
	}
	return append([]*node{b.root}, b.nodes...)
}

// namedSession is the conversation that the span itself names, in whatever words, save what its dialect knows to be one run's.
func (n *node) namedSession(keys []string) string {
	for _, k := range keys {
		if id := n.attr(k); id != "" && id != n.facts.Run {
			return id
		}
	}
	return ""
}

// session is an id if it may be a conversation's; else it is noted, and "".
func (b *builder) session(id string) string {
	real := realSession(id)
	if real == "" && id != "" {
		b.nobody = cmp.Or(b.nobody, standIn(id))
	}
	return real
}

// standIn tells what was refused in few words, of which all traces of a program have the same.
func standIn(id string) string {
	switch word := sessionWord(id); {
	case noSession[word]:
		return strconv.Quote(word)
	case strings.Trim(id, "0-") == "":
		return "zeros"
	}
	return "the id of one answer"
}

func sessionWord(id string) string { return strings.ToLower(strings.Trim(id, "-_ <>()[]")) }

// realSession refuses what some emitters put in the conversation's place: the id of the previous response, and the words that stand for none, which
// all traces of such a program share: joined, they would make one conversation of all of them. Other constants cannot be told from ids: for those
// Sessions looks at the users, and Join joins no turn of which it is not known that it goes on.
func realSession(id string) string {
	if strings.HasPrefix(id, "resp_") || strings.HasPrefix(id, "chatcmpl-") || noSession[sessionWord(id)] || strings.Trim(id, "0-") == "" {
		return ""
	}
	return id
}

var noSession = map[string]bool{
	"": true, "default": true, "default_session": true, "default-session": true, "default_thread": true, "none": true, "null": true, "nil": true,
	"undefined": true, "unknown": true, "n/a": true, "na": true, "nan": true, "anonymous": true, "session": true, "session_id": true, "session-id": true,
	"sessionid": true, "thread_id": true, "conversation_id": true, "main": true, "global": true, "false": true, "true": true, "object object": true,
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

// EndsBlank says that the last call of the model tells neither an answer nor an error, nor what it used or why it stopped, and nothing else
// tells a reply: whether the run ended well is not in the data. ADK leaves such spans of calls that failed, and of those that a callback
// answered.
func (t *Trajectory) EndsBlank() bool {
	if len(t.ModelCalls) == 0 || t.Reply != nil || t.RootError != nil {
		return false
	}
	m := &t.ModelCalls[len(t.ModelCalls)-1]
	return m.Error == nil && m.Text == "" && len(m.ToolCalls) == 0 && m.FinishReason == "" && !m.Usage.counted()
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

// reply is what the agent answered at the end: what the root says it did, else the agent that answered last, unless another went on after
// it; else the text of the last model call that asked for nothing more and works for no tool.
func (b *builder) reply() *string {
	if b.root != nil && b.root.facts.Role != RoleModel {
		if s := b.root.answered(); s != "" {
			return new(b.lastSaid(s))
		}
	}
	last, agent := b.lastCall(), b.lastAnswering()
	if agent != nil && (last == nil || last.node.agent == nil || inside(last.node, agent) || last.node.start.Before(agent.ended())) {
		return new(agent.answered())
	}
	if last == nil {
		return nil
	}
	m := &b.out.ModelCalls[last.index]
	if len(m.ToolCalls) > 0 || len(last.node.facts.Output) == 0 || m.FinishReason == FinishToolCalls {
		return nil
	}
	return new(m.Text)
}

// lastSaid is the last of the texts of the run's calls, where an answer is all of them on end: streams of the AI SDK 4 put it so.
func (b *builder) lastSaid(answer string) string {
	var all strings.Builder
	last := ""
	for i, c := range b.calls {
		if text := b.out.ModelCalls[i].Text; text != "" && !toolAround(c.node) {
			all.WriteString(text)
			last = text
		}
	}
	if len(last) < len(answer) && all.String() == answer {
		return last
	}
	return answer
}

// answered is the answer that an agent's or a root's span states, "" when it states none.
func (n *node) answered() string { return cmp.Or(n.facts.Reply, lastAnswer(n.facts.Output)) }

// lastCall is the last call of a model that works for no tool.
func (b *builder) lastCall() *call {
	for _, c := range slices.Backward(b.calls) {
		if !toolAround(c.node) {
			return c
		}
	}
	return nil
}

// lastAnswering is the agent that ended last of those that state an answer: the outermost, and none that works for a tool.
func (b *builder) lastAnswering() (last *node) {
	for _, n := range b.nodes {
		if n.facts.Role != RoleAgent || n.answered() == "" || toolAround(n) && !b.goesOn(n) || last != nil && (inside(n, last) && !b.goesOn(n) || n.ended().Before(last.ended())) {
			continue
		}
		last = n
	}
	return last
}

// goesOn says whether an agent began only when the span around it had ended: home-made traces, which hold no calls of a model, hang each step
// below the one that it follows.
func (b *builder) goesOn(n *node) bool {
	return len(b.calls) == 0 && n.parent != nil && !n.parent.end.IsZero() && !n.start.Before(n.parent.end)
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
