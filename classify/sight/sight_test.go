package sight

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

var usageEmitter = trajectory.Emitter{Dialect: "otel-genai", Scope: "scope", Version: "1"}

// told is a trajectory of which n of four model calls tell their usage.
func told(n int, edit ...func(*trajectory.Trajectory)) *trajectory.Trajectory {
	t := &trajectory.Trajectory{TraceID: "1", Service: "shop", SessionID: "chat-1",
		Telemetry: trajectory.Telemetry{Emitters: []trajectory.Emitter{usageEmitter}},
		Facts:     []trajectory.Share{{Fact: trajectory.FactRoot, Seen: 1, Of: 1}, {Fact: trajectory.FactUsage, Seen: n, Of: 4}}}
	if n < 4 {
		t.Facts[1].Remedy = "ask for usage"
	}
	for _, e := range edit {
		e(t)
	}
	return t
}

var blindToUsage = []classify.Inapplicable{{Rule: "cost_spike@1", Missing: trajectory.FactUsage, Remedy: "ask for usage"}}

func service(n int, t *trajectory.Trajectory, unjudged []classify.Inapplicable) *Service {
	s := &Service{Name: t.Service}
	for range n {
		s.Take(Look(t), unjudged)
	}
	return s
}

func about(cs []Check, name string) (Check, bool) {
	i := slices.IndexFunc(cs, func(c Check) bool { return c.About == name })
	if i < 0 {
		return Check{}, false
	}
	return cs[i], true
}

// A fact that lacks and blinds a rule is a problem from one trace in ten on; seldom it is advice, and all told it is nothing.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		lacking, whole int
		want           Level
	}{{10, 0, Problem}, {1, 9, Problem}, {1, 10, Advice}, {0, 10, ""}} {
		s := service(c.lacking, told(0), blindToUsage)
		for range c.whole {
			s.Take(Look(told(4)), nil)
		}
		s.Name = "shop"
		got, _ := about(Examine(s), "usage")
		if got.Level != c.want || c.want != "" && (got.Remedy != "ask for usage" || !strings.Contains(got.What, fmt.Sprintf("cost_spike cannot judge %s", of(c.lacking, c.lacking+c.whole, "trace")))) {
			t.Errorf("%d of %d: %+v", c.lacking, c.lacking+c.whole, got)
		}
	}
	all := Examine(service(3, told(4), nil))
	if len(all) != 1 || all[0].Level != OK {
		t.Errorf("nothing is wrong: %+v", all)
	}
}

// One call in many that tells nothing, and blinds nobody, is in the table and no advice.
func TestFewCallsAreNoAdvice(t *testing.T) {
	s := service(20, told(4), nil)
	s.Take(Look(told(3)), nil)
	if c, found := about(Examine(s), "usage"); found {
		t.Errorf("%+v", c)
	}
	if f := s.Facts[1]; f.Seen != 83 || f.Of != 84 || f.Lacking != 0 || f.Traces != 21 {
		t.Errorf("%+v", f)
	}
}

// Runs whose every call failed lack a usage that no setting supplies, however many they are.
func TestUsageOfFailedRunsIsNoAdvice(t *testing.T) {
	s := service(3, told(4), nil)
	for range 3 {
		s.Take(Look(&trajectory.Trajectory{TraceID: "2", Service: "shop", SessionID: "chat-2"}), blindToUsage)
	}
	if c, found := about(Examine(s), "usage"); found {
		t.Errorf("%+v", c)
	}
}

func TestOddities(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(*trajectory.Trajectory)
		level Level
		says  string
	}{
		"orphans":      {func(t *trajectory.Trajectory) { t.Telemetry.Orphans = 2 }, Problem, "parent never came"},
		"sampled":      {func(t *trajectory.Trajectory) { t.Telemetry.Sampled = true }, Problem, "sampled"},
		"spanless":     {func(t *trajectory.Trajectory) { t.Telemetry.Spanless = 1 }, Problem, "log records"},
		"unfinished":   {func(t *trajectory.Trajectory) { t.Complete.Unfinished = 1 }, Advice, "never ended"},
		"skewed":       {func(t *trajectory.Trajectory) { t.Telemetry.Skewed = 1 }, Advice, "clock"},
		"backward":     {func(t *trajectory.Trajectory) { t.Telemetry.Backward = 1 }, Advice, "before they start"},
		"run_id":       {func(t *trajectory.Trajectory) { t.Telemetry.RunID = true }, Advice, "one run"},
		"doubled":      {func(t *trajectory.Trajectory) { t.Telemetry.Doubled, t.Telemetry.DoubledBy = 1, []string{"a + b"} }, Advice, "(a + b;"},
		"session_id":   {func(*trajectory.Trajectory) {}, Advice, "all 20 traces carry one session id"},
		"service.name": {func(t *trajectory.Trajectory) { t.Service = "" }, Problem, "20 traces have no service.name"},
	} {
		got, found := about(Examine(service(manyTraces, told(4, c.edit), nil)), name)
		if !found || got.Level != c.level || !strings.Contains(got.What, c.says) || got.Remedy == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	two := service(manyTraces, told(4), nil)
	two.Take(Look(told(4, func(t *trajectory.Trajectory) { t.SessionID = "chat-2" })), nil)
	if c, found := about(Examine(two), "session_id"); found {
		t.Errorf("two conversations: %+v", c)
	}
	if c, _ := about(Examine(service(1, told(4, func(t *trajectory.Trajectory) { t.Service = "unknown_service:node" }), nil)), "service.name"); c.Level != Advice {
		t.Errorf("a default name: %+v", c)
	}
}

// Problems come first, then what costs the most, and one setting is named once.
func TestOrder(t *testing.T) {
	s := service(10, told(0, func(t *trajectory.Trajectory) {
		t.Telemetry.Skewed = 1
		t.Facts = append(t.Facts, trajectory.Share{Fact: trajectory.FactReply, Of: 1, Remedy: "ask for usage"})
	}), blindToUsage)
	cs := Examine(s)
	if len(cs) != 2 || cs[0].About != "usage" || cs[1].About != "skewed" {
		t.Fatalf("%+v", cs)
	}
	if !slices.Equal(cs[0].Also, []string{"reply"}) || !strings.HasSuffix(cs[0].What, "; it would tell also: agent's answer") {
		t.Errorf("%+v", cs[0])
	}
}

// What a service counts does not depend on the order of its traces, its value survives JSON, and it stays small however much it is told.
func TestService(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var traces []*trajectory.Trajectory
	for i := range 30 {
		traces = append(traces, told(i%5, func(t *trajectory.Trajectory) { t.Telemetry.Orphans = i % 3 }))
	}
	add := func() *Service {
		s := &Service{Name: "shop"}
		for _, tr := range traces {
			in := blindToUsage
			if tr.Facts[1].Seen == 4 {
				in = nil
			}
			s.Take(Look(tr), in)
		}
		return s
	}
	text := func(s *Service) string {
		doc, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(doc)
	}
	want := text(add())
	for range 20 {
		rnd.Shuffle(len(traces), func(i, j int) { traces[i], traces[j] = traces[j], traces[i] })
		if got := text(add()); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
	var back Service
	if err := json.Unmarshal([]byte(want), &back); err != nil || text(&back) != want {
		t.Errorf("%v: %s", err, text(&back))
	}
	long := strings.Repeat("x\n", 5000)
	s := &Service{}
	for i := range 3000 {
		s.Take(Look(told(0, func(t *trajectory.Trajectory) {
			t.Telemetry.Emitters = []trajectory.Emitter{{Dialect: "d", Scope: fmt.Sprint(i, long), Version: long}}
			t.Telemetry.DoubledBy = []string{fmt.Sprint(i, long)}
			t.Facts[1].Remedy = fmt.Sprint(i, long)
		})), []classify.Inapplicable{{Rule: fmt.Sprintf("rule%d@1", i), Missing: trajectory.FactUsage, Remedy: fmt.Sprint(i, long)}})
	}
	if n := len(text(s)); n > 40<<10 {
		t.Errorf("a service of %d bytes", n)
	}
}

// TestWhatATeamMayWantIsNoProblem: rules that judge only what a team wants (a shape of answers, pinned tools, declarations) are told of as advice,
// however many traces lack it.
func TestWhatATeamMayWantIsNoProblem(t *testing.T) {
	s := Service{Name: "shop", Examined: 40, Blind: []Blind{
		{Missing: trajectory.FactPinned, Remedy: "pin them", Rules: []string{"binding_drift@1"}, Count: 40},
		{Missing: trajectory.FactOutputSchema, Remedy: "ask for it", Rules: []string{"output_schema_violation@1"}, Count: 40},
		{Missing: trajectory.FactDeclaration, Remedy: "declare", Rules: []string{"undeclared_execution@1"}, Count: 40},
	}}
	for _, c := range Examine(&s) {
		if c.Level != Advice || c.Cost != 0 || c.Remedy == "" {
			t.Errorf("%+v, want advice that costs nothing yet", c)
		}
	}
}
