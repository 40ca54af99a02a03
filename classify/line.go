package classify

import (
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Line is what pawl says of one trace, as `pawl classify --json` prints it and FINDINGS carries it. Every key is always there: what is empty
// is [] or null, and a number that is not in the data is null.
type Line struct {
	TraceID      string         `json:"trace_id"`
	SessionID    *string        `json:"session_id"`
	Service      *string        `json:"service"`
	Verdict      Verdict        `json:"verdict"`
	Primary      *Label         `json:"primary"`
	Dialects     []string       `json:"dialects"`
	Findings     []Finding      `json:"findings"`
	Inapplicable []Inapplicable `json:"inapplicable"`
	Stats        Stats          `json:"stats"`
}

// Stats counts what a trace holds. Tokens are sums over model calls, and over agents' totals where their calls tell nothing; nil when none tells
// them. The cost is the whole run's, in USD, as spans report it or the price list has it; nil unless that of every call is known.
type Stats struct {
	Spans        int      `json:"spans"`
	Steps        int      `json:"steps"`
	ModelCalls   int      `json:"model_calls"`
	ToolCalls    int      `json:"tool_calls"`
	InputTokens  *int64   `json:"input_tokens"`
	OutputTokens *int64   `json:"output_tokens"`
	CachedTokens *int64   `json:"cached_tokens"`
	CostUSD      *float64 `json:"cost_usd"`
}

// NewLine joins a trajectory and its report.
func NewLine(t *trajectory.Trajectory, r Report) Line {
	return Line{
		TraceID: t.TraceID, SessionID: orNull(t.SessionID), Service: orNull(t.Service),
		Verdict: r.Verdict, Primary: r.Primary,
		Dialects: append([]string{}, t.Dialects...), Findings: append([]Finding{}, r.Findings...),
		Inapplicable: append([]Inapplicable{}, r.Inapplicable...), Stats: NewStats(t),
	}
}

// NewStats counts a trajectory.
func NewStats(t *trajectory.Trajectory) Stats {
	s := Stats{Spans: t.Spans, Steps: len(t.Steps), ModelCalls: len(t.ModelCalls), ToolCalls: len(t.ToolCalls)}
	for _, m := range t.ModelCalls {
		s.add(m.Usage)
	}
	for _, a := range t.AgentTotals {
		s.add(a.Usage)
	}
	if usd, known := t.Cost(); known {
		s.CostUSD = &usd
	}
	return s
}

func (s *Stats) add(u trajectory.Usage) {
	s.InputTokens = plus(s.InputTokens, u.Input)
	s.OutputTokens = plus(s.OutputTokens, u.Output)
	s.CachedTokens = plus(s.CachedTokens, u.CacheRead)
}

func plus(sum, v *int64) *int64 {
	switch {
	case v == nil:
		return sum
	case sum == nil:
		return new(*v)
	default:
		return new(*sum + *v)
	}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
