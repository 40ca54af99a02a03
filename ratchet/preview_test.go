package ratchet

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// groupLabelled is the id of the only group of a label.
func groupLabelled(t *testing.T, a *Absorber, label classify.Label) string {
	t.Helper()
	gs, err := a.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range gs {
		if gs[i].Fingerprint.Label == label {
			return gs[i].ID()
		}
	}
	t.Fatalf("no group of %s", label)
	return ""
}

func previewed(t *testing.T, a *Absorber, id string) Preview {
	t.Helper()
	p, err := a.Preview(t.Context(), id, noon)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is previewed is what is written: the very files, branch and title, before and after the pull request is frozen.
func TestPreviewIsWhatIsWritten(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	failures(t, q, 1)
	a := testAbsorber(t, q, f)
	if err := a.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := groupLabelled(t, a, classify.Loop)
	p := previewed(t, a, id)
	if p.Case != id || p.Digest == "" || p.Refused != "" || p.Pull == nil || p.Proof == nil || len(p.Files) != 2 || p.Sent || p.Waits != "" {
		t.Fatalf("%+v", p)
	}
	if len(p.Proof.Twins) == 0 || len(p.Proof.Repairs) == 0 || p.Proof.Form != "never" || p.Proof.Red != "on the recording" {
		t.Errorf("proof %+v", p.Proof)
	}
	sweep(t, a, noon)
	after := previewed(t, a, id)
	pulls := f.Pulls("acme", "parcels")
	found := false
	for _, pull := range pulls {
		if pull.Head != p.Pull.Branch {
			continue
		}
		found = true
		if pull.Title != p.Pull.Title || !strings.HasPrefix(pull.Body, p.Pull.Body[:200]) {
			t.Errorf("previewed %q, opened %q", p.Pull.Title, pull.Title)
		}
	}
	if !found {
		t.Fatalf("no pull request from %s: %+v", p.Pull.Branch, pulls)
	}
	if !after.Sent || after.Digest != p.Digest || after.Files[0].Path != p.Files[0].Path || after.Files[1] != p.Files[1] || after.Pull.State != "open" || after.Pull.URL == "" {
		t.Errorf("after: %+v", after.Pull)
	}
	if _, err := a.EditCase(t.Context(), id, "ana", noon, p.Digest, []byte(p.Expect)); !refusal(err, "pull request is out") {
		t.Errorf("edited though it is out: %v", err)
	}
	if _, err := a.Preview(t.Context(), "loop-0000000000", noon); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("a group that is not there: %v", err)
	}
}

func refusal(err error, want string) bool {
	no, ok := errors.AsType[*Refused](err)
	return ok && strings.Contains(no.Reason, want)
}

// Each stand-in is told with the lines where it is seen, and nothing of what it stands for.
func TestPreviewTellsWhatWasRedacted(t *testing.T) {
	q := testQueue(t)
	failures(t, q, 1)
	a := testAbsorber(t, q, testFake(t))
	if err := a.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, label := range []classify.Label{classify.Loop, classify.SchemaViolation, classify.HallucinatedTool} {
		p := previewed(t, a, groupLabelled(t, a, label))
		for _, r := range p.Redacts {
			seen++
			if r.Kind == "" || r.StandIn == "" || r.Times == 0 || len(r.Places) == 0 {
				t.Errorf("%s: %+v", label, r)
				continue
			}
			for _, place := range r.Places {
				for _, f := range p.Files {
					lines := strings.Split(f.Content, "\n")
					if f.Path == place.Path && !strings.Contains(lines[place.Lines[0]-1], r.StandIn) {
						t.Errorf("%s is not in line %d of %s", r.StandIn, place.Lines[0], f.Path)
					}
				}
			}
		}
	}
	if seen == 0 {
		t.Error("nothing was redacted, so nothing was tried")
	}
}

// An edit is used when the case is made, bound to what was looked at, told, and can be dropped.
func TestEditedCase(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	failures(t, q, 1)
	a := testAbsorber(t, q, f)
	a.opts.Hold = 24 * time.Hour // it is proposed, and nothing leaves yet
	sweep(t, a, noon)
	id := groupLabelled(t, a, classify.Loop)
	p := previewed(t, a, id)
	if p.Batch == "" || p.Sent {
		t.Fatalf("%+v", p)
	}
	e, err := regcase.DecodeExpect([]byte(p.Expect))
	if err != nil {
		t.Fatal(err)
	}
	e.Budget = &regcase.Budget{ToolCalls: new(int64(4)), Tolerance: 0}
	text, err := regcase.EncodeExpect(e)
	if err != nil {
		t.Fatal(err)
	}
	edited, err := a.EditCase(t.Context(), id, "ana", noon, p.Digest, text)
	if err != nil {
		t.Fatal(err)
	}
	if edited.Digest == p.Digest || edited.Edit == nil || edited.Edit.Who != "ana" || edited.Edit.Of != p.Digest || !strings.Contains(edited.Files[0].Content, "tool_calls: 4") {
		t.Fatalf("%+v", edited)
	}
	if _, err := a.EditCase(t.Context(), id, "ben", noon, p.Digest, text); !refusal(err, "changed since you looked") {
		t.Errorf("a stale digest: %v", err)
	}
	sweep(t, a, noon.Add(time.Hour))
	now := previewed(t, a, id)
	if now.Batch == "" || now.Digest != edited.Digest || now.Files[0] != edited.Files[0] {
		t.Errorf("the proposed case is not the edited one: %s in %q", now.Digest, now.Batch)
	}
	log := told(t, a)
	if len(log) == 0 || log[0].Kind != "edit" || log[0].Decision.Who != "ana" || log[0].Decision.Choice != ChoiceEdit || log[0].Decision.Digest != edited.Digest {
		t.Errorf("audit %+v", log)
	}
	back, err := a.EditCase(t.Context(), id, "ana", noon, now.Digest, nil)
	if err != nil || back.Digest != p.Digest || back.Edit != nil {
		t.Errorf("dropped: %+v, %v", back.Edit, err)
	}
	if _, err := a.EditCase(t.Context(), id, "ana", noon, p.Digest, nil); !refusal(err, "nothing to drop") {
		t.Errorf("dropped twice: %v", err)
	}
}

// What would make a case of something else, or of nothing, is refused in a sentence.
func TestRefusedEdits(t *testing.T) {
	q := testQueue(t)
	failures(t, q, 1)
	a := testAbsorber(t, q, testFake(t))
	if err := a.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := groupLabelled(t, a, classify.Loop)
	p := previewed(t, a, id)
	change := func(edit func(*regcase.Expect)) string {
		e, err := regcase.DecodeExpect([]byte(p.Expect))
		if err != nil {
			t.Fatal(err)
		}
		edit(&e)
		text, err := regcase.EncodeExpect(e)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for want, text := range map[string]string{
		"what the rule found": change(func(e *regcase.Expect) { e.Never = nil }),
		"with the parameters": change(func(e *regcase.Expect) { e.Never[0].Params = regcase.NewJSON([]byte(`{"match":50}`)) }),
		"unknown key":         "livenesses: {}",
		"must not leave": change(func(e *regcase.Expect) {
			e.Criteria = []regcase.Criterion{{Text: "It writes to maria.keller@gmail.com at once."}}
		}),
		"nothing shows that a run": change(func(e *regcase.Expect) {
			e.Trajectory = &regcase.Trajectory{Mode: "superset", Calls: []regcase.ExpectedCall{{Tool: "no_such_tool", Mode: "ignore", Arguments: map[string]regcase.Field{}}}}
		}),
		"at most": change(func(e *regcase.Expect) {
			e.Criteria = []regcase.Criterion{{Text: strings.Repeat("It is long. ", 2000)}}
		}),
	} {
		if _, err := a.EditCase(t.Context(), id, "ana", noon, p.Digest, []byte(text)); !refusal(err, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := a.EditCase(t.Context(), id, "unknown", noon, p.Digest, []byte(p.Expect)); !refusal(err, "by name") {
		t.Errorf("by nobody: %v", err)
	}
	if now := previewed(t, a, id); now.Digest != p.Digest || now.Edit != nil {
		t.Error("a refused edit left something")
	}
}

// A group without a case says what would give it one.
func TestPreviewWithoutCase(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	publishStrange(t, q, strings.Repeat("a", 32), strange("boom"))
	if err := a.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := groupLabelled(t, a, classify.NoLabel)
	if p := previewed(t, a, id); p.Refused == "" || !strings.Contains(p.Setting, "pawl triage propose") || p.Pull != nil || p.Files == nil {
		t.Errorf("%+v", p)
	}
	g := decided(t, a, id, Ask{Choice: ChoiceLabel, Label: "wrong_currency"})
	if p := previewed(t, a, g.ID()); !strings.Contains(p.Refused, "no rule finds this yet") || !strings.Contains(p.Setting, g.ID()) {
		t.Errorf("%+v", p)
	}
}
