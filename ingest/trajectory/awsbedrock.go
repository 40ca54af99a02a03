package trajectory

import "strings"

// The AWS SDKs' own instrumentations of Bedrock: the conventions' keys on a span of the RPC. For JavaScript they record no content at all, for
// Python it is in log records.
var _ = add(Dialect{
	Name:  "aws-sdk-bedrock",
	Rank:  27,
	Keys:  []string{"rpc."},
	Score: scoreAWSBedrock,
	Read:  readAWSBedrock,
	Remedies: map[Fact]string{
		FactToolCalls:     bedrockContent,
		FactToolExecution: "open an execute_tool span around each tool: the AWS SDK's instrumentation sees the model only",
		FactToolsOffered:  "use openinference-instrumentation-bedrock (@arizeai/openinference-instrumentation-bedrock): the AWS SDK's instrumentation records no definitions",
		FactToolSchemas:   "use openinference-instrumentation-bedrock (@arizeai/openinference-instrumentation-bedrock): the AWS SDK's instrumentation records no definitions",
		FactArguments:     bedrockContent,
		FactResults:       bedrockContent,
		FactUserMessages:  bedrockContent,
		FactReply:         bedrockContent,
		FactUsage:         "of streams read the metadata event to its end: it carries the usage",
		FactSession:       "set session.id on the span around the run",
		FactModelCalls:    "register AwsInstrumentation before the Bedrock Runtime client is made",
		FactFinishReason:  "call the model through Converse or ConverseStream: of InvokeModel the answers of some model families are not read",
		FactModelName:     keptBy("the AWS SDK's instrumentation", "gen_ai.request.model"),
	},
})

const bedrockContent = "the AWS SDK's instrumentation for JavaScript records no content: use @arizeai/openinference-instrumentation-bedrock; " +
	"for Python set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true and send logs to pawl as well as traces"

func scoreAWSBedrock(s *Span) int {
	if !isAnyOf(s.Attrs.Text("rpc.service"), "BedrockRuntime", "Bedrock Runtime") {
		return 0
	}
	if s.Attrs.Has("gen_ai.request.model") || s.Attrs.Has("gen_ai.operation.name") || isAnyOf(s.Attrs.Text("rpc.method"), "Converse", "ConverseStream", "InvokeModel", "InvokeModelWithResponseStream") {
		return 12
	}
	return 0
}

func readAWSBedrock(s *Span) Facts {
	f := readGenAI(s)
	if scoreEvents(s) > 0 {
		f = readEvents(s)
	}
	if method := s.Attrs.Text("rpc.method"); f.Role == RoleNone && (strings.HasPrefix(method, "Converse") || strings.HasPrefix(method, "InvokeModel")) {
		f.Role = RoleModel
	}
	f.Streamed = f.Streamed || strings.HasSuffix(s.Attrs.Text("rpc.method"), "Stream")
	if f.Provider == "" {
		f.Provider = "aws.bedrock"
	}
	return f
}
