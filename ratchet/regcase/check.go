package regcase

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/classify"
)

var (
	validID    = regexp.MustCompile(`^([a-z0-9_]+)-([0-9a-f]{10,64})(\.[2-4])?$`)
	validLabel = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)
	validRule  = regexp.MustCompile(`^[a-z0-9_.-]{1,64}@[1-9][0-9]{0,5}$`)
	validSHA   = regexp.MustCompile(`^[0-9a-f]{64}$`)
	validGit   = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
)

// maxLine bounds a text that people read on one line, in bytes; maxList a list of a case, in entries.
const (
	maxLine = 1000
	maxList = 10_000
)

// Check says whether a case holds only what the format allows, and names the first field that does not. Decode and Encode ask it.
func (c *Case) Check() error {
	if err := c.check(); err != nil {
		return fmt.Errorf("case %s: %w", c.ID, err)
	}
	return nil
}

func (c *Case) check() error {
	if c.APIVersion != APIVersion || c.Kind != Kind {
		return fmt.Errorf("%w: apiVersion %q kind %q", ErrVersion, c.APIVersion, c.Kind)
	}
	return first(c.checkIdentity, c.checkProvenance, c.checkContext, c.checkInput, c.checkTools, c.checkFixtures, c.checkExpect, c.checkRuns, c.checkForm)
}

func first(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Case) checkIdentity() error {
	id := validID.FindStringSubmatch(c.ID)
	if id == nil {
		return fmt.Errorf("/id: case id %q is not <label>-<hex>", c.ID)
	}
	if len(c.Labels) == 0 {
		return fmt.Errorf("/labels: the case has no label")
	}
	for i, l := range c.Labels {
		if !validLabel.MatchString(l) {
			return fmt.Errorf("/labels/%d: label %q is not a label", i, l)
		}
		if slices.Contains(c.Labels[:i], l) {
			return fmt.Errorf("/labels/%d: label %q is there twice", i, l)
		}
	}
	if id[1] != c.Labels[0] {
		return fmt.Errorf("/id: %q does not begin with the first label, %s", c.ID, c.Labels[0])
	}
	if c.Fingerprint.Version < 1 || string(c.Fingerprint.Label) != c.Labels[0] {
		return fmt.Errorf("/fingerprint: it is of label %q version %d, the case of %s", c.Fingerprint.Label, c.Fingerprint.Version, c.Labels[0])
	}
	if !names(c.Fingerprint, id[2]) {
		return fmt.Errorf("/id: %q is not that of the fingerprint, %s", c.ID, c.Fingerprint.ID())
	}
	if err := line("/title", c.Title, 1); err != nil {
		return err
	}
	if c.Owner != nil {
		if err := line("/owner", *c.Owner, 1); err != nil {
			return err
		}
	}
	if err := c.State.check(); err != nil {
		return fmt.Errorf("/state: %w", err)
	}
	return nil
}

// names says whether digits begin the digest under which the failure is or was known.
func names(f classify.Fingerprint, digits string) bool {
	return strings.HasPrefix(f.Digest(), digits) || slices.ContainsFunc(f.Aliases, func(a string) bool { return strings.HasPrefix(a, digits) })
}

func (c *Case) checkProvenance() error {
	p := c.Provenance
	switch {
	case !slices.Contains([]string{"rule", "judge", "human"}, p.Source):
		return oneOf("/provenance/source", p.Source, "rule", "judge", "human")
	case p.Source == "rule" && !validRule.MatchString(p.Rule):
		return fmt.Errorf("/provenance/rule: %q is not name@version", p.Rule)
	case !within(p.Confidence, 0, 1):
		return fmt.Errorf("/provenance/confidence: %v is not between 0 and 1", p.Confidence)
	case p.Count < 0:
		return fmt.Errorf("/provenance/count: %d is less than 0", p.Count)
	case p.LastSeen.Before(p.FirstSeen):
		return fmt.Errorf("/provenance/last_seen: %s lies before first_seen", p.LastSeen.Format(time.RFC3339))
	case len(p.Traces) > 3:
		return fmt.Errorf("/provenance/traces: %d traces, at most 3", len(p.Traces))
	}
	for k, n := range p.Redactions {
		if n < 0 || k == "" {
			return fmt.Errorf("/provenance/redactions/%s: %d is less than 0", k, n)
		}
	}
	return each("/provenance/traces", p.Traces, func(at, s string) error { return line(at, s, 1) })
}

func (c *Case) checkContext() error {
	if err := line("/context/service", c.Context.Service, 0); err != nil {
		return err
	}
	if err := digestText("/context/system_prompt", c.Context.SystemPrompt); err != nil {
		return err
	}
	return digestText("/context/tools", c.Context.Tools)
}

func digestText(at string, s *string) error {
	if s == nil {
		return nil
	}
	if hex, ok := strings.CutPrefix(*s, "sha256:"); !ok || !validSHA.MatchString(hex) {
		return fmt.Errorf("%s: %q is not sha256:<64 hex digits>", at, *s)
	}
	return nil
}

func (c *Case) checkInput() error {
	in := c.Input
	if len(in.Turns) == 0 || len(in.Turns) > maxList {
		return fmt.Errorf("/input/turns: %d turns, want 1 to %d", len(in.Turns), maxList)
	}
	for i, t := range in.Turns {
		if t.User == "" {
			return fmt.Errorf("/input/turns/%d/user: the user says nothing", i)
		}
	}
	if _, ok := in.Variables[""]; ok {
		return fmt.Errorf("/input/variables: a variable has no name")
	}
	switch in.Mode {
	case "recorded":
		if in.Goal != "" || len(in.Facts) > 0 {
			return fmt.Errorf("/input: goal and facts are of simulated turns, these are recorded")
		}
	case "simulated":
		if blank(in.Goal) {
			return fmt.Errorf("/input/goal: simulated turns need a goal")
		}
	default:
		return oneOf("/input/mode", in.Mode, "recorded", "simulated")
	}
	return nil
}

func (c *Case) checkTools() error {
	if len(c.Tools) > maxList {
		return fmt.Errorf("/tools: %d entries, at most %d", len(c.Tools), maxList)
	}
	for i, t := range c.Tools {
		at := fmt.Sprintf("/tools/%d", i)
		switch {
		case t.Name == "":
			return fmt.Errorf("%s/name: the tool has no name", at)
		case !slices.Contains([]string{"read", "write", "unknown"}, t.Effect):
			return oneOf(at+"/effect", t.Effect, "read", "write", "unknown")
		case t.SchemaSHA256 != nil && !validSHA.MatchString(*t.SchemaSHA256):
			return fmt.Errorf("%s/schema_sha256: %q is not 64 hex digits", at, *t.SchemaSHA256)
		case t.Schema != nil && t.SchemaSHA256 != nil && SHA256(t.Schema) != *t.SchemaSHA256:
			return fmt.Errorf("%s/schema_sha256: it is not that of the schema, %s", at, SHA256(t.Schema))
		case t.Schema != nil && kind(t.Schema) != '{' && kind(t.Schema) != 't' && kind(t.Schema) != 'f':
			return fmt.Errorf("%s/schema: it is not a JSON Schema", at)
		case t.Execution != nil && kind(t.Execution) != '{':
			return fmt.Errorf("%s/execution: it is not a mapping", at)
		}
	}
	return nil
}

func (c *Case) checkFixtures() error {
	if len(c.Fixtures) > maxList {
		return fmt.Errorf("/fixtures: %d entries, at most %d", len(c.Fixtures), maxList)
	}
	for i, f := range c.Fixtures {
		at := fmt.Sprintf("/fixtures/%d", i)
		switch {
		case f.Tool == "":
			return fmt.Errorf("%s/tool: the tool has no name", at)
		case f.From != "recording" && f.From != "healthy":
			return oneOf(at+"/from", f.From, "recording", "healthy")
		case f.Fault != nil && f.From == "healthy":
			return fmt.Errorf("%s/fault: an answer of a healthy run holds no fault", at)
		}
		if err := checkFault(at, f.Fault); err != nil {
			return err
		}
	}
	return nil
}

var faults = []string{"error", "denied", "timeout", "missing"}

func checkFault(at string, fault *string) error {
	if fault != nil && !slices.Contains(faults, *fault) {
		return oneOf(at+"/fault", *fault, faults...)
	}
	return nil
}

func (c *Case) checkRuns() error {
	r := c.Runs
	switch {
	case r.N < 1 || r.N > 1000:
		return fmt.Errorf("/runs/n: %d is not between 1 and 1000", r.N)
	case r.Mode != "hard" && r.Mode != "soft":
		return oneOf("/runs/mode", r.Mode, "hard", "soft")
	case !within(r.Rate, 0, 1) || r.Rate == 0:
		return fmt.Errorf("/runs/rate: %v is not above 0 and at most 1", r.Rate)
	case r.Mode == "hard" && r.Rate != 1:
		return fmt.Errorf("/runs/rate: hard asks for all runs, so the rate is 1, not %v", r.Rate)
	case c.Trace.File != JSONFile:
		return fmt.Errorf("/trace/file: %q is not %s", c.Trace.File, JSONFile)
	case !validSHA.MatchString(c.Trace.SHA256):
		return fmt.Errorf("/trace/sha256: %q is not 64 hex digits", c.Trace.SHA256)
	}
	if l := c.Live; l != nil {
		if err := checkCounts("/live", l.Commit, l.Red, l.Of); err != nil {
			return err
		}
	}
	if g := c.Green; g != nil {
		return checkCounts("/green", g.Commit, g.Passed, g.Of)
	}
	return nil
}

func checkCounts(at, commit string, some, of int) error {
	if !validGit.MatchString(commit) {
		return fmt.Errorf("%s/commit: %q is not a commit id in hex", at, commit)
	}
	if of < 1 || some < 0 || some > of {
		return fmt.Errorf("%s: %d of %d runs is not a count", at, some, of)
	}
	return nil
}

// checkForm holds the case to what its form asserts: without it the case could not fail.
func (c *Case) checkForm() error {
	switch classify.Form(c.Form) {
	case classify.FormNever:
		if len(c.Expect.Never) == 0 {
			return fmt.Errorf("/expect/never: a case of form never names the rule that must not match")
		}
	case classify.FormBudget:
		if c.Expect.Budget == nil {
			return fmt.Errorf("/expect/budget: a case of form budget has a budget")
		}
	case classify.FormFault:
		if !slices.ContainsFunc(c.Fixtures, func(f Fixture) bool { return f.Fault != nil }) {
			return fmt.Errorf("/fixtures: a case of form fault has a fixture with a fault to inject")
		}
	default:
		return oneOf("/form", c.Form, string(classify.FormNever), string(classify.FormBudget), string(classify.FormFault))
	}
	return nil
}

func oneOf(at, got string, want ...string) error {
	return fmt.Errorf("%s: %q is none of %s", at, got, strings.Join(want, ", "))
}

func within(x, lo, hi float64) bool { return !math.IsNaN(x) && x >= lo && x <= hi }

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// line refuses what does not fit on one line of at most maxLine bytes.
func line(at, s string, least int) error {
	if len(s) > maxLine || !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r") || len(strings.TrimSpace(s)) < least {
		return fmt.Errorf("%s: it is not one line of %d to %d characters", at, least, maxLine)
	}
	return nil
}

func each(at string, list []string, check func(at, s string) error) error {
	if len(list) > maxList {
		return fmt.Errorf("%s: %d entries, at most %d", at, len(list), maxList)
	}
	for i, s := range list {
		if err := check(fmt.Sprintf("%s/%d", at, i), s); err != nil {
			return err
		}
	}
	return nil
}
