package trajectory

import "cmp"

// settleLoops takes out the descriptions of a loop's state that no call of the model was given: those that were written when the loop, or the
// agent's run, had ended. What they tell of earlier calls is kept with the loop's span.
func (b *builder) settleLoops(models []*node) {
	loops := map[string]*node{}
	for _, n := range models {
		if id := n.facts.Loop; id != "" && !n.facts.Within && !n.end.IsZero() && (loops[id] == nil || n.end.After(loops[id].end)) {
			loops[id] = n
		}
	}
	for _, n := range models {
		loop := loops[n.facts.Loop]
		if !n.facts.Within || loop == nil || n.start.Before(loop.end) && !n.agentEnded() {
			continue
		}
		loop.told = append(loop.told, n)
		n.facts.Role = RoleInner
	}
	for _, n := range models {
		if loops[n.facts.Loop] == n {
			b.placeError(n, models)
		}
	}
}

// placeError gives the error with which a loop ended to the call that was at work then, the last that the loop's state was told for: the
// loop's own span stands for its first call. An error that one of the tools threw is no call's.
func (b *builder) placeError(loop *node, models []*node) {
	if loop.err == nil {
		return
	}
	for _, n := range b.nodes {
		if n.facts.Role == RoleTool && n.agent == loop.agent && n.err != nil && n.err.Message == loop.err.Message {
			loop.err = nil
			return
		}
	}
	var last *node
	for _, n := range models {
		if n.facts.Within && n.facts.Role == RoleModel && n.facts.Loop == loop.facts.Loop && !n.start.Before(loop.start) && (last == nil || !n.start.Before(last.start)) {
			last = n
		}
	}
	if last != nil && last.err == nil {
		last.err, loop.err = loop.err, nil
	}
}

// agentEnded says whether the agent's run had ended when a span began.
func (n *node) agentEnded() bool {
	return n.agent != nil && !n.agent.end.IsZero() && !n.start.Before(n.agent.end)
}

// hindsight reads what descriptions that are no calls tell of the calls before them.
func (b *builder) hindsight(last map[*node]*call) {
	for _, n := range b.nodes {
		for _, told := range n.told {
			prev := last[n.agent]
			if prev == nil {
				continue
			}
			for _, m := range told.facts.Input.messages() {
				for _, p := range m.Parts {
					switch p.Kind {
					case PartToolCall:
						b.echo(p, prev, prev, false)
					case PartToolResult:
						b.answer(p, prev, prev, false)
					}
				}
			}
		}
	}
}

// shareLoops gives the calls of a loop what its span tells of all of them, the model, and the last of them what it tells of the end, the finish
// reason and the answer: the span stands for the first call, which did not end so when others followed.
func (b *builder) shareLoops() {
	loops := map[string]*node{}
	last := map[string]*node{}
	for _, n := range b.nodes {
		f := &n.facts
		if f.Loop == "" || f.Role != RoleModel || n.folded != nil {
			continue
		}
		if !f.Within {
			loops[f.Loop] = n
		} else if o := last[f.Loop]; o == nil || !n.start.Before(o.start) {
			last[f.Loop] = n
		}
	}
	for _, n := range b.nodes {
		loop, f := loops[n.facts.Loop], &n.facts
		if loop == nil || !f.Within || f.Role != RoleModel || n.folded != nil || n.start.Before(loop.start) {
			continue
		}
		f.ModelRequested, f.ModelResponded = cmp.Or(f.ModelRequested, loop.facts.ModelRequested), cmp.Or(f.ModelResponded, loop.facts.ModelResponded)
		f.Provider = cmp.Or(f.Provider, loop.facts.Provider)
		if f.Offered == nil {
			f.Offered = loop.facts.Offered
		}
		if n != last[f.Loop] || f.FinishRaw != "" || len(f.Output) > 0 || n.err != nil {
			continue
		}
		f.FinishRaw, f.Output = loop.facts.FinishRaw, loop.facts.Output
		loop.facts.FinishRaw, loop.facts.Output = "", nil
	}
}
