package regcase

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/classify"
)

func example() Case {
	v, m, d := "1.4.2", "gpt-4.1-mini", SHA256(nil)
	n := int64(1200)
	fault := "missing"
	fp := classify.NewFingerprint("loop", "shop", "support", classify.Names("tools", "get_order"), classify.Number("period", 1), classify.Word("result", "same"))
	return Case{
		APIVersion: APIVersion, Kind: Kind, ID: fp.ID(), Title: `get_order called 6 times with the same arguments`, Form: "never",
		State: State{Name: Pending}, Labels: []string{"loop"}, Fingerprint: fp,
		Provenance: Provenance{Source: "rule", Rule: "loop@1", Confidence: 0.98, Count: 7,
			FirstSeen: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC), LastSeen: time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC),
			Traces: []string{"4372ae70aab4ee897bf3c724bf6b44dc"}, Redactor: "1", Redactions: map[string]int{"email": 2, "card": 1}, Kills: []string{}},
		Context: Context{Service: "shop", ServiceVersion: &v, Model: &m},
		Input:   Input{Mode: "recorded", Variables: map[string]string{}, Facts: []string{}, Turns: []Turn{{User: "line one\nline two: - {not yaml} #\n"}, {User: "yes"}, {User: " leading \u2028 and trailing "}}},
		Tools:   []Tool{{Name: "get_order", SchemaSHA256: &d, Effect: "read", Execution: NewJSON([]byte(`{"llm":"never"}`))}},
		Fixtures: []Fixture{
			{Tool: "get_order", Arguments: NewJSON([]byte(`{"order_id":"ORD-1","n":12345678901234567890,"price":1.50}`)), Result: NewJSON([]byte(`plain: text`)), From: "recording"},
			{Tool: "refund", Arguments: NewJSON([]byte(`{}`)), Fault: &fault, From: "recording"},
		},
		Expect: Expect{Never: []Never{{Label: "loop", Rule: "loop@1", Params: NewJSON([]byte(`{"match":5}`))}}, Liveness: Liveness{true, true, []string{}, 0},
			Criteria: []Criterion{}, Budget: &Budget{TotalTokens: &n, Tolerance: 0.2, Baseline: "x"}},
		Runs: Runs{5, "soft", 0.8}, Weak: true, Trace: TraceFile{JSONFile, SHA256([]byte("{}"))},
	}
}

func TestRoundTrip(t *testing.T) {
	want := example()
	b, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("decoded case differs (-want +got):\n%s\n%s", d, b)
	}
	again, err := Encode(got)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, again) {
		t.Errorf("bytes are not canonical:\n%s\n---\n%s", b, again)
	}
}

func TestStates(t *testing.T) {
	for _, s := range []State{{Name: Enforced}, {Name: Quarantined, Owner: "ana", Reason: "flaky", Review: "2026-12-10"}, {Name: Retired, Reason: "tool removed"}} {
		c := example()
		c.State = s
		b, err := Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b)
		if err != nil || got.State != s {
			t.Errorf("state %+v came back as %+v, %v", s, got.State, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, err := Encode(example())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ from, to, want string }{
		"newer version":        {"pawl/v1\n", "pawl/v9\n", "a newer pawl wrote it"},
		"unknown key":          {"owner: null", "owner: null\nsurprise: 1", "surprise"},
		"unknown state":        {"state: pending", "state: asleep", "asleep"},
		"quarantine by nobody": {"state: pending", "state: {quarantined: {reason: x, review: 2026-12-01}}", "owner"},
		"path as id":           {"\nid: loop-", "\nid: ../loop-", "case id"},
		"path as label":        {"- loop\n", "- ../loop\n", "label"},
		"edited fingerprint":   {"period: 1", "period: 2", "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(string(good), c.from, c.to, 1)
			if bad == string(good) {
				bad = strings.Replace(string(good), strings.ReplaceAll(c.from, ": ", `": `), strings.ReplaceAll(c.to, ": ", `": `), 1)
			}
			if bad == string(good) {
				t.Fatalf("%q is not in\n%s", c.from, good)
			}
			_, err := Decode([]byte(bad))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestDigestIgnoresWhatIsOutside(t *testing.T) {
	c := example()
	base, err := c.Digest()
	if err != nil {
		t.Fatal(err)
	}
	c.Title, c.State, c.Provenance.Count = "other", State{Name: Enforced}, 99
	if d, _ := c.Digest(); d != base {
		t.Error("title, state or provenance changed the digest")
	}
	c.Expect.Never[0].Params = NewJSON([]byte(`{"match":6}`))
	if d, _ := c.Digest(); d == base {
		t.Error("a frozen parameter did not change the digest")
	}
}

func TestWriteKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c, did, err := Write(root, example(), []byte(`{"resourceSpans":[]}`))
	if err != nil || did != Created {
		t.Fatalf("first write: %v %v", did, err)
	}
	changed := example()
	changed.Title = "a later specimen"
	if _, did, err = Write(root, changed, []byte(`{}`)); err != nil || did != Known {
		t.Fatalf("same fingerprint: %v %v", did, err)
	}
	got, err := Read(root, c.Dir())
	if err != nil || got.Title != example().Title {
		t.Errorf("the first case was overwritten: %q, %v", got.Title, err)
	}

	// Another failure that holds the id pushes the newcomer to a longer one.
	other := example()
	other.Fingerprint = classify.NewFingerprint("loop", "shop", "support", classify.Names("tools", "other"))
	forged, _ := Encode(func() Case {
		x := other
		x.ID = example().ID
		x.Fingerprint.Aliases = []string{example().Fingerprint.Digest()}
		return x
	}())
	if err := os.WriteFile(filepath.Join(dir, "loop", c.ID, CaseFile), forged, 0o644); err != nil {
		t.Fatal(err)
	}
	c2, did, err := Write(root, example(), []byte(`{}`))
	if err != nil || did != Created || len(c2.ID) != len(c.ID)+2 {
		t.Errorf("collision: id %q (was %q), %v, %v", c2.ID, c.ID, did, err)
	}
}

func TestReadStaysInsideTheSet(t *testing.T) {
	outside := t.TempDir()
	b, _ := Encode(example())
	if err := os.WriteFile(filepath.Join(outside, CaseFile), b, 0o644); err != nil {
		t.Fatal(err)
	}
	set := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(set, "link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(set)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := Read(root, "link"); err == nil {
		t.Error("a link out of the set was followed")
	}
	if _, err := Read(root, "nowhere"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
}

func FuzzDecode(f *testing.F) {
	b, err := Encode(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Decode(b)
		if err != nil {
			return
		}
		canonical, err := Encode(c)
		if err != nil {
			t.Fatalf("decoded case cannot be encoded: %v", err)
		}
		again, err := Decode(canonical)
		if err != nil {
			t.Fatalf("canonical bytes do not decode: %v\n%s", err, canonical)
		}
		if twice, _ := Encode(again); !bytes.Equal(canonical, twice) {
			t.Fatalf("not canonical:\n%s\n---\n%s", canonical, twice)
		}
	})
}
