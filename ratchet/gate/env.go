package gate

import (
	"fmt"
	"net/url"
	"os"
	"strings"
)

// environ is the environment of an agent: the process's own, with what points its telemetry and its tools at us. What a team has set of the switches
// that record content is left alone; what says where telemetry goes is not.
func environ(own []string, at, name, caseID string, extra map[string]string) []string {
	attrs := strings.TrimPrefix(lookup(own, "OTEL_RESOURCE_ATTRIBUTES")+","+AttrCase+"="+url.PathEscape(caseID)+","+AttrRun+"="+url.PathEscape(name), ",")
	env := append([]string{}, own...)
	for _, v := range [][2]string{
		{"OTEL_SDK_DISABLED", "false"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", at},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", at + "/v1/traces"},
		{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", at + "/v1/logs"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"},
		{"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "http/protobuf"},
		{"OTEL_EXPORTER_OTLP_HEADERS", strings.ToLower(RunHeader) + "=" + url.PathEscape(name)},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", strings.ToLower(RunHeader) + "=" + url.PathEscape(name)},
		{"OTEL_EXPORTER_OTLP_INSECURE", "true"},
		{"OTEL_RESOURCE_ATTRIBUTES", attrs},
		{"OTEL_TRACES_EXPORTER", "otlp"},
		{"OTEL_LOGS_EXPORTER", "otlp"},
		{"OTEL_METRICS_EXPORTER", "none"},
		{"OTEL_TRACES_SAMPLER", "always_on"},
		{"OTEL_BSP_SCHEDULE_DELAY", "100"}, // ms: a run is over when its spans are
		{"OTEL_BLRP_SCHEDULE_DELAY", "100"},
		{"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "4096"}, // 128 by default: a long history drops the answer
		{"OTEL_ATTRIBUTE_COUNT_LIMIT", "4096"},
		{"PHOENIX_COLLECTOR_ENDPOINT", at},
		{"TRACELOOP_BASE_URL", at},
		{"NO_PROXY", with(lookup(own, "NO_PROXY"), "127.0.0.1")},
		{"no_proxy", with(lookup(own, "no_proxy"), "127.0.0.1")},
	} {
		env = append(env, v[0]+"="+v[1])
	}
	for _, v := range contentSwitches {
		if lookup(own, v[0]) == "" {
			env = append(env, v[0]+"="+v[1])
		}
	}
	for _, k := range []string{"PAWL_INPUT", "PAWL_CASE", "PAWL_RUN", "PAWL_TURN", "PAWL_TOOLS_URL", "PAWL_MCP_URL", "TRACEPARENT"} {
		env = append(env, k+"="+extra[k]) // of several the last one holds
	}
	if m := extra["PAWL_MODEL"]; m != "" { // else what is set already holds
		env = append(env, "PAWL_MODEL="+m)
	}
	return env
}

// contentSwitches have the common SDKs record messages, arguments and results, which most leave out by default.
var contentSwitches = [][2]string{
	{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"},
	{"TRACELOOP_TRACE_CONTENT", "true"},
	{"OPENINFERENCE_HIDE_INPUTS", "false"},
	{"OPENINFERENCE_HIDE_OUTPUTS", "false"},
	{"OPENLIT_CAPTURE_MESSAGE_CONTENT", "true"},
	{"ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS", "true"},
	{"AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED", "true"},
	{"SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE", "true"},
	{"ENABLE_SENSITIVE_DATA", "true"}, // Microsoft Agent Framework
}

// noSpans tells what to set when nothing came, by SDK. With what stands before it, it is eight lines at the most.
const noSpans = `flush at the end (sdk.shutdown()), and:
  OpenTelemetry, OpenLIT: no url in the exporter's options
  Vercel AI SDK: experimental_telemetry: {isEnabled: true} on every call
  = that URL: PHOENIX_COLLECTOR_ENDPOINT, TRACELOOP_BASE_URL, LANGFUSE_BASE_URL,
  BRAINTRUST_API_URL, LMNR_BASE_URL; with /v1/traces: LANGTRACE_API_HOST
  LangSmith: LANGSMITH_TRACING, LANGSMITH_OTEL_ENABLED, LANGSMITH_OTEL_ONLY=true
  OpenAI Agents: no OTLP of its own, add OpenInference or Logfire (send_to_logfire=False)`

func lookup(env []string, key string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], key+"="); ok {
			return v
		}
	}
	return ""
}

func with(list, host string) string {
	if list == "" {
		return host
	}
	return list + "," + host
}

// tempInput writes the input of a turn to a file of its own and returns its path.
func tempInput(dir, name string, turn int, b []byte) (string, error) {
	path := fmt.Sprintf("%s/%s.%d.json", dir, name, turn+1)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return "", fmt.Errorf("gate: input of %s: %w", name, err)
	}
	return path, nil
}
