package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// row is one line of a manifest, by its head's names.
type row map[string]string

func readManifest(dir string) ([]row, error) {
	b, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	head := strings.Split(lines[0], "\t")
	var out []row
	for _, line := range lines[1:] {
		r := row{}
		for i, cell := range strings.Split(line, "\t") {
			if i < len(head) {
				r[strings.TrimSpace(head[i])] = strings.TrimSpace(cell)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// beside lists, per scripted failure, what may truly go with it: a finding of that is neither right nor wrong. What is not named is not
// there, since the script made one thing go wrong.
var beside = map[classify.Label][]classify.Label{
	classify.SchemaViolation:   {classify.ProtocolError},
	classify.HallucinatedTool:  {classify.ProtocolError},
	classify.FabricatedSuccess: {classify.UpstreamError, classify.ProtocolError, classify.MissingReadback},
	classify.MissingToolResult: {classify.SilentTimeout, classify.EmptyResponse},
	classify.SilentTimeout:     {classify.MissingToolResult, classify.UpstreamError, classify.LatencySpike, classify.EmptyResponse},
	classify.CostSpike:         {classify.ContextOverflow, classify.LatencySpike},
	classify.UpstreamError:     {classify.PermissionDenied, classify.ProtocolError, classify.EmptyResponse},
	classify.PermissionDenied:  {classify.UpstreamError, classify.ProtocolError},
	classify.ContextOverflow:   {classify.UpstreamError, classify.EmptyResponse},
}

// wellScenarios are those in which nothing goes wrong.
var wellScenarios = []string{"S01", "S01s", "S05", "S13n", "S15", "S19n"}

// shopPolicy is the policy that the captured agent's team has, in the words of the captures' README.
var shopPolicy = classify.Policy{
	Agent:       "*",
	MustPrecede: []classify.MustPrecede{{Tool: "upsert_product", Before: "validate_product", Same: "product_id"}},
	NoToolWhen:  []classify.NoToolWhen{{User: regexp.MustCompile(`(?i)^(thanks|thank you)`)}},
	Route:       []classify.Routing{{User: regexp.MustCompile(`(?i)parcel|track`), Deny: []string{"billing"}}},
}

// judgeCaptures judges each scenario by a baseline learnt from those of the same SDK in which all went well, often enough to judge by.
func judgeCaptures(dir string, rows []row, only string) (sample, error) {
	s := sample{Name: filepath.Base(dir)}
	e, err := engineOf(only, nil, shopPolicy)
	if err != nil {
		return s, err
	}
	built := map[string][]*trajectory.Trajectory{}
	bases := map[string]*baseline.Baseline{}
	for _, r := range rows {
		name, sdk := captureName(r), r["sdk"]+"-"+r["version"]
		path := filepath.Join(dir, name)
		if built[name], err = build(existing(path+".otlp.jsonl.gz", path+".logs.otlp.jsonl.gz")...); err != nil {
			return s, err
		}
		if bases[sdk] == nil {
			bases[sdk] = baseline.New()
		}
		for _, t := range built[name] {
			for range 4 * len(keep(wellScenarios, r["scenario"])) {
				bases[sdk].Learn(baseline.Measure(t))
			}
		}
	}
	for _, r := range rows {
		name := captureName(r)
		by := classifyAll(e, built[name], bases[r["sdk"]+"-"+r["version"]].Snapshot())
		s.Runs = append(s.Runs, judged{truthOf(r, s.Name), reportsOf(by, built[name])})
		if ts := built[name]; len(ts) == 1 && r["our_labels"] == "" {
			s.Healthy = append(s.Healthy, ts[0])
		}
	}
	return s, nil
}

func captureName(r row) string { return r["sdk"] + "-" + r["version"] + "/" + r["scenario"] }

func existing(paths ...string) []string {
	return slices.DeleteFunc(paths, func(p string) bool { return !exists(p) })
}

func keep(all []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s != one })
}

// truthOf says of every label whether the scenario has it. Of one whose tell-tale is not in the telemetry nothing can be asked.
func truthOf(r row, set string) run {
	out := run{Set: set, ID: captureName(r), Truth: map[classify.Label]claim{}}
	labels := strings.FieldsFunc(r["our_labels"], func(c rune) bool { return c == ',' || c == ' ' })
	for _, l := range classify.Labels() {
		out.Truth[l] = claim{Present: new(slices.Contains(labels, string(l))), Strength: byExecution}
	}
	for _, l := range labels {
		if r["claim_visible"] == "NOT-VISIBLE" || strings.Contains(r["odd"], "does not hold") {
			out.Truth[classify.Label(l)] = claim{Strength: byExecution}
		}
		for _, other := range beside[classify.Label(l)] {
			if !slices.Contains(labels, string(other)) {
				out.Truth[other] = claim{Strength: byExecution}
			}
		}
	}
	out.Clean = len(labels) == 0
	return out
}
