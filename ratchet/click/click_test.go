package click_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/click"
	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/match"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/regcase/casetest"
	"github.com/pawl-dev/pawl/ratchet/verify"
)

var now = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// Commits, in the order in which they were made.
var commits = []string{strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40), strings.Repeat("d", 40)}

func older(a, b string) bool { return slices.Index(commits, a) < slices.Index(commits, b) }

func caseOf(t testing.TB, state regcase.State) (regcase.Case, string) {
	t.Helper()
	c := casetest.Case(rand.New(rand.NewPCG(7, 7)))
	c.State, c.Live, c.Green = state, nil, nil
	c.Runs = regcase.Runs{N: 5, Mode: "soft", Rate: 0.8}
	sum, err := c.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return c, sum
}

// runs reads "main a ++-?" as runs of a version: + passes, - fails, ? is no verdict. After the commit may stand: dirty, base, other (another case digest).
func runs(c regcase.Case, digest, text string) (out []gate.Run) {
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		marks := words[len(words)-1]
		for n, mark := range marks {
			r := gate.Run{Kind: gate.RunKind, Case: c.ID, Digest: digest, Run: n + 1, Side: gate.Head, Commit: strings.Repeat(words[1], 40), Branch: words[0],
				DefaultBranch: words[0] == "main", Agent: words[1] + "-agent", At: now.Add(time.Duration(i)*time.Hour + time.Duration(n)*time.Second)}
			for _, w := range words[2 : len(words)-1] {
				switch w {
				case "dirty":
					r.Dirty, r.Agent = true, ""
				case "base":
					r.Side, r.DefaultBranch = gate.Base, false
				case "other":
					r.Digest = "other"
				}
			}
			r.Verdict = map[rune]gate.Verdict{'+': gate.Pass, '-': gate.Fail, '?': gate.Inconclusive, '!': gate.Error}[mark]
			out = append(out, r)
		}
	}
	return out
}

func TestEvidence(t *testing.T) {
	for _, c := range []struct {
		name, runs string
		state      regcase.StateName
		live       string // red/of@commit
		green      string // passed/of@commit
		lacks      string
	}{
		{"nothing", "", "pending", "", "", "a run of it that counts; there is none yet"},
		{"never red", "main a +++++", "pending", "", "5/5@a", "a run of the live agent that shows the failure"},
		{"red", "main a --", "pending", "2/2@a", "", "it still fails on the default branch: 2 of 2 runs at aaaaaaaaaaaa; mend the agent, then 4 green runs"},
		{"red, mended", "main a --\nmain b ++++", "enforced", "2/2@a", "4/4@b", ""},
		{"red on a branch, mended", "fix a -----\nmain b ++++", "enforced", "5/5@a", "4/4@b", ""},
		{"a rare failure takes more", "main a ---++\nmain b ++++", "enforced", "3/5@a", "4/4@b", ""},
		{"a rarer one yet more", "main a --+++\nmain b ++++", "pending", "2/5@a", "4/4@b", "2 more green runs on the default branch"},
		{"and with them it is", "main a --+++\nmain b ++++++", "enforced", "2/5@a", "6/6@b", ""},
		{"half mended sets the rate", "main a -----\nmain b --+++\nmain c ++++", "pending", "2/5@b", "4/4@c", "2 more green runs"},
		{"mended on a branch alone", "main a --\nfix b +++++", "pending", "2/2@a", "", "4 green runs on the default branch"},
		{"in a changed work tree", "main a --\nmain b dirty +++++", "pending", "2/2@a", "", "4 green runs"},
		{"what cannot be judged counts for nothing", "main a --\nmain b +?!?+?!", "pending", "2/2@a", "2/2@b", "2 more green runs"},
		{"of another version of the case", "main a other --\nmain b +++++", "pending", "", "5/5@b", "a run of the live agent that shows the failure"},
		{"green first, red later", "main a +++++\nmain b --", "pending", "2/2@b", "", "it still fails on the default branch"},
		{"green taken back", "main a --\nmain b ++++\nmain c --", "pending", "2/2@c", "", "it still fails on the default branch: 2 of 2 runs at cccc"},
		{"green again", "main a --\nmain b ++++\nmain c --\nmain d ++++", "enforced", "2/2@c", "4/4@d", ""},
		{"base ran last and is older all the same", "main b ++++\nmain a base -----", "enforced", "5/5@a", "4/4@b", ""},
		{"one miss of many", "main a -----\nmain b ++++-+", "enforced", "5/5@a", "5/6@b", ""},
		{"too many misses", "main a -----\nmain b +++--+", "pending", "2/6@b", "", "it still fails on the default branch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, digest := caseOf(t, regcase.State{Name: regcase.Pending})
			e := click.Weigh(&k, digest, runs(k, digest, c.runs), older)
			s := click.Turn(k, e, now)
			live, green := "", ""
			if l := s.Case.Live; l != nil {
				live = fmt.Sprintf("%d/%d@%s", l.Red, l.Of, l.Commit[:1])
			}
			if g := s.Case.Green; g != nil {
				green = fmt.Sprintf("%d/%d@%s", g.Passed, g.Of, g.Commit[:1])
			}
			if s.Case.State.Name != c.state || live != c.live || green != c.green || !strings.Contains(s.Lacks, c.lacks) || (c.lacks == "") != (s.Lacks == "") {
				t.Errorf("%s, live %s, green %s, lacks %q (%s)", s.Case.State.Name, live, green, s.Lacks, s.Has)
			}
		})
	}
}

// The same runs twice, as of two results files that overlap, are no more evidence.
func TestTwice(t *testing.T) {
	c, digest := caseOf(t, regcase.State{Name: regcase.Pending})
	once := runs(c, digest, "main a --\nmain b +++")
	e := click.Weigh(&c, digest, append(once, once...), older)
	if e.Green.Passed != 3 || e.Need != 1 || e.Ignored.Twice != 5 {
		t.Errorf("%+v of %+v", e, e.Green)
	}
}

// A check that is asked for as many runs as Reach says gives what is needed.
func TestReach(t *testing.T) {
	c, digest := caseOf(t, regcase.State{Name: regcase.Pending})
	e := click.Weigh(&c, digest, runs(c, digest, "main a --+++\nmain b ++++"), older)
	if n := e.Reach(&c); e.Need != 2 || n != 7 { // of 7 runs 6 must pass at 0.8, and it ends there
		t.Errorf("need %d, asked for %d", e.Need, n)
	}
}

// A case in quarantine does not come out of it by the runs that had enforced it, and does by later ones.
func TestQuarantine(t *testing.T) {
	c, digest := caseOf(t, regcase.State{Name: regcase.Quarantined, Owner: "ana", Reason: "flaky", Review: "2026-12-05"})
	c.Live, c.Green = &regcase.Live{Commit: commits[0], Red: 2, Of: 2}, &regcase.Green{Commit: commits[1], Passed: 4, Of: 4}
	old := "main a --\nmain b ++++"
	if s := click.Turn(c, click.Weigh(&c, digest, runs(c, digest, old), older), now); s.Case.State.Name != regcase.Quarantined || s.Lacks == "" {
		t.Errorf("the old runs make it %s, lacks %q", s.Case.State.Name, s.Lacks)
	}
	if s := click.Turn(c, click.Weigh(&c, digest, runs(c, digest, old+"\nmain c +++++"), older), now); s.Case.State.Name != regcase.Enforced || s.Case.Green.Commit != commits[2] {
		t.Errorf("later runs make it %s %+v, lacks %q", s.Case.State.Name, s.Case.Green, s.Lacks)
	}
}

// Whatever runs there are, what comes out is no looser and valid, says so if it changed, and turning it again by the same runs changes nothing.
func TestOnlyTightens(t *testing.T) {
	enforced, changed := 0, 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := casetest.Case(r)
		digest, err := c.Digest()
		if err != nil {
			t.Fatal(err)
		}
		all := arbitrary(r, c, digest)
		s := click.Turn(c, click.Weigh(&c, digest, all, older), now)
		ds := verify.Compare(&c, &s.Case, now)
		if !verify.Holds(ds) || s.Case.Check() != nil || s.Changed != (verify.Whole(ds) == verify.Stricter || c.State.Name != s.Case.State.Name) {
			t.Fatalf("seed %d: changed %t, %+v, %v", seed, s.Changed, ds, s.Case.Check())
		}
		if again := click.Turn(s.Case, click.Weigh(&s.Case, digest, all, older), now); again.Changed {
			t.Fatalf("seed %d: again it changes %+v", seed, verify.Compare(&s.Case, &again.Case, now))
		}
		if s.Changed {
			changed++
		}
		if c.State.Name != regcase.Enforced && s.Case.State.Name == regcase.Enforced {
			enforced++
		}
		p, _ := click.Propose(s.Case, digest, all, click.Parts, now)
		if ds := verify.Compare(&s.Case, &p, now); !verify.Holds(ds) || p.Check() != nil {
			t.Fatalf("seed %d: proposed %+v, %v", seed, ds, p.Check())
		}
	}
	if enforced < 10 || changed < 80 {
		t.Errorf("of 600 cases %d changed and %d were enforced", changed, enforced)
	}
}

func arbitrary(r *rand.Rand, c regcase.Case, digest string) (out []gate.Run) {
	for i := range r.IntN(30) {
		run := gate.Run{Kind: gate.RunKind, Case: c.ID, Digest: digest, Run: i + 1, Side: gate.Head, DefaultBranch: r.IntN(4) > 0, Dirty: r.IntN(6) == 0, At: now.Add(time.Duration(i) * time.Minute),
			Verdict: []gate.Verdict{gate.Pass, gate.Pass, gate.Pass, gate.Fail, gate.Error, gate.NotRun}[r.IntN(6)]}
		at := min(i/8, len(commits)-1)
		if run.Commit = commits[at]; at == 0 && r.IntN(2) > 0 {
			run.Verdict = gate.Fail
		} else if at > 0 && run.Verdict == gate.Fail && r.IntN(8) > 0 {
			run.Verdict = gate.Pass
		}
		if r.IntN(10) == 0 {
			run.Commit, run.Agent = "", "image"
		}
		if run.Tokens, run.ToolCalls = new(int64(100+r.IntN(50))), new(int64(r.IntN(4))); r.IntN(20) == 0 {
			run.Tokens = nil
		}
		for range r.IntN(4) {
			run.Calls = append(run.Calls, gate.Call{Tool: []string{"a", "b"}[r.IntN(2)], Arguments: regcase.NewJSON(fmt.Appendf(nil, `{"id":"x-%d","n":%d}`, r.IntN(2), r.IntN(2)))})
		}
		out = append(out, run)
	}
	return out
}

// An agent that fails as often as before is taken for mended in at most 5 of 100 trials, also where its runs come five at a time and somebody asks for
// more of them as long as more are needed.
func TestChance(t *testing.T) {
	const trials = 1000
	for _, r := range []float64{0.25, 0.4, 0.6, 0.9} {
		fooled := 0
		rng := rand.New(rand.NewPCG(3, uint64(r*100)))
		c, digest := caseOf(t, regcase.State{Name: regcase.Pending})
		c.Live = &regcase.Live{Commit: commits[0], Red: int(r * 100), Of: 100}
		for range trials {
			marks := ""
			for range 3 {
				for range 5 {
					marks += map[bool]string{true: "-", false: "+"}[rng.Float64() < r]
				}
				e := click.Weigh(&c, digest, runs(c, digest, "main b "+marks), older)
				if e.Need > 0 || e.Green == nil {
					continue // which TestEvidence holds to be no click
				}
				if s := click.Turn(c, e, now); s.Case.State.Name == regcase.Enforced {
					fooled++
					break
				}
			}
		}
		if share := float64(fooled) / trials; share > 0.07 {
			t.Errorf("at rate %.2f an agent that was not mended is enforced in %.1f %% of trials", r, 100*share)
		} else {
			t.Logf("at rate %.2f: %.1f %%", r, 100*share)
		}
	}
}

func TestPropose(t *testing.T) {
	c, _ := caseOf(t, regcase.State{Name: regcase.Pending})
	c.Expect.Trajectory, c.Expect.Budget, c.Weak = nil, nil, true
	c.Input.Turns[0].User = "Refund order ORD-77, 25 euros."
	digest, err := c.Digest()
	if err != nil {
		t.Fatal(err)
	}
	var all []gate.Run
	for n, calls := range [][]string{
		{`get_order {"id":"ORD-77","trace":"t1"}`, `refund {"order":"ORD-77","amount":25,"note":"ORD-7"}`, `mail {"to":"x"}`},
		{`refund {"order":"ORD-77","amount":25,"note":"ORD-7"}`, `get_order {"id":"ORD-77","trace":"t2"}`},
		{`get_order {"id":"ORD-77","trace":"t3"}`, `get_order {"id":"ORD-78","trace":"t3"}`, `refund {"order":"ORD-77","amount":25,"note":"ORD-7","more":1}`},
	} {
		r := runs(c, digest, "main b +")[0]
		r.Run, r.Tokens, r.ToolCalls = n+1, new(int64(100*(n+1))), new(int64(len(calls)))
		for _, call := range calls {
			tool, args, _ := strings.Cut(call, " ")
			r.Calls = append(r.Calls, gate.Call{Tool: tool, Arguments: regcase.NewJSON([]byte(args))})
		}
		all = append(all, r)
	}
	if p, told := click.Propose(c, digest, all[:2], click.Parts, now); p.Expect.Trajectory != nil || !strings.Contains(told[0], "3 must agree") {
		t.Errorf("two runs are enough: %v", told)
	}
	p, told := click.Propose(c, digest, all, click.Parts, now)
	var got []string
	for _, call := range p.Expect.Trajectory.Calls {
		var fields []string
		for at, f := range call.Arguments {
			fields = append(fields, at+" "+f.Match+" "+string(f.Value))
		}
		slices.Sort(fields)
		got = append(got, call.Tool+" "+call.Mode+": "+strings.Join(fields, ", "))
	}
	want := `get_order ignore: /id exact "ORD-77"; refund ignore: /amount exact 25, /order exact "ORD-77"`
	if s := strings.Join(got, "; "); s != want || p.Weak {
		t.Errorf("proposed %s, weak %t; %v", s, p.Weak, told)
	}
	if b := p.Expect.Budget; *b.TotalTokens != 300 || *b.ToolCalls != 3 || b.CostUSD != nil || b.Tolerance != 0.2 {
		t.Errorf("budget %+v", b)
	}
	for i, r := range all {
		var made []match.Call
		for _, call := range r.Calls {
			made = append(made, match.Call{Tool: call.Tool, Arguments: trajectory.Value{JSON: []byte(call.Arguments), Raw: string(call.Arguments)}, Step: -1, Together: -1})
		}
		if a := (match.Matcher{}).Sequence(p.Expect.Trajectory, made); len(a.Mismatches) > 0 {
			t.Errorf("run %d passed and does not meet what is proposed: %+v", i+1, a)
		}
	}
	if looser := click.Looser(&c, &p, now); len(looser) > 0 {
		t.Error(looser)
	}
	if looser := click.Looser(&p, &c, now); len(looser) < 2 {
		t.Errorf("the way back is %v", looser)
	}
}
