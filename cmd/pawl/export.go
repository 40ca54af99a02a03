package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/ratchet/export"
)

func exportCommand(a *app) *cobra.Command {
	var set, to, out string
	cmd := &cobra.Command{
		Use:   "export --to promptfoo|agentevals|jsonl [-o FILE]",
		Short: "write the cases of a set for other tools",
		Long: "promptfoo: a promptfooconfig in JSON, with the provider echo where your agent belongs. agentevals: one line a case with the settings of\n" +
			"createTrajectoryMatchEvaluator and the reference trajectory. jsonl: one line a case, {digest, dir, case}, the case as `pawl config schema case`\n" +
			"describes it.\n\n" +
			"Other tools assert less than a case does: what is lost is named in the export, case by case, and told on stderr. Retired cases are left out.",
		Example: "  pawl export --to promptfoo -o promptfooconfig.json\n  pawl export --to jsonl --set regressions | jq .case.id",
		RunE:    func(*cobra.Command, []string) error { return a.export(set, export.Format(to), out) },
	}
	setFlag(cmd, &set)
	cmd.Flags().StringVar(&to, "to", "", "the `FORMAT`: promptfoo, agentevals, jsonl (required)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to this `FILE` (default: stdout)")
	required(cmd, "to")
	return cmd
}

func (a *app) export(set string, to export.Format, out string) error {
	if !slices.Contains(export.Formats(), to) {
		return usageError(fmt.Errorf("--to %q is none of promptfoo, agentevals, jsonl", to), "pawl export --help")
	}
	s, err := a.openSet(set)
	if err != nil {
		return err
	}
	defer s.root.Close()
	r, err := export.Write(s.Set, to)
	if err != nil {
		return err
	}
	if err := a.lastLook(r.Data); err != nil {
		return err
	}
	if out == "" {
		_, err = a.stdout.Write(r.Data)
	} else {
		err = os.WriteFile(out, r.Data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the export: %w", err)
	}
	a.told(r)
	return nil
}

// lastLook refuses to write what a case of the set should never have held: an export goes to other people's tools. It reads the configuration for what a
// team adds and allows.
func (a *app) lastLook(final []byte) error {
	cfg, err := a.loadOffline()
	if err != nil {
		return err
	}
	r, err := a.redactorOf(cfg)
	if err != nil {
		return err
	}
	if err := r.Verify(final); err != nil {
		return &exitError{exitFinding, fmt.Errorf("nothing is exported: %w", err), "mend the case, or name what may stay under redact.keep in pawl.yaml"}
	}
	return nil
}

// maxTold is how many cases are named one by one on stderr; the export names all that lose something.
const maxTold = 10

// told says on stderr what became of the cases.
func (a *app) told(r export.Result) {
	fmt.Fprintf(a.stderr, "pawl: %s exported, %d left out, %d retired\n", plural(r.Cases, "case"), len(r.Left), r.Retired)
	for _, id := range first(slices.Sorted(maps.Keys(r.Left)), maxTold) {
		fmt.Fprintf(a.stderr, "pawl: left out: %s: %s\n", id, r.Left[id])
	}
	lossy := slices.DeleteFunc(slices.Sorted(maps.Keys(r.Lost)), func(id string) bool { return len(r.Lost[id]) == 0 })
	for _, id := range first(lossy, maxTold) {
		fmt.Fprintf(a.stderr, "pawl: not said there: %s: %s\n", id, shown(strings.Join(r.Lost[id], "; ")))
	}
	if len(lossy) > 0 {
		fmt.Fprintf(a.stderr, "pawl: of %s more is asserted than is said there: the export names it, case by case, as lost\n", plural(len(lossy), "case"))
	}
}

func first(list []string, n int) []string { return list[:min(len(list), n)] }
