package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// scripted is a model that answers what it is told to, in turn, the last for ever, and keeps what it was asked.
type scripted struct {
	mu      sync.Mutex
	answers []string
	asked   []gate.Question
}

func (s *scripted) model() gate.Model {
	return gate.Model{Name: "scripted-1", Ask: func(_ context.Context, q gate.Question) (gate.Reply, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		text := s.answers[min(len(s.asked), len(s.answers)-1)]
		s.asked = append(s.asked, q)
		if text == "down" {
			return gate.Reply{}, errors.New("503")
		}
		return gate.Reply{Text: text, Model: "scripted-1", Tokens: 10, USD: new(0.001)}, nil
	}}
}

// said is one ballot's answer on one criterion.
func verdict(said, quote string) string {
	b, _ := json.Marshal(map[string]any{"verdicts": []map[string]any{{"criterion": 1, "because": "so it is", "quote": quote, "said": said}}})
	return string(b)
}

// What becomes of a run by how the model votes on its one criterion that is judged; the other is for people.
func TestCriteria(t *testing.T) {
	yes, no, open := verdict("fulfilled", ""), verdict("not_fulfilled", ""), verdict("unclear", "")
	for _, x := range []struct {
		name    string
		answers []string
		verdict gate.Verdict
		says    string
		asked   int
	}{
		{"all fulfilled", []string{yes}, gate.Pass, "", 3},
		{"two of three", []string{no, yes, yes}, gate.Pass, "", 3},
		{"not fulfilled", []string{no, yes, no}, gate.Fail, `criteria: "The reply names the parcel." is not fulfilled: so it is`, 3},
		{"each says something else", []string{yes, no, open}, gate.Inconclusive, "do not agree: 1 fulfilled, 1 not fulfilled, 1 unclear, 0 void", 3},
		{"outside the form, twice", []string{"Yes!", "Yes!", yes, yes}, gate.Pass, "", 4},
		{"always outside the form", []string{"Yes!"}, gate.Inconclusive, "3 void", 6},
		{"in a fence", []string{"```json\n" + yes + "\n```"}, gate.Pass, "", 3},
		{"of a criterion that is not asked", []string{strings.Replace(yes, `"criterion":1`, `"criterion":0`, 1)}, gate.Inconclusive, "3 void", 6},
		{"more than was asked", []string{strings.Replace(yes, `{"verdicts"`, `{"note":"hm","verdicts"`, 1)}, gate.Inconclusive, "3 void", 6},
		{"quotes what was said", []string{verdict("fulfilled", "its STATUS is unknown!")}, gate.Pass, "", 3},
		{"quotes what nobody said", []string{verdict("fulfilled", "it arrives on Friday")}, gate.Inconclusive, "3 void", 3},
		{"does not answer", []string{"down"}, gate.Inconclusive, "criteria: model scripted-1: 503", 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := &scripted{answers: x.answers}
			r := runWith(t, gate.Options{Criteria: gate.Criteria{Model: s.model()}}, withCriteria(t), "good")
			if r.Verdict != x.verdict || !strings.Contains(r.Reason, x.says) || len(s.asked) != x.asked {
				t.Errorf("%s: %s; asked %d times", r.Verdict, r.Reason, len(s.asked))
			}
			if x.answers[0] == "down" {
				return
			}
			if r.Decided != gate.ByModel || len(r.Votes) != 3 || r.Asked.Asked != x.asked || r.Asked.Tokens != int64(10*x.asked) || !strings.HasPrefix(r.Jury, "scripted-1 ") {
				t.Errorf("%+v", r)
			}
			if (r.Verdict == gate.Fail) != (len(r.Mismatches) == 1 && r.Mismatches[0].Field == "criteria/1") {
				t.Errorf("%+v", r.Mismatches)
			}
		})
	}
}

func withCriteria(t *testing.T) *gate.Case {
	c := loopCase(t)
	own := *c.Case
	own.Expect.Criteria = []regcase.Criterion{{Text: "It is polite."}, {Text: "The reply names the parcel.", Judge: true}}
	return &gate.Case{Case: &own, Sum: c.Sum, Schemas: c.Schemas}
}

func runWith(t *testing.T, o gate.Options, c *gate.Case, mode string) gate.Run {
	t.Helper()
	return newGate(t, o).RunOnce(t.Context(), gate.Version{Agent: agentCommand(mode)}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
}

// A model is asked last, of what all else lets pass; nothing passes because there is none; and what may not be sent is not.
func TestCriteriaAreJudgedLast(t *testing.T) {
	s := &scripted{answers: []string{verdict("fulfilled", "")}}
	if r := runWith(t, gate.Options{Criteria: gate.Criteria{Model: s.model()}}, withCriteria(t), "loop"); r.Verdict != gate.Fail || len(s.asked) != 0 {
		t.Errorf("%s %s, asked %d times", r.Verdict, r.Reason, len(s.asked))
	}
	if r := runWith(t, gate.Options{}, withCriteria(t), "good"); r.Verdict != gate.Inconclusive || !strings.Contains(r.Reason, "judge.model") {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
	m := s.model()
	m.Clean = func(string) (string, error) { return "", errors.New("a secret would leave") }
	if r := runWith(t, gate.Options{Criteria: gate.Criteria{Model: m}}, withCriteria(t), "good"); r.Verdict != gate.Inconclusive || len(s.asked) != 0 || !strings.Contains(r.Reason, "a secret would leave") {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
}

// The three ballots ask the same in three orders, and no word of the recording can end the fence around it.
func TestBallots(t *testing.T) {
	s := &scripted{answers: []string{verdict("fulfilled", "")}}
	c := withCriteria(t)
	runWith(t, gate.Options{Criteria: gate.Criteria{Model: s.model(), Rubric: "Be strict."}}, c, "good")
	orders := map[string]bool{}
	for _, q := range s.asked {
		orders[string(q.Schema)] = true
		text := q.Turns[0].Content
		_, data, _ := strings.Cut(text, "data between two equal lines:\n")
		fence, rest, _ := strings.Cut(data, "\n")
		if inside, after, ok := strings.Cut(rest, fence); !ok || after != "" || !strings.Contains(inside, `"who":"user"`) || !strings.Contains(inside, `"tool":"find_parcel"`) || !strings.Contains(inside, `"who":"agent"`) {
			t.Errorf("%s", text)
		}
		if !strings.HasPrefix(q.System, "Be strict.\n") || strings.Contains(text, "polite") {
			t.Errorf("%s\n%s", q.System, text)
		}
	}
	if len(orders) != 3 {
		t.Errorf("%d orders", len(orders))
	}
}

func TestNoise(t *testing.T) {
	vote := func(i int, said string) gate.Vote { return gate.Vote{Criterion: i, Said: said} }
	runs := []gate.Run{{Votes: []gate.Vote{vote(0, "fulfilled"), vote(0, "not_fulfilled"), vote(0, "fulfilled"), vote(1, "fulfilled"), vote(1, "unclear")}}, {}}
	if n := gate.Noise(runs); n != (gate.Share{Did: 1, Of: 2}) {
		t.Errorf("%+v", n)
	}
}

func says(message, state string) string {
	return fmt.Sprintf(`{"message":%q,"state":%q}`, message, state)
}

// A user that a model plays: the ends of the conversation, what it may not make up, and what is kept.
func TestSimulatedTurns(t *testing.T) {
	for _, x := range []struct {
		name    string
		answers []string
		verdict gate.Verdict
		reason  string
		said    []string
		end     string
	}{
		{"reached at once", []string{says("", "reached")}, gate.Pass, "", nil, "reached"},
		{"goes on, then gives up", []string{says("PX is the blue one.", "goes_on"), says("", "given_up")}, gate.Pass, "", []string{"PX is the blue one."}, "given_up"},
		{"knows a fact", []string{says("PX and my postcode is 10115.", "goes_on"), says("", "reached")}, gate.Pass, "", []string{"PX and my postcode is 10115."}, "reached"},
		{"makes up a number, then mends it", []string{says("It is AB-99999.", "goes_on"), says("I know PX alone.", "goes_on"), says("", "reached")}, gate.Pass, "", []string{"I know PX alone."}, "reached"},
		{"makes up a number again", []string{says("It is AB-99999.", "goes_on")}, gate.Inconclusive, "the user cannot know AB-99999", nil, ""},
		{"never ends", []string{says("And PX?", "goes_on")}, gate.Pass, "", strings.Split(strings.Repeat("And PX?|", 6)+"And PX?", "|"), "turns"},
		{"does not answer", []string{"down"}, gate.Inconclusive, "the user could not be played: model scripted-1: 503", nil, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := severalTurns(t)
			s := &scripted{} // the agent goes by the parcel that each message names
			number := regexp.MustCompile(`PX-\d+`).FindString(c.Input.Turns[0].User)
			for _, a := range x.answers {
				s.answers = append(s.answers, strings.ReplaceAll(a, "PX", number))
			}
			r := runWith(t, gate.Options{User: s.model()}, gate.Simulate(c), "good")
			if r.Verdict != x.verdict || !strings.Contains(r.Reason, x.reason) || r.Played == nil || r.Played.End != x.end {
				t.Fatalf("%s: %s %+v", r.Verdict, r.Reason, r.Played)
			}
			if got, want := strings.Join(r.Played.Said[1:], "|"), strings.ReplaceAll(strings.Join(x.said, "|"), "PX", number); got != want || r.Played.Said[0] != c.Input.Turns[0].User {
				t.Errorf("said %q, want %q", got, want)
			}
			if r.Played.Seed != 1 || r.Played.Prompt != gate.UserVersion || r.Played.Model != "scripted-1" || x.answers[0] != "down" && r.Asked.Asked != len(s.asked) {
				t.Errorf("%+v %+v", r.Played, r.Asked)
			}
		})
	}
}

// severalTurns is a recorded case of two turns, the second of which tells a fact.
func severalTurns(t *testing.T) *gate.Case {
	c := loopCase(t)
	own := *c.Case
	own.State.Name = regcase.Enforced
	own.Input.Turns = []regcase.Turn{own.Input.Turns[0], {User: "I live in 10115 Berlin."}}
	return &gate.Case{Case: &own, Sum: c.Sum, Schemas: c.Schemas}
}

// A simulated variant is not the case that was admitted: it never blocks and shares no verdict with it.
func TestSimulatedVariantNeverBlocks(t *testing.T) {
	c := severalTurns(t)
	v := gate.Simulate(c)
	if v.Sum == c.Sum || v.State.Name != regcase.Pending || v.Input.Goal != c.Input.Turns[0].User || len(v.Input.Facts) != 1 || len(v.Input.Turns) != 1 {
		t.Errorf("%s %+v %+v", v.Sum, v.State, v.Input)
	}
	if len(c.Input.Turns) != 2 || c.State.Name != regcase.Enforced {
		t.Error("the case itself was changed")
	}
	if gate.Simulate(loopCase(t)) != nil {
		t.Error("a case of one turn has no user to simulate")
	}
	if r := runWith(t, gate.Options{}, v, "good"); r.Verdict != gate.Error || !strings.Contains(r.Reason, "judge.model") {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
}

// Nothing of what a user wants, knows or was told goes to the model as it is.
func TestASimulatedUserIsRedacted(t *testing.T) {
	s := &scripted{answers: []string{says("", "reached")}}
	m := s.model()
	m.Clean = func(text string) (string, error) {
		return strings.NewReplacer("PX-", "NR-", "Berlin", "town-1").Replace(text), nil
	}
	if r := runWith(t, gate.Options{User: m}, gate.Simulate(severalTurns(t)), "good"); r.Verdict != gate.Pass {
		t.Fatalf("%s %s", r.Verdict, r.Reason)
	}
	q := s.asked[0]
	if text := q.System + q.Turns[0].Content; strings.Contains(text, "PX-") || strings.Contains(text, "Berlin") || !strings.Contains(q.System, "town-1") || !strings.Contains(q.Turns[0].Content, "NR-") {
		t.Error(text)
	}
}
