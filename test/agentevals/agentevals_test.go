// Package agentevals lays pawl's comparison of trajectories beside that of the npm package agentevals, on the same random pairs:
//
//	npm install --prefix DIR agentevals && AGENTEVALS_DIR=DIR go test ./test/agentevals -v
//
// It is skipped without node and without AGENTEVALS_DIR. Both must agree, save where agentevals pairs calls greedily, so that an earlier expected
// call takes what a later one needs; where it turns the modes subset and superset of arguments round (its own subset and unordered modes swap
// run and reference); and where it wants calls of one answer to be split into answers as in the reference.
package agentevals

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/match"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

type call struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

type pair struct {
	Mode      string            `json:"mode"`
	Arguments string            `json:"arguments"`
	Tools     map[string]string `json:"tools"`
	Reference [][]call          `json:"reference"`
	Got       [][]call          `json:"got"`
}

// draw makes a pair of runs that are often near each other.
func draw(r *rand.Rand) pair {
	tools, args := []string{"search", "get_order", "refund"}, []string{`{}`, `{"id":1}`, `{"id":2}`, `{"id":1,"note":"fast"}`, `{"q":{"a":[1,2]},"id":1}`}
	p := pair{Tools: map[string]string{}}
	p.Mode = []string{"strict", "unordered", "subset", "superset"}[r.IntN(4)]
	argModes := []string{"exact", "ignore", "subset", "superset"}
	p.Arguments = argModes[r.IntN(4)]
	if r.IntN(4) == 0 {
		p.Tools[tools[r.IntN(3)]] = argModes[r.IntN(4)]
	}
	for range 1 + r.IntN(4) {
		var group []call
		for range 1 + r.IntN(4)/3 + r.IntN(8)/7 {
			group = append(group, call{tools[r.IntN(3)], args[r.IntN(len(args))]})
		}
		p.Reference = append(p.Reference, group)
		p.Got = append(p.Got, slices.Clone(group))
	}
	for range r.IntN(3) {
		i := r.IntN(len(p.Got))
		switch g := p.Got[i]; r.IntN(5) {
		case 0:
			r.Shuffle(len(p.Got), func(i, j int) { p.Got[i], p.Got[j] = p.Got[j], p.Got[i] })
		case 1:
			p.Got = slices.Insert(p.Got, i, []call{{tools[r.IntN(3)], args[r.IntN(len(args))]}})
		case 2:
			if len(p.Got) > 1 {
				p.Got = slices.Delete(p.Got, i, i+1)
			}
		case 3:
			g[r.IntN(len(g))].Arguments = args[r.IntN(len(args))]
		case 4:
			slices.Reverse(g)
		}
	}
	return p
}

func calls(groups [][]call) (out []match.Call) {
	for i, g := range groups {
		for _, c := range g {
			out = append(out, match.Call{Tool: c.Tool, Arguments: trajectory.ParseValue(c.Arguments), Step: len(out), Together: i})
		}
	}
	return out
}

// ours is what pawl says.
func (p pair) ours(t testing.TB) bool {
	e, err := match.Setting{Mode: p.Mode, Arguments: p.Arguments, Tools: p.Tools}.Expect(calls(p.Reference))
	if err != nil {
		t.Fatal(err)
	}
	a := match.Matcher{}.Sequence(e, calls(p.Got))
	if len(a.Undecided) > 0 {
		t.Fatalf("%+v is undecided: %v", p, a.Undecided)
	}
	return a.Holds()
}

// explained says why agentevals may answer otherwise; "" where it may not.
func (p pair) explained(t testing.TB, theirs bool) string {
	modes := append(slices.Collect(maps.Values(p.Tools)), p.Arguments)
	oriented := slices.Contains(modes, "subset") || slices.Contains(modes, "superset")
	switch {
	case oriented && (p.Mode == "subset" || p.Mode == "unordered"):
		return "arguments compared the other way round"
	case p.Mode == "strict" && !theirs && !slices.EqualFunc(p.Reference, p.Got, func(a, b []call) bool { return len(a) == len(b) }):
		return "calls split into answers otherwise"
	case !theirs && oriented && p.ours(t):
		return "greedy pairing"
	}
	return ""
}

func cpu(t testing.TB) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func TestSideBySide(t *testing.T) {
	node, err := exec.LookPath("node")
	dir := os.Getenv("AGENTEVALS_DIR")
	if err != nil || dir == "" {
		t.Skip("needs node, and AGENTEVALS_DIR set to where `npm install agentevals` was run")
	}
	r := rand.New(rand.NewPCG(11, 12))
	var pairs []pair
	var lines bytes.Buffer
	for range 20000 {
		p := draw(r)
		pairs = append(pairs, p)
		if err := json.MarshalWrite(&lines, p, json.Deterministic(true)); err != nil {
			t.Fatal(err)
		}
		lines.WriteByte('\n')
	}
	file := filepath.Join(t.TempDir(), "pairs.jsonl")
	if err := os.WriteFile(file, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), node, "compare.mjs", dir, file).Output()
	if err != nil {
		t.Fatalf("node compare.mjs: %v", err)
	}
	var theirs struct {
		Holds     []bool  `json:"holds"`
		Evaluator float64 `json:"evaluator_ns"`
		Scorer    float64 `json:"scorer_ns"`
	}
	if err := json.Unmarshal(out, &theirs); err != nil || len(theirs.Holds) != len(pairs) {
		t.Fatalf("compare.mjs gave %d answers: %v", len(theirs.Holds), err)
	}
	before := cpu(t)
	ours := make([]bool, len(pairs))
	for i, p := range pairs {
		ours[i] = p.ours(t)
	}
	spent := float64(cpu(t)-before) / float64(len(pairs))
	prepared := against(t, pairs)
	count := map[string]int{}
	for i, p := range pairs {
		switch why := ""; {
		case ours[i] == theirs.Holds[i]:
			count[fmt.Sprintf("agree: %v", ours[i])]++
		default:
			if why = p.explained(t, theirs.Holds[i]); why == "" {
				t.Errorf("agentevals says %v, pawl %v: %+v", theirs.Holds[i], ours[i], p)
			}
			count["differ: "+why]++
		}
	}
	for _, k := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%6d  %s", count[k], k)
	}
	t.Logf("CPU a comparison: pawl %.1f µs, of which the run %.1f µs; agentevals' evaluator %.1f µs (ratios %.2f, %.2f), its comparison alone %.1f µs (%.2f, %.2f)",
		spent/1e3, prepared/1e3, theirs.Evaluator/1e3, spent/theirs.Evaluator, prepared/theirs.Evaluator, theirs.Scorer/1e3, spent/theirs.Scorer, prepared/theirs.Scorer)
}

// against is the CPU time of a comparison, in nanoseconds, where what is expected is made once, as a case holds it.
func against(t *testing.T, pairs []pair) float64 {
	expected := make([]*regcase.Trajectory, len(pairs))
	for i, p := range pairs {
		e, err := match.Setting{Mode: p.Mode, Arguments: p.Arguments, Tools: p.Tools}.Expect(calls(p.Reference))
		if err != nil {
			t.Fatal(err)
		}
		expected[i] = e
	}
	before := cpu(t)
	for i, p := range pairs {
		match.Matcher{}.Sequence(expected[i], calls(p.Got))
	}
	return float64(cpu(t)-before) / float64(len(pairs))
}
