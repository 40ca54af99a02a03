package verify

import (
	"maps"
	"slices"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Golden is what of a case written by hand is compared. It has no recording that could show whether another one is as strict: any change of it is
// another test.
type Golden struct {
	Path   string // of its file, inside the set
	Digest string // case digest
	State  string
}

func goldenOf(g regcase.GoldenCase) Golden {
	digest, err := g.Case.Digest()
	if err != nil {
		digest = err.Error() // equal to itself alone
	}
	return Golden{g.Path, digest, string(g.Case.State.Name)}
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
