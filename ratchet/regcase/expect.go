package regcase

// Expect is what the case asserts. All of it must hold for a run to pass.
type Expect struct {
	Never      []Never     `json:"never"`
	Liveness   Liveness    `json:"liveness"`
	Trajectory *Trajectory `json:"trajectory"`
	State      *Passed     `json:"state"`
	Response   *Response   `json:"response"`
	Criteria   []Criterion `json:"criteria"`
	Budget     *Budget     `json:"budget"`
}

// Never is a frozen oracle: the rule at its version with its effective parameters must not match. Later changes of pawl.yaml or of pawl do
// not reach it.
type Never struct {
	Label    string `json:"label" jsonschema:"required"`
	Rule     string `json:"rule" jsonschema:"required"`
	Severity string `json:"severity" jsonschema:"enum=,enum=warning,enum=blocking"` // of the recorded finding, and the least that fails a run: warning | blocking; "" is warning
	Params   JSON   `json:"params"`
	Policy   JSON   `json:"policy"`
}

// Liveness is the least that a run must do.
type Liveness struct {
	Reply   bool     `json:"reply"`
	NoError bool     `json:"no_error"`
	Calls   []string `json:"calls"`                          // tools that the healthy runs of the route all call; any further call is allowed
	Healthy int      `json:"healthy" jsonschema:"minimum=0"` // how many healthy runs agreed on Calls
}

// Trajectory is an expected sequence of tool calls.
type Trajectory struct {
	Mode     string         `json:"mode" jsonschema:"required,enum=exact,enum=ordered,enum=unordered,enum=superset,enum=subset"` // exact | ordered | unordered | superset | subset
	Distance int            `json:"distance" jsonschema:"minimum=0"`                                                             // edits of the sequence that are still allowed
	Calls    []ExpectedCall `json:"calls"`
}

// ExpectedCall is one call in a Trajectory. Fields that Arguments does not name follow Mode.
type ExpectedCall struct {
	Tool      string           `json:"tool" jsonschema:"required,minLength=1"`
	Mode      string           `json:"mode" jsonschema:"required,enum=exact,enum=ignore,enum=subset,enum=superset"` // of the fields that a call has and Arguments does not name, and the other way round: exact | ignore | subset | superset
	Arguments map[string]Field `json:"arguments"`                                                                   // by JSON pointer
}

// Field is what one field of a call's arguments must be.
type Field struct {
	Match string `json:"match" jsonschema:"required,enum=exact,enum=ignore,enum=number,enum=pattern,enum=semantic"` // exact | ignore | number | pattern | semantic
	Value JSON   `json:"value"`                                                                                     // what it is compared with; of pattern a regular expression; null for ignore
}

// Passed is what a run must pass through.
type Passed struct {
	Nodes  []string `json:"nodes"`  // agents or graph nodes, in this order, others in between allowed
	Memory []Memory `json:"memory"` // writes that must be among those of the run
}

// Memory is one write to the agent's memory.
type Memory struct {
	Key   string `json:"key" jsonschema:"required,minLength=1"`
	Value JSON   `json:"value"`
}

// Response is what the final reply must say.
type Response struct {
	Text      string  `json:"text" jsonschema:"required,minLength=1"`
	Threshold float64 `json:"threshold" jsonschema:"required,exclusiveMinimum=0,maximum=1"` // 0 to 1: least similarity of meaning, where an embeddings endpoint is configured
}

// Criterion is one plain sentence that the reply must fulfil. It is judged by a model only where Judge is set; else it is for people.
type Criterion struct {
	Text  string `json:"text" jsonschema:"required,minLength=1"`
	Judge bool   `json:"judge"`
}

// Budget is a ceiling from healthy runs of the route; nil numbers are not limited.
type Budget struct {
	TotalTokens *int64   `json:"total_tokens" jsonschema:"minimum=0"`
	ToolCalls   *int64   `json:"tool_calls" jsonschema:"minimum=0"`
	CostUSD     *float64 `json:"cost_usd" jsonschema:"minimum=0"`
	DurationS   *float64 `json:"duration_s" jsonschema:"minimum=0"`
	Tolerance   float64  `json:"tolerance" jsonschema:"minimum=0,maximum=10"` // share by which a run may exceed the numbers: 0.2 is 20 %
	Baseline    string   `json:"baseline"`                                    // digest of the snapshot that the numbers come from
}
