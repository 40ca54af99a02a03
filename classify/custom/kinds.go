package custom

import (
	"cmp"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// kind is one type of the view: what an expression may say of a trajectory, a call, a step.
type kind struct {
	name   string
	doc    string
	fields []field
}

// field is one fact of a kind. get may answer absent(fact): an expression whose result hangs on it makes the rule inapplicable.
type field struct {
	name string
	typ  *cel.Type
	doc  string
	get  func(o *object) ref.Val
	has  func(o *object) bool // for has(); nil: always
}

// The names of the kinds. They are types of the expression language, so that a field that does not exist is an error when the rule is loaded.
const (
	kindTrajectory = "Trajectory"
	kindModelCall  = "ModelCall"
	kindToolCall   = "ToolCall"
	kindHandoff    = "Handoff"
	kindStep       = "Step"
	kindTool       = "Tool"
	kindError      = "Error"
	kindStats      = "Stats"
)

func objectType(name string) *cel.Type { return cel.ObjectType(name) }

func listOf(name string) *cel.Type { return cel.ListType(objectType(name)) }

// kinds is the whole view, in the order in which it is documented.
func kinds() []kind {
	return []kind{trajectoryKind(), modelCallKind(), toolCallKind(), handoffKind(), stepKind(), toolKind(), errorKind(), statsKind()}
}

func trajectoryKind() kind {
	text := func(name, doc string, of func(*trajectory.Trajectory) string) field {
		return field{name: name, typ: cel.StringType, doc: doc, get: func(o *object) ref.Val { return types.String(of(o.v.t)) }}
	}
	return kind{kindTrajectory, "t, the trace that is judged", []field{
		text("trace_id", "id of the trace", func(t *trajectory.Trajectory) string { return t.TraceID }),
		{"traces", cel.ListType(cel.StringType), "ids of the traces that are judged, in order of start: several where it is a session", func(o *object) ref.Val { return texts(o.v.traces()) }, nil},
		text("session_id", "id of the conversation, empty when the emitter names none", func(t *trajectory.Trajectory) string { return t.SessionID }),
		text("service", "service.name", func(t *trajectory.Trajectory) string { return t.Service }),
		text("version", "service.version", func(t *trajectory.Trajectory) string { return t.Version }),
		text("route", "http.route, or the scrubbed name of the root span", func(t *trajectory.Trajectory) string { return t.Route }),
		text("system_prompt", "the first system instruction", func(t *trajectory.Trajectory) string { return t.SystemPrompt }),
		{"agents", cel.ListType(cel.StringType), "names of the agents, in order of first appearance", func(o *object) ref.Val { return texts(o.v.t.Agents) }, nil},
		{"user_messages", cel.ListType(cel.StringType), "what the user said, in order", func(o *object) ref.Val {
			return o.v.unless(trajectory.FactUserMessages, len(o.v.t.UserMessages) > 0, texts(o.v.t.UserMessages))
		}, nil},
		{"reply", cel.StringType, "what the agent answered at the end; not there when it gave none", func(o *object) ref.Val {
			return o.v.unless(trajectory.FactReply, o.v.t.Reply != nil, types.String(orEmpty(o.v.t.Reply)))
		}, func(o *object) bool { return o.v.t.Reply != nil || o.v.lacks(trajectory.FactReply) }},
		{"model_calls", listOf(kindModelCall), "requests to models, in order", func(o *object) ref.Val {
			return o.v.unless(trajectory.FactModelCalls, len(o.v.t.ModelCalls) > 0, o.v.list(kindModelCall, len(o.v.t.ModelCalls)))
		}, nil},
		{"tool_calls", listOf(kindToolCall), "calls of tools, in order", func(o *object) ref.Val {
			return o.v.unless(trajectory.FactToolCalls, len(o.v.t.ToolCalls) > 0, o.v.list(kindToolCall, len(o.v.t.ToolCalls)))
		}, nil},
		{"handoffs", listOf(kindHandoff), "transfers from one agent to another", func(o *object) ref.Val { return o.v.list(kindHandoff, len(o.v.t.Handoffs)) }, nil},
		{"steps", listOf(kindStep), "everything that happened, in order", func(o *object) ref.Val { return o.v.list(kindStep, len(o.v.t.Steps)) }, nil},
		{"tools_offered", listOf(kindTool), "tools that any model call could choose from, by name", func(o *object) ref.Val {
			return o.v.unless(trajectory.FactToolsOffered, len(o.v.t.ToolsOffered) > 0, o.v.list(kindTool, len(o.v.t.ToolsOffered)))
		}, nil},
		{"error", objectType(kindError), "the error that the run ended in; not there when it did not", func(o *object) ref.Val { return o.v.err(o.v.t.RootError) },
			func(o *object) bool { return o.v.t.RootError != nil }},
		{"stats", objectType(kindStats), "counts and sums", func(o *object) ref.Val { return &object{kindStats, o.v, 0, nil} }, nil},
	}}
}

func statsKind() kind {
	count := func(name, doc string, of func(classify.Stats) int) field {
		return field{name: name, typ: cel.IntType, doc: doc, get: func(o *object) ref.Val { return types.Int(of(o.v.stats())) }}
	}
	return kind{kindStats, "counts and sums of the trace", []field{
		count("spans", "spans of any kind", func(s classify.Stats) int { return s.Spans }),
		count("steps", "steps", func(s classify.Stats) int { return s.Steps }),
		count("model_calls", "model calls", func(s classify.Stats) int { return s.ModelCalls }),
		count("tool_calls", "tool calls", func(s classify.Stats) int { return s.ToolCalls }),
		number("input_tokens", "input tokens of all model calls", func(o *object) *int64 { return o.v.stats().InputTokens }),
		number("output_tokens", "output tokens of all model calls", func(o *object) *int64 { return o.v.stats().OutputTokens }),
		number("cached_tokens", "input tokens read from the provider's cache", func(o *object) *int64 { return o.v.stats().CachedTokens }),
		money(func(o *object) *float64 { return o.v.stats().CostUSD }),
	}}
}

func modelCallKind() kind {
	text := func(name, doc string, of func(*trajectory.ModelCall) string) field {
		return field{name: name, typ: cel.StringType, doc: doc, get: func(o *object) ref.Val { return types.String(of(o.model())) }}
	}
	return kind{kindModelCall, "one request to a model and its answer", []field{
		text("span_id", "id of its span", func(m *trajectory.ModelCall) string { return m.SpanID }),
		text("agent", "the agent that asks", func(m *trajectory.ModelCall) string { return m.Agent }),
		text("provider", "who runs the model", func(m *trajectory.ModelCall) string { return m.Provider }),
		text("model_requested", "the model that was asked for", func(m *trajectory.ModelCall) string { return m.ModelRequested }),
		text("model_responded", "the model that answered", func(m *trajectory.ModelCall) string { return m.ModelResponded }),
		text("text", "the words of the answer", func(m *trajectory.ModelCall) string { return m.Text }),
		{"finish_reason", cel.StringType, "stop, length, tool_calls, content_filter, error or other", func(o *object) ref.Val {
			return o.v.known(trajectory.FactFinishReason, o.model().FinishReason != "", types.String(o.model().FinishReason))
		}, nil},
		{"tool_calls", listOf(kindToolCall), "the calls that the answer asks for", func(o *object) ref.Val { return o.v.calls(o.model().ToolCalls) }, nil},
		{"offered", cel.ListType(cel.StringType), "names of the tools that this call could choose from", func(o *object) ref.Val {
			return o.v.known(trajectory.FactToolsOffered, o.model().Offered != nil, texts(offered(o.model())))
		}, nil},
		number("input_tokens", "input tokens, cached ones among them", func(o *object) *int64 { return o.model().Usage.Input }),
		number("output_tokens", "output tokens", func(o *object) *int64 { return o.model().Usage.Output }),
		number("cached_tokens", "input tokens read from the provider's cache", func(o *object) *int64 { return o.model().Usage.CacheRead }),
		money(func(o *object) *float64 { return o.model().Usage.CostUSD }),
		{"error", objectType(kindError), "what went wrong; not there when nothing did", func(o *object) ref.Val { return o.v.err(o.model().Error) },
			func(o *object) bool { return o.model().Error != nil }},
		elapsed(func(o *object) span { return span{o.model().Start, o.model().End} }),
	}}
}

func toolCallKind() kind {
	text := func(name, doc string, of func(*trajectory.ToolCall) string) field {
		return field{name: name, typ: cel.StringType, doc: doc, get: func(o *object) ref.Val { return types.String(of(o.call())) }}
	}
	flag := func(name, doc string, of func(*trajectory.ToolCall) bool) field {
		return field{name: name, typ: cel.BoolType, doc: doc, get: func(o *object) ref.Val { return types.Bool(of(o.call())) }}
	}
	return kind{kindToolCall, "one call of a tool: what the model asked for and what came of it", []field{
		text("span_id", "id of its span", func(c *trajectory.ToolCall) string { return c.SpanID }),
		{"trace_id", cel.StringType, "id of its trace", func(o *object) ref.Val { return types.String(cmp.Or(o.traceID(), o.v.t.TraceID)) }, nil},
		text("id", "the provider's id of the call", func(c *trajectory.ToolCall) string { return c.ID }),
		text("name", "the tool, without what frameworks put around its name", toolName),
		text("agent", "the agent that calls", func(c *trajectory.ToolCall) string { return c.Agent }),
		flag("requested", "a model asked for it", func(c *trajectory.ToolCall) bool { return c.Requested }),
		flag("recalled", "known only from the history that the trace began with: an earlier trace made the call", func(c *trajectory.ToolCall) bool { return c.Recalled }),
		flag("executed", "a span of its execution is there", func(c *trajectory.ToolCall) bool { return c.Executed }),
		{"arguments", cel.DynType, "the JSON value of the arguments, or their text when they are not JSON", func(o *object) ref.Val { return o.v.arguments(o.call()) }, nil},
		{"result", cel.DynType, "the JSON value of the result, or its text; not there when the call is known to have none", func(o *object) ref.Val { return o.v.result(o.call()) },
			func(o *object) bool { return o.call().Outcome != trajectory.OutcomeMissing }},
		{"outcome", cel.StringType, "ok, error, denied, timeout or missing", func(o *object) ref.Val { return o.v.outcome(o.call(), types.String(o.call().Outcome)) }, nil},
		{"failed", cel.BoolType, "the outcome is error, denied or timeout", func(o *object) ref.Val { return o.v.outcome(o.call(), types.Bool(classify.Failed(o.call()))) }, nil},
		{"error", objectType(kindError), "what went wrong; not there when nothing did", func(o *object) ref.Val { return o.v.err(o.call().Error) },
			func(o *object) bool { return o.call().Error != nil }},
		elapsed(func(o *object) span { return span{o.call().Start, o.call().End} }),
	}}
}

func handoffKind() kind {
	text := func(name, doc string, of func(*trajectory.Handoff) string) field {
		return field{name: name, typ: cel.StringType, doc: doc, get: func(o *object) ref.Val { return types.String(of(&o.v.t.Handoffs[o.at])) }}
	}
	return kind{kindHandoff, "a transfer from one agent to another", []field{
		text("span_id", "id of its span", func(h *trajectory.Handoff) string { return h.SpanID }),
		text("from", "the agent that hands over", func(h *trajectory.Handoff) string { return h.From }),
		text("to", "the agent that takes over", func(h *trajectory.Handoff) string { return h.To }),
	}}
}

func stepKind() kind {
	text := func(name, doc string, of func(*trajectory.Step) string) field {
		return field{name: name, typ: cel.StringType, doc: doc, get: func(o *object) ref.Val { return types.String(of(&o.v.t.Steps[o.at])) }}
	}
	return kind{kindStep, "one thing that happened", []field{
		text("span_id", "id of its span", func(s *trajectory.Step) string { return s.SpanID }),
		text("kind", "user_message, model_call, tool_call, handoff, retrieval, reply or error", func(s *trajectory.Step) string { return string(s.Kind) }),
		text("agent", "whose step it is", func(s *trajectory.Step) string { return s.Agent }),
		text("text", "the words of a message, a reply or an error", func(s *trajectory.Step) string { return s.Text }),
	}}
}

func toolKind() kind {
	text := func(name, doc string, of func(*trajectory.ToolDef) string) field {
		return field{name: name, typ: cel.StringType, doc: doc, get: func(o *object) ref.Val { return types.String(of(&o.v.t.ToolsOffered[o.at])) }}
	}
	return kind{kindTool, "a tool as it was offered", []field{
		text("name", "its name", func(d *trajectory.ToolDef) string { return d.Name }),
		text("description", "its description", func(d *trajectory.ToolDef) string { return d.Description }),
	}}
}

func errorKind() kind {
	return kind{kindError, "what went wrong, as the emitter tells it", []field{
		{"type", cel.StringType, "class or code", func(o *object) ref.Val { return types.String(o.fault.Type) }, nil},
		{"message", cel.StringType, "its words", func(o *object) ref.Val { return types.String(o.fault.Message) }, nil},
		{"code", cel.IntType, "HTTP status, 0 when it is not known", func(o *object) ref.Val { return types.Int(o.fault.Code) }, nil},
	}}
}

func number(name, doc string, of func(*object) *int64) field {
	return field{name: name, typ: cel.IntType, doc: doc, get: func(o *object) ref.Val {
		n := of(o)
		if n == nil {
			return absent(trajectory.FactUsage)
		}
		return types.Int(*n)
	}}
}

func money(of func(*object) *float64) field {
	return field{name: "cost_usd", typ: cel.DoubleType, doc: "USD, as spans report it or the price list has it", get: func(o *object) ref.Val {
		usd := of(o)
		if usd == nil {
			return absent(trajectory.FactCost)
		}
		return types.Double(*usd)
	}}
}

func elapsed(of func(*object) span) field {
	return field{name: "elapsed_ms", typ: cel.IntType, doc: "milliseconds from start to end", get: func(o *object) ref.Val {
		s := of(o)
		known := !s.start.IsZero() && !s.end.IsZero() && !o.v.lacks(trajectory.FactClock)
		return o.v.known(trajectory.FactClock, known, types.Int(s.end.Sub(s.start).Milliseconds()))
	}}
}
