package classify

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

type testParams struct {
	Warn  int     `json:"warn"`
	Ratio float64 `json:"ratio"`
}

// ruleOf is a rule with the given answer.
func ruleOf(name string, label Label, s Severity, check func(*Input) Result) Rule {
	return Rule{Name: name, Version: 1, Label: label, Severity: s, Form: FormNever, Params: testParams{3, 0.5}, Check: check}
}

func found(step int, s Severity) func(*Input) Result {
	return func(in *Input) Result {
		f := in.Finding("a", Name("tool", "t"))
		f.Step = step
		if s != "" {
			f.Severity = s
		}
		return Match(f)
	}
}

func never(*Input) Result { return NoMatch() }

func wholeTrace(reply string) *trajectory.Trajectory {
	return &trajectory.Trajectory{TraceID: "t", Service: "shop", Reply: &reply, Complete: trajectory.Completeness{HasRoot: true},
		ModelCalls: []trajectory.ModelCall{{SpanID: "m1", FinishReason: trajectory.FinishStop}}}
}

func mustNew(t *testing.T, rules []Rule, o Options) *Engine {
	t.Helper()
	e, err := New(quiet(), rules, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestNewRefuses(t *testing.T) {
	rules := []Rule{ruleOf("loop", Loop, Blocking, never)}
	for want, o := range map[string]Options{
		`did you mean "loop"`:           {Params: map[string]map[string]any{"lop": {}}},
		`did you mean "warn"`:           {Params: map[string]map[string]any{"loop": {"wran": 4}}},
		"known are":                     {Params: map[string]map[string]any{"loop": {"zzzzzzz": 4}}},
		"parameters":                    {Params: map[string]map[string]any{"loop": {"warn": "four"}}},
		`did you mean "latency_spike"`:  {Severity: map[Label]Severity{"latency_spke": Info}},
		"none of info, warning, blocki": {Severity: map[Label]Severity{Loop: "fatal"}},
	} {
		if _, err := New(quiet(), rules, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want an error with %q", err, want)
		}
	}
	if _, err := New(quiet(), append(rules, rules...), Options{}); err == nil {
		t.Error("two rules of one name passed")
	}
}

func TestParams(t *testing.T) {
	r := ruleOf("loop", Loop, Blocking, func(in *Input) Result {
		p := ParamsOf[testParams](in)
		if p.Warn != 4 || p.Ratio != 0.5 {
			t.Errorf("params = %+v", p)
		}
		return Match(in.Finding(""))
	})
	e := mustNew(t, []Rule{r}, Options{Params: map[string]map[string]any{"loop": {"warn": uint64(4)}}})
	f := e.Classify(wholeTrace("x"), nil).Findings[0]
	if f.Params["warn"] != 4.0 || f.Params["ratio"] != 0.5 {
		t.Errorf("effective parameters = %v", f.Params)
	}
}

func TestSeverityOverride(t *testing.T) {
	rules := []Rule{ruleOf("loop", Loop, Blocking, found(1, "")), ruleOf("late", LatencySpike, Warning, found(2, ""))}
	e := mustNew(t, rules, Options{Severity: map[Label]Severity{Loop: Info, LatencySpike: Blocking}})
	r := e.Classify(wholeTrace("x"), nil)
	if r.Findings[0].Severity != Info || r.Findings[1].Severity != Blocking || *r.Primary != LatencySpike {
		t.Errorf("findings %+v, primary %v", r.Findings, *r.Primary)
	}
	e = mustNew(t, []Rule{ruleOf("loop", Loop, Info, found(1, Blocking))}, Options{})
	if r := e.Classify(wholeTrace("x"), nil); r.Findings[0].Severity != Info || r.Verdict != Passing {
		t.Errorf("a rule said more than it may: %+v", r.Findings)
	}
}

func TestPanicIsInapplicable(t *testing.T) {
	e := mustNew(t, []Rule{
		ruleOf("bad", Loop, Blocking, func(*Input) Result { panic("oh") }),
		ruleOf("good", HallucinatedTool, Blocking, found(0, "")),
	}, Options{})
	r := e.Classify(wholeTrace("x"), nil)
	if len(r.Findings) != 1 || len(r.Inapplicable) != 1 || r.Inapplicable[0].Missing != FactRule || e.Broken() != 1 {
		t.Errorf("report %+v, broken %d", r, e.Broken())
	}
}

func TestNeeds(t *testing.T) {
	r := ruleOf("loop", Loop, Blocking, found(0, ""))
	r.Needs = []trajectory.Fact{trajectory.FactToolCalls}
	tr := wholeTrace("x")
	tr.Gaps = []trajectory.Gap{{Fact: trajectory.FactToolCalls, Remedy: "turn it on"}}
	got := mustNew(t, []Rule{r}, Options{}).Classify(tr, nil)
	if len(got.Findings) != 0 || got.Inapplicable[0] != (Inapplicable{"loop@1", trajectory.FactToolCalls, "turn it on"}) {
		t.Errorf("report %+v", got)
	}
}

// What rules share is derived once for each trajectory, and is that trajectory's.
func TestShared(t *testing.T) {
	type replies string
	derived := 0
	seen := map[string][]replies{}
	rule := func(name string, label Label) Rule {
		return ruleOf(name, label, Warning, func(in *Input) Result {
			got := Shared(in, func(in *Input) replies { derived++; return replies(*in.Trajectory.Reply) })
			seen[name] = append(seen[name], got)
			f := in.Finding("a")
			return Match(f)
		})
	}
	e := mustNew(t, []Rule{rule("loop", Loop), rule("empty_response", EmptyResponse)}, Options{})
	for _, reply := range []string{"one", "two"} {
		if got := len(e.Classify(wholeTrace(reply), nil).Findings); got != 2 {
			t.Errorf("%d findings, want one of each rule", got)
		}
	}
	for _, name := range []string{"loop", "empty_response"} {
		if !slices.Equal(seen[name], []replies{"one", "two"}) {
			t.Errorf("rule %s saw %q", name, seen[name])
		}
	}
	if derived != 2 {
		t.Errorf("derived %d times, want once for each of two trajectories", derived)
	}
}

func TestVerdict(t *testing.T) {
	score := 0.0
	cases := map[string]struct {
		change func(*trajectory.Trajectory)
		sev    Severity
		want   Verdict
	}{
		"healthy":           {want: Passing},
		"blocking":          {sev: Blocking, want: Failing},
		"warning":           {sev: Warning, want: Failing},
		"info":              {sev: Info, want: Passing},
		"root error":        {change: func(t *trajectory.Trajectory) { t.RootError = &trajectory.Error{} }, want: Unclassified},
		"root error, found": {change: func(t *trajectory.Trajectory) { t.RootError = &trajectory.Error{} }, sev: Blocking, want: Failing},
		"no reply":          {change: func(t *trajectory.Trajectory) { t.Reply = nil }, want: Unclassified},
		"no model call":     {change: func(t *trajectory.Trajectory) { t.Reply = nil; t.ModelCalls = nil }, want: Passing},
		"goes on elsewhere": {change: func(t *trajectory.Trajectory) {
			t.Reply = nil
			t.ToolCalls = []trajectory.ToolCall{{Requested: true, Outcome: trajectory.OutcomeUnknown}}
		}, want: Passing},
		"empty reply": {change: func(t *trajectory.Trajectory) { t.Reply = new(" ") }, want: Unclassified},
		"handed over": {change: func(t *trajectory.Trajectory) {
			t.Reply, t.Handoffs = new(""), []trajectory.Handoff{{From: "desk", To: "billing"}}
			t.ModelCalls = []trajectory.ModelCall{{Agent: "billing", Text: "done"}, {Agent: "desk"}}
		}, want: Passing},
		"replies not recorded": {change: func(t *trajectory.Trajectory) { t.Reply = nil; t.Gaps = []trajectory.Gap{{Fact: trajectory.FactReply}} }, want: Passing},
		"a blank end": {change: func(t *trajectory.Trajectory) {
			t.Reply, t.ModelCalls = nil, append(t.ModelCalls, trajectory.ModelCall{})
			t.Gaps = []trajectory.Gap{{Fact: trajectory.FactReply}}
		}, want: Incomplete},
		"no root":            {change: func(t *trajectory.Trajectory) { t.Reply = nil; t.Complete.HasRoot = false }, want: Incomplete},
		"truncated":          {change: func(t *trajectory.Trajectory) { t.Complete.Truncated = true }, want: Incomplete},
		"no root, failing":   {change: func(t *trajectory.Trajectory) { t.Complete.HasRoot = false }, sev: Warning, want: Failing},
		"bad feedback":       {change: func(t *trajectory.Trajectory) { t.Feedback = []trajectory.Feedback{{Label: "thumbs_down"}} }, want: Unclassified},
		"good feedback":      {change: func(t *trajectory.Trajectory) { t.Feedback = []trajectory.Feedback{{Label: "good"}} }, want: Passing},
		"zero hallucination": {change: func(t *trajectory.Trajectory) { t.Feedback = []trajectory.Feedback{{Name: "toxicity", Score: &score}} }, want: Passing},
		"zero user satisfiedit": {change: func(t *trajectory.Trajectory) {
			t.Feedback = []trajectory.Feedback{{Name: "satisfaction", Score: &score}}
		}, want: Unclassified},
	}
	for name, c := range cases {
		tr := wholeTrace("fine")
		if c.change != nil {
			c.change(tr)
		}
		check := never
		if c.sev != "" {
			check = found(0, c.sev)
		}
		r := mustNew(t, []Rule{ruleOf("loop", Loop, Blocking, check)}, Options{}).Classify(tr, nil)
		if r.Verdict != c.want {
			t.Errorf("%s: verdict %s, want %s", name, r.Verdict, c.want)
		}
		if (r.Primary != nil) != (c.want == Failing) {
			t.Errorf("%s: primary %v", name, r.Primary)
		}
		if f := r.Flagged().Verdict; c.want == Passing && f != Unclassified || c.want == Failing && f != Failing {
			t.Errorf("%s: flagged %s", name, f)
		}
	}
}

func TestPrimary(t *testing.T) {
	cases := []struct {
		name  string
		rules []Rule
		want  Label
	}{
		{"earliest step", []Rule{ruleOf("a", Loop, Blocking, found(5, "")), ruleOf("b", SchemaViolation, Blocking, found(2, ""))}, SchemaViolation},
		{"whole trace comes last", []Rule{ruleOf("a", CostSpike, Blocking, found(-1, "")), ruleOf("b", Loop, Blocking, found(9, ""))}, Loop},
		{"outside only alone", []Rule{ruleOf("a", UpstreamError, Warning, found(0, "")), ruleOf("b", Loop, Blocking, found(9, ""))}, Loop},
		{"outside alone", []Rule{ruleOf("a", UpstreamError, Warning, found(0, ""))}, UpstreamError},
		{"same step", []Rule{ruleOf("a", MissingToolResult, Blocking, found(3, "")), ruleOf("b", HallucinatedTool, Blocking, found(3, ""))}, HallucinatedTool},
		{"blocking before warning", []Rule{ruleOf("a", ContextOverflow, Warning, found(1, "")), ruleOf("b", CostSpike, Blocking, found(-1, ""))}, CostSpike},
	}
	for _, c := range cases {
		if got := mustNew(t, c.rules, Options{}).Classify(wholeTrace("x"), nil).Primary; got == nil || *got != c.want {
			t.Errorf("%s: primary %v, want %s", c.name, got, c.want)
		}
	}
}

// Every key of the contract is there, whatever is missing in the data.
func TestLineHasEveryKey(t *testing.T) {
	for _, tr := range []*trajectory.Trajectory{{}, wholeTrace("x")} {
		b, err := json.Marshal(NewLine(tr, Report{}))
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]jsontext.Value
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{"trace_id", "session_id", "service", "verdict", "primary", "dialects", "findings", "inapplicable", "stats"} {
			if _, ok := m[k]; !ok {
				t.Errorf("no %s in %s", k, b)
			}
		}
		for _, k := range []string{"dialects", "findings", "inapplicable"} {
			if string(m[k]) != "[]" {
				t.Errorf("%s = %s, want []", k, m[k])
			}
		}
		if !strings.Contains(string(m["stats"]), `"cost_usd":null`) || string(m["primary"]) != "null" {
			t.Errorf("line = %s", b)
		}
	}
}

func TestFingerprintForms(t *testing.T) {
	f := NewFingerprint(Loop, "shop", "a b", Number("period", 2), Names("tools", "b", "a", "b"), Word("result", "same"))
	f.Aliases = []string{"abc"}
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back Fingerprint
	if err := json.Unmarshal(b, &back); err != nil || !back.Equal(f) || back.Aliases[0] != "abc" {
		t.Errorf("JSON: %v\n%s\n%+v", err, b, back)
	}
	y, err := yaml.Marshal(struct {
		F Fingerprint `yaml:"fingerprint"`
	}{f})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		F Fingerprint `yaml:"fingerprint"`
	}
	if err := yaml.Unmarshal(y, &got); err != nil || !got.F.Equal(f) || got.F.ID() != f.ID() {
		t.Errorf("YAML: %v\n%s\n%+v", err, y, got.F)
	}
	if !strings.HasPrefix(f.ID(), "loop-") || len(f.ID()) != len("loop-")+10 || len(f.Digest()) != 64 {
		t.Errorf("id %s, digest %s", f.ID(), f.Digest())
	}
	edited := strings.Replace(string(b), `"period":2`, `"period":3`, 1)
	if err := json.Unmarshal([]byte(edited), &back); err == nil {
		t.Error("an id that does not fit its parts was accepted")
	}
}

// The digest of one fingerprint is fixed: if this fails, every case on disk is orphaned. Raise FingerprintVersion and alias instead.
func TestFingerprintIsFixed(t *testing.T) {
	f := NewFingerprint(SchemaViolation, "shop", "", Name("tool", "get_order"), Pointer("pointer", []string{"items", "3", "qty"}), Word("keyword", "type"))
	if got, want := f.ID(), "tool_args_schema_violation-9045181e8b"; got != want {
		t.Errorf("ID = %s, want %s", got, want)
	}
}

func TestSafeNames(t *testing.T) {
	for in, want := range map[string]string{
		"get_order": "get_order", "": "", "gpt-4.1": "gpt-4.1", "get_order_v2": "get_order_v2",
		"agent-7b1c0de5-a11e-40f2-b7d0-c0ffee15900d": "agent-#", "run_20260102": "run_#",
	} {
		if got := SafeName(in); got != want {
			t.Errorf("SafeName(%q) = %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{"Maya Lind", "größe", strings.Repeat("x", 65), "a/b", "a\nb"} {
		if got := SafeName(in); !strings.HasPrefix(got, "h.") || strings.Contains(got, in) {
			t.Errorf("SafeName(%q) = %q, want a hash", in, got)
		}
	}
	for in, want := range map[string]string{
		"POST /orders/{id}/items/:item": "POST /orders/*/items/*", "/orders/10231": "/orders/#", "invoke_agent shop": "invoke_agent shop",
	} {
		if got := SafeRoute(in); got != want {
			t.Errorf("SafeRoute(%q) = %q, want %q", in, got, want)
		}
	}
}

// Scrubbing reaches a fixed point, and what is safe stays as it is.
func FuzzScrub(f *testing.F) {
	for _, s := range []string{"order 10231 of 2026-01-02T03:04:05Z", "7b1c0de5-a11e-40f2-b7d0-c0ffee15900d", "0xdeadbeef", "10.0.0.1:443", "#-#", "a1b2c3d4e5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, scrub := range map[string]func(string) string{"Scrub": Scrub, "ScrubIDs": ScrubIDs, "SafeName": SafeName, "SafeRoute": SafeRoute} {
			once := scrub(s)
			if twice := scrub(once); twice != once {
				t.Errorf("%s(%q) = %q, and of that %q", name, s, once, twice)
			}
		}
		if strings.IndexFunc(Scrub(s), isDigit) >= 0 {
			t.Errorf("Scrub(%q) = %q has a digit", s, Scrub(s))
		}
		if strings.IndexFunc(SafeName(s), unsafeRune) >= 0 || len(SafeName(s)) > maxName {
			t.Errorf("SafeName(%q) = %q is not safe", s, SafeName(s))
		}
	})
}

func TestSchemas(t *testing.T) {
	s := NewSchemas()
	cases := []struct{ name, schema, value, want string }{
		{"valid", `{"type":"object"}`, `{}`, ""},
		{"type", `{"properties":{"n":{"type":"integer"}}}`, `{"n":"1"}`, "/n type"},
		{"float that is whole", `{"properties":{"n":{"type":"integer"}}}`, `{"n":1.0}`, ""},
		{"enum", `{"properties":{"n":{"enum":["a"]}}}`, `{"n":"A"}`, "/n enum"},
		{"one missing", `{"required":["a","b"]}`, `{"a":1}`, "/b required"},
		{"two missing", `{"required":["a","b"]}`, `{}`, " required"},
		{"additional", `{"properties":{"a":{}},"additionalProperties":false}`, `{"b":1}`, " additionalProperties"},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`, `["a",1]`, " additionalItems"},
		{"2020-12", `{"prefixItems":[{"type":"string"}],"items":false}`, `["a",1]`, "/* false"},
		{"anyOf", `{"properties":{"n":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"n":1}`, "/n anyOf"},
		{"local ref", `{"$defs":{"n":{"type":"string"}},"properties":{"n":{"$ref":"#/$defs/n"}}}`, `{"n":1}`, "/n type"},
		{"a tree", `{"properties":{"c":{"$ref":"#"}},"required":["n"]}`, `{"n":1,"c":{}}`, "/c/n required"},
		{"gemini", `{"type":"OBJECT","properties":{"n":{"type":"STRING","nullable":true}}}`, `{"n":null}`, ""},
		{"smolagents", `{"q":{"type":"string","description":"x"},"any":{"type":"any"}}`, `{"q":1,"any":2}`, "/q type"},
		{"property called type", `{"type":"object","properties":{"type":{"type":"string"}}}`, `{"type":1}`, "/type type"},
		{"unsafe key", `{"additionalProperties":{"type":"string"}}`, `{"maya.lind@example.com":1}`, SafePointer([]string{"maya.lind@example.com"}) + " type"},
	}
	for _, c := range cases {
		vs, err := s.Validate(jsontext.Value(c.schema), jsontext.Value(c.value))
		got := []string{}
		for _, v := range vs {
			got = append(got, SafePointer(v.Pointer)+" "+v.Keyword)
		}
		if err != nil || strings.Join(got, ",") != c.want {
			t.Errorf("%s: %v, error %v; want %q", c.name, got, err, c.want)
		}
	}
	for _, bad := range []string{`{"type":"Decimal<EUR>"}`, `{"$ref":"https://example.com/x.json"}`, `{"$schema":"https://example.com/own"}`, `[`, `{"type":5}`,
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`} {
		if _, err := s.Validate(jsontext.Value(bad), jsontext.Value(`{}`)); err == nil {
			t.Errorf("schema %s was judged by", bad)
		}
	}
}

func TestSchemasConcurrently(t *testing.T) {
	s := NewSchemas()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				schema := jsontext.Value(`{"properties":{"n":{"type":"string","maxLength":` + string(rune('1'+i%3)) + `}}}`)
				if vs, err := s.Validate(schema, jsontext.Value(`{"n":"toolong"}`)); err != nil || len(vs) != 1 {
					t.Errorf("%v, %v", vs, err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzSchemas(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`), []byte(`{"n":"x"}`))
	f.Add([]byte(`{"$ref":"#"}`), []byte(`1`))
	f.Add([]byte(`{"a":{"type":"any"}}`), []byte(`{"a":[1]}`))
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		if !jsontext.Value(value).IsValid() {
			return
		}
		s := NewSchemas()
		a, errA := s.Validate(schema, value)
		b, errB := s.Validate(schema, value)
		if (errA == nil) != (errB == nil) || len(a) != len(b) {
			t.Errorf("%s on %s: %v, %v, then %v, %v", schema, value, a, errA, b, errB)
		}
	})
}
