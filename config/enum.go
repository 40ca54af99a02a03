package config

import "slices"

// enum is a text that must be one of a fixed list.
type enum interface{ Values() []string }

// Mode says how far something may go.
type Mode string

// The modes of ghpr and absorb.
const (
	ModeOff     Mode = "off"
	ModePreview Mode = "preview"
	ModeOpen    Mode = "open"
)

// Values lists the modes.
func (Mode) Values() []string { return []string{"off", "preview", "open"} }

// Role says what a token may do: viewer reads, triager decides, admin does everything.
type Role string

// The roles, from least to most.
const (
	RoleViewer  Role = "viewer"
	RoleTriager Role = "triager"
	RoleAdmin   Role = "admin"
)

// Values lists the roles.
func (Role) Values() []string { return []string{"viewer", "triager", "admin"} }

// Signal is the OTLP signal that a queue source carries.
type Signal string

// The signals.
const (
	SignalTraces Signal = "traces"
	SignalLogs   Signal = "logs"
)

// Values lists the signals.
func (Signal) Values() []string { return []string{"traces", "logs"} }

// Encoding is how a queue source writes OTLP.
type Encoding string

// The encodings.
const (
	EncodingAuto     Encoding = "auto" // by the Content-Type header of the message, else by its bytes
	EncodingProtobuf Encoding = "protobuf"
	EncodingJSON     Encoding = "json"
)

// Values lists the encodings.
func (Encoding) Values() []string { return []string{"auto", "protobuf", "json"} }

// JudgeAPI is the protocol that the judge's model speaks.
type JudgeAPI string

// The judge's protocols.
const (
	JudgeOpenAI    JudgeAPI = "openai"
	JudgeAnthropic JudgeAPI = "anthropic"
)

// Values lists the protocols.
func (JudgeAPI) Values() []string { return []string{"openai", "anthropic"} }

// Effect says whether a tool call changes anything outside the agent.
type Effect string

// The effects.
const (
	EffectRead    Effect = "read"
	EffectWrite   Effect = "write"
	EffectUnknown Effect = "unknown"
)

// Values lists the effects.
func (Effect) Values() []string { return []string{"read", "write", "unknown"} }

// Exec says whether a tool uses a model or an outside service.
type Exec string

// The answers.
const (
	ExecNever       Exec = "never"
	ExecConditional Exec = "conditional"
	ExecAlways      Exec = "always"
	ExecUnknown     Exec = "unknown"
)

// Values lists the answers.
func (Exec) Values() []string { return []string{"never", "conditional", "always", "unknown"} }

// Severity is how much a finding matters.
type Severity string

// The severities.
const (
	SeverityInfo     Severity = "info"
	SeverityWarning  Severity = "warning"
	SeverityBlocking Severity = "blocking"
)

// Values lists the severities.
func (Severity) Values() []string { return []string{"info", "warning", "blocking"} }

// Form says how the cases of a rule of your own are asserted.
type Form string

// The forms.
const (
	FormNever Form = "never"
	FormNone  Form = "none"
)

// Values lists the forms.
func (Form) Values() []string { return []string{"never", "none"} }

// Label is a failure category: one of Labels, or one that a rule of the team's own gives.
type Label string

// Labels lists the labels that pawl's own rules give.
func Labels() []string { return slices.Clone(labels) }

var labels = []string{
	"binding_drift", "context_overflow", "cost_spike", "empty_response", "fabricated_success", "hallucinated_tool",
	"hallucinated_user_data", "injection_followed", "latency_spike", "loop", "missing_readback", "missing_tool_result",
	"model_drift", "output_schema_violation", "over_trigger", "permission_denied", "protocol_error", "silent_timeout",
	"skipped_step", "tool_args_schema_violation", "truncated_output", "undeclared_execution", "unsafe_retry",
	"upstream_error", "wrong_subagent_routing",
}

// Source is a kind of monitoring webhook, answered at /webhooks/<source>. GitHub's is under ghpr.webhook_secrets.
type Source string

// Values lists the sources.
func (Source) Values() []string {
	return []string{
		"alertmanager", "arize", "braintrust", "cloudevents", "datadog", "elastic", "generic", "grafana",
		"honeycomb", "langfuse", "langsmith", "mlflow", "newrelic", "opik", "pagerduty", "sentry", "standard",
	}
}

// HomeKind is what keeps the traces of a home.
type HomeKind string

// Values lists the kinds.
func (HomeKind) Values() []string {
	return []string{"jaeger", "langfuse", "langsmith", "phoenix", "tempo"}
}
