package trajectory

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// mergeModels folds the spans that describe one model call into the one that tells most, and makes spans that only sum up the calls below
// them into structure.
func (b *builder) mergeModels() {
	var models []*node
	for _, n := range b.nodes {
		if n.facts.Role == RoleModel {
			models = append(models, n)
		}
	}
	b.settleLoops(models)
	models = slices.DeleteFunc(models, func(n *node) bool { return n.facts.Role != RoleModel })
	below := modelsBelow(models)
	for _, n := range models {
		switch inner := below[n]; {
		case len(inner) > 1 && sumsUp(n, inner):
			n.facts.Role = RoleAgent // its own total is no call's
			n.facts.Usage = Usage{}
		case len(inner) == 1 && sameCall(n, inner[0]):
			foldModel(n, inner[0])
		}
	}
	byResponse := map[string]*node{}
	var settled []*node
	for _, n := range models {
		if n.folded != nil || n.facts.Role != RoleModel {
			continue
		}
		if id := n.facts.ResponseID; id != "" {
			if first := byResponse[id]; first != nil {
				foldModel(first.stands(), n)
				continue
			}
			byResponse[id] = n
		}
		if twin := twinOf(n, settled); twin != nil {
			foldModel(twin, n)
			continue
		}
		settled = append(settled, n)
	}
}

// modelsBelow gives, for every model span, the nearest model spans inside it.
func modelsBelow(models []*node) map[*node][]*node {
	out := map[*node][]*node{}
	for _, n := range models {
		for p := range n.above {
			if p.facts.Role == RoleTool || p.facts.Role == RoleAgent {
				break
			}
			if p.facts.Role == RoleModel {
				out[p] = append(out[p], n)
				break
			}
		}
	}
	return out
}

// sumsUp says whether a model span stands around calls of a loop rather than being one: it has no response of its own, or its counts are
// at least theirs together.
func sumsUp(n *node, inner []*node) bool {
	if n.facts.Usage.Input == nil {
		return true
	}
	var sum int64
	for _, c := range inner {
		if c.facts.Usage.Input != nil {
			sum += *c.facts.Usage.Input
		}
	}
	return *n.facts.Usage.Input >= sum
}

// sameCall says whether a model span and the one inside it describe one call: nothing that both state differs.
func sameCall(outer, inner *node) bool {
	a, b := &outer.facts, &inner.facts
	if a.ResponseID != "" && b.ResponseID != "" {
		return a.ResponseID == b.ResponseID
	}
	return agree(a.Usage.Input, b.Usage.Input) && agree(a.Usage.Output, b.Usage.Output) && sameModel(a, b)
}

func agree(a, b *int64) bool { return a == nil || b == nil || *a == *b }

func sameModel(a, b *Facts) bool {
	x, y := cmp.Or(a.ModelRequested, a.ModelResponded), cmp.Or(b.ModelRequested, b.ModelResponded)
	return x == "" || y == "" || bareModel(x) == bareModel(y) || a.ModelResponded != "" && a.ModelResponded == b.ModelResponded ||
		strings.HasPrefix(bareModel(x), bareModel(y)) || strings.HasPrefix(bareModel(y), bareModel(x))
}

// bareModel takes a provider's prefix off a model's name.
func bareModel(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// twinOf finds a call that another instrumentation described beside this one: one lies within the other in time, and model and counts are
// the same.
func twinOf(n *node, settled []*node) *node {
	if n.facts.Usage.Input == nil || n.facts.Usage.Output == nil || n.end.IsZero() {
		return nil
	}
	for _, o := range slices.Backward(settled) {
		if o.span.Scope == n.span.Scope && o.dialect == n.dialect && o.span.ParentID == n.span.ParentID || o.end.IsZero() {
			continue
		}
		if o.facts.Usage.Input == nil || o.facts.Usage.Output == nil || o.facts.ResponseID != "" && n.facts.ResponseID != "" {
			continue
		}
		if *o.facts.Usage.Input == *n.facts.Usage.Input && *o.facts.Usage.Output == *n.facts.Usage.Output &&
			sameModel(&o.facts, &n.facts) && (within(o, n) || recordOf(o, n)) {
			return o
		}
	}
	return nil
}

// within says whether one of two nodes covers the other in time.
func within(a, b *node) bool {
	return !a.start.After(b.start) && !a.end.Before(b.end) || !b.start.After(a.start) && !b.end.Before(a.end)
}

// foldModel makes two descriptions one. The richer stands; the other completes it. Either may have been folded before: three spans may be one call.
func foldModel(a, b *node) {
	if a, b = a.stands(), b.stands(); a == b {
		return
	}
	keep, drop := a, b
	if b.facts.richness() > a.facts.richness() {
		keep, drop = b, a
	}
	drop.folded = keep
	fill(&keep.facts, drop.facts)
	if keep.err == nil {
		keep.err = drop.err
	}
}

func (f *Facts) richness() int {
	n := len(f.Output) * 2
	for _, ok := range []bool{!f.Input.Empty(), f.Usage.Input != nil, f.Usage.Output != nil, f.Offered != nil, f.ResponseID != "", f.FinishRaw != "",
		f.ModelResponded != "", f.ModelRequested != ""} {
		if ok {
			n++
		}
	}
	return n
}

// call is a model call while it is being built.
type call struct {
	node  *node
	index int       // in Trajectory.ModelCalls
	fresh []Message // the part of the input that no earlier call of the agent had
	rest  []Message // the whole input, when there is no base
	base  *call     // the earlier call whose whole input this one's begins with, nil when it is not known to
	size  int       // how many messages the whole input has
	first bool      // no earlier call of the agent shares its history
	hasIn bool      // an input is recorded and could be read
	holes flat      // the input as it came in indexed keys, when it had holes that another telling of it filled
}

// modelCalls makes the model calls.
func (b *builder) modelCalls() {
	var models []*node
	for _, n := range b.nodes {
		if n.facts.Role == RoleModel && n.folded == nil {
			models = append(models, n)
		}
	}
	if len(models) == 0 {
		b.totalOfAgents()
		b.offeredTools()
		return
	}
	byHistory(models)
	calls := make([]call, len(models))
	b.calls, b.out.ModelCalls = make([]*call, 0, len(models)), make([]ModelCall, 0, len(models))
	for i, n := range models {
		calls[i] = call{node: n, index: i}
		b.calls = append(b.calls, &calls[i])
		b.out.ModelCalls = append(b.out.ModelCalls, b.modelCall(n))
	}
	b.offeredTools()
}

// byHistory puts calls of one agent that began at the same moment, as a coarse clock has it, in the order in which they can have followed each
// other: what an agent says to its model grows. Their ids tell nothing of it.
func byHistory(models []*node) {
	for len(models) > 0 {
		n := 1
		for n < len(models) && models[n].start.Equal(models[0].start) {
			n++
		}
		if tied := models[:n]; n > 1 && !slices.ContainsFunc(tied, func(m *node) bool { return m.agent != tied[0].agent }) {
			slices.SortStableFunc(tied, func(x, y *node) int {
				return cmp.Or(cmp.Compare(x.facts.Input.length(), y.facts.Input.length()), cmp.Compare(tokens(x.facts.Usage.Input), tokens(y.facts.Usage.Input)), x.ended().Compare(y.ended()))
			})
		}
		models = models[n:]
	}
}

// offeredTools lists every tool that any call was offered, by name; the first definition wins.
func (b *builder) offeredTools() {
	if set, ok := b.soleSet(); ok {
		if set != nil {
			b.out.ToolsOffered = slices.Clip(set.Tools)
		}
		return
	}
	seen := map[string]bool{}
	var last *ToolSet
	for i := range b.out.ModelCalls {
		m := &b.out.ModelCalls[i]
		if m.Offered == nil || m.Offered == last {
			continue
		}
		last = m.Offered
		b.out.ToolsOffered = slices.Grow(b.out.ToolsOffered, len(last.Tools))
		for _, t := range m.Offered.Tools {
			if !seen[t.Name] {
				seen[t.Name] = true
				b.out.ToolsOffered = append(b.out.ToolsOffered, t)
			}
		}
	}
}

// soleSet is the set that every call was offered, where it is one and the same; calls that do not say count as such.
func (b *builder) soleSet() (sole *ToolSet, ok bool) {
	for i := range b.out.ModelCalls {
		switch set := b.out.ModelCalls[i].Offered; {
		case set == nil || set == sole:
		case sole != nil:
			return nil, false
		default:
			sole = set
		}
	}
	return sole, true
}

func (b *builder) modelCall(n *node) ModelCall {
	f := &n.facts
	m := ModelCall{
		SpanID: n.span.ID, Agent: n.agentName, Provider: f.Provider, ModelRequested: f.ModelRequested, ModelResponded: f.ModelResponded,
		ResponseID: f.ResponseID, Usage: n.wholeUsage(), FinishRaw: f.FinishRaw, FinishReason: finishOf(f.FinishRaw),
		Offered: f.Offered, Wanted: n.outputWanted(), Text: textOf(f.Output), Start: n.start, End: n.end, Streamed: f.Streamed,
	}
	if n.err != nil && !(b.smeared(n) && len(f.Output) > 0) {
		e := *n.err
		n.deeper(&e, 0)
		m.Error = &e
		if r := finishOf(e.Message); m.FinishReason == "" && (r == FinishLength || r == FinishContentFilter) {
			m.FinishRaw, m.FinishReason = e.Message, r // an SDK that throws where the model stopped short
		}
	}
	if m.Offered == nil {
		m.Offered = n.offeredAbove()
	}
	return m
}

// offeredAbove is the list of the nearest agent that has one.
func (n *node) offeredAbove() *ToolSet {
	for p := range n.above {
		if p.facts.Offered != nil {
			return p.facts.Offered
		}
	}
	return nil
}

// wholeUsage makes the input count include cached tokens and the output count reasoning, as the table of countings has it for the emitter.
// Where a part alone is more than the count, it was surely left out; else a total tells, when it is the sum with the part and not the one without.
func (n *node) wholeUsage() Usage {
	u := n.facts.Usage
	switch {
	case u.CostUSD == nil:
	case *u.CostUSD == 0 && tokens(u.Input)+tokens(u.Output) > 0:
		u.CostUSD = nil // whoever reports 0 for tokens that were used found no price
	default:
		u.CostFrom = CostSpan
	}
	if u.Input != nil {
		cached := tokens(u.CacheRead) + tokens(u.CacheWrite)
		if n.facts.InputExcludes || cached > *u.Input || n.leftOut(cached, tokens(u.Reasoning)) {
			u.Input = new(*u.Input + cached)
		}
	}
	if u.Output != nil {
		reasoning := tokens(u.Reasoning)
		if n.facts.OutputExcludes || reasoning > *u.Output || n.leftOut(reasoning, tokens(u.CacheRead)+tokens(u.CacheWrite)) {
			u.Output = new(*u.Output + reasoning)
		}
	}
	return u
}

// leftOut says whether the total that a span states is that of its two counts and a part of one of them, so that the count has it not. Where
// the other count's part is as large, it is not known which of the two is meant.
func (n *node) leftOut(part, other int64) bool {
	u, total := n.facts.Usage, n.span.Attrs.Int(totalKeys...)
	if total == nil || part == 0 || u.Input == nil || u.Output == nil {
		return false
	}
	beyond := *total - *u.Input - *u.Output
	return beyond == part && part != other || other > 0 && beyond == part+other
}

var totalKeys = []string{"gen_ai.usage.total_tokens", "llm.usage.total_tokens", "llm.token_count.total", "ai.usage.totalTokens", "aws.genai.token_count_total"}

// tokens is a count, 0 when it is not known.
func tokens(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// totalOfAgents stands in where no call of a model is recorded: the outermost agents' own totals, each as one call.
func (b *builder) totalOfAgents() {
	for _, n := range b.nodes {
		if n.facts.Role != RoleAgent || n.facts.Usage.Input == nil && n.facts.Usage.Output == nil || n.countedAbove() {
			continue
		}
		b.calls = append(b.calls, &call{node: n, index: len(b.calls)})
		m := b.modelCall(n)
		m.Sum = true
		m.Error = nil // the agent's, not a call's
		b.out.ModelCalls = append(b.out.ModelCalls, m)
	}
}

func (n *node) countedAbove() bool {
	for p := range n.above {
		if p.facts.Role == RoleAgent && (p.facts.Usage.Input != nil || p.facts.Usage.Output != nil) {
			return true
		}
	}
	return false
}

// ended says when a node ended, or its start when it never did.
func (n *node) ended() time.Time { return laterOf(n.end, n.start) }

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
