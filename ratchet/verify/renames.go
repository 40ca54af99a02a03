package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/rename"
)

// renamed gives base the names that head states in renames.yaml and base does not: what then still differs is no matter of names. A rename is told as
// what is waived by its one reason, for however many cases. One that would make two names one is not applied.
func (r *Report) renamed(base, head *Set) *Set {
	file := base.Dir + "/" + regcase.RenamesFile
	more, ok := beyond(base.Renames, head.Renames)
	if !ok {
		r.Findings = append(r.Findings, &Finding{Kind: Rewritten, Path: file, Why: "renames that were there before were changed or removed: that file is only added to"})
		return base
	}
	for i, n := range more {
		w := Waiver{Field: at("/renames", len(base.Renames)+i), Base: canonical(n.Tool + n.Field), Head: canonical(n.To), Reason: n.Reason, Issue: n.Issue}
		if why := Unfit(w); why != "" {
			r.note(file, "the rename of %s%s counts for nothing: %s", n.Tool, n.Field, why)
			continue
		}
		next, changed, err := base.rename(n)
		switch {
		case err != nil:
			r.note(file, "the rename of %s%s counts for nothing: %v", n.Tool, n.Field, err)
		case len(changed) == 0:
			r.note(file, "the rename of %s%s counts for nothing: no case of base knows the name", n.Tool, n.Field)
		default:
			base = next
			r.Findings = append(r.Findings, &Finding{Kind: Loosened, Path: file, Waivable: true, Waiver: &w,
				Difference: Difference{Field: w.Field, Base: w.Base, Head: w.Head, Relation: Unordered},
				Why:        fmt.Sprintf("%s%s is %s now, in %s of base: compared under the new name", n.Tool, n.Field, n.To, many(len(changed), "case"))})
		}
	}
	return base
}

// rename applies one rename to every case and tool answer, and lists the cases that it changes. It refuses a new name that is in
// use already: renaming it back would change what is there.
func (s *Set) rename(n regcase.Rename) (*Set, []string, error) {
	out := *s
	out.Cases, out.Stubs, out.Goldens = map[string]*Entry{}, maps.Clone(s.Stubs), map[string]Golden{}
	var changed []string
	for _, dir := range slices.Sorted(maps.Keys(s.Cases)) {
		e := s.Cases[dir]
		trace, err := s.trace(e)
		if err != nil {
			return nil, nil, err
		}
		if back, from, err := rename.Apply(inverse(n), e.Case, trace); err != nil || string(from) != string(trace) || string(canonical(back)) != string(canonical(e.Case)) {
			return nil, nil, fmt.Errorf("%s uses %s already: two names that become one are another test", e.Case.ID, n.To)
		}
		c, to, err := rename.Apply(n, e.Case, trace)
		if err != nil {
			return nil, nil, err
		}
		if string(canonical(c)) != string(canonical(e.Case)) {
			changed = append(changed, c.ID)
		}
		out.Cases[dir] = &Entry{Case: c, TraceSHA: regcase.SHA256(to), Waivers: e.Waivers, recording: to, read: e.read}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Goldens)) {
		g, err := s.Goldens[id].rename(n, id)
		if err != nil {
			return nil, nil, err
		}
		if out.Goldens[id] = g; g.Digest != s.Goldens[id].Digest {
			changed = append(changed, id)
		}
	}
	return &out, changed, out.renameStub(n)
}

func inverse(n regcase.Rename) regcase.Rename {
	if n.Field == "" {
		return regcase.Rename{Tool: n.To, To: n.Tool}
	}
	return regcase.Rename{Tool: n.Tool, Field: n.To, To: n.Field}
}

// renameStub renames the team's answers for a tool. What a program answers is not known, so that one stays what it was.
func (s *Set) renameStub(n regcase.Rename) error {
	old, ok := s.stubs[n.Tool]
	if !ok || old.Executable {
		return nil
	}
	if other, taken := s.stubs[n.To]; taken && n.Field == "" {
		return fmt.Errorf("%s answers for %s already: two names that become one are another test", other.Path, n.To)
	}
	to := rename.Stub(n, regcase.Stubs{APIVersion: regcase.APIVersion, Kind: regcase.StubsKind, Tool: old.Tool, Answers: old.Answers})
	b, err := regcase.EncodeStubs(to)
	if err != nil {
		return err
	}
	f := regcase.StubFile{Path: regcase.StubsDir + "/" + regcase.StubName(to.Tool) + ".yaml", Tool: to.Tool, Answers: to.Answers, SHA256: regcase.SHA256(b)}
	delete(s.Stubs, old.Path)
	s.Stubs[f.Path] = stubOf(f)
	s.stubs = maps.Clone(s.stubs)
	delete(s.stubs, n.Tool)
	s.stubs[f.Tool] = f
	return nil
}

// beyond returns what head has after base. ok is false if base's are not all there, first and as they were.
func beyond[T any](base, head []T) (more []T, ok bool) {
	if len(head) < len(base) {
		return nil, false
	}
	for i := range base {
		if string(canonical(base[i])) != string(canonical(head[i])) {
			return nil, false
		}
	}
	return head[len(base):], true
}
