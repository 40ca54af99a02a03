// Command score measures pawl's rules on runs whose failures are known. It judges the traces as pawl classify does and prints, per rule,
// kind of truth and set, how many findings were right and how many failures were found; and, of the runs that are known to be well, how
// often a rule cried wolf.
//
//	go run ./test/score [-json] [-sets] [-rule R] [-v [-all]] [-precision FILE [-date YYYY-MM-DD]] DIR...
//
// A DIR is a labelled set (traces.jsonl.gz and truth.jsonl.gz, perhaps catalog.json.gz), captures of scripted scenarios (MANIFEST.tsv with
// our_labels), exports without any truth (another MANIFEST.tsv), or a folder of such. There is one set
// more, made in memory out of the runs that are well: each is damaged in a known way, and damaged nearly so (see damage.go).
//
// Kinds of truth are counted apart: what an execution said (also what a script did on purpose), what people said, what a measurer derived
// from the data, and what was injected here. A rule that defines a failure as the measurer did is right about derived truth by construction;
// so the first row of a rule, the firm one, takes positives by execution and people alone, and negatives of all kinds.
//
// It is a tool for developers; with -precision it renews classify/rule/precision.json.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	flags := flag.NewFlagSet("score", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print one object a row")
	only := flags.String("rule", "", "only the rule of this `name`")
	verbose := flags.Bool("v", false, "print each false alarm, each miss and each finding of which nothing is known, with its spans")
	sets := flags.Bool("sets", false, "print each set and kind of truth too")
	every := flags.Bool("all", false, "with -v, print those that are right too")
	file := flags.String("precision", "", "write what was measured of each rule to this `file`")
	date := flags.String("date", time.Now().UTC().Format(time.DateOnly), "the `day` that the measurement is of")
	if flags.Parse(os.Args[1:]) != nil || flags.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: score [-json] [-sets] [-rule R] [-v [-all]] [-precision FILE [-date YYYY-MM-DD]] DIR...")
		os.Exit(2)
	}
	err := func() error {
		all, err := judgeDirs(flags.Args(), *only)
		if err != nil {
			return err
		}
		if *verbose {
			listing(os.Stdout, all, *every)
		}
		show(os.Stdout, all, *asJSON, *sets)
		if *file == "" {
			return nil
		}
		return writePrecision(*file, *date, all)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "score:", err)
		os.Exit(2)
	}
}
