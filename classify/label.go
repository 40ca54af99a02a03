package classify

import "slices"

// The labels that rules of pawl use. Teams add their own.
const (
	SchemaViolation   Label = "tool_args_schema_violation"
	Loop              Label = "loop"
	WrongRouting      Label = "wrong_subagent_routing"
	ContextOverflow   Label = "context_overflow"
	HallucinatedTool  Label = "hallucinated_tool"
	MissingToolResult Label = "missing_tool_result"
	SilentTimeout     Label = "silent_timeout"
	CostSpike         Label = "cost_spike"
	PermissionDenied  Label = "permission_denied"
	HallucinatedData  Label = "hallucinated_user_data"
	SkippedStep       Label = "skipped_step"
	UnsafeRetry       Label = "unsafe_retry"
	FabricatedSuccess Label = "fabricated_success"
	MissingReadback   Label = "missing_readback"
	OverTrigger       Label = "over_trigger"
	UndeclaredRun     Label = "undeclared_execution"
	BindingDrift      Label = "binding_drift"
	InjectionFollowed Label = "injection_followed"
	ProtocolError     Label = "protocol_error"
	ModelDrift        Label = "model_drift"
	TruncatedOutput   Label = "truncated_output"
	EmptyResponse     Label = "empty_response"
	OutputViolation   Label = "output_schema_violation"
	UpstreamError     Label = "upstream_error"
	LatencySpike      Label = "latency_spike"
)

// Labels returns every label that pawl's own rules may give, in the order in which a tie for the primary label is decided: what the agent
// made up or got wrong by itself first, what the outside did to it last.
func Labels() []Label {
	return []Label{
		HallucinatedTool, SchemaViolation, InjectionFollowed, HallucinatedData, WrongRouting, SkippedStep, OverTrigger, UndeclaredRun,
		UnsafeRetry, FabricatedSuccess, MissingReadback, ContextOverflow, Loop, OutputViolation, TruncatedOutput, EmptyResponse,
		MissingToolResult, CostSpike, LatencySpike, ModelDrift, BindingDrift, ProtocolError, PermissionDenied, UpstreamError, SilentTimeout,
	}
}

// Reserved says whether a word stands for the lack of a label, and is none itself: that of what no rule explains, and what a judge answers where no label fits.
func (l Label) Reserved() bool { return l == NoLabel || l == "none" }

// outside says whether a label tells what the outside did: it is primary only if nothing else matched.
func (l Label) outside() bool {
	return l == UpstreamError || l == PermissionDenied || l == SilentTimeout
}

// rank is the label's place in Labels; a team's own labels come after all of them.
func (l Label) rank() int {
	if i := slices.Index(Labels(), l); i >= 0 {
		return i
	}
	return len(Labels())
}

// own says whether a label is a team's, not one of Labels.
func (l Label) own() bool { return !slices.Contains(Labels(), l) }

// rank orders severities; an unknown word ranks lowest.
func (s Severity) rank() int { return slices.Index([]Severity{Info, Warning, Blocking}, s) }

// Valid says whether the word is a severity.
func (s Severity) Valid() bool { return s.rank() >= 0 }
