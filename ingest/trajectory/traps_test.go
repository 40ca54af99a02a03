package trajectory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.opentelemetry.io/collector/pdata/plog"
)

// trap is one way in which real telemetry misleads its reader. The numbers count them in the order in which they were collected: 1 to 7
// are about counting, 8 to 18 about the shape of a trace, 19 to 27 about values, 28 to 38 about tools, 39 to 46 about transport, and 47
// is about documentation.
//
// A trap of this package has archives testdata/traps/NN-*.trap: the spans and records as they arrive, and what a correct reader makes of
// them. What another test holds is named, as "directory: test", below the module's root.
type trap struct {
	number int
	words  string
	held   []string
	not    string // why no test can hold it, or what of it none holds
}

const (
	builder_  = "ingest/trajectory: TestTrajectories"
	wire_     = "ingest/otlp/wire: TestTraps"
	receiver_ = "ingest/otlp: TestTraps"
)

var traps = []trap{
	{1, "an agent's total beside the counts of its calls", nil, ""},
	{2, "two instrumentations of one call", nil, ""},
	{3, "cached tokens within the input's count, or beside it", nil, ""},
	{4, "parts of a count beside the count", nil, ""},
	{5, "growing snapshots of one span", []string{"ingest/trajectory: TestIntakeKeepsTheBestVersion", "ingest/assemble: TestVersionsOfASpan"}, ""},
	{6, "retries, of which each costs", nil, "LiveKit's attempts that failed are not counted: only the request around them is"},
	{7, "numbers as text, as NaN, as null", []string{wire_}, ""},
	{8, "a root that is never exported", []string{"ingest/assemble: TestCompleteWhen"}, ""},
	{9, "parents of another service that never come", nil, ""},
	{10, "orphans that nothing ever joins", []string{"ingest/assemble: TestCompleteWhen"}, ""},
	{11, "a conversation of many traces, and a trace without an end", []string{"ingest/assemble: TestMaxAgeMarksTruncated", "ingest/assemble: TestLimits"},
		"span links join no traces, and a long trace is cut by age and size, not by turn"},
	{12, "a wait for a person that looks like an error", []string{builder_}, ""},
	{13, "a stream's span that never ends", []string{builder_}, ""},
	{14, "spans that come late", []string{"ingest/assemble: TestLateSpanMakesANewRevision", "ingest/trajectory: TestOrderAndDuplicationDoNotMatter"}, ""},
	{15, "spans that come twice", []string{"ingest/assemble: TestAnyOrderAnyCopiesAnySplit", "ingest/trajectory: TestOrderAndDuplicationDoNotMatter"}, ""},
	{16, "clocks that disagree", nil, ""},
	{17, "limits on attributes and events", nil, ""},
	{18, "indexed keys with holes, and with absurd indexes", nil, ""},
	{19, "JSON that a limit cut", []string{"ingest/trajectory: TestCutListsKeepWhatIsWhole", "ingest/trajectory: TestParseValue"}, ""},
	{20, "JSON text in JSON text, by the emitter or by the model", nil, ""},
	{21, "Python's way to print a value", []string{"ingest/trajectory: TestParseValue"}, ""},
	{22, "tools that take free text", nil, ""},
	{23, "parts that have two names for one thing", []string{"ingest/trajectory: TestParseMessages"}, ""},
	{24, "finish reasons in every container", nil, ""},
	{25, "text where a list is expected, and null beside calls", nil, ""},
	{26, "secrets among the attributes", []string{"ingest/otlp/wire: TestTrapOfSecrets", "ingest/otlp/wire: TestScrub"}, "hashes of keys, addresses and URLs go only where the configuration names them"},
	{27, "bytes that are no text", []string{wire_, "ingest/otlp/wire: TestDecodeMendsProtobuf"}, ""},
	{28, "arguments of several calls in one text", nil, ""},
	{29, "results in another order than their calls", nil, ""},
	{30, "call ids that are empty, a word for nothing, or used twice", nil, ""},
	{31, "tools without a span, or with a span that says little", nil, ""},
	{32, "one call told three times", nil, ""},
	{33, "tools that are a framework's own", nil, ""},
	{34, "a call sent before its input was known, and again after", []string{"classify/rule: TestRules"}, ""},
	{35, "arguments that fit the schema and lost their meaning", []string{"classify/rule: TestRules"}, "that 240 should have been 240.98 no rule on the schema can see"},
	{36, "a failure whose span says OK", []string{builder_}, ""},
	{37, "spans of the protocol inside the span of the tool", []string{builder_}, ""},
	{38, "hand-offs without names", nil, ""},
	{39, "ids in another encoding", []string{wire_, "ingest/otlp/wire: TestJSONIDs"}, ""},
	{40, "an answer in another encoding than the request", []string{receiver_}, ""},
	{41, "messages beyond the usual 4 MiB", []string{receiver_, "ingest/otlp: TestTrapOfLargeMessages"}, ""},
	{42, "compression, announced and not", []string{receiver_, "ingest/otlp: TestGRPCAcceptsEveryCompression"}, ""},
	{43, "bodies of unknown length", []string{receiver_}, ""},
	{44, "partial success for what can never be stored alone", []string{receiver_, "ingest/otlp: TestGRPCPartialSuccess"}, ""},
	{45, "refusals that the sender takes for final", []string{receiver_, "ingest/otlp: TestGRPCBackPressure"}, ""},
	{46, "senders that give up soon", []string{"ingest/otlp: TestRealExporters"}, "how soon the answer comes depends on the disk: it is measured under load, not tested"},
	{47, "documentation that differs from what is sent", []string{"ingest/trajectory: TestCaptures", "ingest/trajectory: TestCapturesFacts"}, "captures of real SDKs are the test, where they are at hand"},
}

func trapFiles(t testing.TB, number string) []string {
	files, err := filepath.Glob("testdata/traps/" + number + "-*.trap")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Every archive's trajectories hold what its lines want: a path into the list of them, the first where it names none, and the value. In a path
// * is all elements and # their number.
func TestTraps(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 5))
	for _, file := range trapFiles(t, "*") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".trap"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil || len(ar.Files) != 2 || ar.Files[0].Name != "trace" || ar.Files[1].Name != "want" {
				t.Fatalf("want an archive of a trace and what is wanted: %v", err)
			}
			tds, ld := fixture(t, ar.Files[0].Data)
			logs := []plog.Logs{ld}
			var docs []any
			for _, tr := range FromOTLP(tds, logs) {
				docs = append(docs, document(t, Build(tr)))
			}
			checkWants(t, docs, ar.Files[1].Data)
			sameInAnyOrder(t, file, rnd, tds, logs)
		})
	}
}

func document(t testing.TB, x *Trajectory) any {
	out, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return decodeJSON(t, out)
}

func decodeJSON(t testing.TB, data []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

func checkWants(t *testing.T, docs []any, wants []byte) {
	n := 0
	for line := range strings.Lines(string(wants)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		n++
		path, value, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("no path and value: %s", line)
		}
		steps := strings.Split(strings.TrimPrefix(path, "/"), "/")
		if _, err := strconv.Atoi(steps[0]); err != nil && steps[0] != "*" && steps[0] != "#" {
			steps = append([]string{"0"}, steps...)
		}
		want, got := decodeJSON(t, []byte(value)), walk(docs, steps)
		if !reflect.DeepEqual(got, want) {
			text, _ := json.Marshal(got)
			t.Errorf("%s: got %s, want %s", path, text, value)
		}
	}
	if n == 0 {
		t.Fatal("nothing is wanted")
	}
}

// walk follows a path; what is not there is the text "absent".
func walk(v any, steps []string) any {
	if len(steps) == 0 {
		return v
	}
	list, isList := v.([]any)
	switch step := steps[0]; {
	case isList && step == "#":
		return json.Number(strconv.Itoa(len(list)))
	case isList && step == "*":
		out := make([]any, len(list))
		for i, e := range list {
			out[i] = walk(e, steps[1:])
		}
		return out
	case isList:
		if i, err := strconv.Atoi(step); err == nil && i < len(list) {
			return walk(list[i], steps[1:])
		}
	default:
		if m, ok := v.(map[string]any); ok {
			if e, there := m[step]; there {
				return walk(e, steps[1:])
			}
		}
	}
	return "absent"
}

// Every trap has a number, and a test or a reason why there is none; the tests that are named exist.
func TestEveryTrapIsHeld(t *testing.T) {
	for i, tr := range traps {
		if tr.number != i+1 {
			t.Errorf("trap %d stands in place %d", tr.number, i+1)
		}
		if len(trapFiles(t, fmt.Sprintf("%02d", tr.number))) == 0 && len(tr.held) == 0 {
			t.Errorf("trap %d (%s) has no archive and names no test", tr.number, tr.words)
		}
		for _, name := range tr.held {
			dir, test, _ := strings.Cut(name, ": ")
			if !slices.Contains(testsOf(t, dir), test) {
				t.Errorf("trap %d: there is no %s in %s", tr.number, test, dir)
			}
		}
	}
	for _, file := range trapFiles(t, "*") {
		number, _, _ := strings.Cut(filepath.Base(file), "-")
		if n, err := strconv.Atoi(number); err != nil || n < 1 || n > len(traps) {
			t.Errorf("%s is of no trap", file)
		}
	}
}

// testsOf lists the tests of a package, by its directory below the module's root.
func testsOf(t *testing.T, dir string) (names []string) {
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
