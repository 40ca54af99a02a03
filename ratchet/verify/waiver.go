package verify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Waiver is the stated reason for one loosening: one field of one case, from this value to that one, once. A value that is long may be named by its
// digest, "sha256:" and the hex of its canonical JSON. It counts only in the change that brings it: what base already holds has been used.
type Waiver = regcase.Waiver

// apply gives each loosening of one place the first unused waiver that names exactly it. It returns a finding for each that waives nothing: once base
// holds it, a later change could lean on it.
func apply(findings []*Finding, waivers []Waiver, id, path string) (idle []*Finding) {
	var used []*Finding
	for i, w := range waivers {
		if w.Field == bulkField && id == "" {
			continue // it lists cases, for bulk
		}
		say := func(why string) {
			idle = append(idle, &Finding{Kind: Idle, Case: id, Path: path, Difference: Difference{Field: w.Field, Base: w.Base, Head: w.Head, Relation: Unordered},
				Why: fmt.Sprintf("waiver %d of this change, of %s, waives nothing: %s", i+1, w.Field, why)})
		}
		if why := Unfit(w); why != "" {
			say(why)
			continue
		}
		j := slices.IndexFunc(findings, func(f *Finding) bool {
			return f.Waivable && !slices.Contains(used, f) && f.Field == w.Field && names(w, f)
		})
		if j < 0 {
			say(astray(findings, used, w))
			continue
		}
		findings[j].Waiver = &waivers[i]
		used = append(used, findings[j])
	}
	return idle
}

// issues are what an issue or link looks like: a URL, #12, owner/repo#12, ABC-12.
var issues = regexp.MustCompile(`^(https?://[^\s/]+/\S+|([\w.-]+/[\w.-]+)?#[0-9]+|[A-Z][A-Z0-9]+-[0-9]+)$`)

// minReason is how many letters a reason needs to be one.
const minReason = 8

// Unfit says why a waiver is none, "" if it is one.
func Unfit(w Waiver) string {
	letters := 0
	for _, r := range w.Reason {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	switch {
	case strings.TrimSpace(w.Reason) == "":
		return "it has no reason"
	case letters < minReason && !slices.ContainsFunc([]rune(w.Reason), func(r rune) bool { return r > 0x2e80 && unicode.IsLetter(r) }):
		return fmt.Sprintf("%q is no reason that a reviewer could dispute", w.Reason)
	case !issues.MatchString(w.Issue):
		return fmt.Sprintf("%q is no issue or link, such as #12, ABC-12 or https://...", w.Issue)
	}
	return ""
}

func names(w Waiver, f *Finding) bool { return means(w.Base, f.Base) && means(w.Head, f.Head) }

// means says that a waiver's value is this one, or its digest.
func means(named, value regcase.JSON) bool {
	return string(canonical(named)) == string(canonical(value)) || string(named) == `"`+DigestOf(value)+`"`
}

// DigestOf is how a long value may be named in a waiver.
func DigestOf(value regcase.JSON) string {
	if value == nil {
		value = regcase.JSON("null")
	}
	return "sha256:" + regcase.SHA256(value)
}

// astray says why a waiver found nothing to waive.
func astray(findings, used []*Finding, w Waiver) string {
	i := slices.IndexFunc(findings, func(f *Finding) bool { return f.Field == w.Field })
	switch {
	case i < 0:
		return w.Field + " is not loosened here; a waiver names one field of the case in whose folder it lies"
	case !findings[i].Waivable:
		return findings[i].Why + ": that cannot be waived"
	case slices.Contains(used, findings[i]):
		return w.Field + " is waived by an earlier one already"
	}
	return fmt.Sprintf("%s goes from %s to %s, and the waiver says from %s to %s", w.Field, Short(findings[i].Base), Short(findings[i].Head), Short(w.Base), Short(w.Head))
}

// Short is a value as a person reads it.
func Short(v regcase.JSON) string {
	const most = 120
	s := string(v)
	if v == nil {
		s = "nothing"
	}
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "... (" + DigestOf(v)[:19] + ")"
	}
	return s
}
