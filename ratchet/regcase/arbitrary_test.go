package regcase_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/regcase/casetest"
)

// For every case: decoding gives back what was encoded, the bytes are canonical, and the published schema takes them.
func TestEveryCase(t *testing.T) {
	schema := regcase.Compiled(t, "case")
	for seed := range uint64(120) {
		want := casetest.Case(rand.New(rand.NewPCG(seed, 1)))
		b, err := regcase.Encode(want)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := regcase.Decode(b)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, b)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d: the decoded case differs (-want +got):\n%s\n%s", seed, d, b)
		}
		if again, err := regcase.Encode(got); err != nil || !bytes.Equal(b, again) {
			t.Fatalf("seed %d: not canonical: %v\n%s\n---\n%s", seed, err, b, again)
		}
		if err := regcase.Valid(t, schema, b); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, b)
		}
		if before, after := digest(t, want), digest(t, got); before != after {
			t.Fatalf("seed %d: digest %s became %s", seed, before, after)
		}
	}
}

// The digest is over what a case asserts and runs on, and over nothing else.
func TestDigestScope(t *testing.T) {
	c := casetest.Case(rand.New(rand.NewPCG(7, 7)))
	want := digest(t, c)
	free := map[string]func(*regcase.Case){
		"title": func(c *regcase.Case) { c.Title = "another" }, "state": func(c *regcase.Case) { c.State = regcase.State{Name: regcase.Retired, Reason: "x"} },
		"owner": func(c *regcase.Case) { c.Owner = new("eva") }, "provenance": func(c *regcase.Case) { c.Provenance.Count += 3 },
		"green": func(c *regcase.Case) { c.Green = &regcase.Green{Commit: "abcdef0", Passed: 1, Of: 1} },
	}
	for name, change := range free {
		x := c
		change(&x)
		if digest(t, x) != want {
			t.Errorf("%s changes the digest", name)
		}
	}
	bound := map[string]func(*regcase.Case){
		"input": func(c *regcase.Case) { c.Input.Turns = append(c.Input.Turns[:0:0], regcase.Turn{User: "other"}) }, "runs": func(c *regcase.Case) { c.Runs.N++ },
		"trace": func(c *regcase.Case) { c.Trace.SHA256 = regcase.SHA256([]byte("x")) }, "fixtures": func(c *regcase.Case) { c.Fixtures = append(c.Fixtures[:0:0], regcase.Fixture{Tool: "t"}) },
		"never":    func(c *regcase.Case) { c.Expect.Never = append(c.Expect.Never[:0:0], regcase.Never{Label: "x"}) },
		"liveness": func(c *regcase.Case) { c.Expect.Liveness.Reply = !c.Expect.Liveness.Reply },
	}
	for name, change := range bound {
		x := c
		change(&x)
		if digest(t, x) == want {
			t.Errorf("%s does not change the digest", name)
		}
	}
}

func digest(t *testing.T, c regcase.Case) string {
	t.Helper()
	d, err := c.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}
