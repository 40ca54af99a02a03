package main

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// sample is one judged set.
type sample struct {
	Name    string
	Runs    []judged
	Healthy []*trajectory.Trajectory // the runs of one trace that are known to be well
}

// measurement is all that was judged, by which rules.
type measurement struct {
	Rules   []classify.Rule
	Samples []sample // by name
}

// judgeDirs judges every set below the folders, each as one call of pawl classify.
func judgeDirs(dirs []string, only string) (measurement, error) {
	e, err := engineOf(only, nil)
	if err != nil {
		return measurement{}, err
	}
	m := measurement{Rules: e.Rules()}
	if len(m.Rules) == 0 {
		return m, fmt.Errorf("there is no rule %q", only)
	}
	var sets []string
	for _, dir := range dirs {
		found := setsBelow(dir)
		if len(found) == 0 {
			return m, fmt.Errorf("%s holds no set: want traces.jsonl.gz with truth.jsonl.gz, or MANIFEST.tsv", dir)
		}
		sets = append(sets, found...)
	}
	m.Samples = make([]sample, len(sets))
	var g errgroup.Group
	g.SetLimit(2)
	for i, dir := range sets {
		g.Go(func() (err error) {
			m.Samples[i], err = judgeSet(dir, only)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return m, err
	}
	slices.SortStableFunc(m.Samples, func(a, b sample) int { return cmp.Compare(a.Name, b.Name) })
	broken, err := judgeDamaged(m.Samples, only)
	m.Samples = append(m.Samples, broken)
	return m, err
}

func exists(elem ...string) bool {
	_, err := os.Stat(filepath.Join(elem...))
	return err == nil
}

// setsBelow finds the sets in a folder: itself, or those in its folders.
func setsBelow(dir string) []string {
	if exists(dir, "truth.jsonl.gz") || exists(dir, "MANIFEST.tsv") {
		return []string{dir}
	}
	entries, _ := os.ReadDir(dir)
	var out []string
	for _, entry := range entries {
		if entry.IsDir() {
			out = append(out, setsBelow(filepath.Join(dir, entry.Name()))...)
		}
	}
	return out
}

func judgeSet(dir, only string) (sample, error) {
	if exists(dir, "truth.jsonl.gz") {
		return judgeLabelled(dir, only)
	}
	rows, err := readManifest(dir)
	if err != nil {
		return sample{}, err
	}
	if len(rows) > 0 && rows[0]["sdk"] != "" {
		return judgeCaptures(dir, rows, only)
	}
	return judgePublic(dir, rows, only)
}

func judgeLabelled(dir, only string) (sample, error) {
	runs, err := readTruth(filepath.Join(dir, "truth.jsonl.gz"))
	if err != nil {
		return sample{}, err
	}
	tools, err := readCatalog(filepath.Join(dir, "catalog.json.gz"))
	if err != nil {
		return sample{}, err
	}
	e, err := engineOf(only, tools)
	if err != nil {
		return sample{}, err
	}
	ts, err := build(filepath.Join(dir, "traces.jsonl.gz"))
	if err != nil {
		return sample{}, err
	}
	by := map[string]*trajectory.Trajectory{}
	for _, t := range ts {
		by[t.TraceID] = t
	}
	reports := classifyAll(e, ts, nil)
	s := sample{Name: filepath.Base(dir)}
	for _, r := range runs {
		rep, ok := reports[r.ID]
		if !ok {
			return s, fmt.Errorf("%s: no trace %s for its truth", dir, r.ID)
		}
		s.Runs = append(s.Runs, judged{r, []classify.Report{rep}})
		if r.Clean {
			s.Healthy = append(s.Healthy, by[r.ID])
		}
	}
	return s, nil
}

// readCatalog reads the tools that a set's agents may use; a file that is not there has none.
func readCatalog(path string) (*catalog.Catalog, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var listed []struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if err := json.NewDecoder(z).Decode(&listed); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var tools []catalog.Tool
	for _, l := range listed {
		tools = append(tools, catalog.Tool{Name: l.Name, Schema: jsontext.Value(l.Parameters)})
	}
	return catalog.New(tools)
}

// judgePublic judges exports of which nothing is known: every finding is one to read.
func judgePublic(dir string, rows []row, only string) (sample, error) {
	s := sample{Name: filepath.Base(dir)}
	e, err := engineOf(only, nil)
	if err != nil {
		return s, err
	}
	for _, r := range rows {
		ts, err := build(filepath.Join(dir, r["file"]))
		if err != nil {
			continue // a shape that pawl does not read: nothing is judged, as nothing is known
		}
		s.Runs = append(s.Runs, judged{run{Set: s.Name, ID: r["file"]}, reportsOf(classifyAll(e, ts, nil), ts)})
	}
	return s, nil
}

// reportsOf puts reports in the order of the trajectories.
func reportsOf(by map[string]classify.Report, ts []*trajectory.Trajectory) []classify.Report {
	var out []classify.Report
	for _, t := range ts {
		out = append(out, by[t.TraceID])
	}
	return out
}
