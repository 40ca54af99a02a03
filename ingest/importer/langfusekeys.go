package importer

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// restored writes an observation's attributes: those that came over OTLP, and, under the keys of the dialect that they are
// in, what Langfuse moved into input, output, model and usageDetails. A key that is still there is never overwritten.
type restored struct {
	x    *export
	into pcommon.Map
}

// maxID bounds a session's or user's id.
const maxID = 1024

// put writes an attribute unless it is there already. Structures become JSON text, as OpenTelemetry's attributes have them.
func (r restored) put(key string, v jsontext.Value) {
	if absent(v) {
		return
	}
	if _, has := r.into.Get(key); has {
		return
	}
	if v[0] == '{' || v[0] == '[' && holdsObjects(v) {
		v = jsonText(v)
	}
	r.x.attribute(key, v, r.into)
}

func (r restored) observation(o *observation) {
	for _, name := range sortedNames(o.attrs) {
		r.put(name, o.attrs[name])
	}
	a := o.attrs
	switch {
	case o.native:
		r.langfuse(o)
	case a.has("ai.operationId") || o.scope.text("name") == "ai":
		r.vercel(o)
	case a.has("langsmith.span.kind"):
		r.put("gen_ai.prompt", o.get("input"))
		r.put("gen_ai.completion", o.get("output"))
		r.genaiUsage(o)
	case a.hasPrefix("gcp.vertex.agent."):
		r.adk(o)
	case a.has("openinference.span.kind") || a.hasPrefix("llm."):
		r.openInference(o)
	case a.hasPrefix("mlflow."):
		r.put("mlflow.spanInputs", o.get("input"))
		r.put("mlflow.spanOutputs", o.get("output"))
	case a.hasPrefix("traceloop."):
		r.traceloop(o)
	case a.hasPrefix("gen_ai.") || o.scope.text("name") == "pydantic-ai":
		r.genai(o)
	default:
		r.langfuse(o)
	}
	for _, id := range []struct{ key, from string }{{"session.id", "sessionId"}, {"user.id", "userId"}} {
		if v := o.trace[id.from]; len(v) <= maxID { // it is repeated on every span
			r.put(id.key, v)
		}
	}
}

// langfuse writes what Langfuse's own SDK sends.
func (r restored) langfuse(o *observation) {
	const at = "langfuse.observation."
	r.put(at+"type", quoted(o.kind))
	r.put(at+"input", o.get("input"))
	r.put(at+"output", o.get("output"))
	r.put(at+"model.name", o.get("model"))
	r.put(at+"level", o.get("level"))
	r.put(at+"status_message", o.get("statusMessage"))
	r.put(at+"completion_start_time", o.get("completionStartTime"))
	for _, m := range []struct{ from, key string }{{"modelParameters", "model.parameters"}, {"usageDetails", "usage_details"}, {"costDetails", "cost_details"}} {
		if len(plainObject(o.get(m.from))) > 0 {
			r.put(at+m.key, o.get(m.from))
		}
	}
	if usage := o.get("usage"); len(plainObject(o.get("usageDetails"))) == 0 && len(plainObject(usage)) > 0 { // up to version 2 of the API
		r.put(at+"usage_details", usage)
	}
	for _, name := range sortedNames(o.meta) {
		if name != "attributes" && name != "resourceAttributes" && name != "scope" {
			r.put(at+"metadata."+name, o.meta[name])
		}
	}
	if o.get("parentObservationId") == nil {
		r.put("langfuse.trace.input", structure(o.trace["input"]))
		r.put("langfuse.trace.output", structure(o.trace["output"]))
	}
}

func (r restored) vercel(o *observation) {
	op := o.attrs.text("ai.operationId", "operation.name")
	in, out := o.get("input"), o.get("output")
	switch {
	case strings.HasPrefix(op, "ai.toolCall"):
		r.put("ai.toolCall.args", in)
		r.put("ai.toolCall.result", out)
		return
	case strings.Contains(op, ".do"):
		r.put("ai.prompt.messages", in)
		r.genaiUsage(o)
	default:
		r.put("ai.prompt", in)
	}
	switch out := structure(out); {
	case out == nil:
	case out[0] == '[' && strings.Contains(string(out), `"toolCallId"`):
		r.put("ai.response.toolCalls", out)
	case out[0] == '{':
		answer := plainObject(out)
		if calls := answer.get("toolCalls", "tool_calls"); calls != nil {
			r.put("ai.response.toolCalls", calls)
			r.put("ai.response.text", answer.get("text", "content"))
			return
		}
		r.put("ai.response.object", out)
	default:
		r.put("ai.response.text", out)
	}
}

func (r restored) adk(o *observation) {
	if o.attrs.has("gen_ai.tool.name") || o.kind == "tool" {
		r.put("gcp.vertex.agent.tool_call_args", o.get("input"))
		r.put("gcp.vertex.agent.tool_response", o.get("output"))
		return
	}
	if o.kind == "generation" {
		r.put("gcp.vertex.agent.llm_request", o.get("input"))
		r.put("gcp.vertex.agent.llm_response", o.get("output"))
	}
	if o.attrs.has("openinference.span.kind") {
		r.put("input.value", o.get("input"))
		r.put("output.value", o.get("output"))
	}
	r.genaiUsage(o)
}

func (r restored) openInference(o *observation) {
	in, out := structure(o.get("input")), structure(o.get("output"))
	if isNestedMessages(in) || isNestedMessages(out) { // from llm.input_messages.N.message.role
		for _, side := range []struct {
			key  string
			list jsontext.Value
		}{{"llm.input_messages", in}, {"llm.output_messages", out}} {
			if isNestedMessages(side.list) && !o.attrs.hasPrefix(side.key+".") {
				flat := flattened{x: r.x}
				flat.value(side.key, side.list, maxDepth)
				flat.into(r.into)
			}
		}
	} else {
		r.put("input.value", in)
		r.put("output.value", out)
	}
	if o.kind != "generation" && o.kind != "embedding" && o.kind != "agent" {
		return
	}
	r.put("llm.model_name", o.get("model"))
	usage := plainObject(o.get("usageDetails"))
	r.put("llm.token_count.prompt", bucket(usage, "input"))
	r.put("llm.token_count.completion", bucket(usage, "output"))
	r.put("llm.token_count.total", usage.get("total"))
	for _, name := range sortedNames(usage) {
		if strings.HasPrefix(name, "prompt_details.") || strings.HasPrefix(name, "completion_details.") {
			r.put("llm.token_count."+name, usage[name])
		}
	}
}

func isNestedMessages(v jsontext.Value) bool {
	return holdsObjects(v) && object{"v": v}.inner("v").has("message")
}

func (r restored) traceloop(o *observation) {
	in, out := o.get("input"), o.get("output")
	if o.kind != "generation" {
		r.put("traceloop.entity.input", in)
		r.put("traceloop.entity.output", out)
		return
	}
	r.genai(o)
}

// genai writes the conventions' keys. The role of the span tells where input and output belong.
func (r restored) genai(o *observation) {
	in, out := o.get("input"), o.get("output")
	op := o.attrs.text("gen_ai.operation.name")
	switch {
	case o.kind == "tool" || op == "execute_tool" || o.attrs.has("gen_ai.tool.name"):
		if o.attrs.has("tool_arguments") {
			return
		}
		r.put("gen_ai.tool.call.arguments", in)
		r.put("gen_ai.tool.call.result", out)
	case o.kind == "generation":
		r.put("gen_ai.input.messages", in)
		r.put("gen_ai.output.messages", out)
		r.genaiUsage(o)
	case o.attrs.has("pydantic_ai.all_messages"):
		r.put("final_result", out)
	default:
		r.put("gen_ai.input.messages", in)
		r.put("gen_ai.output.messages", out)
	}
}

// genaiUsage writes the counts and the model that answered. Langfuse keeps one model: the answering one where it was known.
func (r restored) genaiUsage(o *observation) {
	if model := o.text("model"); model != "" && model != o.attrs.text("gen_ai.request.model", "ai.model.id") {
		r.put("gen_ai.response.model", o.get("model"))
	}
	if o.attrs.hasPrefix("gen_ai.usage.") {
		return
	}
	usage := plainObject(o.get("usageDetails"))
	r.put("gen_ai.usage.input_tokens", bucket(usage, "input"))
	r.put("gen_ai.usage.output_tokens", bucket(usage, "output"))
	r.put("gen_ai.usage.total_tokens", usage.get("total"))
	r.put("gen_ai.usage.cache_read.input_tokens", usage.get("input_cached_tokens", "input_cache_read", "cache_read_input_tokens", "cache_read.input_tokens"))
	r.put("gen_ai.usage.cache_write.input_tokens", usage.get("input_cache_creation", "input_cache_write", "cache_creation_input_tokens"))
	r.put("gen_ai.usage.reasoning.output_tokens", usage.get("output_reasoning_tokens", "output_reasoning", "reasoning_tokens", "reasoning.output_tokens"))
	r.put("gen_ai.usage.cost", plainObject(o.get("providedCostDetails"))["total"])
}

// bucket is the count of a side. Langfuse splits some counts into buckets that exclude one another (input less
// input_cached_tokens): the total tells whether it did, and then they are added up again.
func bucket(usage object, side string) jsontext.Value {
	in, haveIn := number(usage["input"])
	out, haveOut := number(usage["output"])
	total, haveTotal := number(usage["total"])
	if _, have := number(usage[side]); !have || !haveTotal || !haveIn || !haveOut || in+out == total {
		return usage[side]
	}
	sum := 0.0
	for _, name := range sortedNames(usage) {
		if n, ok := number(usage[name]); ok && (name == side || strings.HasPrefix(name, side+"_")) {
			sum += n
		}
	}
	return jsontext.Value(strconv.FormatFloat(sum, 'f', -1, 64))
}

func number(v jsontext.Value) (float64, bool) {
	n, err := strconv.ParseFloat(textOf(v), 64)
	return n, err == nil && n >= 0 && !math.IsInf(n, 0) && !math.IsNaN(n)
}
