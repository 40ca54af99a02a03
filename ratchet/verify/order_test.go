package verify

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/regcase/casetest"
)

var today = time.Date(2026, 12, 10, 12, 0, 0, 0, time.UTC)

// seeds is how many cases a property is tried on.
const seeds = 200

func TestReflexive(t *testing.T) {
	for seed := range uint64(seeds) {
		c := casetest.Case(rand.New(rand.NewPCG(seed, 2)))
		d := clone(t, c)
		if ds := Compare(&c, &d, today); len(ds) > 0 {
			t.Fatalf("seed %d: a case differs from itself: %+v", seed, ds)
		}
	}
}

// TestAntisymmetric holds that two cases of which each is not looser than the other differ in nothing that counts.
func TestAntisymmetric(t *testing.T) {
	mutual, strict := 0, 0
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := casetest.Case(r)
		d := variant(t, r, c, 1+r.IntN(2))
		there, back := Compare(&c, &d, today), Compare(&d, &c, today)
		switch {
		case Holds(there) && Holds(back):
			mutual++
			if len(there) > 0 || len(back) > 0 {
				t.Fatalf("seed %d: each is stricter than the other: %+v, %+v", seed, there, back)
			}
		case Holds(there):
			strict++
			if Whole(back).Holds() {
				t.Fatalf("seed %d: stricter one way and not looser the other: %+v", seed, back)
			}
		}
	}
	if mutual < seeds/50 || strict < seeds/50 {
		t.Errorf("of %d pairs %d are equal and %d stricter: too few to show anything", seeds, mutual, strict)
	}
}

// TestTransitive holds that steps of which none loosens do not loosen together.
func TestTransitive(t *testing.T) {
	chains := 0
	for seed := range uint64(2 * seeds) {
		r := rand.New(rand.NewPCG(seed, 4))
		a := casetest.Case(r)
		b := rising(t, r, a)
		c := rising(t, r, b)
		ab, bc := Compare(&a, &b, today), Compare(&b, &c, today)
		if len(ab) == 0 || len(bc) == 0 || !Holds(ab) || !Holds(bc) {
			continue
		}
		chains++
		if ac := Compare(&a, &c, today); !Holds(ac) {
			t.Fatalf("seed %d:\n%+v\n%+v\ntogether\n%+v", seed, ab, bc, ac)
		}
	}
	if chains < seeds/4 {
		t.Errorf("only %d chains", chains)
	}
}

// rising looks for a variant that is not looser, and gives up after some tries.
func rising(t testing.TB, r *rand.Rand, c regcase.Case) regcase.Case {
	for range 20 {
		v := variant(t, r, c, 1+r.IntN(2))
		if ds := Compare(&c, &v, today); len(ds) > 0 && Holds(ds) {
			return v
		}
	}
	return c
}

func TestStates(t *testing.T) {
	quarantine := func(day string) regcase.State {
		return regcase.State{Name: regcase.Quarantined, Owner: "ana", Reason: "flaky", Review: day}
	}
	retired, pending, enforced := regcase.State{Name: regcase.Retired, Reason: "gone"}, regcase.State{Name: regcase.Pending}, regcase.State{Name: regcase.Enforced}
	soon, later, past := quarantine("2026-12-12"), quarantine("2026-12-20"), quarantine("2026-12-01")
	for _, c := range []struct {
		base, head regcase.State
		want       Relation
	}{
		{pending, enforced, Stricter}, {enforced, pending, Looser}, {pending, retired, Looser}, {retired, pending, Stricter}, {enforced, retired, Looser},
		{enforced, soon, Looser}, {soon, enforced, Stricter}, {soon, pending, Looser}, {soon, retired, Looser}, {pending, soon, Unordered}, {retired, soon, Unordered},
		{soon, later, Looser}, {later, soon, Stricter}, {past, soon, Looser}, {past, enforced, Equal}, {enforced, past, Equal}, {past, pending, Looser},
		{quarantine("2026-12-10"), quarantine("2026-12-10"), Equal},
	} {
		if got := stateRelation(c.base, c.head, today); got != c.want {
			t.Errorf("%v to %v is %s, want %s", c.base, c.head, got, c.want)
		}
	}
}
