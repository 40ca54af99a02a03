// Package turn holds what people do to the cases of a set: quarantine, retire, waive, rename, and look at its health. All of it is pure: a case
// goes in and a case comes out, and what may not be done is an error that says what to do instead.
package turn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/verify"
)

// MaxQuarantine is how far ahead the review of a quarantine may lie, in days.
const MaxQuarantine = 14

// Quarantine takes an enforced case out of the way until a date: it still runs and does not block. The review date, yyyy-mm-dd, lies between
// today and MaxQuarantine days from now.
func Quarantine(c regcase.Case, owner, reason, review string, now time.Time) (regcase.Case, error) {
	if c.State.Name != regcase.Enforced {
		return c, fmt.Errorf("case %s is %s: only an enforced case can be quarantined, since no other blocks", c.ID, c.State.Name)
	}
	date, err := time.Parse(regcase.DateForm, review)
	if err != nil {
		return c, fmt.Errorf("the review date %q is not yyyy-mm-dd", review)
	}
	today := now.UTC().Truncate(24 * time.Hour)
	if latest := today.AddDate(0, 0, MaxQuarantine); date.Before(today) || date.After(latest) {
		return c, fmt.Errorf("the review date %s is not between today and %s: a quarantine lasts at most %d days", review, latest.Format(regcase.DateForm), MaxQuarantine)
	}
	c.State = regcase.State{Name: regcase.Quarantined, Owner: owner, Reason: reason, Review: review}
	return c, c.Check()
}

// Retire makes a case a tombstone: the file stays and is never run again.
func Retire(c regcase.Case, reason string) (regcase.Case, error) {
	if c.State.Name == regcase.Retired {
		return c, fmt.Errorf("case %s is retired already: %s", c.ID, c.State.Reason)
	}
	c.State = regcase.State{Name: regcase.Retired, Reason: reason}
	return c, c.Check()
}

// Waive returns the waiver that lets one field of a case go from its base value to its head value. Values too long to read are named by their
// digest. It is an error if the field is not looser, or if verify would not take the waiver.
func Waive(base, head *regcase.Case, field, reason, issue string, now time.Time) (regcase.Waiver, error) {
	looser := Looser(base, head, now)
	i := slices.IndexFunc(looser, func(d verify.Difference) bool { return d.Field == field })
	if i < 0 && len(looser) == 0 {
		return regcase.Waiver{}, fmt.Errorf("case %s is no looser than on the base: change it first, then waive what became looser", head.ID)
	}
	if i < 0 {
		var fields []string
		for _, d := range looser {
			fields = append(fields, d.Field)
		}
		return regcase.Waiver{}, fmt.Errorf("case %s: %s is no looser than on the base; looser are %s", head.ID, field, strings.Join(fields, ", "))
	}
	return Reason(looser[i], reason, issue)
}

// Reason is the waiver of a difference.
func Reason(d verify.Difference, reason, issue string) (regcase.Waiver, error) {
	w := regcase.Waiver{Field: d.Field, Base: named(d.Base), Head: named(d.Head), Reason: reason, Issue: issue}
	if why := verify.Unfit(w); why != "" {
		return w, fmt.Errorf("this waiver would waive nothing: %s", why)
	}
	return w, w.Check()
}

// Looser are the fields in which head does not hold what base did.
func Looser(base, head *regcase.Case, now time.Time) []verify.Difference {
	return slices.DeleteFunc(verify.Compare(base, head, now), func(d verify.Difference) bool { return d.Relation.Holds() })
}

// maxValue is how long a value may be that a waiver spells out, in bytes.
const maxValue = 300

func named(v regcase.JSON) regcase.JSON {
	if len(v) <= maxValue {
		return v
	}
	return regcase.NewJSON([]byte(`"` + verify.DigestOf(v) + `"`))
}
