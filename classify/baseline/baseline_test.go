package baseline

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

var key = Key{"shop", "support", "POST /chat"}

func run(k Key, v float64) Run {
	return Run{Key: k, Values: map[Metric]float64{FreshTokens: v, ToolCalls: math.Floor(v / 1000)}}
}

func runs(r *rand.Rand, n int) []Run {
	out := make([]Run, n)
	for i := range out {
		k := key
		if r.IntN(4) == 0 {
			k.Route = "GET /health"
		}
		out[i] = run(k, math.Round(math.Exp(6+2*r.NormFloat64())))
	}
	return out
}

func learn(rs ...Run) *Baseline {
	b := New()
	for _, r := range rs {
		b.Learn(r)
	}
	return b
}

func bytesOf(t *testing.T, b *Baseline) string {
	t.Helper()
	var out bytes.Buffer
	if err := b.Snapshot().Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Merging is commutative and associative, and equals learning everything in one go, in any order: bit for bit, around the size at which
// samples become bins too.
func TestMergeProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		a, b, c := runs(r, r.IntN(300)), runs(r, r.IntN(300)), runs(r, r.IntN(300))
		all := slices.Concat(a, b, c)
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		want := bytesOf(t, learn(all...))
		left := learn(a...)
		left.Merge(learn(b...))
		left.Merge(learn(c...))
		right := learn(c...)
		bc := learn(b...)
		bc.Merge(right)
		ab := learn(a...)
		ab.Merge(bc)
		if got := bytesOf(t, left); got != want {
			t.Fatalf("(a+b)+c differs from learning all: %d, %d, %d runs", len(a), len(b), len(c))
		}
		if got := bytesOf(t, ab); got != want {
			t.Fatalf("a+(b+c) differs from learning all: %d, %d, %d runs", len(a), len(b), len(c))
		}
	}
}

func TestMergeLeavesTheOtherAlone(t *testing.T) {
	a, b := learn(run(key, 1), run(key, 2)), learn(run(key, 3))
	before := bytesOf(t, b)
	a.Merge(b)
	a.Learn(run(key, 4))
	if bytesOf(t, b) != before {
		t.Error("merging changed its argument")
	}
	s := a.Snapshot()
	digest := s.Digest()
	a.Learn(run(key, 5))
	if s.Stats(key, FreshTokens).N != 4 || s.Digest() != digest {
		t.Error("learning changed a snapshot")
	}
}

func TestStatsExact(t *testing.T) {
	s := learn(run(key, 10), run(key, 30), run(key, 20), run(key, 1000)).Snapshot()
	got := s.Stats(key, FreshTokens)
	if got != (Stats{N: 4, Median: 25, MAD: 10, P95: 1000}) {
		t.Errorf("Stats = %+v", got)
	}
	if got := s.Stats(Key{Service: "other"}, FreshTokens); got.N != 0 {
		t.Errorf("Stats of an unknown key = %+v", got)
	}
	if got := (*Snapshot)(nil).Stats(key, FreshTokens); got.N != 0 {
		t.Errorf("Stats of no snapshot = %+v", got)
	}
}

// Beyond the exact sample the median stays within the width of a bin.
func TestStatsBinned(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var rs []Run
	var vs []float64
	for range 2000 {
		v := 500 + 10000*r.Float64()
		rs, vs = append(rs, run(key, v)), append(vs, v)
	}
	slices.Sort(vs)
	want := (vs[999] + vs[1000]) / 2
	got := learn(rs...).Snapshot().Stats(key, FreshTokens)
	if math.Abs(got.Median-want)/want > 0.02 || got.N != 2000 {
		t.Errorf("median %v of %d, want %v within 2 %%", got.Median, got.N, want)
	}
}

// Leaving one out equals never having learnt it.
func TestWithout(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 40 {
		rs := runs(r, 2+r.IntN(40))
		s := learn(rs...).Snapshot()
		for i, x := range rs {
			want := learn(slices.Delete(slices.Clone(rs), i, i+1)...).Snapshot().Stats(x.Key, FreshTokens)
			if got := s.Without(x).Stats(x.Key, FreshTokens); got != want {
				t.Fatalf("Without run %d: %+v, want %+v", i, got, want)
			}
		}
	}
	big := learn(runs(r, 1000)...)
	n := big.Snapshot().Stats(key, FreshTokens).N
	if got := big.Snapshot().Without(run(key, 403)).Stats(key, FreshTokens); got.N != n-1 {
		t.Errorf("Without on bins: N = %d, want %d", got.N, n-1)
	}
}

func TestFileRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, 50, 400, 3000} {
		rs := append(runs(r, n), run(key, 0), run(key, 1e-320))
		b := learn(rs...)
		text := bytesOf(t, b)
		back, err := Read(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%d runs: %v", n, err)
		}
		if bytesOf(t, back) != text || back.Snapshot().Digest() != b.Snapshot().Digest() {
			t.Errorf("%d runs: reading what was written gives another baseline", n)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	head := `{"version":1,"accuracy":0.01,"routes":[{"service":"s","agent":"","route":"r","runs":2,"metrics":`
	for in, want := range map[string]string{
		`{`: "read baseline",
		`{"version":2,"accuracy":0.01,"routes":[]}`:                      "learn it again",
		`{"version":1,"accuracy":0.01,"routes":[],"rutes":1}`:            "rutes",
		head + `{"fresh_tokens":{"n":3,"values":[1,2]}}}]}`:              "add up",
		head + `{"fresh_tokens":{"n":3,"values":[1,2,3]}}}]}`:            "more values than runs",
		head + `{"fresh_tokens":{"n":2,"values":[-1,2]}}}]}`:             "add up",
		head + `{"tokens":{"n":2,"values":[1,2]}}}]}`:                    "unknown metric",
		head + `{"fresh_tokens":{"n":2,"values":[1],"bins":[[3,1]]}}}]}`: "values and bins",
		head + `{"fresh_tokens":{"n":1,"bins":[[999999999,1]]}}}]}`:      "bin 999999999",
	} {
		if _, err := Read(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%s) = %v, want an error with %q", in, err, want)
		}
	}
}

// Whatever is accepted is written back to itself.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"version":1,"accuracy":0.01,"routes":[{"service":"s","agent":"","route":"r","runs":2,"metrics":{"fresh_tokens":{"n":2,"values":[1,2]}}}]}`))
	f.Add([]byte(`{"version":1,"accuracy":0.01,"routes":[{"service":"s","agent":"","route":"r","runs":9,"metrics":{"tool_calls":{"n":3,"zeros":1,"bins":[[35,2]]}}}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		b, err := Read(bytes.NewReader(in))
		if err != nil {
			return
		}
		text := bytesOf(t, b)
		back, err := Read(strings.NewReader(text))
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, text)
		}
		if bytesOf(t, back) != text {
			t.Errorf("not stable:\n%s", text)
		}
	})
}

func TestMeasure(t *testing.T) {
	call := func(in, out int64) trajectory.ModelCall {
		return trajectory.ModelCall{Usage: trajectory.Usage{Input: &in, Output: &out}}
	}
	cached := call(1000, 10)
	cached.Usage.CacheRead = new(int64(900))
	tr := &trajectory.Trajectory{Service: "shop", Agents: []string{"a", "b"}, Route: "r", ModelCalls: []trajectory.ModelCall{call(100, 5), cached}}
	got := Measure(tr)
	want := map[Metric]float64{TotalTokens: 1115, FreshTokens: 215, FreshInput: 200, Output: 15, ToolCalls: 0}
	for m, v := range want {
		if got.Values[m] != v {
			t.Errorf("%s = %v, want %v", m, got.Values[m], v)
		}
	}
	if _, ok := got.Values[Cost]; ok || got.Key != (Key{"shop", "a", "r"}) {
		t.Errorf("Measure = %+v", got)
	}
	tr.ModelCalls = append(tr.ModelCalls, trajectory.ModelCall{})
	if _, ok := Measure(tr).Values[FreshTokens]; ok {
		t.Error("tokens are told although one call does not tell its own")
	}
	tr.ModelCalls[2].Error = &trajectory.Error{Message: "503"}
	if Measure(tr).Values[FreshTokens] != 215 {
		t.Error("a failed call without usage hides the tokens of the others")
	}
}
