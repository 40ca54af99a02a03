package classify_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func TestKinds(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"Connection refused":                "connection refused",
		"order 4711 not found":              "order _ not found",
		"order 17 not found.":               "order _ not found",
		"no user 'ana@example.com' in Asia": "no user _ in _",
		`bad value "x y z": {"a": [1, 2]}`:  "bad value _",
		"GET https://api.example/v1/x?k=1 failed: 503\nTraceback ...": "_ failed _",
		"file /srv/data/a.json is missing":                            "file _ is missing",
	} {
		if got := classify.Kinds(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzKinds(f *testing.F) {
	f.Add("order 4711 of 'Ana' not found: {}")
	f.Add("it's a don't-know \"")
	f.Fuzz(func(t *testing.T, s string) {
		once := classify.Kinds(s)
		if again := classify.Kinds(once); again != once {
			t.Fatalf("%q: %q, then %q", s, once, again)
		}
	})
}

func unexplained(r *rand.Rand) *trajectory.Trajectory {
	id := r.IntN(1_000_000)
	t := &trajectory.Trajectory{TraceID: fmt.Sprintf("%032x", r.Uint64()), Service: "shop", Agents: []string{"clerk"}}
	for range 1 + r.IntN(4) {
		t.ToolCalls = append(t.ToolCalls, trajectory.ToolCall{Name: "get_order"})
	}
	t.ToolCalls = append(t.ToolCalls, trajectory.ToolCall{Name: "refund"})
	t.Steps = []trajectory.Step{{Kind: trajectory.StepTool, SpanID: fmt.Sprintf("%016x", id), Agent: "clerk"}}
	switch r.IntN(4) {
	case 0:
		t.RootError = &trajectory.Error{Type: "KeyError", Message: fmt.Sprintf("order %d of 'user-%x' is gone", id, id)}
	case 1:
		t.RootError = &trajectory.Error{Type: "HTTPError", Message: fmt.Sprintf("POST https://pay.example/%d answered %d", id, 500+id%4)}
	case 2:
		t.Feedback = []trajectory.Feedback{{Name: "thumbs", Label: "bad", Explanation: fmt.Sprintf("my order %d never came", id)}}
	}
	return t
}

// A thousand traces of four causes are four groups, and nothing of what they are about is in the fingerprint.
func TestAThousandAreAFewRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	groups := map[string]int{}
	for range 1000 {
		tr := unexplained(r)
		f := classify.NoLabelFinding(tr, classify.Claim{Source: "sentry", Reason: fmt.Sprint("look at ", r.IntN(1000))})
		groups[f.Fingerprint.ID()]++
		doc, err := f.Fingerprint.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"user-", "pay.example", "never came", "look at", "is gone"} {
			if strings.Contains(string(doc)+f.Title, secret) {
				t.Fatalf("%q is in %s, %s", secret, doc, f.Title)
			}
		}
		if f.Form != classify.FormNone || f.Label != classify.NoLabel || len(f.Evidence) != 1 {
			t.Fatalf("%+v", f)
		}
	}
	if len(groups) != 4 {
		t.Errorf("%d groups: %v", len(groups), groups)
	}
}

// What tells two apart: the class of the error, its words, the tools that led there, the agent, and the kind of sign.
func TestWhatTellsThemApart(t *testing.T) {
	base := func() *trajectory.Trajectory {
		return &trajectory.Trajectory{Service: "shop", Agents: []string{"clerk"}, ToolCalls: []trajectory.ToolCall{{Name: "a"}, {Name: "b"}},
			RootError: &trajectory.Error{Type: "KeyError", Message: "order 1 is gone"}}
	}
	id := func(t *trajectory.Trajectory, said ...classify.Claim) string {
		return classify.NoLabelFinding(t, said...).Fingerprint.ID()
	}
	for name, change := range map[string]func(*trajectory.Trajectory){
		"class":   func(t *trajectory.Trajectory) { t.RootError.Type = "ValueError" },
		"words":   func(t *trajectory.Trajectory) { t.RootError.Message = "cannot reach the bank" },
		"tools":   func(t *trajectory.Trajectory) { t.ToolCalls = append(t.ToolCalls, trajectory.ToolCall{Name: "c"}) },
		"agent":   func(t *trajectory.Trajectory) { t.Agents = []string{"boss"} },
		"service": func(t *trajectory.Trajectory) { t.Service = "bank" },
		"sign":    func(t *trajectory.Trajectory) { t.RootError = nil },
	} {
		changed := base()
		change(changed)
		if id(changed) == id(base()) {
			t.Errorf("%s does not", name)
		}
	}
	more := base()
	more.ToolCalls = append([]trajectory.ToolCall{{Name: "a"}, {Name: "a"}}, more.ToolCalls...)
	more.RootError.Message = "order 22 is gone"
	if id(more) != id(base()) {
		t.Error("how often a tool was called, or which order it was, tells them apart")
	}
	none := base()
	none.RootError = nil
	none.ToolCalls, none.ModelCalls = nil, nil
	if id(none, classify.Claim{Source: "sentry", Reason: "x"}) != id(none, classify.Claim{Source: "sentry", Reason: "y"}) {
		t.Error("an outsider's words tell them apart")
	}
	if id(none, classify.Claim{Source: "sentry"}) == id(none, classify.Claim{Source: "grafana"}) {
		t.Error("who said so does not")
	}
}

// A list of groups tells them apart by their titles: by what shows it, and by the tools that led there.
func TestTitlesTellThemApart(t *testing.T) {
	tr := &trajectory.Trajectory{Service: "shop", Reply: new("Done."), ToolCalls: []trajectory.ToolCall{{Name: "find"}, {Name: "pay"}, {Name: "find"}}}
	said := classify.Claim{Source: "desk", Reason: "charged twice"}
	if got := classify.NoLabelFinding(tr, said).Title; got != "flagged by desk after pay, then find, and no rule explains it" {
		t.Error(got)
	}
	tr.ToolCalls, tr.RootError = nil, &trajectory.Error{Type: "KeyError"}
	if got := classify.NoLabelFinding(tr, said).Title; got != "ended in KeyError without a tool call, and no rule explains it" {
		t.Error(got)
	}
}
