package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/rename"
)

// Golden is what of a case written by hand is compared. It has no recording that could show whether another one is as strict: any change of it is
// another test.
type Golden struct {
	Path   string // of its file, inside the set
	Digest string // case digest
	State  string

	written regcase.Golden
}

func goldenOf(g regcase.GoldenCase) Golden {
	digest, err := g.Case.Digest()
	if err != nil {
		digest = err.Error() // equal to itself alone
	}
	return Golden{g.Path, digest, string(g.Case.State.Name), g.Golden}
}

// rename gives it the new name of a tool or a field. It refuses one that is in use already.
func (g Golden) rename(n regcase.Rename, id string) (Golden, error) {
	if string(canonical(rename.Golden(inverse(n), g.written))) != string(canonical(g.written)) {
		return g, fmt.Errorf("%s uses %s already: two names that become one are another test", id, n.To)
	}
	return goldenOf(regcase.NewGoldenCase(g.Path, rename.Golden(n, g.written))), nil
}

// goldens compares the cases written by hand. New ones, and those that now block, only tighten.
func (r *Report) goldens(base, head *Set) {
	for _, id := range slices.Sorted(maps.Keys(base.Goldens)) {
		was, is := base.Goldens[id], head.Goldens[id]
		d := Difference{Field: "/" + id, Base: canonical("sha256:" + was.Digest), Relation: Unordered}
		why := ""
		switch {
		case is.Digest == "":
			why = "the case is no longer there"
		case is.Digest != was.Digest:
			d.Head, why = canonical("sha256:"+is.Digest), "the case has changed: another test"
		case is.State != was.State && was.State == string(regcase.Enforced):
			d.Base, d.Head, why = canonical(was.State), canonical(is.State), "the case no longer blocks"
		default:
			continue
		}
		r.Findings = append(r.Findings, &Finding{Kind: Loosened, Path: head.Dir + "/" + was.Path, Difference: d, Why: why, Waivable: true})
	}
}
