package verify

import (
	"fmt"
	"slices"
	"strings"
)

// maxLoosened is how many cases one change may loosen, each with its waiver.
const maxLoosened = 3

// bulk refuses a change that loosens many cases at once, waived or not: a reviewer looks at three waivers and waves at thirty.
func (r *Report) bulk(base, head Version) {
	var cases []string
	for _, f := range r.Findings {
		if f.Case != "" && !slices.Contains(cases, f.Case) && !exempt(f, base, head) {
			cases = append(cases, f.Case)
		}
	}
	if len(cases) <= maxLoosened {
		return
	}
	slices.Sort(cases)
	r.Findings = append(r.Findings, &Finding{Kind: Bulk, Why: fmt.Sprintf("%d cases are loosened at once, and %d may be, whatever is waived: %s. Loosen them in changes of their own",
		len(cases), maxLoosened, strings.Join(cases[:min(len(cases), 10)], ", "))})
}

func exempt(*Finding, Version, Version) bool { return false }
