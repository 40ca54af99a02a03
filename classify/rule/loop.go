package rule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// LoopParams are the thresholds of the rule loop, in repetitions of the same call or cycle.
type LoopParams struct {
	Warn      int `json:"warn"`       // equal repetitions from here on are a warning
	Match     int `json:"match"`      // and from here on a failure
	Poll      int `json:"poll"`       // repetitions whose results change are a warning from here on
	MaxPeriod int `json:"max_period"` // longest cycle looked for, in calls
}

// Validate refuses thresholds under which a single call would be a loop.
func (p LoopParams) Validate() error {
	if p.Warn < 2 || p.Match < p.Warn || p.Poll < 2 || p.MaxPeriod < 1 || p.MaxPeriod > 16 {
		return errors.New("want 2 <= warn <= match, poll >= 2 and 1 <= max_period <= 16")
	}
	return nil
}

// Loop finds an agent that does the same thing again and gets the same answer.
//
// Calls of one model turn happen together, not one after the other: equal ones count once, and their order does not matter. A message of the
// user ends a run of repetitions, since it may well ask for the same again: across turns only what is done in vain is a loop, and only where the
// user did not ask for it (acrossTurns). Where the data does not tell what the model asked for, the
// executions alone are looked at.
var Loop = add(classify.Rule{
	Name: "loop", Version: 4, Label: classify.Loop, Severity: classify.Blocking, Form: classify.FormNever,
	Session: true,
	Doc: classify.Doc{
		Title: "the same tool call, again and again, with the same answer",
		Why: "An agent that repeats a call whose answer does not change burns tokens and time and will not get further. Compared are the tool, its " +
			"canonical arguments and its result, each without request ids and times; cycles of up to four calls count, calls that fail alike too. " +
			"If the answer changes it is polling or paging, which is progress: only many of those are a warning. Paging that gets the same page " +
			"again, whatever page it asks for, is none, and neither is a write that is done once more each time. Branches of a search that never saw each " +
			"other's calls do not count as repetitions. A call that fails alike, or finds nothing, in turn after turn counts by turns, unless the user asked for " +
			"the same again, to look once more, or for the very thing by its name.",
		Fix:     "Tell the agent in the tool's result what to do instead (\"no orders found; ask for the order number\"), or stop it after two equal answers.",
		Example: "search_orders {\"query\":\"kettle\"} -> none, five times over",
	},
	Params:  LoopParams{Warn: 3, Match: 5, Poll: 10, MaxPeriod: 4},
	Check:   checkLoop,
	Repairs: []classify.Repair{change.WithoutCall(), change.AskingElse()},
	Twins:   []classify.Twin{change.Twin("once-more", "the call was made once more, with the same answer", onceMore)},
})

// beat is one place in an agent's sequence of calls: one call, or equal calls of one model turn.
type beat struct {
	key   string // tool and arguments; "" when the arguments are not known: equal to nothing
	calls []int
}

// lap is a run of repetitions: beats from start on, reps times period of them.
type lap struct {
	start, period, reps int
}

func checkLoop(in *classify.Input) classify.Result {
	t := in.Trajectory
	l := looper{in: in, t: t, p: classify.ParamsOf[LoopParams](in), results: map[int]answer{}, words: map[string]classify.Said{}}
	seqs, blind := sequences(t)
	var out []classify.Finding
	for _, s := range seqs {
		out = append(out, l.find(s)...)
	}
	out = append(out, l.acrossTurns()...)
	if len(out) == 0 && l.unread {
		return classify.Blind(trajectory.FactResults, "")
	}
	if len(out) == 0 && blind > 0 && blind == len(t.ToolCalls) {
		return classify.Blind(trajectory.FactArguments, "")
	}
	if len(out) == 0 && noCalls(t) {
		return classify.Blind(trajectory.FactToolCalls, "")
	}
	return classify.Match(merged(out)...)
}

// noCalls says that the data shows no calls although there may have been some. Of emitters that do not tell what the model asked for, what
// was run is enough to judge repetitions and arguments.
func noCalls(t *trajectory.Trajectory) bool {
	_, lacks := t.Lacks(trajectory.FactToolCalls)
	return lacks && !slices.ContainsFunc(t.ToolCalls, func(c trajectory.ToolCall) bool { return c.Executed })
}

// actor is who calls tools one after the other: an agent, of a session in the traces of one turn. Traces of which it is not known that they go on
// with each other may each begin anew.
type actor struct {
	agent string
	turn  int
}

// actors tells who makes a call.
func actors(t *trajectory.Trajectory) func(*trajectory.ToolCall) actor {
	turns := map[string]int{}
	for i, id := range t.Traces {
		turns[id] = t.Turns[i]
	}
	return func(c *trajectory.ToolCall) actor {
		trace := c.TraceID
		if c.Model >= 0 {
			trace = t.ModelCalls[c.Model].TraceID
		}
		return actor{c.Agent, turns[trace]}
	}
}

// sequences splits the calls into one list of beats per actor and user turn, in order of time. It also counts calls without arguments.
func sequences(t *trajectory.Trajectory) (seqs [][]beat, blind int) {
	open := map[actor]int{} // index into seqs
	last := map[actor]int{} // model call of the last beat's turn
	actorOf, anew := actors(t), branches(t)
	for i, c := range inOrder(t) {
		if c < 0 {
			clear(open)
			continue
		}
		call := &t.ToolCalls[c]
		key := callKey(t, call)
		if key == "" {
			blind++
		}
		who := actorOf(call)
		at, ok := open[who]
		if !ok || call.Model != last[who] && anew[call.Model] {
			at = len(seqs)
			seqs, open[who], last[who] = append(seqs, nil), at, -2-i
		}
		seqs[at] = addBeat(seqs[at], beat{key, []int{c}}, call.Model >= 0 && last[who] == call.Model, t)
		last[who] = call.Model
	}
	return seqs, blind
}

// inOrder lists tool calls in order of time, by index, with -1 where the user spoke.
func inOrder(t *trajectory.Trajectory) []int {
	var out []int
	n := 0
	for _, s := range t.Steps {
		switch s.Kind {
		case trajectory.StepTool:
			out = append(out, s.Index)
			n++
		case trajectory.StepUser:
			out = append(out, -1)
		}
	}
	if n == len(t.ToolCalls) {
		return out
	}
	out = out[:0]
	for i := range t.ToolCalls {
		out = append(out, i)
	}
	return out
}

// addBeat appends a beat. Within one model turn beats are kept sorted and equal ones are one. So are calls that no model call is known for
// and that overlap in time.
func addBeat(seq []beat, b beat, sameTurn bool, t *trajectory.Trajectory) []beat {
	if !sameTurn {
		if n := len(seq); n > 0 && b.key != "" && seq[n-1].key == b.key && overlap(t, seq[n-1].calls[0], b.calls[0]) {
			seq[n-1].calls = append(seq[n-1].calls, b.calls...)
			return seq
		}
		return append(seq, b)
	}
	turn := t.ToolCalls[b.calls[0]].Model
	from := len(seq)
	for from > 0 && t.ToolCalls[seq[from-1].calls[0]].Model == turn {
		from--
	}
	for i := from; i < len(seq); i++ {
		if seq[i].key == b.key && b.key != "" {
			seq[i].calls = append(seq[i].calls, b.calls...)
			return seq
		}
		if b.key < seq[i].key {
			return slices.Insert(seq, i, b)
		}
	}
	return append(seq, b)
}

func overlap(t *trajectory.Trajectory, i, j int) bool {
	a, b := &t.ToolCalls[i], &t.ToolCalls[j]
	return a.Model < 0 && b.Model < 0 && !t.Complete.SyntheticTime && b.Start.Before(a.End) && a.Start.Before(b.End)
}

// callKey identifies what was called, "" when the data does not tell the arguments.
func callKey(t *trajectory.Trajectory, c *trajectory.ToolCall) string {
	a := c.Arguments
	name := catalog.Normalise(c.Name)
	switch {
	case a.Truncated:
		return ""
	case a.JSON != nil:
		return name + " " + steady(a.JSON, false)
	case a.Parsed == trajectory.ParsedAbsent:
		if _, lacks := t.Lacks(trajectory.FactArguments); lacks {
			return ""
		}
		return name + " {}"
	default:
		return name + " " + a.Raw
	}
}

type answer struct {
	text  string
	known bool
}

type looper struct {
	in      *classify.Input
	t       *trajectory.Trajectory
	p       LoopParams
	results map[int]answer
	words   map[string]classify.Said // what users said
	unread  bool                     // a stretch was left alone because its answers may be in spans that nobody reads yet
}

// find looks for laps in one sequence, shortest period first; a beat belongs to one lap at most.
func (l *looper) find(seq []beat) []classify.Finding {
	var out []classify.Finding
	taken := make([]bool, len(seq))
	for period := 1; period <= l.p.MaxPeriod; period++ {
		for i := 0; i+2*period <= len(seq); i++ {
			lap := lapAt(seq, taken, i, period)
			if lap.reps < min(l.p.Warn, l.p.Poll) {
				continue
			}
			if f, ok := l.judge(seq, lap); ok {
				out = append(out, f)
				for j := range lap.reps * period {
					taken[i+j] = true
				}
			}
			i += (lap.reps-1)*period - 1
		}
	}
	return append(out, l.samePage(seq, taken)...)
}

// lapAt measures the repetitions of the period beats at i. A cycle that is itself a repetition has none: the shorter period finds it.
func lapAt(seq []beat, taken []bool, i, period int) lap {
	block := seq[i : i+period]
	for _, b := range block {
		if b.key == "" {
			return lap{}
		}
	}
	if period > 1 && !primitive(block) {
		return lap{}
	}
	n := i
	for n < len(seq) && !taken[n] && seq[n].key == block[(n-i)%period].key {
		n++
	}
	return lap{i, period, (n - i) / period}
}

func primitive(block []beat) bool {
	for d := 1; d < len(block); d++ {
		if len(block)%d != 0 {
			continue
		}
		same := true
		for i := d; i < len(block); i++ {
			same = same && block[i].key == block[i-d].key
		}
		if same {
			return false
		}
	}
	return true
}

// judge decides on a lap: the longest stretch of repetitions with equal answers makes it a loop; answers that change make it polling. A
// stretch that ended with another answer was worth waiting for, so it is no more than a warning, and only from Poll on unless it failed. One that
// began after other answers is a call whose answers change, and happen to be equal at the end: a die, a clock, a queue. After a single one it may be
// that the first call did what all others find done.
// What only earlier traces did is theirs.
func (l *looper) judge(seq []beat, at lap) (classify.Finding, bool) {
	from, n, class := l.stretch(seq, at)
	movedOn := from+n < at.reps
	_, foreign := l.t.Lacks(trajectory.FactDialect)
	switch {
	case l.recalled(seq, at):
		return classify.Finding{}, false
	case n >= l.p.Warn && class == "unknown" && foreign:
		l.unread = true
		return classify.Finding{}, false
	case n >= l.p.Warn && class == "error", n >= l.p.Warn && !movedOn && (from == 0 || from == 1 && n >= l.p.Match || n >= l.p.Poll):
		return l.finding(seq, at, from, n, class, movedOn), true
	case at.reps >= l.p.Match && l.doubled(seq, at):
		return l.finding(seq, at, 0, at.reps, "written", false), true
	case at.reps >= l.p.Poll:
		return l.finding(seq, at, 0, at.reps, "changing", true), true
	}
	return classify.Finding{}, false
}

// stretch returns the longest run of repetitions whose answers are equal, and what the answers are: same, error, or unknown.
func (l *looper) stretch(seq []beat, at lap) (from, n int, class string) {
	start := 0
	for r := 1; r <= at.reps; r++ {
		if r < at.reps && l.equal(seq, at, r-1, r) {
			continue
		}
		if r-start > n || r-start == n && r == at.reps {
			from, n = start, r-start
		}
		start = r
	}
	return from, n, l.class(seq, at, from, n)
}

func (l *looper) equal(seq []beat, at lap, a, b int) bool {
	for k := range at.period {
		x, y := l.answer(seq[at.start+a*at.period+k].calls[0]), l.answer(seq[at.start+b*at.period+k].calls[0])
		if x.known && y.known && x.text != y.text || l.cutApart(seq[at.start+a*at.period+k].calls[0], seq[at.start+b*at.period+k].calls[0]) {
			return false
		}
	}
	return true
}

func (l *looper) answer(call int) answer {
	a, ok := l.results[call]
	if !ok {
		a.text, a.known = resultText(&l.t.ToolCalls[call])
		l.results[call] = a
	}
	return a
}

// recalled says that all of the lap is history from before this trace.
func (l *looper) recalled(seq []beat, at lap) bool {
	return !slices.ContainsFunc(seq[at.start:at.start+at.reps*at.period], func(b beat) bool { return !l.t.ToolCalls[b.calls[0]].Recalled })
}

// class tells what the answers of a stretch are. The very last call may still wait for its answer.
func (l *looper) class(seq []beat, at lap, from, n int) string {
	class := "error"
	for i := from * at.period; i < (from+n)*at.period; i++ {
		call := seq[at.start+i].calls[0]
		last := at.start+i == len(seq)-1 && i > from*at.period
		switch {
		case !l.answer(call).known && last:
		case !l.answer(call).known:
			return "unknown"
		case !failed(&l.t.ToolCalls[call]):
			class = "same"
		}
	}
	return class
}

func (l *looper) finding(seq []beat, at lap, from, n int, class string, movedOn bool) classify.Finding {
	first := at.start + from*at.period
	calls := []int{}
	for i := range n * at.period {
		calls = append(calls, seq[first+i].calls...)
	}
	tools := []string{}
	for i := range at.period {
		tools = append(tools, catalog.Normalise(l.t.ToolCalls[seq[first+i].calls[0]].Name))
	}
	f := l.in.Finding(l.t.ToolCalls[calls[0]].Agent,
		classify.Names("tools", tools...), classify.Number("period", at.period), classify.Word("result", class))
	if n < l.p.Match || movedOn || class == "written" && n < l.p.Poll {
		f.Severity = classify.Warning
	}
	f.Confidence = loopConfidence(class, n >= l.p.Match)
	f.Step = stepOf(l.t, trajectory.StepTool, seq[first+at.period].calls[0])
	f.Title = fmt.Sprintf("%s called %s with the same arguments", phrase(tools), times(n))
	f.Why = f.Title + l.why(calls, class, movedOn) + "."
	f.Evidence = l.evidence(calls, class)
	return f
}

func loopConfidence(class string, match bool) float64 {
	switch {
	case class == "changing":
		return 0.5
	case class == "written":
		return 0.8
	case class == "unknown" && match:
		return 0.65
	case class == "unknown":
		return 0.5
	case match:
		return 0.97
	default:
		return 0.85
	}
}

const maxEvidence = 12

func (l *looper) evidence(calls []int, class string) []classify.Evidence {
	out := []classify.Evidence{}
	for i, c := range calls {
		if i >= maxEvidence-1 && i < len(calls)-1 {
			continue // the last is where it stands
		}
		call := &l.t.ToolCalls[c]
		what := fmt.Sprintf("call %d of %d: %s", i+1, len(calls), classify.SafeName(call.Name))
		switch {
		case class == "unknown" && !l.answer(c).known:
			what += ", answer " + unseenAnswer(call)
		case failed(call):
			what += ", outcome " + string(call.Outcome)
		case i > 0 && class == "same" && l.answer(c).text == l.answer(calls[i-1]).text:
			what += ", same answer as the call before"
		}
		out = append(out, classify.Evidence{TraceID: call.TraceID, SpanID: call.SpanID, What: what})
	}
	return out
}

// phrase names the tools of a cycle in order.
func phrase(tools []string) string {
	safe := make([]string, len(tools))
	for i, t := range tools {
		safe[i] = classify.SafeName(t)
	}
	if len(safe) == 1 {
		return safe[0]
	}
	return strings.Join(safe[:len(safe)-1], ", ") + " and " + safe[len(safe)-1] + " in turn"
}

// merged folds findings of one fingerprint into the gravest of them, and of equals the first.
func merged(fs []classify.Finding) []classify.Finding {
	var out []classify.Finding
	at := map[string]int{}
	for _, f := range fs {
		d := f.Fingerprint.Digest()
		i, ok := at[d]
		switch {
		case !ok:
			at[d] = len(out)
			out = append(out, f)
		case cmp.Compare(f.Confidence, out[i].Confidence) > 0:
			out[i] = f
		}
	}
	return out
}

// onceMore makes the repeated call once more, with the answer that it has.
func onceMore(t *trajectory.Trajectory, f classify.Finding) bool {
	i, ok := change.CallOf(t, f)
	if !ok || f.Step < 0 || f.Fingerprint.Part("period") != "1" || slices.Contains([]string{"changing", "written"}, f.Fingerprint.Part("result")) {
		return false
	}
	c := t.ToolCalls[i]
	n := change.Insert(t, f.Step, change.Call{Tool: c.Name, Arguments: c.Arguments.Raw, Result: c.Result.Raw, Agent: c.Agent})
	again := &t.ToolCalls[n]
	again.Arguments, again.Result, again.HasResult, again.Outcome, again.Error = c.Arguments, c.Result, c.HasResult, c.Outcome, c.Error
	return true
}
