package trajectory

import (
	"cmp"
	"strings"
)

const semanticKernelContent = "set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true, and export logs to pawl as well as traces"

// Semantic Kernel has each message as JSON in one field of an event or in the body of a log record, and spells a few of the conventions'
// words its own way.
var _ = add(Dialect{
	Name: "semantic-kernel",
	Rank: 15,
	Keys: []string{"sk.", "gen_ai."}, Scopes: []string{"semantic_kernel", "Microsoft.SemanticKernel"},
	Score: scoreSemanticKernel,
	Read:  readSemanticKernel,
	Remedies: map[Fact]string{
		FactToolCalls:     semanticKernelContent,
		FactToolExecution: "let the kernel invoke functions itself (FunctionChoiceBehavior.Auto): those that the caller runs have no span",
		FactToolsOffered:  "let the kernel invoke functions itself (FunctionChoiceBehavior.Auto): its loop lists sk.available_functions",
		FactToolSchemas:   "name the tools in the catalog (tools: in pawl.yaml): Semantic Kernel sends names only",
		FactArguments:     semanticKernelContent,
		FactResults:       semanticKernelContent,
		FactUserMessages:  semanticKernelContent,
		FactReply:         semanticKernelContent,
		FactSession:       "set session.id on a span around the run",
		FactUsage:         "ask the provider to include usage in streams",
		FactModelCalls:    "set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS=true: without it Semantic Kernel opens no spans of model calls",
		FactFinishReason:  "use a connector that sets the finish reason: Semantic Kernel writes gen_ai.response.finish_reason from it",
		FactModelName:     keptBy("Semantic Kernel", "gen_ai.request.model"),
	},
})

func scoreSemanticKernel(s *Span) int {
	score := 0
	if strings.HasPrefix(s.Scope, "semantic_kernel") || strings.HasPrefix(s.Scope, "Microsoft.SemanticKernel") {
		score += 12
	}
	if s.Attrs.Has("sk.available_functions") {
		score += 12
	}
	return score
}

func readSemanticKernel(s *Span) Facts {
	f := readEvents(s)
	if isAnyOf(s.Attrs.Text("gen_ai.operation.name"), "chat.completions", "text.completions", "chat.streaming_completions", "text.streaming_completions") {
		f.Role = RoleModel
		f.Streamed = f.Streamed || strings.Contains(s.Attrs.Text("gen_ai.operation.name"), "streaming")
		genaiContent(s.Attrs, &f)
	}
	f.OfferedText = cmp.Or(f.OfferedText, s.Attrs.jsonText("sk.available_functions"))
	if f.Role == RoleModel || f.Role == RoleAgent {
		in, out := kernelEvents(s)
		if in != "" {
			f.Input = textHistory(in)
		}
		if out != "" {
			f.Output = asAssistant(ParseMessages(out))
			f.FinishRaw = cmp.Or(f.FinishRaw, finishInOutput(out))
		}
	}
	return f
}

// kernelEvents reads messages out of events and log records that hold each as JSON.
func kernelEvents(s *Span) (in, out string) {
	var list eventMessages
	for _, e := range s.Events {
		list.add(kernelMessage(e))
	}
	for i := range s.Logs {
		list.add(kernelMessage(s.Logs[i].Event))
	}
	return splitEvents(list.text())
}

// kernelMessage is the JSON of one event, with its name as splitEvents wants it; "" when it has none.
func kernelMessage(e Event) string {
	a := e.all()
	if !isMessageEvent(e.Name) {
		return ""
	}
	text := a.jsonText("gen_ai.event.content", "content")
	if kindOf(text) != '{' || canonical(text) == nil {
		return ""
	}
	return withMember(text, "event.name", string(appendString(nil, e.Name)))
}
