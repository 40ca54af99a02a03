// Command facts prints how much of what real agents did pawl reads out of their telemetry: a matrix whose rows are emitters and whose
// columns are facts, each cell counted as right, wrong, or absent in the data. The truth comes from what the runs were scripted to do and
// from the raw bytes, read without pawl's own reading.
//
//	go run ./test/facts [-json] [-sdk PREFIX] [-v] DIR
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

func main() {
	flags := flag.NewFlagSet("facts", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print one object a row")
	sdk := flags.String("sdk", "", "only the rows whose name begins so")
	verbose := flags.Bool("v", false, "print each wrong thing with what was expected")
	absent := flags.Bool("absent", false, "print each absent thing")
	if flags.Parse(os.Args[1:]) != nil || flags.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: facts [-json] [-sdk PREFIX] [-v] [-absent] DIR")
		os.Exit(2)
	}
	sheets, err := matrix(flags.Arg(0), *sdk)
	if err != nil {
		fmt.Fprintln(os.Stderr, "facts:", err)
		os.Exit(2)
	}
	show(os.Stdout, sheets, *asJSON, *verbose, *absent)
}

// matrix judges the captures or the public exports in a folder, whichever it holds.
func matrix(dir, prefix string) ([]*sheet, error) {
	rows, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	var sheets []*sheet
	byName := map[string]*sheet{}
	for _, r := range rows {
		if r["sdk"] == "" {
			return publicMatrix(dir, rows, prefix)
		}
		name := r["sdk"] + "-" + r["version"]
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if byName[name] == nil {
			byName[name] = newSheet(name)
			sheets = append(sheets, byName[name])
		}
		if err := judgeCapture(byName[name], dir, r); err != nil {
			return nil, err
		}
	}
	return sheets, nil
}

func judgeCapture(s *sheet, dir string, r row) error {
	base := filepath.Join(dir, s.Name, r["scenario"])
	t, err := readTruth(base + ".truth.json")
	if err != nil {
		return err
	}
	run, err := runOf(r["scenario"], t)
	if err != nil {
		return err
	}
	files := []string{base + ".otlp.jsonl.gz", base + ".logs.otlp.jsonl.gz"}
	raw, err := readCapture(files...)
	if err != nil {
		return err
	}
	trajectories, err := build(files...)
	if err != nil {
		return err
	}
	of, ok := emitters[r["sdk"]]
	if !ok {
		return fmt.Errorf("%s: nothing says how its spans are marked", r["sdk"])
	}
	j := &judged{sheet: s, scenario: r["scenario"], run: run, raw: raw, of: of, pawl: readingOf(trajectories)}
	j.whole = sync.OnceValue(func() *index { return raw.index(nil) })
	j.asking = sync.OnceValue(func() *index { return raw.index(of.tool) })
	j.all()
	return nil
}

func show(w io.Writer, sheets []*sheet, asJSON, verbose, absent bool) {
	if asJSON {
		for _, s := range sheets {
			line, _ := json.Marshal(s)
			fmt.Fprintf(w, "%s\n", line)
		}
		return
	}
	fmt.Fprint(w, table(sheets))
	for _, s := range sheets {
		if verbose {
			printAll(w, s.Wrong)
		}
		if absent {
			printAll(w, s.Notes)
		}
	}
}

func printAll(w io.Writer, lines []string) {
	for _, l := range lines {
		fmt.Fprintln(w, l)
	}
}

// table is the matrix in markdown, its columns padded.
func table(sheets []*sheet) string {
	rows := [][]string{{""}, {"---"}}
	for _, f := range facts {
		rows[0], rows[1] = append(rows[0], string(f)), append(rows[1], "---")
	}
	total := newSheet("all")
	for _, s := range sheets {
		line := []string{s.Name}
		for _, f := range facts {
			line = append(line, s.Cells[f].String())
			c, t := s.Cells[f], total.Cells[f]
			total.Cells[f] = cell{t.Right + c.Right, t.Wrong + c.Wrong, t.Absent + c.Absent}
		}
		rows = append(rows, line)
	}
	last := []string{total.Name}
	for _, f := range facts {
		last = append(last, total.Cells[f].String())
	}
	return padded(append(rows, last))
}

func padded(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], len(c))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		for i, c := range r {
			fmt.Fprintf(&b, "| %-*s ", widths[i], c)
		}
		b.WriteString("|\n")
	}
	return b.String()
}
