package gate

import (
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// ByOracle judges by an oracle.
func ByOracle(o *oracle.Oracle) Judge {
	return func(c *regcase.Case, runs ...*trajectory.Trajectory) Judgement {
		j := o.Judge(c, runs...)
		out := Judgement{Verdict: Verdict(j.Verdict), Reason: j.Reason, Notes: j.Notes, Decided: Deterministic}
		if j.Meaning {
			out.Decided = ByEmbedding
		}
		for _, m := range j.Mismatches {
			out.Mismatches = append(out.Mismatches, Mismatch(m))
		}
		return out
	}
}
