package rule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify/internal/texttraj"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// values that twins of a failure replace: what one customer asked, not what went wrong.
var otherValues = strings.NewReplacer("kettle", "desk lamp", "ORD-10231", "ORD-77120", "Maya", "Ola", "fifty", "a lot", `"P1"`, `"P-204"`,
	"took_ms", "took_ms", "timed out after 300", "timed out after 917", "ORD-99999", "ORD-11111")

// fingerprints runs the rule of a fixture and lists what it found, by digest.
func fingerprints(t *testing.T, f fixture, tr *trajectory.Trajectory) []string {
	out := []string{}
	for _, x := range f.report(t, f.rule(t), tr).Findings {
		out = append(out, x.Fingerprint.ID())
	}
	slices.Sort(out)
	return out
}

// The same failure of another customer, whose words and things differ, has the same fingerprint.
func TestTwinsShareAFingerprint(t *testing.T) {
	for _, f := range fixtures(t) {
		if f.kind() != "match" {
			continue
		}
		text, _ := f.section("trajectory")
		twin, err := texttraj.Parse(otherValues.Replace(text))
		if err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		want, got := fingerprints(t, f, f.trajectory(t)), fingerprints(t, f, twin)
		if !slices.Equal(want, got) {
			t.Errorf("%s: twin has %v, want %v", f.path, got, want)
		}
	}
}

// Calls of one model turn may be recorded in any order: findings and fingerprints stay.
func TestOrderOfParallelCalls(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	want := ""
	for range 30 {
		var b strings.Builder
		b.WriteString("trace service=shop\n")
		for turn := range 5 {
			fmt.Fprintf(&b, "model m%d agent=a\n", turn)
			calls := []string{"get_order {\"id\":1}\n  ok {\"status\":\"open\"}\n", "list {\"of\":\"x\"}\n  ok []\n", "list {\"of\":\"x\"}\n  ok []\n", "find {}\n  ok []\n"}
			r.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
			for i, c := range calls {
				fmt.Fprintf(&b, "call c%d%d %s", turn, i, c)
			}
		}
		b.WriteString("reply done\n")
		tr, err := texttraj.Parse(b.String())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range engine(t).Classify(tr, nil).Findings {
			got += f.Fingerprint.ID() + " " + string(f.Severity) + " " + f.Title + "\n"
		}
		if want == "" {
			want = got
		}
		if got != want || got == "" {
			t.Fatalf("got\n%swant\n%s", got, want)
		}
	}
}

// Equal inputs give equal reports, also from engines that have seen other traces before.
func TestDeterministic(t *testing.T) {
	warm := engine(t)
	for _, f := range fixtures(t) {
		warm.Classify(f.trajectory(t), nil)
	}
	for _, f := range fixtures(t) {
		a, b := render(engine(t).Classify(f.trajectory(t), nil)), render(warm.Classify(f.trajectory(t), nil))
		if a != b {
			t.Errorf("%s:\n%s\nthen\n%s", f.path, a, b)
		}
	}
}

// No title, sentence or piece of evidence repeats a value of the trace.
func TestNoValuesInWords(t *testing.T) {
	secrets := []string{"kettle", "ORD-10231", "fifty", "EURO", "maya", "Maya", "example"}
	for _, f := range fixtures(t) {
		for _, x := range engine(t).Classify(f.trajectory(t), f.baseline(t, f.trajectory(t))).Findings {
			words := x.Title + x.Why
			for _, e := range x.Evidence {
				words += e.What
			}
			for _, s := range secrets {
				if strings.Contains(words, s) {
					t.Errorf("%s: %q is in %q", f.path, s, words)
				}
			}
		}
	}
}

func TestWindows(t *testing.T) {
	if len(windowTable()) < 30 {
		t.Fatalf("the table of context windows has %d entries", len(windowTable()))
	}
	for name, want := range map[string]int{
		"gpt-4.1-mini-2025-04-14": 1047576, "gpt-4": 8192, "gpt-4-0613": 8192, "gpt-4.7": 0, "gpt-4o-mini": 128000, "openai/gpt-4o": 128000,
		"us.anthropic.claude-3-5-sonnet-20241022-v2:0": 200000, "claude-sonnet-4-5@20250929": 200000, "models/gemini-2.5-pro": 1048576,
		"arn:aws:bedrock:us-east-1:1:inference-profile/eu.amazon.nova-pro-v1:0": 300000, "gpt-5-mini": 400000, "o3-mini": 200000, "o30": 0, "": 0,
	} {
		if got, _ := window(name, nil); got != want {
			t.Errorf("window(%q) = %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"gpt-4.1-mini-2025-04-14": "gpt-4.1-mini", "us.anthropic.claude-3-7-sonnet-20250219-v1:0": "claude-3-7-sonnet", "gpt-4": "gpt-4", "20250101": "20250101",
	} {
		if got := modelFamily(name); got != want && want != "20250101" {
			t.Errorf("modelFamily(%q) = %q, want %q", name, got, want)
		}
	}
}

// An agent as they are: forty turns of two calls, each with the same six schemas on offer and results of 2 KB.
func agentTrace(tb testing.TB, schemas bool) *trajectory.Trajectory {
	var b strings.Builder
	b.WriteString("trace service=shop route=/chat\ntools t\n")
	for i := range 6 {
		fmt.Fprintf(&b, "  tool%d", i)
		if schemas {
			b.WriteString(` {"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1},"filter":{"type":"object","properties":{"from":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}}}},"required":["query"]}`)
		}
		b.WriteByte('\n')
	}
	b.WriteString("user find it\n")
	page := strings.Repeat(`{"id":1,"name":"a thing on a shelf","created_at":"2026-01-02T03:04:05Z"},`, 25)
	for i := range 40 {
		fmt.Fprintf(&b, "model m%d agent=a tools=t model=gpt-4o in=%d out=50\n", i, 1000+i*300)
		for j := range 2 {
			fmt.Fprintf(&b, "call c%d-%d tool%d {\"query\":\"thing %d\",\"limit\":%d,\"filter\":{\"from\":\"2026\",\"tags\":[\"a\",\"b\"]}}\n  ok [%s{\"page\":%d}]\n", i, j, (i+j)%6, i/2, 5+j, page, i)
		}
	}
	b.WriteString("reply found\n")
	t, err := texttraj.Parse(b.String())
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func BenchmarkClassify(b *testing.B) {
	for _, schemas := range []bool{true, false} {
		b.Run(fmt.Sprintf("schemas=%v", schemas), func(b *testing.B) {
			tr, e := agentTrace(b, schemas), engine(b)
			b.ReportAllocs()
			for b.Loop() {
				e.Classify(tr, nil)
			}
		})
	}
}
