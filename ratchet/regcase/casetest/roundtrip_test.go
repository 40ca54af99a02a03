package casetest

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Decode(Encode(c)) is c, and the bytes are canonical, for every case.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(2000) {
		want := Case(rand.New(rand.NewPCG(seed, 1)))
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
		again, err := regcase.Encode(got)
		if err != nil || !bytes.Equal(b, again) {
			t.Fatalf("seed %d: not canonical: %v\n%s\n---\n%s", seed, err, b, again)
		}
	}
}
