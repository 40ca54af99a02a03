package main

import (
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/ratchet/verify"
)

// printVerified shows a report: as JSON a line for each finding and note, then one with the counts.
func (a *app) printVerified(r *verify.Report, f verifyFlags) error {
	switch {
	case a.json:
		return a.printVerifiedJSON(r, f)
	case f.format == "github":
		_, err := fmt.Fprint(a.stdout, annotations(r, f.noWaivers), counted(r, f))
		return err
	}
	_, err := fmt.Fprint(a.stdout, verifiedText(r, f.noWaivers, f.base, verify.WaiversOf(a.file())), counted(r, f))
	return err
}

func (a *app) printVerifiedJSON(r *verify.Report, f verifyFlags) error {
	for _, v := range r.Findings {
		if err := a.printJSON(struct {
			Kind    string `json:"kind"`
			Finding any    `json:"finding"`
			Open    bool   `json:"open"`
		}{"finding", v, v.Waiver == nil || f.noWaivers}); err != nil {
			return err
		}
	}
	for _, n := range r.Notes {
		if err := a.printJSON(struct {
			Kind string `json:"kind"`
			verify.Note
		}{"note", n}); err != nil {
			return err
		}
	}
	return a.printJSON(struct {
		Kind      string `json:"kind"`
		Base      string `json:"base"`
		Cases     int    `json:"cases"`
		New       int    `json:"new"`
		Tightened int    `json:"tightened"`
		Loosened  int    `json:"loosened"`
		Waived    int    `json:"waived"`
	}{"summary", f.base, r.Cases, r.New, r.Tightened, len(r.Open(f.noWaivers)), len(r.Findings) - len(r.Open(f.noWaivers))})
}

func verifiedText(r *verify.Report, noWaivers bool, base, waivers string) string {
	var b strings.Builder
	for _, f := range r.Findings {
		state := string(f.Kind)
		if f.Waiver != nil && !noWaivers {
			state = "waived"
		}
		fmt.Fprintf(&b, "%-11s %s\n", state, shown(subjectOf(f)))
		fmt.Fprintf(&b, "            %s\n", shown(f.Why))
		if f.Waiver != nil {
			fmt.Fprintf(&b, "            waived because: %s (%s)\n", shown(f.Waiver.Reason), shown(f.Waiver.Issue))
		} else if try := remedyOf(f, base, waivers); try != "" {
			fmt.Fprintf(&b, "            %s\n", try)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "%-11s %s\n", "note", shown(strings.TrimSpace(n.Path+"  "+n.Text)))
	}
	return b.String()
}

func subjectOf(f *verify.Finding) string {
	switch {
	case f.Case != "":
		return f.Case
	case f.Path != "":
		return f.Path
	}
	return "the whole change"
}

// remedyOf says how a loosening may be let through, if it may.
func remedyOf(f *verify.Finding, base, waivers string) string {
	switch {
	case !f.Waivable:
		return ""
	case f.Case == "":
		return "if it is meant: an entry in " + waivers + " with field, base, head, reason and issue"
	}
	return fmt.Sprintf("if it is meant: pawl waive %s --field %s --base %s --reason ... --issue ...", f.Case, f.Field, shown(base))
}

func counted(r *verify.Report, f verifyFlags) string {
	open := len(r.Open(f.noWaivers))
	verdict := "nothing is looser"
	if open > 0 {
		verdict = fmt.Sprintf("%d loosened", open)
	}
	if waived := len(r.Findings) - open; waived > 0 {
		verdict += fmt.Sprintf(", %d waived", waived)
	}
	return fmt.Sprintf("%s against %s: %s of base, %d tightened, %d new\n", verdict, shown(f.base), plural(r.Cases, "case"), r.Tightened, r.New)
}

// annotations are workflow commands of GitHub Actions: an error for what is open, a warning for what is waived, a notice for notes.
func annotations(r *verify.Report, noWaivers bool) string {
	var b strings.Builder
	for _, f := range r.Findings {
		level, why := "error", f.Why
		if f.Waiver != nil {
			why += " (waived because: " + f.Waiver.Reason + ", " + f.Waiver.Issue + ")"
			if !noWaivers {
				level = "warning"
			}
		}
		fmt.Fprintf(&b, "::%s file=%s,title=%s::%s\n", level, property(f.Path), property("pawl verify: "+string(f.Kind)+" "+subjectOf(f)), data(shown(why)))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "::notice file=%s,title=pawl verify::%s\n", property(n.Path), data(shown(n.Text)))
	}
	return b.String()
}

func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
