package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/ratchet/click"
	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/verify/gitfs"
)

// clicking is one run of the command.
type clicking struct {
	*app
	set                       string
	results                   []string
	accept                    []string
	commit, pr, propose, look bool
	steady                    []gate.Steadiness
}

func clickCommand(a *app) *cobra.Command {
	c := clicking{app: a}
	cmd := &cobra.Command{
		Use:   "click [ID|GLOB...] --results FILE",
		Short: "enforce the cases whose failure was seen on the live agent and is mended",
		Long: "Reads the runs that pawl check --results recorded. A pending case becomes enforced, so that it blocks, once the failure was seen red on the live agent,\n" +
			"in a share r of its valid runs, and a later version passed on the default branch, in a clean work tree, so often that an agent which still fails\n" +
			"at r would do so in at most 5 of 100 trials. Without the first it stays pending: not reproduced. What was measured is recorded in the case. While an\n" +
			"agent differs from itself by more than its limit (pawl variance) none of its cases is enforced.\n\n" +
			"--propose shows what the passing runs have in common: the calls that all make, what they take. --accept writes it. Neither can loosen a case.\n\n" +
			"--commit makes one commit of all that changed; --pr opens one pull request of it and leaves the work tree alone (ghpr in pawl.yaml).\n\n" +
			"Exit code 3: the results hold no run of these cases.",
		Example: "  pawl click --results runs.jsonl --dry-run\n  pawl click 'loop-*' --results main.jsonl --results pr.jsonl --commit\n" +
			"  pawl click loop-3f9a1c02d4 --results runs.jsonl --accept trajectory,budget",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return c.click(cmd.Context(), args) },
	}
	setFlag(cmd, &c.set)
	f := cmd.Flags()
	f.StringArrayVar(&c.results, "results", nil, "runs that pawl check wrote to this `FILE`; may be given again (required)")
	f.BoolVar(&c.commit, "commit", false, "commit the changed cases, and nothing else")
	f.BoolVar(&c.pr, "pr", false, "open a pull request of the changed cases, by ghpr and targets of pawl.yaml")
	f.BoolVar(&c.propose, "propose", false, "show what the passing runs have in common, and change nothing")
	f.StringSliceVar(&c.accept, "accept", nil, "add these `PARTS` of what is proposed: trajectory, budget")
	f.BoolVar(&c.look, "dry-run", false, "say what would change, and change nothing")
	required(cmd, "results")
	cmd.MarkFlagsMutuallyExclusive("commit", "pr", "propose", "dry-run")
	return cmd
}

// clicked is what became of one case, as --json prints it.
type clicked struct {
	Case    string         `json:"case"`
	File    string         `json:"file"`
	Was     string         `json:"was"`   // state
	State   string         `json:"state"` // as it is now, or would be
	Has     string         `json:"has"`
	Lacks   string         `json:"lacks"` // "": nothing
	Rate    float64        `json:"rate"`  // share of runs that showed the failure; 0: none did
	Need    int            `json:"need"`  // further green runs
	Live    *regcase.Live  `json:"live"`
	Green   *regcase.Green `json:"green"`
	Ignored click.Ignored  `json:"ignored"`
	Told    []string       `json:"proposed"`
	Diff    string         `json:"diff"` // what was proposed or accepted
	Changed bool           `json:"changed"`

	entry *regcase.Entry
	to    regcase.Case
	reach int
	away  int

	unsteady bool
}

func (c *clicking) click(ctx context.Context, args []string) error {
	for _, part := range c.accept {
		if !slices.Contains(click.Parts, part) {
			return usageError(fmt.Errorf("--accept %q is none of %s", part, strings.Join(click.Parts, ", ")), "pawl click --propose, which shows both")
		}
	}
	runs, err := readResults(c.results)
	if err != nil {
		return err
	}
	c.onDefaultBranch(ctx, runs)
	s, err := c.openSet(c.set)
	if err != nil {
		return err
	}
	defer s.root.Close()
	entries, err := chosen(s, args)
	if err != nil {
		return err
	}
	cfg, err := c.loadOffline()
	if err != nil {
		return err
	}
	c.steady = steadinessOf(s.Set, cfg)
	var all []clicked
	for _, e := range entries {
		one, err := c.turn(ctx, s, e, runs)
		if err != nil {
			return err
		}
		all = append(all, one)
		if err := c.tell(one); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(runs, func(r gate.Run) bool {
		return slices.ContainsFunc(entries, func(e *regcase.Entry) bool { return e.Case.ID == r.Case })
	}) {
		return undecided("pawl check --set "+c.set+" --run CMD --results "+c.results[0], "no run of these cases is in %s", strings.Join(c.results, ", "))
	}
	return c.settle(ctx, s, slices.DeleteFunc(all, func(o clicked) bool { return !o.Changed }))
}

// readResults reads runs. A file that is not there is a mistake: without it every case would look as if it had not been run.
func readResults(files []string) (all []gate.Run, err error) {
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			return nil, usageError(fmt.Errorf("--results: %w", err), "pawl check --run CMD --results "+file)
		}
		runs, err := gate.ReadFile(file)
		if err != nil {
			return nil, usageError(err, "--results with a file that pawl check wrote")
		}
		all = append(all, runs...)
	}
	return all, nil
}

// chosen are the cases of these ids, or that the globs match; all of them where none is given.
func chosen(s *openedSet, args []string) (out []*regcase.Entry, err error) {
	if len(args) == 0 {
		return s.All(), nil
	}
	for _, arg := range args {
		if !strings.ContainsAny(arg, "*?[") {
			e, err := s.entry(arg)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
			continue
		}
		n := len(out)
		for _, e := range s.All() {
			ok, err := path.Match(arg, e.Case.ID)
			if err != nil {
				return nil, usageError(fmt.Errorf("%s: %w", arg, err), "pawl click 'loop-*'")
			}
			if ok {
				out = append(out, e)
			}
		}
		if len(out) == n {
			return nil, usageError(fmt.Errorf("set %s holds no case that %s matches", s.dir, arg), "pawl health --set "+s.dir)
		}
	}
	slices.SortFunc(out, func(a, b *regcase.Entry) int { return cmp.Compare(a.Case.ID, b.Case.ID) })
	return slices.Compact(out), nil
}

// turn weighs one case.
func (c *clicking) turn(ctx context.Context, s *openedSet, e *regcase.Entry, runs []gate.Run) (clicked, error) {
	ev := click.Weigh(&e.Case, e.Digest, runs, c.older(ctx))
	if u, ok := gate.Unsteady(c.steady, e.Case.Context.Service); ok {
		ev.Unsteady = u.Sentence()
	}
	st := click.Turn(e.Case, ev, c.now())
	out := clicked{Case: e.Case.ID, File: s.file(e, regcase.CaseFile), Was: string(e.Case.State.Name), Has: st.Has, Lacks: st.Lacks, Rate: ev.Rate, Need: ev.Need,
		Ignored: ev.Ignored, Told: []string{}, Changed: st.Changed, entry: e, to: st.Case, unsteady: ev.Unsteady != "", reach: ev.Reach(&e.Case), away: ev.Away}
	parts := c.accept
	if c.propose {
		parts = click.Parts
	}
	if len(parts) > 0 && e.Case.State.Name != regcase.Retired {
		to, told := click.Propose(st.Case, e.Digest, runs, parts, c.now())
		before, err := regcase.Encode(st.Case)
		if err != nil {
			return out, err
		}
		after, err := regcase.Encode(to)
		if err != nil {
			return out, err
		}
		out.Told, out.Diff = told, string(diff.Diff(out.File, before, out.File, after))
		if out.Diff != "" && !c.propose {
			if out.to, out.Changed = to, true; to.State.Name == regcase.Pending {
				out.Told = append(out.Told, "what it asserts has changed, so that its runs count anew from here on")
			}
		}
	}
	out.State, out.Live, out.Green = string(out.to.State.Name), out.to.Live, out.to.Green
	return out, nil
}

// older asks git; outside of a repository nothing is known.
func (c *clicking) older(ctx context.Context) click.Older {
	repo, err := gitfs.Open(ctx, ".")
	if err != nil {
		return nil
	}
	asked := map[[2]string]bool{}
	return func(a, b string) bool {
		key := [2]string{a, b}
		yes, known := asked[key]
		if !known {
			yes = repo.Contains(ctx, b, a)
			asked[key] = yes
		}
		return yes
	}
}

func (c *clicking) tell(o clicked) error {
	if c.json {
		return c.printJSON(o)
	}
	state := o.State
	if o.Was != o.State {
		state = o.Was + " -> " + o.State
	}
	fmt.Fprintf(c.stdout, "%s  %s\n         %s\n", o.Case, state, shown(o.Has))
	if o.Lacks != "" {
		fmt.Fprintf(c.stdout, "         needs: %s\n", o.Lacks)
	}
	switch {
	case o.Lacks != "" && o.unsteady && o.State != string(regcase.Enforced):
		fmt.Fprintf(c.stdout, "         pawl variance --set %s --run CMD\n", c.set)
	case o.Lacks != "" && o.Need > 0 && o.Rate > 0:
		fmt.Fprintf(c.stdout, "         pawl check --set %s --case %s --run CMD -n %d --results %s\n", c.set, o.Case, o.reach, c.results[0])
	}
	for _, why := range ignored(o) {
		fmt.Fprintf(c.stdout, "         %s\n", why)
	}
	for _, told := range o.Told {
		fmt.Fprintf(c.stdout, "         %s\n", told)
	}
	_, err := fmt.Fprint(c.stdout, o.Diff)
	return err
}

// ignored says which runs did not count.
func ignored(o clicked) (out []string) {
	for _, n := range []struct {
		n   int
		why string
	}{
		{o.away, "%s on no default branch or in a changed work tree: not green"},
		{o.Ignored.Unknown, "%s in a changed work tree: of no known version"},
		{o.Ignored.Invalid, "%s that could not be judged"},
		{o.Ignored.Other, "%s of another version of the case"},
	} {
		if n.n > 0 {
			out = append(out, "not counted: "+fmt.Sprintf(n.why, plural(n.n, "run")))
		}
	}
	return out
}

// settle writes, commits or proposes what changed.
func (c *clicking) settle(ctx context.Context, s *openedSet, changed []clicked) error {
	switch {
	case c.propose || c.look || len(changed) == 0:
		return nil
	case c.pr:
		return c.openPull(ctx, changed)
	}
	var files []string
	for _, o := range changed {
		if err := s.write(o.entry, o.to); err != nil {
			return err
		}
		files = append(files, o.File, s.file(o.entry, regcase.JSONFile)) // a case that is new goes in whole
	}
	if c.commit {
		return c.commitFiles(ctx, changed, files)
	}
	if !c.json {
		fmt.Fprintf(c.stdout, "%s written\nnext: git commit\n", plural(len(changed), "case"))
	}
	return nil
}

// commitFiles commits these files alone, whatever else is staged.
func (c *clicking) commitFiles(ctx context.Context, changed []clicked, files []string) error {
	title, lines := turnedIn(changed)
	for _, args := range [][]string{{"add"}, {"commit", "--quiet", "-m", title, "-m", strings.Join(lines, "\n")}} {
		args = append(append(args, "--"), files...)
		if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil {
			return undecided("git commit", "the cases are written and not committed: git %s: %w: %s", args[0], err, shown(string(out)))
		}
	}
	if !c.json {
		fmt.Fprintln(c.stdout, "committed: "+title)
	}
	return nil
}

// turnedIn says in one line and in one line a case what changed. Both are made of ids, states and counts alone.
func turnedIn(changed []clicked) (title string, lines []string) {
	enforced := 0
	for _, o := range changed {
		what := "tightened"
		if o.Was != o.State {
			enforced++
			what = o.State
		}
		if o.Live != nil {
			what += fmt.Sprintf(", red in %d of %d runs at %.12s", o.Live.Red, o.Live.Of, o.Live.Commit)
		}
		if o.Green != nil {
			what += fmt.Sprintf(", green in %d of %d at %.12s", o.Green.Passed, o.Green.Of, o.Green.Commit)
		}
		lines = append(lines, o.Case+": "+what)
	}
	if enforced > 0 {
		return "Enforce " + plural(enforced, "case"), lines
	}
	return "Tighten " + plural(len(changed), "case"), lines
}
