package regcase

// Expect is what the case asserts. All of it must hold for a run to pass.
type Expect struct {
	Never      []Never     `yaml:"never" json:"never"`
	Liveness   Liveness    `yaml:"liveness" json:"liveness"`
	Trajectory *Trajectory `yaml:"trajectory" json:"trajectory"`
	State      *Passed     `yaml:"state" json:"state"`
	Response   *Response   `yaml:"response" json:"response"`
	Criteria   []Criterion `yaml:"criteria" json:"criteria"`
	Budget     *Budget     `yaml:"budget" json:"budget"`
}

// Never is a frozen oracle: the rule at its version with its effective parameters must not match. Later changes of pawl.yaml or of pawl do
// not reach it.
type Never struct {
	Label    string `yaml:"label" json:"label"`
	Rule     string `yaml:"rule" json:"rule"`
	Severity string `yaml:"severity" json:"severity"` // of the recorded finding, and the least that fails a run: warning | blocking; "" is warning
	Params   JSON   `yaml:"params" json:"params"`
	Policy   JSON   `yaml:"policy" json:"policy"`
}

// Liveness is the least that a run must do.
type Liveness struct {
	Reply   bool     `yaml:"reply" json:"reply"`
	NoError bool     `yaml:"no_error" json:"no_error"`
	Calls   []string `yaml:"calls" json:"calls"`     // tools that the healthy runs of the route all call; any further call is allowed
	Healthy int      `yaml:"healthy" json:"healthy"` // how many healthy runs agreed on Calls
}

// Trajectory is an expected sequence of tool calls.
type Trajectory struct {
	Mode     string         `yaml:"mode" json:"mode"`         // exact | ordered | unordered | superset | subset
	Distance int            `yaml:"distance" json:"distance"` // edits of the sequence that are still allowed
	Calls    []ExpectedCall `yaml:"calls" json:"calls"`
}

// ExpectedCall is one call in a Trajectory. Fields that Arguments does not name follow Mode.
type ExpectedCall struct {
	Tool      string           `yaml:"tool" json:"tool"`
	Mode      string           `yaml:"mode" json:"mode"`           // of the fields that a call has and Arguments does not name, and the other way round: exact | ignore | subset | superset
	Arguments map[string]Field `yaml:"arguments" json:"arguments"` // by JSON pointer
}

// Field is what one field of a call's arguments must be.
type Field struct {
	Match string `yaml:"match" json:"match"` // exact | ignore | number | pattern | semantic
	Value JSON   `yaml:"value" json:"value"` // what it is compared with; of pattern a regular expression; null for ignore
}

// Passed is what a run must pass through.
type Passed struct {
	Nodes  []string `yaml:"nodes" json:"nodes"`   // agents or graph nodes, in this order, others in between allowed
	Memory []Memory `yaml:"memory" json:"memory"` // writes that must be among those of the run
}

// Memory is one write to the agent's memory.
type Memory struct {
	Key   string `yaml:"key" json:"key"`
	Value JSON   `yaml:"value" json:"value"`
}

// Response is what the final reply must say.
type Response struct {
	Text      string  `yaml:"text" json:"text"`
	Threshold float64 `yaml:"threshold" json:"threshold"` // 0 to 1: least similarity of meaning, where an embeddings endpoint is configured
}

// Criterion is one plain sentence that the reply must fulfil. It is judged by a model only where Judge is set; else it is for people.
type Criterion struct {
	Text  string `yaml:"text" json:"text"`
	Judge bool   `yaml:"judge" json:"judge"`
}

// Budget is a ceiling from healthy runs of the route; nil numbers are not limited.
type Budget struct {
	TotalTokens *int64   `yaml:"total_tokens" json:"total_tokens"`
	ToolCalls   *int64   `yaml:"tool_calls" json:"tool_calls"`
	CostUSD     *float64 `yaml:"cost_usd" json:"cost_usd"`
	DurationS   *float64 `yaml:"duration_s" json:"duration_s"`
	Tolerance   float64  `yaml:"tolerance" json:"tolerance"` // share by which a run may exceed the numbers: 0.2 is 20 %
	Baseline    string   `yaml:"baseline" json:"baseline"`   // digest of the snapshot that the numbers come from
}
