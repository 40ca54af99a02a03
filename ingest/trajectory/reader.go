package trajectory

import "strings"

// Reader builds trajectories one after the other and remembers the tool definitions that it met: the traces of one service repeat them, and
// they are the dearest text to read. The zero Reader is ready for use. It is not safe for concurrent use: let every worker have its own. The
// trajectories that it gives share tool sets, which nobody may change.
type Reader struct {
	tools map[string]*ToolSet // by the text of the definitions
	held  int                 // bytes of those texts
}

// maxHeld bounds the texts that a Reader remembers, in bytes. One that would get beyond forgets all and begins anew.
const maxHeld = 4 << 20

// Build turns a trace into its normal form. It never fails: what cannot be read is a Gap. The order of the trace's spans does not matter.
func (r *Reader) Build(tr Trace) *Trajectory {
	b := &builder{reader: r, trace: tr, out: &Trajectory{TraceID: tr.ID}, toolSets: map[string]*ToolSet{}}
	b.grow()
	b.readSpans()
	b.joinMoments()
	b.doubtful()
	b.cutValues()
	b.nameAgents()
	b.mergeModels()
	b.pieces()
	b.shareLoops()
	b.mergeTools()
	b.modelCalls()
	b.listedTools()
	b.recordedUsage()
	b.agentTotals()
	b.histories()
	b.toolCalls()
	b.outcomes()
	b.handoffs()
	b.identity()
	b.ending()
	b.steps()
	b.telemetry()
	b.gaps()
	return b.out
}

// Build turns a trace into its normal form, as a Reader does that has met none before.
func Build(tr Trace) *Trajectory { return new(Reader).Build(tr) }

// toolSet reads definitions, each distinct text once.
func (r *Reader) toolSet(text string) *ToolSet {
	if s, ok := r.tools[text]; ok {
		return s
	}
	text = strings.Clone(text) // it may be part of a far longer one
	s := ParseToolDefs(text)
	if r.held += len(text); r.held > maxHeld || r.tools == nil {
		r.tools, r.held = map[string]*ToolSet{}, len(text)
	}
	r.tools[text] = s
	return s
}
