package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/turn"
	"github.com/pawl-dev/pawl/ratchet/verify"
	"github.com/pawl-dev/pawl/ratchet/verify/gitfs"
)

// openedSet is a set in a work tree, read whole.
type openedSet struct {
	dir  string
	root *os.Root
	src  fs.FS
	regcase.Set
}

// openSet reads a set; one that is not whole is not worked on, and all that is wrong with it is told.
func (a *app) openSet(dir string) (*openedSet, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, usageError(fmt.Errorf("set %s: %w", dir, err), "--set DIR names the directory with the cases")
	}
	s := &openedSet{dir: dir, root: root, src: regcase.Checkout(root)}
	var problems []regcase.Problem
	if s.Set, problems = regcase.ReadSet(s.src); len(problems) == 0 {
		return s, nil
	}
	root.Close()
	for _, p := range problems {
		fmt.Fprintf(a.stderr, "pawl: %s: %s\n", filepath.Join(dir, shown(p.Path)), shown(p.Err.Error()))
	}
	return nil, usageError(fmt.Errorf("set %s is not whole: %s, told above", dir, plural(len(problems), "problem")), "mend the files, or take them back from git")
}

// entry finds a case by its id.
func (s *openedSet) entry(id string) (*regcase.Entry, error) {
	if e, ok := s.Cases[id]; ok {
		return e, nil
	}
	advice := "pawl health --set " + s.dir + " lists the cases"
	if near := config.Nearest(id, s.IDs()); near != "" {
		advice = "did you mean " + near + "?"
	}
	return nil, usageError(fmt.Errorf("set %s holds no case %q", s.dir, id), advice)
}

func (s *openedSet) file(e *regcase.Entry, name string) string {
	return path.Join(filepath.ToSlash(s.dir), e.Dir, name)
}

// write puts a changed case in its place.
func (s *openedSet) write(e *regcase.Entry, c regcase.Case) error {
	b, err := regcase.Encode(c)
	if err != nil {
		return err
	}
	return regcase.WriteFile(s.root, path.Join(e.Dir, regcase.CaseFile), b)
}

// edited is what an edit of a case prints as JSON.
type edited struct {
	Case   string          `json:"case"`
	File   string          `json:"file"`
	State  regcase.State   `json:"state"`
	Waiver *regcase.Waiver `json:"waiver"`
}

func quarantineCommand(a *app) *cobra.Command {
	var set, owner, reason, review string
	cmd := &cobra.Command{
		Use:   "quarantine ID --owner WHO --reason WHY --review DATE",
		Short: "let a flaky case run without blocking, until a date",
		Long: fmt.Sprintf("An enforced case that fails for no fault of the change may be set aside: it still runs and is reported, and blocks again from the day after its\n"+
			"review date on, which lies at most %d days ahead. A later date is a loosening of its own.", turn.MaxQuarantine),
		Example: "  pawl quarantine loop-3f9a1c02d4 --owner ana --reason 'the search index lags in the evening' --review 2026-12-10",
		Args:    oneArg("the ID of a case"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.editCase(set, args[0], func(c regcase.Case) (regcase.Case, *regcase.Waiver, error) {
				c, err := turn.Quarantine(c, owner, reason, review, a.now())
				return c, nil, err
			})
		},
	}
	setFlag(cmd, &set)
	cmd.Flags().StringVar(&owner, "owner", "", "`WHO` looks into it (required)")
	cmd.Flags().StringVar(&reason, "reason", "", "`WHY` it is set aside (required)")
	cmd.Flags().StringVar(&review, "review", "", "the `DATE`, yyyy-mm-dd, until which it does not block (required)")
	required(cmd, "owner", "reason", "review")
	return cmd
}

func retireCommand(a *app) *cobra.Command {
	var set, reason, issue string
	cmd := &cobra.Command{
		Use:   "retire ID --reason WHY",
		Short: "make a case a tombstone that is never run again",
		Long: "A case whose failure can no longer happen, because the tool is gone, is retired and not deleted: the file stays and says why. That is a loosening,\n" +
			"so it needs a waiver: --issue writes it at once.",
		Example: "  pawl retire loop-3f9a1c02d4 --reason 'get_order is gone since 2.0' --issue '#41'",
		Args:    oneArg("the ID of a case"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.editCase(set, args[0], func(c regcase.Case) (regcase.Case, *regcase.Waiver, error) {
				to, err := turn.Retire(c, reason)
				if err != nil || issue == "" {
					return to, nil, err
				}
				w, err := turn.Waive(&c, &to, "/state", reason, issue, a.now())
				return to, &w, err
			})
		},
	}
	setFlag(cmd, &set)
	cmd.Flags().StringVar(&reason, "reason", "", "`WHY` it is not needed any more (required)")
	cmd.Flags().StringVar(&issue, "issue", "", "the issue or `LINK` where it was decided: writes the waiver")
	required(cmd, "reason")
	return cmd
}

// lastRun says that a set runs no other case than this one.
func (s *openedSet) lastRun(id string) bool {
	return len(s.Goldens) == 0 && !slices.ContainsFunc(s.All(), func(e *regcase.Entry) bool { return e.Case.ID != id && e.Case.State.Name != regcase.Retired })
}

func setFlag(cmd *cobra.Command, set *string) {
	cmd.Flags().StringVar(set, "set", "regressions", "the `DIR` with the cases")
}

func required(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		_ = cmd.MarkFlagRequired(name) // the flag was made above
	}
}

// editCase changes one case on disk, with the waiver that the change needs.
func (a *app) editCase(dir, id string, edit func(regcase.Case) (regcase.Case, *regcase.Waiver, error)) error {
	s, err := a.openSet(dir)
	if err != nil {
		return err
	}
	defer s.root.Close()
	e, err := s.entry(id)
	if err != nil {
		return err
	}
	c, waiver, err := edit(e.Case)
	if err != nil {
		return usageError(err, "")
	}
	if waiver != nil {
		if err := regcase.AddWaiver(s.root, e.Dir, *waiver); err != nil {
			return err
		}
	}
	if err := s.write(e, c); err != nil {
		return err
	}
	if c.State.Name == regcase.Retired && s.lastRun(c.ID) {
		fmt.Fprintf(a.stderr, "pawl: it was the last case of %s that runs, and verify lets no set run empty, waiver or not: bring one that runs in the same change, of another failure or by hand in %s\n",
			dir, filepath.ToSlash(filepath.Join(dir, regcase.GoldenDir)))
	}
	out := edited{c.ID, s.file(e, regcase.CaseFile), c.State, waiver}
	if a.json {
		return a.printJSON(out)
	}
	fmt.Fprintf(a.stdout, "%s is %s now\n%s\n", c.ID, c.State.Name, out.File)
	if waiver != nil {
		fmt.Fprintln(a.stdout, s.file(e, regcase.WaiversFile))
	} else if c.State.Name == regcase.Retired {
		fmt.Fprintf(a.stdout, "next: say where it was decided, or verify refuses it: pawl waive %s --field /state --base origin/main --reason ... --issue ...\n", c.ID)
	} else if c.State.Name == regcase.Quarantined {
		fmt.Fprintf(a.stdout, "next: pawl verify --base origin/main says whether that needs pawl waive %s --field /state\n", c.ID)
	}
	return nil
}

// waiveFlags are what the caller asked for.
type waiveFlags struct {
	set, base, reason, issue string
	fields                   []string
	commit                   bool
}

func waiveCommand(a *app) *cobra.Command {
	var f waiveFlags
	cmd := &cobra.Command{
		Use:   "waive ID --field FIELD --reason WHY --issue LINK --base REF",
		Short: "state why a case is looser than on the base branch",
		Long: "verify lets no case become looser without a stated reason. Change the case first; waive then writes, for each field that you name, an entry with the\n" +
			"field, its value on the base and its value now, the reason and the issue into waivers.yaml beside the case. It counts for this one change.\n" +
			"A deleted case cannot be waived: pawl retire it.",
		Example: "  pawl waive loop-3f9a1c02d4 --field /runs/n --reason 'five runs cost too much' --issue '#12' --base origin/main --commit",
		Args:    oneArg("the ID of a case"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.waive(cmd.Context(), args[0], f) },
	}
	setFlag(cmd, &f.set)
	flags := cmd.Flags()
	flags.StringVar(&f.base, "base", "", "the commit, branch or tag `REF` that verify holds the set to (required)")
	flags.StringArrayVar(&f.fields, "field", nil, "JSON pointer to the `FIELD` that is looser, as verify names it; may be given again (required)")
	flags.StringVar(&f.reason, "reason", "", "`WHY`, in a sentence that a reviewer could dispute (required)")
	flags.StringVar(&f.issue, "issue", "", "the issue or `LINK` where it was decided: #12, ABC-12, https://... (required)")
	flags.BoolVar(&f.commit, "commit", false, "commit the case and its waivers, with the reason in the message")
	required(cmd, "base", "field", "reason", "issue")
	return cmd
}

func (a *app) waive(ctx context.Context, id string, f waiveFlags) error {
	s, err := a.openSet(f.set)
	if err != nil {
		return err
	}
	defer s.root.Close()
	e, err := s.entry(id)
	if err != nil {
		return err
	}
	base, err := baseCase(ctx, f, e)
	if err != nil {
		return err
	}
	for _, field := range f.fields {
		w, err := a.waiver(s, base, e, field, f)
		if err != nil {
			return usageError(err, "")
		}
		if err := regcase.AddWaiver(s.root, e.Dir, w); err != nil {
			return err
		}
		if a.json {
			if err := a.printJSON(edited{e.Case.ID, s.file(e, regcase.WaiversFile), e.Case.State, &w}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(a.stdout, "waived %s of %s: from %s to %s\n%s\n", w.Field, id, verify.Short(w.Base), verify.Short(w.Head), s.file(e, regcase.WaiversFile))
	}
	message := fmt.Sprintf("Loosen %s of %s\n\nRatchet-Waive: %s %s", strings.Join(f.fields, ", "), id, id, f.reason)
	if !f.commit {
		if !a.json {
			fmt.Fprintf(a.stdout, "next: commit it with a line of its own in the message:\nRatchet-Waive: %s %s\n", id, f.reason)
		}
		return nil
	}
	return commitPaths(ctx, message, s.file(e, regcase.CaseFile), s.file(e, regcase.WaiversFile), s.file(e, regcase.JSONFile))
}

// waiver states the reason for one field. That this pawl no longer sees the recorded failure is one of its own.
func (a *app) waiver(s *openedSet, base *verify.Entry, e *regcase.Entry, field string, f waiveFlags) (regcase.Waiver, error) {
	if field != verify.RedField {
		return turn.Waive(&base.Case, &e.Case, field, f.reason, f.issue, a.now())
	}
	cfg, err := a.loadOffline()
	if err != nil {
		return regcase.Waiver{}, err
	}
	o, err := a.oracleOf(cfg)
	if err != nil {
		return regcase.Waiver{}, err
	}
	trace, err := regcase.ReadTrace(s.src, e)
	if err != nil {
		return regcase.Waiver{}, err
	}
	d, blind := verify.BlindTo(o, base, trace)
	if !blind {
		return regcase.Waiver{}, fmt.Errorf("this pawl sees the recorded failure of %s as base does: there is nothing to waive", e.Case.ID)
	}
	return turn.Reason(d, f.reason, f.issue)
}

// baseCase reads a case as it is on the base, straight from git's objects.
func baseCase(ctx context.Context, f waiveFlags, e *regcase.Entry) (*verify.Entry, error) {
	repo, err := gitfs.Open(ctx, ".")
	if err != nil {
		return nil, usageError(err, "")
	}
	id, err := repo.Commit(ctx, f.base)
	if err != nil {
		return nil, usageError(fmt.Errorf("--base: %w", err), "")
	}
	dir, err := inRepo(repo, f.set)
	if err != nil {
		return nil, usageError(err, "")
	}
	tree, err := repo.Tree(ctx, id)
	if err != nil {
		return nil, undecided("", "%w", err)
	}
	defer tree.Close()
	b := verify.ReadSet(tree, dir).Cases[e.Dir]
	if b == nil {
		return nil, usageError(fmt.Errorf("%s holds no case %s that can be read: what is new needs no waiver", f.base, e.Case.ID), "")
	}
	return b, nil
}

// commitPaths commits these files alone, whatever else is staged.
func commitPaths(ctx context.Context, message string, paths ...string) error {
	for _, args := range [][]string{append([]string{"add", "--"}, paths...), append([]string{"commit", "--quiet", "-m", message, "--"}, paths...)} {
		out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput()
		if err != nil {
			return &exitError{exitUndecided, fmt.Errorf("git %s: %w: %s", args[0], err, shown(string(out))), "the waiver is written; commit it yourself"}
		}
	}
	return nil
}
