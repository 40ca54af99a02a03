package trajectory

import (
	"cmp"
	"strings"
)

// MLflow writes every attribute as JSON, a plain text with its quotes. Inputs and outputs are the bodies of the client that was traced, or the
// parameters and the value of a traced function.
var _ = add(Dialect{
	Name:  "mlflow",
	Rank:  24,
	Keys:  []string{"mlflow."},
	Score: scoreMLflow,
	Read:  readMLflow,
	Remedies: map[Fact]string{
		FactToolCalls:     "use mlflow.<flavor>.autolog() of the model client: it records the whole response",
		FactToolExecution: "decorate tools with @mlflow.trace(span_type=SpanType.TOOL)",
		FactToolsOffered:  "use autolog() of the model client, or call mlflow.tracing.set_span_chat_tools",
		FactToolSchemas:   "use autolog() of the model client: it records mlflow.chat.tools with parameters",
		FactArguments:     "decorate tools with @mlflow.trace(span_type=SpanType.TOOL), and do not blank spanInputs in a span processor",
		FactResults:       "decorate tools with @mlflow.trace(span_type=SpanType.TOOL), and do not blank spanOutputs in a span processor",
		FactUserMessages:  "do not blank spanInputs in a span processor",
		FactReply:         "do not blank spanOutputs in a span processor",
		FactSession:       `call mlflow.update_current_trace(metadata={"mlflow.trace.session": ...}), with an MLflow version that copies it to session.id`,
		FactUsage:         "update mlflow (3.1 or later records mlflow.chat.tokenUsage); of streams ask the provider to include usage",
		FactFinishReason:  "use autolog() of the model client: it records the whole response",
		FactModelCalls:    "call mlflow.<flavor>.autolog() of the model client, or trace the call with span_type=SpanType.CHAT_MODEL",
		FactModelName:     "use autolog() of the model client: it records the whole request, the model's name in it",
	},
})

func scoreMLflow(s *Span) int {
	score := 0
	for _, key := range []string{"mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs"} {
		if s.Attrs.Has(key) {
			score += 10
		}
	}
	return score
}

func readMLflow(s *Span) Facts {
	a := s.Attrs
	f := Facts{
		SessionID: cmp.Or(a.plain("session.id"), a.plain("mlflow.trace.session"), a.plain("mlflow.traceTag.session_id")),
		UserID:    cmp.Or(a.plain("user.id"), a.plain("mlflow.trace.user")),
		Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent},
	}
	in, out := a.jsonText("mlflow.spanInputs"), a.jsonText("mlflow.spanOutputs")
	switch kind := strings.ToUpper(a.plain("mlflow.spanType")); {
	case kind == "LLM" || kind == "CHAT_MODEL":
		f.Role = RoleModel
		mlflowModel(a, in, out, &f)
	case kind == "TOOL":
		f.Role = RoleTool
		f.ToolName = mlflowName(s)
		args, _ := a.value("mlflow.spanInputs")
		f.Arguments = tracedArguments(args)
		var v Value
		v, f.HasResult = a.value("mlflow.spanOutputs")
		tracedResult(out, v, &f)
	case kind == "AGENT":
		f.Role = RoleAgent
		f.Agent = mlflowName(s)
		f.UserText, f.Reply = askedText(in), answerText(out)
	case kind == "RETRIEVER":
		f.Role = RoleRetrieval
	case readObject(in).has("from_agent") && readObject(out).has("to_agent"):
		f.Role = RoleHandoff
		f.HandoffFrom, f.HandoffTo = readObject(in).str("from_agent"), readObject(out).str("to_agent")
	case s.ParentID == "":
		f.UserText, f.Reply = askedText(in), answerText(out)
	}
	return f
}

// plain is the text of an attribute that may have been written as JSON, without its quotes.
func (a Attrs) plain(key string) string { return plainText(a.Text(key)) }

// mlflowName is a span's name without the number that older versions put behind names that repeat ("search_1").
func mlflowName(s *Span) string {
	fn := s.Attrs.plain("mlflow.spanFunctionName")
	n, ok := strings.CutPrefix(s.Name, fn+"_")
	if fn != "" && ok && strings.Trim(n, "0123456789") == "" {
		return fn
	}
	return s.Name
}

func mlflowModel(a Attrs, in, out string, f *Facts) {
	usage := readObject(a.jsonText("mlflow.chat.tokenUsage"))
	f.Usage = usageOf(usage)
	f.InputExcludes = a.plain("mlflow.message.format") == "anthropic" && f.Usage.CacheRead != nil
	f.Usage.CostUSD = readObject(a.jsonText("mlflow.llm.cost")).decimal("total_cost")
	f.Provider = providerOf(cmp.Or(a.plain("mlflow.llm.provider"), a.plain("mlflow.message.format")))
	f.OfferedText = a.jsonText("mlflow.chat.tools")
	f.Streamed = a.plain("stream") == "true"
	modelBodies(in, out, f)
	f.ModelRequested = cmp.Or(f.ModelRequested, a.plain("model"), a.plain("mlflow.llm.model"))
	if kindOf(out) == '[' && f.ModelResponded == "" { // of the agents' bridge: the items, with the rest of the response in attributes
		f.ResponseID = cmp.Or(f.ResponseID, a.plain("id"))
		f.System = cmp.Or(f.System, a.plain("instructions"))
		f.FinishRaw = cmp.Or(f.FinishRaw, readObject(a.jsonText("incomplete_details")).str("reason"), a.plain("status"))
		f.Usage = f.Usage.or(usageOf(readObject(a.jsonText("usage"))))
	}
}
