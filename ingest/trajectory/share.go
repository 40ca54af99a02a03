package trajectory

import "slices"

// Share says how much of a trace tells a fact: of a fact of the whole run Of is 1; of one of its model calls or tool calls it is their number,
// those left out where the fact could not be (what a failed model call used, the answer of a run that broke off).
type Share struct {
	Fact   Fact   `json:"fact"`
	Seen   int    `json:"seen"`
	Of     int    `json:"of"`
	Remedy string `json:"remedy,omitzero"` // of a fact that is not there throughout
}

// Unit is what the shares of a fact count: "trace", "model call" or "tool call".
func (f Fact) Unit() string {
	switch f {
	case FactUsage, FactCost, FactFinishReason, FactModelName:
		return "model call"
	case FactArguments, FactResults, FactToolExecution:
		return "tool call"
	}
	return "trace"
}

// AllFacts returns the facts that spans can tell, in the order in which gaps and shares list them.
func AllFacts() []Fact { return slices.Clone(allFacts) }

var allFacts = []Fact{FactRoot, FactWhole, FactModelCalls, FactToolCalls, FactToolExecution, FactToolsOffered, FactToolSchemas,
	FactArguments, FactResults, FactUsage, FactCost, FactFinishReason, FactModelName, FactSession, FactUserMessages, FactReply, FactClock, FactDialect}

// Remedy is what would supply a fact that the trace does not tell throughout, as its emitters' dialects know it; "" when none knows.
func (t *Trajectory) Remedy(f Fact) string {
	if g, ok := t.Lacks(f); ok && g.Remedy != "" {
		return g.Remedy
	}
	for _, s := range t.Facts {
		if s.Fact == f {
			return s.Remedy
		}
	}
	return ""
}

// shares counts what a trace tells, one of each fact.
type shares []Share

func newShares() shares {
	s := make(shares, len(allFacts))
	for i, f := range allFacts {
		s[i].Fact = f
	}
	return s
}

func (s shares) of(f Fact) *Share { return &s[slices.Index(allFacts, f)] }

// count counts one place where the fact could be.
func (s shares) count(f Fact, seen bool) {
	at := s.of(f)
	at.Of++
	if seen {
		at.Seen++
	}
}

// withhold notes that some of the fact was held back though what is there looks whole.
func (s shares) withhold(f Fact) {
	at := s.of(f)
	at.Of = max(at.Of, 1)
	at.Seen = min(at.Seen, at.Of-1)
}

// shares counts which facts the trace tells.
func (b *builder) shares() shares {
	o := b.out
	s := newShares()
	s.count(FactRoot, o.Complete.HasRoot)
	s.count(FactWhole, b.whole())
	s.count(FactModelCalls, len(o.ModelCalls) > 0)
	s.count(FactSession, o.SessionID != "")
	s.count(FactUserMessages, len(o.UserMessages) > 0)
	s.count(FactClock, !o.Complete.SyntheticTime)
	if o.Reply != nil || !b.stoppedEarly() {
		s.count(FactReply, o.Reply != nil)
	}
	b.sharesOfModels(s)
	b.sharesOfTools(s)
	return s
}

func (b *builder) sharesOfModels(s shares) {
	var some, calls, offered bool
	for i := range b.out.ModelCalls {
		m := &b.out.ModelCalls[i]
		if m.Error != nil {
			continue
		}
		some = true
		c := b.calls[i]
		s.count(FactUsage, m.Usage.Input != nil && m.Usage.Output != nil)
		s.count(FactCost, m.Usage.CostUSD != nil)
		s.count(FactFinishReason, m.FinishReason != "")
		s.count(FactModelName, m.ModelRequested != "" || m.ModelResponded != "")
		calls = calls || len(c.node.facts.Output) > 0 || len(m.ToolCalls) > 0 || c.hasIn && len(b.calls) > 1
		offered = offered || m.Offered != nil
	}
	if len(b.out.ModelCalls)+len(b.out.ToolCalls) == 0 {
		s.count(FactToolCalls, false) // an agent's trace in which neither shows
	}
	names, schemas := b.definitions()
	if some {
		s.count(FactToolCalls, calls)
		s.count(FactToolsOffered, offered)
	}
	if names > 0 || some && !offered {
		s.count(FactToolSchemas, schemas > 0)
	}
}

// definitions counts the tools that the model calls were offered, and those of them that came with a schema or need none.
func (b *builder) definitions() (names, schemas int) {
	for i := range b.out.ModelCalls {
		if set := b.out.ModelCalls[i].Offered; set != nil {
			for _, t := range set.Tools {
				names++
				if t.Schema != nil || t.Builtin {
					schemas++
				}
			}
		}
	}
	return names, schemas
}

func (b *builder) sharesOfTools(s shares) {
	if len(b.out.ToolCalls) == 0 && b.wantedTools() {
		for _, f := range []Fact{FactToolCalls, FactToolExecution, FactArguments, FactResults} {
			s.of(f).Seen = 0
			s.of(f).Of = 1
		}
	}
	for i := range b.out.ToolCalls {
		t := &b.out.ToolCalls[i]
		missing := t.Outcome == OutcomeMissing // that it has no execution and no result is known
		refused := t.Error != nil && (t.Error.Type == ErrUnknownTool || t.Error.Type == ErrInvalidArguments || !t.Executed && t.Arguments.Parsed == ParsedBroken)
		if !t.Recalled { // else it ran in another trace, if it ran
			s.count(FactToolExecution, t.Executed || missing || refused)
		}
		s.count(FactArguments, !absent(t.Arguments) && !hidden(t.Arguments))
		s.count(FactResults, t.HasResult && !hidden(t.Result) || t.Error != nil || missing)
	}
}
