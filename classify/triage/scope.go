package triage

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/flag"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
)

// A token may be limited to services. What is of others is absent for it: lists leave it out, and what asks for it by name is told that there is no such thing.
// That is so in one place, on the way out of the source, whoever asks.

// Sees says whether the token may see what is of a service, by its name in traces. A star stands for slashes too.
func (t Token) Sees(service string) bool {
	if len(t.Services) == 0 {
		return true
	}
	flat := strings.NewReplacer("/", "\x00")
	return slices.ContainsFunc(t.Services, func(glob string) bool {
		ok, err := path.Match(flat.Replace(glob), flat.Replace(service))
		return err == nil && ok
	})
}

func (t Token) limited() bool { return len(t.Services) > 0 }

// scoped is the source as the caller in each context may see it.
func scoped(src Source) Source {
	out := src
	out.Groups = func(ctx context.Context) ([]ratchet.Group, error) {
		gs, err := src.Groups(ctx)
		return only(ctx, gs, err, func(t Token, g *ratchet.Group) bool { return seesGroup(t, g) })
	}
	out.Batches = func(ctx context.Context) ([]ratchet.Batch, error) {
		bs, err := src.Batches(ctx)
		return only(ctx, bs, err, func(t Token, b *ratchet.Batch) bool { return t.Sees(b.Service) })
	}
	out.Services = func(ctx context.Context) ([]ratchet.Service, error) {
		ss, err := src.Services(ctx)
		return only(ctx, ss, err, func(t Token, s *ratchet.Service) bool { return t.Sees(s.Name) })
	}
	out.Plan = func(ctx context.Context, b ratchet.Batch) (ghpr.Plan, error) {
		if !callerOf(ctx).Sees(b.Service) {
			return ghpr.Plan{}, ErrNotFound
		}
		return src.Plan(ctx, b)
	}
	scopeTraces(src, &out)
	scopeDecisions(src, &out)
	return out
}

func seesGroup(t Token, g *ratchet.Group) bool {
	if g.Service != "" {
		return t.Sees(g.Service)
	}
	return t.Sees(g.Fingerprint.Service)
}

// only leaves out what the caller may not see.
func only[T any](ctx context.Context, all []T, err error, sees func(Token, *T) bool) ([]T, error) {
	t := callerOf(ctx)
	if err != nil || !t.limited() {
		return all, err
	}
	out := make([]T, 0, len(all))
	for i := range all {
		if sees(t, &all[i]) {
			out = append(out, all[i])
		}
	}
	return out, nil
}

func scopeTraces(src Source, out *Source) {
	trace := func(ctx context.Context, id string) (trajectory.Trace, error) {
		t, err := src.Trace(ctx, id)
		if c := callerOf(ctx); err == nil && c.limited() && !c.Sees(trajectory.Build(t).Service) {
			return trajectory.Trace{}, ErrNotFound
		}
		return t, err
	}
	out.Trace = trace
	if src.Kept != nil {
		out.Kept = func(ctx context.Context, f KeptFilter, cursor string, limit int) (KeptPage, error) {
			page, err := src.Kept(ctx, f, cursor, limit)
			page.Traces, err = only(ctx, page.Traces, err, func(t Token, k *KeptTrace) bool { return k.Service != nil && t.Sees(*k.Service) })
			return page, err
		}
	}
	if src.Spans != nil {
		out.Spans = func(ctx context.Context, id string, hour time.Time) (Recorded, error) {
			if callerOf(ctx).limited() {
				if _, err := trace(ctx, id); err != nil {
					return Recorded{}, err
				}
			}
			return src.Spans(ctx, id, hour)
		}
	}
	if src.Flag != nil {
		out.Flag = func(ctx context.Context, who string, body []byte) (flag.Flag, error) {
			if callerOf(ctx).limited() {
				return flag.Flag{}, &Unusable{"a token that is limited to services does not flag"}
			}
			return src.Flag(ctx, who, body)
		}
	}
}

func scopeDecisions(src Source, out *Source) {
	sees := func(ctx context.Context, ids ...string) error {
		if !callerOf(ctx).limited() {
			return nil
		}
		gs, err := out.Groups(ctx)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if id != "" && !slices.ContainsFunc(gs, func(g ratchet.Group) bool { return g.ID() == id }) {
				return ErrNotFound
			}
		}
		return nil
	}
	out.Merge = func(ctx context.Context, id, into, who, reason string) (ratchet.Group, error) {
		if err := sees(ctx, id, into); err != nil {
			return ratchet.Group{}, err
		}
		return src.Merge(ctx, id, into, who, reason)
	}
	if src.Decide != nil {
		out.Decide = func(ctx context.Context, id, who string, ask ratchet.Ask) (ratchet.Group, error) {
			if err := sees(ctx, id, ask.Into); err != nil {
				return ratchet.Group{}, err
			}
			return src.Decide(ctx, id, who, ask)
		}
	}
	if src.Case != nil {
		out.Case = func(ctx context.Context, id string) (ratchet.Preview, error) {
			if err := sees(ctx, id); err != nil {
				return ratchet.Preview{}, err
			}
			return src.Case(ctx, id)
		}
	}
	if src.Edit != nil {
		out.Edit = func(ctx context.Context, id, who, digest string, expect []byte) (ratchet.Preview, error) {
			if err := sees(ctx, id); err != nil {
				return ratchet.Preview{}, err
			}
			return src.Edit(ctx, id, who, digest, expect)
		}
	}
	if src.Audit != nil {
		out.Audit = func(ctx context.Context, f ratchet.AuditFilter, before uint64, limit int) ([]ratchet.Told, uint64, error) {
			if callerOf(ctx).limited() {
				gs, err := out.Groups(ctx)
				if err != nil {
					return nil, 0, err
				}
				mine := map[string]bool{}
				for i := range gs {
					mine[gs[i].ID()] = true
				}
				f.Allow = func(t ratchet.Told) bool { return mine[t.Group] }
			}
			return src.Audit(ctx, f, before, limit)
		}
	}
	out.Open = func(ctx context.Context, repo, who string) error {
		if callerOf(ctx).limited() { // a repository may take the cases of other services too
			return ErrNotFound
		}
		return src.Open(ctx, repo, who)
	}
	if src.Erase != nil {
		out.Erase = func(ctx context.Context, subject string, dry bool) (Erasure, error) {
			if callerOf(ctx).limited() {
				return Erasure{}, &Unfit{"a token that is limited to services may not erase: a value is erased everywhere"}
			}
			return src.Erase(ctx, subject, dry)
		}
	}
}
