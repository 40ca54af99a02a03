// Package gate runs a team's agent over a set of cases and decides whether a change may be merged.
//
// One run of a case: the agent is started with PAWL_INPUT (or a service is sent it), its tools are answered for by a replay, its telemetry is received
// in process, and what came is judged by the case. Many runs make a [Trial], which decides by rates and, where a case misses, by comparing fresh runs
// of head and base.
//
// Invariants:
//   - The statistics (verdict.go, trial.go) are pure. Only this file, doors.go, collect.go, agent.go and git.go do I/O.
//   - No process and no worktree outlives a check, also one that is interrupted.
//   - A run that cannot be judged is never a pass.
//   - A tool that ran for real although nobody allowed it makes the run an error.
//
// It stores the results file: one [Run] a line.
package gate

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/match"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Judge says what a case makes of one run that left these traces.
type Judge func(c *regcase.Case, runs ...*trajectory.Trajectory) Judgement

// Judgement is what a case says of one run.
type Judgement struct {
	Verdict    Verdict
	Reason     string
	Mismatches []Mismatch
	Notes      []string
	Decided    Decider
}

// Decider says what a judgement rests on.
type Decider string

// The deciders: rules and words alone; an embeddings endpoint that was asked whether texts mean the same; a model that was asked about criteria.
const (
	Deterministic Decider = "deterministic"
	ByEmbedding   Decider = "embedding"
	ByModel       Decider = "judge"
)

// Options says how agents are run. Zero values mean the defaults given.
type Options struct {
	Timeout  time.Duration // of one turn: 2 min
	Settle   time.Duration // quiet after which no more spans are awaited: 300 ms
	Patience time.Duration // for the first root span of a service, whose exporter sends in its own time: 15 s
	Live     []string      // tools that may run for real; globs
	Stubs    Stubs
	Jobs     int    // runs at once: 1
	Listen   string // address: 127.0.0.1 and any port

	Price func(*trajectory.Trajectory) // fills in what calls cost where spans do not tell; nil: nothing does

	Criteria Criteria // judges the criteria of cases
	User     Model    // plays the users of simulated turns
}

// Stamp says which version of the agent ran.
type Stamp struct {
	Commit        string
	Dirty         bool
	Branch        string
	DefaultBranch bool
	Digest        string // see Run.Agent
}

// Gate runs agents. Make it with [New] and end it with [Gate.Close].
type Gate struct {
	lg    *slog.Logger
	judge Judge
	opt   Options
	doors *doors
	dir   string // of the inputs
}

// New opens the gate's address on loopback.
func New(lg *slog.Logger, judge Judge, opt Options) (*Gate, error) {
	opt.Timeout = cmp.Or(opt.Timeout, 2*time.Minute)
	opt.Settle = cmp.Or(opt.Settle, 300*time.Millisecond)
	opt.Patience = cmp.Or(opt.Patience, 15*time.Second)
	opt.Jobs = max(1, opt.Jobs)
	dir, err := os.MkdirTemp("", "pawl-check-")
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	d, err := openDoors(lg, cmp.Or(opt.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Gate{lg: lg, judge: judge, opt: opt, doors: d, dir: dir}, nil
}

// Close ends what New began.
func (g *Gate) Close() error {
	g.doors.close()
	return os.RemoveAll(g.dir)
}

// OTLP is the address that a service under test sends its telemetry to, where its environment is not ours.
func (g *Gate) OTLP() string { return "http://" + g.doors.at.Addr().String() }

// attempt is one run of one case under way.
type attempt struct {
	g      *Gate
	c      *Case
	agent  Agent
	model  string // "" is the agent's own
	name   string
	n      int
	replay *Replay
	tel    *telemetry
	last   ended
	late   bool // a turn was cut off by the time limit
	talk   *talk
}

// RunOnce runs a case once. The run is complete whatever happened: a fault of the agent or of the set-up is its verdict. Its number is n.
func (g *Gate) RunOnce(ctx context.Context, v Version, c *Case, w Want, n int) Run {
	run, _ := g.Look(ctx, v, c, w, n)
	return run
}

// Look is RunOnce, and shows what came of the agent too.
func (g *Gate) Look(ctx context.Context, v Version, c *Case, w Want, n int) (Run, []*trajectory.Trajectory) {
	began := time.Now()
	a := &attempt{g: g, c: c, agent: v.Agent, model: v.Model, n: n, name: runName(w, n), replay: NewReplay(c, g.opt.Stubs)}
	run := Run{Kind: RunKind, Case: c.ID, Digest: c.Sum, Run: n, Side: w.Side, Again: w.Again, At: began.UTC().Truncate(time.Second),
		Commit: v.Commit, Dirty: v.Dirty, Branch: v.Branch, DefaultBranch: v.DefaultBranch, Agent: v.Digest, Way: v.Way(), Model: v.Model}
	shut, over := context.WithCancel(ctx)
	g.doors.open(a.name, a.replay, shut)
	a.tel = g.doors.collect.open(a.name)
	reason, err := a.turns(ctx, &run)
	a.hangUp(ctx, err)
	over()
	traces, spans, stray := g.doors.collect.trajectories(a.tel)
	g.doors.collect.close(a.tel)
	g.doors.shut(a.name)
	for i := 0; g.opt.Price != nil && i < len(traces); i++ {
		g.opt.Price(traces[i])
	}

	run.MS = time.Since(began).Milliseconds()
	run.measure(traces, a.replay.Ledger())
	switch {
	case ctx.Err() != nil:
		run.Verdict, run.Reason = NotRun, "interrupted"
	case err != nil:
		run.Verdict, run.Reason = Error, err.Error()
	default:
		a.decide(&run, traces, spans, stray, reason)
		g.opt.Criteria.hold(ctx, c.Case, &run, traces)
	}
	return run, traces
}

func runName(w Want, n int) string {
	name := w.Case + "." + string(w.Side) + "." + strconv.Itoa(n)
	if w.Again {
		name += "r"
	}
	return name
}

// turns plays the turns of the case. A reason says why the dialogue could not go on; an error is one of the set-up.
func (a *attempt) turns(ctx context.Context, run *Run) (reason string, err error) {
	session := "pawl-" + a.name + "-" + hex.EncodeToString(random(4))
	turns := a.c.Input.Turns
	if len(turns) == 0 {
		return "", errors.New("the case has no input")
	}
	if a.c.Input.Mode == Simulated {
		return a.simulated(ctx, run, session)
	}
	var talk []Message
	for turn := range turns {
		talk = append(talk, Message{"user", turns[turn].User})
		if a.last, err = a.turn(ctx, a.input(session, turn, len(turns), talk), turn); err != nil || ctx.Err() != nil || a.late {
			return "", err
		}
		if turn+1 == len(turns) {
			break
		}
		reply, ok := a.reply()
		if !ok {
			return fmt.Sprintf("diverged at turn %d: the agent gave no answer that the recorded turn %d could follow", turn+1, turn+2), nil
		}
		if recorded := turns[turn].Reply; recorded != nil {
			if why := match.Follows(*recorded, reply, turns[turn+1].User, said(turns[:turn+1])); why != "" {
				return fmt.Sprintf("diverged at turn %d: the recorded turn %d does not follow: %s", turn+1, turn+2, why), nil
			}
		}
		talk = append(talk, Message{"assistant", reply})
	}
	return "", nil
}

// input is what the agent is given for a turn of a conversation. turns is how many there are, 0 where that is not known.
func (a *attempt) input(session string, turn, turns int, talk []Message) Input {
	return Input{APIVersion: regcase.APIVersion, Case: a.c.ID, Run: a.n, Turn: turn + 1, Turns: turns, Session: session, Messages: slices.Clone(talk),
		Variables: a.c.Input.Variables, Clock: a.c.Input.Clock, ToolsURL: a.g.doors.url(a.name) + "/tools", MCPURL: a.g.doors.url(a.name) + "/mcp"}
}

// said are the user's messages of some turns.
func said(turns []regcase.Turn) (out []string) {
	for _, t := range turns {
		out = append(out, t.User)
	}
	return out
}

// turn has the agent answer once and waits for its spans.
func (a *attempt) turn(ctx context.Context, in Input, turn int) (ended, error) {
	trace, parent := pcommon.TraceID(random(16)), pcommon.SpanID(random(8))
	a.g.doors.collect.expect(a.tel, trace, parent)
	traceparent := "00-" + trace.String() + "-" + parent.String() + "-01"
	body, err := in.bytes()
	if err != nil {
		return ended{}, err
	}
	limited, cancel := context.WithTimeout(ctx, a.g.opt.Timeout)
	defer cancel()
	patience := time.Duration(0)
	var e ended
	switch {
	case a.agent.URL != "":
		e = a.agent.post(limited, body, map[string]string{"traceparent": traceparent, "Pawl-Case": a.c.ID, RunHeader: a.name, "Pawl-Session": in.Session, "Pawl-Model": a.model})
	case a.agent.Talks:
		e.err = a.say(ctx, limited, in, traceparent)
	default:
		file, err := tempInput(a.g.dir, a.name, turn, body)
		if err != nil {
			return ended{}, err
		}
		defer os.Remove(file)
		e = a.agent.execute(limited, a.environ(in, file, strconv.Itoa(turn+1), traceparent))
	}
	if a.late = limited.Err() != nil && ctx.Err() == nil; (a.agent.URL != "" || a.agent.Talks) && e.err == nil && !a.late {
		patience = a.g.opt.Patience
	}
	a.g.doors.collect.settle(ctx, a.tel, a.g.opt.Settle, patience)
	if e.err != nil && !a.late {
		return e, e.err
	}
	return e, nil
}

// environ is the environment of a process of the agent's.
func (a *attempt) environ(in Input, file, turn, traceparent string) []string {
	return environ(os.Environ(), a.g.doors.url(a.name), a.name, a.c.ID, map[string]string{
		"PAWL_INPUT": file, "PAWL_CASE": a.c.ID, "PAWL_RUN": strconv.Itoa(a.n), "PAWL_TURN": turn,
		"PAWL_TOOLS_URL": in.ToolsURL, "PAWL_MCP_URL": in.MCPURL, "PAWL_MODEL": a.model, "TRACEPARENT": traceparent,
	})
}

// say gives a turn to the process of the conversation, which begins with the first. limited bounds the turn, ctx the conversation.
func (a *attempt) say(ctx, limited context.Context, in Input, traceparent string) (err error) {
	if a.talk == nil {
		if a.talk, err = a.agent.start(ctx, a.environ(in, "-", "", "")); err != nil {
			return err
		}
	}
	return a.talk.say(limited, in, traceparent)
}

// hangUp ends the process of the conversation, if there is one. failed is why the conversation could not go on: how the process ends then says nothing more.
func (a *attempt) hangUp(ctx context.Context, failed error) {
	if a.talk == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, a.g.opt.Timeout)
	defer cancel()
	end := a.talk.hangUp(limited)
	if a.late || failed != nil || ctx.Err() != nil {
		return
	}
	a.last, a.late = end, limited.Err() != nil
	a.g.doors.collect.settle(ctx, a.tel, a.g.opt.Settle, 0)
}

// decide gives the run its verdict. What makes the run worthless goes before what the case says of it.
func (a *attempt) decide(run *Run, traces []*trajectory.Trajectory, spans, stray int, reason string) {
	ledger := a.replay.Ledger()
	live := unreplayed(a.c.Case, a.g.opt.Live, traces, ledger)
	barred := forbidden(a.c.Case.Expect.Trajectory, ledger)
	missing := Missing(ledger)
	hung := slices.ContainsFunc(ledger, func(e Entry) bool { return e.Fault == "timeout" })
	switch {
	case len(live) > 0:
		run.Verdict, run.Reason = Error, declare(live)
	case barred != "":
		run.Verdict, run.Decided = Fail, Deterministic
		run.Reason = fmt.Sprintf("trajectory: %s was called, and the case allows %s", barred, allowed(a.c.Case.Expect.Trajectory))
		run.Mismatches = []Mismatch{{-1, "trajectory.call", "none", barred}}
	case len(missing) > 0:
		run.Verdict, run.Reason = Inconclusive, NoFixture(missing[0])
	case a.late && hung:
		run.Verdict, run.Reason = Fail, fmt.Sprintf("the agent waits for a tool that does not answer, for longer than %s", a.g.opt.Timeout)
	case a.late:
		run.Verdict, run.Reason = Error, a.endless(traces)
	case spans == 0:
		run.Verdict, run.Reason = Error, a.silent(stray)
	case len(traces) == 0:
		run.Verdict, run.Reason = Error, fmt.Sprintf("%d spans came and none is of an agent: instrument its model and tool calls%s", spans, a.printed())
	case reason != "":
		run.Verdict, run.Reason = Inconclusive, reason
	default:
		a.judged(run, traces)
	}
}

func (a *attempt) judged(run *Run, traces []*trajectory.Trajectory) {
	j := a.g.judge(a.c.Case, traces...)
	run.Verdict, run.Reason, run.Mismatches, run.Notes, run.Decided = j.Verdict, j.Reason, j.Mismatches, j.Notes, j.Decided
	if run.Verdict == Inconclusive && a.agent.URL == "" && !a.tel.rooted {
		run.Notes = append(run.Notes, unflushed)
	}
	if a.last.code == 0 {
		return
	}
	how := a.failed()
	if run.Notes = append(run.Notes, how); run.Verdict == Pass {
		run.Verdict, run.Reason = Error, how
	}
}

// measure fills in what is known of a run, whatever its verdict.
func (r *Run) measure(traces []*trajectory.Trajectory, ledger []Entry) {
	for _, t := range traces {
		s := classify.NewStats(t)
		r.Tokens = plus(plus(r.Tokens, s.InputTokens), s.OutputTokens)
		if s.CostUSD != nil {
			r.CostUSD = new(*s.CostUSD + value(r.CostUSD))
		}
		r.ToolCalls = new(int64(len(t.ToolCalls)) + value(r.ToolCalls))
		r.Calls = append(r.Calls, callsOf(t)...)
		for _, m := range t.ModelCalls {
			if a := (Alias{m.ModelRequested, m.ModelResponded}); aliased(a.Requested, a.Responded) && !slices.Contains(r.Aliases, a) {
				r.Aliases = append(r.Aliases, a)
			}
		}
		if t.Reply != nil {
			r.ResponseSHA256 = regcase.SHA256([]byte(*t.Reply))
		}
	}
	for _, e := range ledger {
		if !slices.Contains(r.Replayed, e.Tool) {
			r.Replayed = append(r.Replayed, e.Tool)
		}
	}
	slices.Sort(r.Replayed)
}

func callsOf(t *trajectory.Trajectory) (out []Call) {
	for i := range t.ToolCalls {
		if c := &t.ToolCalls[i]; !c.Recalled { // an earlier turn made those
			out = append(out, Call{c.Name, regcase.NewJSON(bytesOf(c.Arguments))})
		}
	}
	return out
}

func bytesOf(v trajectory.Value) []byte {
	if v.JSON != nil {
		return v.JSON
	}
	return []byte(v.Raw)
}

func plus(sum, v *int64) *int64 {
	if v == nil {
		return sum
	}
	return new(*v + value(sum))
}

func value[T int64 | float64](v *T) T {
	if v == nil {
		return 0
	}
	return *v
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return b
}
