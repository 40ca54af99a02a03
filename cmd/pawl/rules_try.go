package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/fixture"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/config"
)

func rulesTry(a *app) *cobra.Command {
	var builtIn bool
	cmd := &cobra.Command{
		Use:   "test DIR",
		Short: "run the testdata of rules",
		Long: "DIR holds one folder for each rule, and a folder one file for each case. Its name begins with what the rule must answer: match, near (it nearly\n" +
			"matches and must not) or blind (a fact is missing). A file is a txtar archive with a section trajectory, as pawl's own rules have them, or recorded traces in any form\n" +
			"that pawl classify reads: match means that the rule matches one of them, near and blind that it matches none.\n\n" +
			"A rule without a case of each kind fails. Exit code 0: every case is as its name says; 1: one is not; 3: there was no case.",
		Example: "  pawl rules test pawl-rules/\n  pawl rules test --built-in",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&builtIn, "built-in", false, "run the testdata of pawl's own rules")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if builtIn == (len(args) == 1) {
			return usageError(errors.New("name the directory of the testdata, or --built-in"), "pawl rules test DIR")
		}
		cfg, err := a.loadOffline()
		if err != nil {
			return err
		}
		rules, err := a.rulesOf(cfg)
		if err != nil {
			return err
		}
		var dir fs.FS
		if builtIn {
			dir, err = rule.Testdata()
		} else if info, statErr := os.Stat(args[0]); statErr != nil || !info.IsDir() {
			err = usageError(fmt.Errorf("%s is not a directory", args[0]), "a directory with a folder for each rule")
		} else {
			dir = os.DirFS(args[0])
		}
		if err != nil {
			return err
		}
		tried, err := a.tryAll(cmd.Context(), cfg, dir, append(args, "")[0], rules)
		if err != nil {
			return err
		}
		return a.printTried(tried)
	}
	return cmd
}

// tried is one case of testdata, as --json prints it.
type tried struct {
	Rule string       `json:"rule"`
	File string       `json:"file"`
	Want fixture.Kind `json:"want"`
	Got  fixture.Kind `json:"got"`
	OK   bool         `json:"ok"`
	Note string       `json:"note"` // what is wrong
}

// tryAll runs every file of every folder; root is the directory's path, for files that are not txtar archives.
func (a *app) tryAll(ctx context.Context, cfg config.Config, dir fs.FS, root string, rules []classify.Rule) ([]tried, error) {
	files, err := fs.Glob(dir, "*/*")
	if err != nil {
		return nil, fmt.Errorf("testdata: %w", err)
	}
	var out []tried
	kinds := map[string]map[fixture.Kind]bool{}
	for _, file := range files {
		folder, _, _ := strings.Cut(file, "/")
		t := tried{Rule: folder, File: file, Want: fixture.KindOfName(file)}
		i := slices.IndexFunc(rules, func(r classify.Rule) bool { return r.Name == folder })
		switch {
		case i < 0:
			t.Note = fmt.Sprintf("there is no rule %s%s", folder, didYouMean(folder, "", namesOf(rules)))
		case t.Want == "":
			t.Note = "its name begins with none of match, near, blind"
		default:
			t = a.try(ctx, cfg, dir, root, rules[i], t)
		}
		if kinds[folder] == nil {
			kinds[folder] = map[fixture.Kind]bool{}
		}
		kinds[folder][t.Want] = true
		out = append(out, t)
	}
	for _, folder := range slices.Sorted(maps.Keys(kinds)) {
		for _, k := range fixture.Kinds() {
			if !kinds[folder][k] {
				out = append(out, tried{Rule: folder, File: folder, Want: k, Note: fmt.Sprintf("the folder has no case that must be %s", k)})
			}
		}
	}
	return out, nil
}

func (a *app) try(ctx context.Context, cfg config.Config, dir fs.FS, root string, r classify.Rule, t tried) tried {
	var report classify.Report
	var err error
	if strings.HasSuffix(t.File, ".txtar") {
		var data []byte
		if data, err = fs.ReadFile(dir, t.File); err == nil {
			report, err = fixture.Parse(t.File, data).Run(r)
		}
	} else {
		report, err = a.tryRecorded(ctx, cfg, filepath.Join(root, filepath.FromSlash(t.File)), r)
	}
	if err != nil {
		t.Note = err.Error()
		return t
	}
	t.Got = fixture.KindOf(report)
	if t.OK = t.Got == t.Want; !t.OK {
		t.Note = strings.Join(strings.Fields(fixture.Render(report)), " ")
	}
	return t
}

// tryRecorded runs one rule over recorded traces, and the sessions that they make up, with the catalog, the policy, the prices and the parameters of pawl.yaml: what it
// finds in any, else what it lacks in any.
func (a *app) tryRecorded(ctx context.Context, cfg config.Config, path string, r classify.Rule) (classify.Report, error) {
	var all classify.Report
	engine, err := a.engineWith(cfg, []classify.Rule{r})
	if err != nil {
		return all, err
	}
	traces, err := a.readTraces(ctx, []string{path})
	if err != nil {
		return all, err
	}
	for _, j := range a.judge(traces, engine, nil) {
		all.Findings = append(all.Findings, j.report.Findings...)
		all.Inapplicable = append(all.Inapplicable, j.report.Inapplicable...)
	}
	return all, nil
}

func (a *app) printTried(all []tried) error {
	wrong, run := 0, 0
	for _, t := range all {
		if t.Got != "" {
			run++
		}
		if !t.OK {
			wrong++
		}
		var err error
		switch {
		case a.json:
			err = a.printJSON(t)
		case !t.OK && t.Got == "":
			_, err = fmt.Fprintf(a.stdout, "FAIL %s: %s\n", t.File, shown(t.Note))
		case !t.OK:
			_, err = fmt.Fprintf(a.stdout, "FAIL %s: the name says %s, the rule says %s: %s\n", t.File, t.Want, t.Got, shown(t.Note))
		}
		if err != nil {
			return err
		}
	}
	if !a.json {
		fmt.Fprintf(a.stdout, "%s, %d wrong\n", plural(run, "case"), wrong)
	}
	switch {
	case wrong > 0:
		return errFinding
	case run == 0:
		return errors.New("there is no case to run")
	}
	return nil
}
