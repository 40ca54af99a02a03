package importer

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// LangSmith: runs as its API and SDKs write them, one object a run, in lists, under runs, or nested in child_runs. A run
// becomes what LangSmith's own OpenTelemetry exporter makes of it, so that one reader serves both: inputs and outputs whole
// in gen_ai.prompt and gen_ai.completion, the rest under langsmith.*. Run ids are UUIDs: the trace's is a trace id as it is,
// a
// run's is hashed, since half of a time-ordered UUID is shared by all that began in the same millisecond.

func isLangSmith(o object) bool {
	if o.has("runs") {
		o = o.inner("runs")
	}
	return o.all("id", "run_type") && o.has("trace_id", "dotted_order", "session_id", "inputs", "child_runs")
}

func readLangSmith(x *export, o object) error {
	if o.has("runs") {
		return each(o["runs"], "runs", func(run object) error { return langSmithRun(x, run, "", "", maxDepth) })
	}
	return langSmithRun(x, o, "", "", maxDepth)
}

func langSmithRun(x *export, o object, trace, parent string, depth int) error {
	id := o.text("id")
	trace = cmp.Or(o.text("trace_id"), rootOfOrder(o.text("dotted_order")), trace)
	parent = cmp.Or(o.text("parent_run_id"), parent)
	switch {
	case depth == 0:
		return fmt.Errorf("run %.40q: child runs are nested too deeply", id)
	case id == "":
		return fmt.Errorf("the run %.40q has no id", o.text("name"))
	case trace == "" && parent != "":
		return fmt.Errorf("run %.40q has a parent and no trace_id: export it with trace_id or dotted_order", id)
	}
	trace = cmp.Or(trace, id)
	s := x.newSpan(origin{scopeName: "langsmith"})
	s.SetTraceID(x.traceID(trace))
	s.SetSpanID(x.spanID(id))
	if parent != "" {
		s.SetParentSpanID(x.spanID(parent))
	}
	s.SetName(o.text("name"))
	s.SetStartTimestamp(x.instant(o.get("start_time")))
	s.SetEndTimestamp(x.instant(o.get("end_time")))
	langSmithStatus(o, s)
	x.langSmithAttributes(o, s)
	x.langSmithEvents(o["events"], s)
	_ = members(o.get("feedback_stats"), func(name string, v jsontext.Value) bool { // the mean of what was said of the run
		stats, _ := objectOf(v)
		x.evaluation(s, name, stats["avg"], "", "", o.get("end_time"), false)
		return true
	})
	return each(o["child_runs"], "child_runs", func(run object) error { return langSmithRun(x, run, trace, id, depth-1) })
}

// rootOfOrder is the id of the root run in a dotted order: {time}Z{id}.{time}Z{id}...
func rootOfOrder(order string) string {
	first, _, _ := strings.Cut(order, ".")
	_, id, _ := strings.Cut(first, "Z")
	return id
}

func langSmithStatus(o object, s ptrace.Span) {
	if text := o.text("error"); text != "" {
		s.Status().SetCode(ptrace.StatusCodeError)
		s.Status().SetMessage(text)
		return
	}
	switch o.text("status") {
	case "error":
		s.Status().SetCode(ptrace.StatusCodeError)
	case "success":
		s.Status().SetCode(ptrace.StatusCodeOk)
	}
}

func (x *export) langSmithAttributes(o object, s ptrace.Span) {
	kind := o.text("run_type")
	put := func(key string, v jsontext.Value) { x.attribute(key, v, s.Attributes()) }
	put("langsmith.span.kind", o["run_type"])
	put("langsmith.trace.name", o["name"])
	put("langsmith.trace.session_id", o["session_id"])
	put("langsmith.trace.session_name", o["session_name"])
	put("langsmith.span.dotted_order", o["dotted_order"])
	put("langsmith.span.id", o["id"])
	for _, side := range []struct{ name, key string }{{"inputs", "gen_ai.prompt"}, {"outputs", "gen_ai.completion"}} {
		if v := o.get(side.name); v != nil {
			put(side.key, jsonText(v))
		}
	}
	if tags := o.get("tags"); tags != nil && tags[0] == '[' {
		var all []string
		_ = elements(tags, func(v jsontext.Value) error {
			all = append(all, textOf(v))
			return nil
		})
		if len(all) > 0 {
			put("langsmith.span.tags", quoted(strings.Join(all, ", ")))
		}
	}
	x.langSmithExtra(o, s)
	if kind == "llm" { // of other runs the counts are sums over their children
		langSmithUsage(o, put)
	}
}

// langSmithExtra reads the metadata and the parameters of the call.
func (x *export) langSmithExtra(o object, s ptrace.Span) {
	extra, err := objectOf(o.get("extra"))
	if err != nil {
		return
	}
	_ = members(extra.get("metadata"), func(name string, v jsontext.Value) bool {
		if !absent(v) && (v[0] == '{' || v[0] == '[') {
			v = jsonText(v)
		}
		x.attribute("langsmith.metadata."+name, v, s.Attributes())
		return true
	})
	if v := extra.get("invocation_params"); v != nil {
		if _, has := s.Attributes().Get("langsmith.metadata.ls_invocation_params"); !has {
			x.attribute("langsmith.metadata.ls_invocation_params", jsonText(v), s.Attributes())
		}
		params, _ := objectOf(v)
		x.attribute("gen_ai.request.model", params.get("model", "model_name"), s.Attributes())
	}
}

func langSmithUsage(o object, put func(string, jsontext.Value)) {
	put("gen_ai.usage.input_tokens", o["prompt_tokens"])
	put("gen_ai.usage.output_tokens", o["completion_tokens"])
	put("gen_ai.usage.total_tokens", o["total_tokens"])
	usage := jsontext.Value("{")
	for _, m := range []struct{ from, to string }{
		{"prompt_tokens", "input_tokens"}, {"completion_tokens", "output_tokens"}, {"total_tokens", "total_tokens"},
		{"prompt_token_details", "input_token_details"}, {"completion_token_details", "output_token_details"}, {"total_cost", "total_cost"},
	} {
		if v := o.get(m.from); v != nil {
			if len(usage) > 1 {
				usage = append(usage, ',')
			}
			usage = append(append(append(usage, quoted(m.to)...), ':'), v...)
		}
	}
	if len(usage) > 1 && o.get("prompt_tokens", "completion_tokens") != nil {
		put("langsmith.usage_metadata", quoted(string(append(usage, '}'))))
	}
}

func (x *export) langSmithEvents(events jsontext.Value, s ptrace.Span) {
	if absent(events) || events[0] != '[' {
		return
	}
	_ = elements(events, func(v jsontext.Value) error {
		o, _ := objectOf(v)
		if name := o.text("name"); name != "" && name != "new_token" {
			e := s.Events().AppendEmpty()
			e.SetName(name)
			e.SetTimestamp(x.instant(o.get("time")))
		}
		return nil
	})
}
