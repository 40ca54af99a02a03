package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

func checkCommand(a *app) *cobra.Command {
	c := checking{app: a}
	cmd := &cobra.Command{
		Use:   "check [--set DIR] (--run CMD | --url URL | --traces FILE)",
		Short: "run your agent over its past failures and say whether the change may be merged",
		Long: "Runs the agent over every case of the set, five times a case unless the case says otherwise, answers for its tools from the recordings, and\n" +
			"judges what it did by the case. Rates decide, not single runs. With --base REF a case that misses is run again on this version and on that\n" +
			"one, and blocks only where this one is worse; without, it blocks once as many runs again confirm it. Pending cases never block, save by a fall\n" +
			"below what they had already reached.\n\n" +
			"Your agent finds: PAWL_INPUT (a file: the conversation so far, --schema prints its JSON Schema), PAWL_CASE, PAWL_RUN, PAWL_TURN, PAWL_TOOLS_URL\n" +
			"(POST {tool, arguments}), PAWL_MCP_URL (its tools as an MCP server), and OTEL_* that point its telemetry here. --run is given to sh -c. With\n" +
			"--url the input is posted to the service, which must go on with the header traceparent and send its spans to --listen.\n\n" +
			"A tool without recorded answer makes a run inconclusive: the report names the file to write. A tool that runs for real although nobody said\n" +
			"that it may (execution: {external_api: never}, gate.live_tools) makes the run an error.\n\n" +
			"With --changed-since the whole set is run if what watch names in pawl.yaml has changed (prompts, tools, models), else the few cases that touch\n" +
			"every label and every tool. With --matrix the set is run once for each model, which the agent finds as PAWL_MODEL.\n\n" +
			"--results is the history of a set: keep the file, and each check tells how the set moved since the last green one, and how often one and the same\n" +
			"agent came out otherwise (--fresh makes it run again).\n\n" +
			"Exit code 1: a case blocks; 3: nothing was executed, or a case that may block is not decided.",
		Example: "  pawl check --run 'node agent.js' --changed-since origin/main --base origin/main\n  pawl check --run 'node agent.js' --matrix gpt-4.1-2025-04-14,o4-mini-2025-04-16\n" +
			"  pawl check --run 'node agent.js' --doctor\n  pawl check --run 'python -m desk' --base origin/main --setup 'pip install -e .' -j 4 --results runs.jsonl\n" +
			"  pawl check --traces nightly.jsonl",
	}
	f := cmd.Flags()
	f.StringVar(&c.set, "set", "regressions", "the `DIR` with the cases")
	f.StringVar(&c.command, "run", "", "start the agent by this `CMD` (sh -c)")
	f.StringVar(&c.url, "url", "", "post the input to the agent at this `URL`")
	f.StringArrayVar(&c.traces, "traces", nil, "judge the recorded traces in this `FILE` or directory, and run nothing")
	f.IntVarP(&c.n, "runs", "n", 0, "runs of each case (default: what the case says)")
	f.StringArrayVar(&c.only, "case", nil, "only the cases with this `ID`, or that this glob matches")
	f.StringVar(&c.base, "base", "", "compare cases that miss with the version at this git `REF`")
	f.StringVar(&c.baseURL, "base-url", "", "with --url: the other version answers at this `URL`; --base then names the commit that runs there, if you know it")
	f.StringVar(&c.since, "changed-since", "", "run the whole set only if prompts, tools or models changed since this git `REF`, else a covering part of it")
	f.StringSliceVar(&c.models, "matrix", nil, "run the set for each of these `MODELS`, and compare them")
	f.StringVar(&c.setup, "setup", "", "prepare the checkout of --base by this `CMD` (npm ci, pip install ...)")
	f.IntVarP(&c.jobs, "jobs", "j", 1, "runs at once")
	f.StringVar(&c.results, "results", "", "add each run to this `FILE` (JSON Lines), and do not repeat runs of this very agent that are there")
	f.BoolVar(&c.fresh, "fresh", false, "repeat also what --results holds of this very agent: how often its verdicts flip from check to check is told")
	f.StringVar(&c.digest, "agent-digest", "", "what tells this version of the agent from others (default: the commit, if nothing is changed)")
	f.BoolVar(&c.talks, "conversation", false, "start --run once for all turns of a case: it reads each as a line of JSON from its standard input (PAWL_INPUT is -), and\nprints {\"turn\": N} on a line of its own once it has answered and sent its spans")
	f.DurationVar(&c.timeout, "timeout", 2*time.Minute, "time that the agent has for one turn")
	f.Float64Var(&c.maxUSD, "max-usd", 0, "stop when the runs have cost this much, as far as spans tell")
	f.Float64Var(&c.maxMinutes, "max-minutes", 0, "stop after this time")
	f.StringVar(&c.listen, "listen", "", "address for a service's telemetry and tools with --url (default 127.0.0.1 and any port)")
	f.BoolVar(&c.doctor, "doctor", false, "run one case once and say what is missing")
	f.BoolVar(&c.schema, "schema", false, "print the JSON Schema of PAWL_INPUT")
	f.BoolVar(&c.simulate, "simulate", false, "run the cases of several turns with a user that the model of pawl.yaml plays, each run another variant; never blocks")
	f.StringVar(&c.junit, "junit", "", "write JUnit XML to this `FILE`")
	f.StringVar(&c.html, "html", "", "write a page to this `FILE`")
	f.BoolVar(&c.github, "github", os.Getenv("GITHUB_ACTIONS") == "true", "print GitHub annotations and write the step summary")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if c.schema && c.json {
			return c.printJSON(json.RawMessage(gate.InputSchema))
		}
		if c.schema {
			_, err := c.stdout.Write(gate.InputSchema)
			return err
		}
		return c.check(cmd.Context())
	}
	return cmd
}

// checking is one run of the command.
type checking struct {
	*app
	set, command, url, base, setup, results, digest, listen, junit, html string
	since, baseURL                                                       string
	traces, only, models                                                 []string
	n, jobs                                                              int
	timeout                                                              time.Duration
	maxUSD, maxMinutes                                                   float64
	doctor, schema, github, fresh, simulate, talks                       bool

	selected *selected // what --changed-since came to; nil without it
	cases    []*gate.Case
	stubs    map[string]regcase.StubFile
	steady   []gate.Steadiness // of the agents, as was measured
	bar      *checkBar
}

func (c *checking) usage() error {
	ways := 0
	for _, given := range []bool{c.command != "", c.url != "", len(c.traces) > 0} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return usageError(errors.New("say how the agent is run: one of --run CMD, --url URL, --traces FILE"), "pawl check --run 'node agent.js' --doctor")
	case c.n < 0 || c.jobs < 1 || c.maxUSD < 0 || c.maxMinutes < 0 || c.timeout <= 0:
		return usageError(errors.New("numbers of runs, jobs, money and time are positive"), "pawl check --help")
	case c.base != "" && c.url != "" && c.baseURL == "":
		return usageError(errors.New("the version at --base has to run somewhere, too: say where by --base-url"), "pawl check --url "+c.url+" --base-url URL --base "+c.base)
	case c.base != "" && len(c.traces) > 0:
		return usageError(errors.New("--base starts the other version by the same command: it needs --run"), "pawl check --run CMD --base "+c.base)
	case c.baseURL != "" && (c.url == "" || c.baseURL == c.url):
		return usageError(errors.New("--base-url is where the other version answers, beside --url"), "pawl check --url URL --base-url ANOTHER")
	case c.talks && c.command == "":
		return usageError(errors.New("--conversation is of --run: a service answers turn by turn as it is"), "pawl check --run CMD --conversation")
	case c.fresh && c.results == "":
		return usageError(errors.New("--fresh repeats what --results holds, which is not given"), "pawl check --run CMD --results runs.jsonl --fresh")
	case c.setup != "" && (c.base == "" || c.url != ""):
		return usageError(errors.New("--setup prepares the checkout of --base, and there is none"), "pawl check --base origin/main --setup "+c.setup)
	case len(c.models) > 0 && (c.base != "" || c.baseURL != "" || c.doctor || len(c.traces) > 0 || c.junit != "" || c.html != ""):
		return usageError(errors.New("--matrix compares models, and goes with none of --base, --traces, --doctor, --junit, --html"), "pawl check --run CMD --matrix A,B --json")
	case c.simulate && len(c.traces) > 0:
		return usageError(errors.New("--simulate runs the agent"), "pawl check --simulate --run CMD")
	case c.doctor && len(c.traces) > 0:
		return usageError(errors.New("--doctor runs the agent"), "pawl doctor FILE, which examines recorded traces")
	}
	for _, pattern := range c.only {
		if _, err := path.Match(pattern, ""); err != nil {
			return usageError(fmt.Errorf("--case %s: %w", pattern, err), "pawl check --case 'loop-*'")
		}
	}
	return nil
}

func (c *checking) check(ctx context.Context) error {
	if err := c.usage(); err != nil {
		return err
	}
	cfg, err := c.loadOffline()
	if err != nil {
		return err
	}
	oracle, err := c.judgeOf(ctx, cfg)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(c.set)
	if err != nil {
		return usageError(fmt.Errorf("set: %w", err), "pawl absorb FILE --set "+c.set+", which makes cases of failures")
	}
	defer root.Close()
	if err := c.load(root); err != nil {
		return err
	}
	if measures, err := regcase.ReadMeasures(root.FS()); err == nil { // else it was told as a problem of the set
		c.steady = c.steadiness(measures, cfg)
	}
	if c.since != "" {
		if err := c.choose(ctx, cfg); err != nil {
			return err
		}
	}
	if c.simulate {
		if err := c.simulated(); err != nil {
			return err
		}
	}
	model, err := c.modelOf(cfg)
	if err != nil {
		return err
	}
	criteria, err := criteriaOf(cfg, model)
	if err != nil {
		return err
	}
	judge := gate.ByOracle(oracle)
	plan := gate.Plan{Cases: c.cases, N: c.n, MaxUSD: c.maxUSD, MaxTime: time.Duration(c.maxMinutes * float64(time.Minute)), Now: c.now(), Jury: criteria.Jury()}
	plan.Head = gate.Version{Agent: gate.Agent{Command: c.command, URL: c.url, Talks: c.talks}, Stamp: c.stamp(gate.StampOf(ctx, ".", c.results, c.junit, c.html, c.varianceFile()))}
	if len(c.traces) > 0 {
		return c.recorded(ctx, plan, judge, criteria)
	}
	g, err := gate.New(c.log, judge, gate.Options{Timeout: c.timeout, Live: liveTools(cfg), Stubs: gate.Stubs{Dir: c.set, Files: c.stubs}, Jobs: c.jobs, Listen: c.listen, Price: oracle.Prices.Fill,
		Criteria: criteria, User: model})
	if err != nil {
		return usageError(err, "--listen with another address")
	}
	defer g.Close()
	if c.url != "" {
		fmt.Fprintf(c.stderr, "Telemetry of the service is received at %s (OTLP, HTTP and gRPC).\n", g.OTLP())
	}
	if c.doctor {
		return c.examine(ctx, g, plan)
	}
	if len(c.models) > 0 {
		return c.matrix(ctx, g, plan)
	}
	return c.live(ctx, g, plan)
}

// simulated leaves the cases whose user can be played.
func (c *checking) simulated() error {
	var out []*gate.Case
	for _, k := range c.cases {
		if v := gate.Simulate(k); v != nil {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return &exitError{exitUndecided, fmt.Errorf("no case of %s has several turns: there is no user to play", c.set), "pawl check without --simulate"}
	}
	c.cases = out
	return nil
}

// load reads the cases that were asked for.
func (c *checking) load(root *os.Root) error {
	cases, stubs, bad := gate.Load(root, func(id string) bool {
		for _, pattern := range c.only {
			if ok, _ := path.Match(pattern, id); ok { // its form was looked at
				return true
			}
		}
		return len(c.only) == 0
	})
	for _, err := range bad {
		c.reportProblem(err)
	}
	if c.cases, c.stubs = cases, stubs; len(cases) > 0 {
		return nil
	}
	if len(bad) > 0 {
		return &exitError{exitUndecided, errors.New("no case could be read: nothing was executed"), "pawl version, which tells what it reads"}
	}
	return &exitError{exitUndecided, fmt.Errorf("there is no such case in %s: nothing was executed", c.set), "pawl absorb FILE --set " + c.set + ", which makes cases of failures"}
}

// stamp adds the digest of the agent: an earlier run of an equal one is not repeated.
func (c *checking) stamp(s gate.Stamp) gate.Stamp {
	switch {
	case c.digest != "":
		s.Digest = c.digest
	case s.Commit != "" && !s.Dirty && c.command != "":
		s.Digest = regcase.SHA256([]byte(s.Commit + "\x00" + c.command))[:16]
	}
	return s
}

// liveTools may run for real: those that the team allows, and those of which it declares that they reach nothing outside.
func liveTools(cfg config.Config) []string {
	var out []string
	out = append(out, cfg.Gate.LiveTools...)
	for _, t := range cfg.Tools {
		if t.Execution.ExternalAPI == config.ExecNever {
			out = append(out, t.Name)
		}
	}
	return out
}

func (c *checking) recorded(ctx context.Context, plan gate.Plan, judge gate.Judge, criteria gate.Criteria) error {
	traces, err := c.readTraces(ctx, c.traces)
	if err != nil {
		return err
	}
	report := gate.Recorded(ctx, plan, judge, criteria, traces, len(c.cases) == 1 && len(c.only) > 0)
	return c.tell(report)
}

// remember has a plan know the runs of the results file, and add to it.
func (c *checking) remember(plan *gate.Plan) error {
	if c.results == "" {
		return nil
	}
	known, err := gate.ReadFile(c.results)
	if err != nil {
		return usageError(err, "--results with another file")
	}
	plan.Known, plan.Fresh = known, c.fresh
	c.otherWays(plan)
	plan.Keep = func(r gate.Run) error { return gate.Append(c.results, r) }
	return nil
}

// otherWays tells of runs that bear this agent's digest and were made by another command or URL: they are not taken over.
func (c *checking) otherWays(plan *gate.Plan) {
	n := 0
	for _, r := range plan.Known {
		if r.Agent != "" && r.Agent == plan.Head.Stamp.Digest && r.Way != plan.Head.Way() {
			n++
		}
	}
	if n > 0 && c.digest != "" {
		fmt.Fprintf(c.stderr, "%s of %s in %s were made by another command or URL, and are not taken over\n", plural(n, "run"), shown(c.digest), c.results)
	}
}

// live runs the agent.
func (c *checking) live(ctx context.Context, g *gate.Gate, plan gate.Plan) error {
	if err := c.remember(&plan); err != nil {
		return err
	}
	var checkout undo
	defer checkout.remove(c.stderr)
	if err := c.against(ctx, &plan, &checkout); err != nil {
		return err
	}
	c.announce(plan)
	plan.Progress = c.progressed
	report, err := g.Check(ctx, plan)
	c.bar.finish()
	if err != nil {
		return err
	}
	return c.tell(report)
}

// announce says what is going to be spent.
func (c *checking) announce(plan gate.Plan) {
	e := plan.Estimate(c.jobs)
	line := fmt.Sprintf("%s: %s", plural(len(plan.Cases), "case"), plural(e.Most, "run"))
	if e.Least != e.Most {
		line = fmt.Sprintf("%s: %d to %d runs", plural(len(plan.Cases), "case"), e.Least, e.Most)
	}
	if e.Most == 0 {
		line += " to make"
	} else if e.USD != nil {
		line += ", about " + dollars(*e.USD)
	}
	if e.Time > 0 {
		line += fmt.Sprintf(", about %s", e.Time.Round(time.Second))
	}
	if e.Asked > 0 && plan.Jury != "" {
		line += fmt.Sprintf(", up to %s to %s", plural(e.Asked, "question"), plan.Jury[:strings.LastIndexByte(plan.Jury, ' ')])
	}
	fmt.Fprintln(c.stderr, line+"; more where a case misses")
	c.bar = newCheckBar(c.app, e.Least)
}

// write stores a report; a folder that is missing is made.
func (c *checking) write(file string, b []byte, err error) error {
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return usageError(err, "another file")
	}
	if err := os.WriteFile(file, b, 0o644); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return usageError(err, "another file")
		}
		return err
	}
	return nil
}
