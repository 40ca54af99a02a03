package sight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Level is how much a check matters.
type Level string

// The levels. Problem: failures go unseen or unmade into cases until somebody acts. Advice: pawl works, and would see more. OK: nothing to do.
const (
	Problem Level = "problem"
	Advice  Level = "advice"
	OK      Level = "ok"
)

func (l Level) rank() int { return slices.Index([]Level{Problem, Advice, OK}, l) }

// Check is one thing that was looked at, in one line, and what to do about it.
type Check struct {
	Level   Level    `json:"level"`
	Service string   `json:"service"`       // "" when it is about pawl itself or a service without a name
	About   string   `json:"about"`         // the fact, the oddity or the setting
	Also    []string `json:"also,omitzero"` // what the same remedy would mend
	What    string   `json:"what"`
	Remedy  string   `json:"remedy"` // "" when there is nothing to do
	Cost    int      `json:"cost"`   // roughly the judgements, one a rule and trace, that it takes away
}

// Sort orders checks by level, then by what they cost, the dearest first.
func Sort(cs []Check) {
	slices.SortStableFunc(cs, func(a, b Check) int {
		return cmp.Or(cmp.Compare(a.Level.rank(), b.Level.rank()), cmp.Compare(b.Cost, a.Cost))
	})
}

// Judged is how many of a service's traces a rule could judge.
type Judged struct {
	Rule   string `json:"rule"`
	Traces int    `json:"judged"`
	Of     int    `json:"of"`
}

// Judged tells of each of the rules, by id, how much it could see.
func (s *Service) Judged(rules []string) (out []Judged) {
	for _, r := range rules {
		out = append(out, Judged{r, max(0, s.Examined-s.Unjudged[r]), s.Examined})
	}
	return out
}

// often is the share of a service's traces, one in so many, from which on a fault is a problem and not bad luck.
const often = 10

func (s *Service) level(traces int) Level {
	if traces*often >= s.Examined {
		return Problem
	}
	return Advice
}

// Examine says what is not right with a service's telemetry, the dearest first; one check of level OK when all is well.
func Examine(s *Service) []Check {
	var out []Check
	add := func(level Level, about, remedy string, cost int, format string, args ...any) {
		out = append(out, Check{Level: level, Service: s.Name, About: about, What: fmt.Sprintf(format, args...), Remedy: remedy, Cost: cost})
	}
	s.name(add)
	s.facts(add)
	s.oddities(add)
	s.conversations(add)
	if len(out) == 0 {
		add(OK, "facts", "", 0, "every fact that a rule needs is in all of %s", traces(s.Examined))
	}
	Sort(out)
	return merged(out)
}

// merged makes one of the checks that one setting mends: the dearest, which names the others.
func merged(cs []Check) (out []Check) {
	for _, c := range cs {
		i := slices.IndexFunc(out, func(o Check) bool { return o.Remedy == c.Remedy && c.Remedy != "" && o.About != c.About })
		if i < 0 {
			out = append(out, c)
			continue
		}
		o := &out[i]
		o.Also = append(o.Also, c.About)
		o.Cost += c.Cost
	}
	for i := range out {
		var names []string
		for _, f := range out[i].Also {
			names = append(names, Words(trajectory.Fact(f)))
		}
		if len(names) > 0 {
			out[i].What += "; it would tell also: " + strings.Join(names, ", ")
		}
	}
	Sort(out)
	return out
}

type adder func(level Level, about, remedy string, cost int, format string, args ...any)

// defaultNames are those that SDKs give a service whose team gave it none.
var defaultNames = []string{"unknown_service", "unknown", "node", "python", "java", "OTLPResourceNoServiceName", "laminar-tracer-resource"}

const nameRemedy = "set OTEL_SERVICE_NAME (or service.name in the resource) to a name of the agent's own"

func (s *Service) name(add adder) {
	switch {
	case s.Name == "":
		add(Problem, "service.name", nameRemedy, s.Examined, "%s no service.name: failures of all such agents fall together, and no line of targets can match", have(s.Examined))
	case strings.HasPrefix(s.Name, "unknown_service") || slices.Contains(defaultNames, s.Name):
		add(Advice, "service.name", nameRemedy, s.Examined, "service.name is the SDK's default: other agents of its kind would share it")
	}
}

// facts tells of each fact that is not there throughout, with each remedy that it has.
func (s *Service) facts(add adder) {
	for _, f := range s.Facts {
		if f.Seen < f.Of {
			s.lacking(add, f)
		}
	}
	for _, b := range s.Blind { // for want of what no span supplies
		if slices.ContainsFunc(s.Facts, func(f Fact) bool { return f.Fact == b.Missing && f.Seen < f.Of }) || b.Missing == trajectory.FactBaseline {
			continue
		}
		n := b.Count / len(b.Rules)
		if b.Missing.Optional() {
			add(Advice, string(b.Missing), b.Remedy, 0, "%s judges nothing in %s: there is no %s, which is for you to want", ruleNames(b.Rules), of(n, s.Examined, "trace"), Words(b.Missing))
			continue
		}
		if told := slices.ContainsFunc(s.Facts, func(f Fact) bool { return f.Fact == b.Missing }); told && (s.level(n) == Advice || b.Missing == trajectory.FactUsage) {
			continue // of runs whose every call failed there was nothing to tell
		}
		add(s.level(n), string(b.Missing), b.Remedy, b.Count, "%s cannot judge %s for want of %s", ruleNames(b.Rules), of(n, s.Examined, "trace"), Words(b.Missing))
	}
	s.baselines(add)
}

// baselines says that there are too few runs to compare with yet: more traces mend it, and nobody has to do anything.
func (s *Service) baselines(add adder) {
	var rules []string
	n, remedy := 0, ""
	for _, b := range s.Blind {
		if b.Missing == trajectory.FactBaseline {
			n, rules, remedy = n+b.Count/len(b.Rules), append(rules, b.Rules...), cmp.Or(remedy, b.Remedy)
		}
	}
	if n > 0 {
		slices.Sort(rules)
		add(Advice, string(trajectory.FactBaseline), remedy, 0, "%s had too few runs to compare with in %s", ruleNames(slices.Compact(rules)), of(n, s.Examined, "trace"))
	}
}

func (s *Service) lacking(add adder, f Fact) {
	what := fmt.Sprintf("%s: told by %s", Words(f.Fact), of(f.Seen, f.Of, f.Fact.Unit()))
	if f.Seen == 0 {
		what = fmt.Sprintf("%s: told by none of %s", Words(f.Fact), plural(f.Of, f.Fact.Unit()))
	}
	if f.Fact == trajectory.FactWhole {
		what += s.cuts()
	}
	level := Advice
	if f.Lacking > 0 && slices.Contains(needed, f.Fact) {
		level = s.level(f.Lacking)
	}
	told := false
	for _, b := range s.Blind {
		if b.Missing != f.Fact {
			continue
		}
		n := b.Count / len(b.Rules)
		if worse := s.level(n); told || worse == Problem {
			level = worse
		}
		told = true
		add(level, string(f.Fact), b.Remedy, b.Count, "%s; without it %s cannot judge %s", what, ruleNames(b.Rules), of(n, s.Examined, "trace"))
	}
	if told || level == Advice && (f.Of-f.Seen)*often < f.Of {
		return // one call in many that broke off or was never answered is no want of the telemetry
	}
	add(level, string(f.Fact), f.Remedy, f.Lacking, "%s%s", what, effects[f.Fact])
}

// RuleName is a rule's id without its version.
func RuleName(id string) string {
	name, _, _ := strings.Cut(id, "@")
	return name
}

func ruleNames(ids []string) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = RuleName(id)
	}
	return strings.Join(names, ", ")
}

// needed are the facts without which pawl cannot do its work, whichever rules there are.
var needed = []trajectory.Fact{trajectory.FactRoot, trajectory.FactWhole, trajectory.FactModelCalls, trajectory.FactUserMessages, trajectory.FactDialect}

// effects say what follows from the want of a fact, beside rules that cannot judge.
var effects = map[trajectory.Fact]string{
	trajectory.FactRoot:         "; such a trace counts as incomplete and teaches no baseline",
	trajectory.FactWhole:        "; such a trace counts as incomplete, and what is not there is no proof",
	trajectory.FactModelCalls:   "; there is little to judge in such a trace",
	trajectory.FactUserMessages: "; no case can be made of a failure, for there is nothing to ask the agent",
	trajectory.FactReply:        "; that the agent gave no answer cannot be seen",
	trajectory.FactSession:      "; failures that take several turns cannot be seen",
	trajectory.FactCost:         "; only tokens can be compared",
	trajectory.FactClock:        "; no rule may judge time",
	trajectory.FactDialect:      "; what such spans say of calls and tools is not seen",
}

// cuts says by whom a service's traces were cut.
func (s *Service) cuts() string {
	var by []string
	for _, c := range []struct {
		o    Oddity
		what string
	}{
		{Dropped, "the SDK dropped attributes, events or links in"}, {CutThere, "a limit of the sender's cut values in"}, {CutHere, "pawl cut"},
		{Unplaced, "content records fit no call in"},
	} {
		if n := s.Oddities[c.o]; n > 0 {
			by = append(by, fmt.Sprintf("%s %d", c.what, n))
		}
	}
	if len(by) == 0 {
		return ""
	}
	return " (" + strings.Join(by, ", ") + ")"
}

func (s *Service) oddities(add adder) {
	for _, o := range []struct {
		name         Oddity
		always       bool // whether one trace is a problem
		never        bool // whether it is advice at most
		what, remedy string
	}{
		{Sampled, true, false, "spans that were sampled, so that failures never reach pawl: in",
			"send pawl every trace: OTEL_TRACES_SAMPLER=parentbased_always_on, and a Collector's sampling processor behind the exporter to pawl, not before"},
		{Orphans, false, false, "spans whose parent never came: in",
			"end every span and flush before the process exits (forceFlush, shutdown), raise OTEL_BSP_MAX_QUEUE_SIZE (2048 by default), and export all processes of a run to pawl"},
		{Spanless, false, false, "log records with content of spans that never came: in", "export traces to pawl as well as logs, from the same process"},
		{Unfinished, false, true, "spans that never ended: in", "end spans in a finally block, and read streams to their end or cancel them"},
		{Doubled, false, true, "model calls that two instrumentations describe (%s; they count once here, and twice in tools that add all spans up): in",
			"switch one of the two off"},
		{Skewed, false, true, "spans that another machine's clock puts before their caller: in", "let all machines of a run follow one clock (NTP)"},
		{Backward, false, true, "spans that end before they start: in", "take both times of a span from one clock, the monotonic one of the SDK"},
	} {
		n := s.Oddities[o.name]
		if n == 0 {
			continue
		}
		level := s.level(n)
		if o.never {
			level = Advice
		} else if o.always {
			level = Problem
		}
		what := strings.Replace(o.what, "%s", strings.Join(s.Pairs, "; "), 1)
		add(level, string(o.name), o.remedy, n, "%s %s", what, of(n, s.Examined, "trace"))
	}
}

// manyTraces is how many traces of one id make it look like a constant rather than a conversation.
const manyTraces = 20

// conversations tells of ids that do not name conversations.
func (s *Service) conversations(add adder) {
	remedy := "set session.id to an id of the conversation"
	if i := slices.IndexFunc(s.Facts, func(f Fact) bool { return f.Fact == trajectory.FactSession && f.Remedy != "" }); i >= 0 {
		remedy = s.Facts[i].Remedy
	}
	if n := s.Oddities[RunID]; n > 0 {
		add(Advice, string(RunID), remedy, 0, "what stands where the conversation's id belongs is the id of one run or one answer, and joins no traces: in %s", of(n, s.Examined, "trace"))
	}
	if s.Sessions.Same >= manyTraces && s.Sessions.Others == 0 {
		add(Advice, "session_id", remedy, 0, "all %s carry one session id: if it is a constant, conversations that have nothing to do with one another look like one", traces(s.Sessions.Same))
	}
}

// Asked says whether it is worth telling that a fact is there throughout; of the others only their want is.
func Asked(f trajectory.Fact) bool { return f != trajectory.FactClock && f != trajectory.FactDialect }

// Words is a fact in plain words.
func Words(f trajectory.Fact) string {
	return cmp.Or(words[f], strings.ReplaceAll(string(f), "_", " "))
}

var words = map[trajectory.Fact]string{
	trajectory.FactRoot:          "root span",
	trajectory.FactWhole:         "nothing cut",
	trajectory.FactModelCalls:    "model calls",
	trajectory.FactToolCalls:     "requested calls",
	trajectory.FactToolExecution: "tool executions",
	trajectory.FactToolsOffered:  "tools offered",
	trajectory.FactToolSchemas:   "tools' schemas",
	trajectory.FactArguments:     "arguments",
	trajectory.FactResults:       "results",
	trajectory.FactUsage:         "token usage",
	trajectory.FactCost:          "cost",
	trajectory.FactFinishReason:  "finish reason",
	trajectory.FactModelName:     "model name",
	trajectory.FactSession:       "session id",
	trajectory.FactUserMessages:  "user's words",
	trajectory.FactReply:         "agent's answer",
	trajectory.FactClock:         "real clock",
	trajectory.FactDialect:       "readable dialect",
	trajectory.FactBaseline:      "a baseline",
	classify.FactRule:            "an expression that works",
	"evaluation_budget":          "a cheaper expression",
}

func traces(n int) string { return plural(n, "trace") }

func have(n int) string {
	if n == 1 {
		return "1 trace has"
	}
	return traces(n) + " have"
}

func of(n, all int, noun string) string {
	if n == all && n > 1 {
		return "all " + plural(all, noun)
	}
	return fmt.Sprintf("%d of %s", n, plural(all, noun))
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
