package seed

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ratchet"
)

// kind is a failure as groups of it look.
type kind struct {
	label      classify.Label
	rule       string
	form       classify.Form
	severity   classify.Severity
	title, why string // with the tool's name and a number
	parts      func(tool string, n int) []classify.Part
}

var kinds = []kind{
	{classify.NoLabel, "unclassified@1", classify.FormNone, classify.Warning, "ended in %s, and no rule explains it", "the root span ended in an error after %s was called %d times",
		func(tool string, n int) []classify.Part {
			return []classify.Part{classify.Name("class", "ToolFailed"), classify.Name("message", tool+" gave up"), classify.Word("error", "error"), classify.Number("path", n)}
		}},
	{classify.Loop, "loop@1", classify.FormNever, classify.Blocking, "%s called 6 times with the same arguments", "%s was called %d times in a row with equal arguments and gave equal results",
		func(tool string, n int) []classify.Part {
			return []classify.Part{classify.Names("tools", tool), classify.Number("period", n), classify.Word("result", "same")}
		}},
	{classify.SchemaViolation, "tool_args_schema_violation@1", classify.FormNever, classify.Blocking, "arguments of %s break its schema", "%s was called with arguments that break its schema in %d places",
		func(tool string, n int) []classify.Part {
			return []classify.Part{classify.Name("tool", tool), classify.Pointer("pointer", []string{fmt.Sprint("field_", n)}), classify.Word("keyword", "required")}
		}},
	{classify.HallucinatedTool, "hallucinated_tool@1", classify.FormNever, classify.Blocking, "%s was called, and no such tool was offered", "the model asked for %s, which is none of the %d tools that it was offered",
		func(tool string, n int) []classify.Part {
			return []classify.Part{classify.Name("tool", fmt.Sprintf("%s_%c%c", tool, 'a'+n/26%26, 'a'+n%26))}
		}},
	{classify.MissingToolResult, "missing_tool_result@1", classify.FormFault, classify.Warning, "%s was asked for and never answered", "the call of %s has no result, and the model went on %d steps later",
		func(tool string, n int) []classify.Part {
			return []classify.Part{classify.Name("tool", tool), classify.Number("at", n)}
		}},
	{classify.CostSpike, "cost_spike@1", classify.FormBudget, classify.Warning, "a run around %s cost far more than usual", "the run around %s cost %d times what runs of its route do",
		func(tool string, n int) []classify.Part {
			return []classify.Part{classify.Route("route", "/chat/"+tool), classify.Number("times", n)}
		}},
}

var (
	tools    = []string{"get_order", "track_parcel", "refund", "search_catalog", "send_email", "upsert_product", "list_invoices", "check_stock", "create_ticket", "lookup_customer"}
	services = []string{"shop-assistant", "support-bot", "billing-agent", "warehouse-planner", "travel-desk", "code-reviewer"}
	versions = []string{"1.8.0", "1.9.2", "2.0.0-rc.1", "2.0.0"}
	people   = []string{"ana", "bo", "Chidi O."}
)

// putGroups writes n groups, what was seen of their services, and pull requests for some of them.
func putGroups(ctx context.Context, q *queue.Queue, rng *rand.Rand, n int, ids []string) error {
	now := time.Now().UTC()
	past := map[string]*ratchet.Service{}
	for i, name := range services[:min(n, len(services))] {
		past[name] = serviceOf(rng, name, now, 200*(i+1))
	}
	batches := map[string]*ratchet.Batch{}
	for i := range n {
		g := groupOf(rng, i, now, past, ids)
		propose(rng, &g, batches, now)
		if err := put(ctx, q.Groups, g.Fingerprint.Digest(), g); err != nil {
			return err
		}
	}
	for _, name := range services[:len(past)] {
		if err := put(ctx, q.Services, name, past[name]); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(batches)) {
		b := batches[key]
		if err := freeze(ctx, q, rng, b, now); err != nil {
			return err
		}
		if err := put(ctx, q.Batches, key, b); err != nil {
			return err
		}
	}
	return nil
}

// freeze gives a batch the intent of its cases, in one of the states that pull requests have, and stores what it points to.
func freeze(ctx context.Context, q *queue.Queue, rng *rand.Rand, b *ratchet.Batch, now time.Time) (err error) {
	for i := range b.Members {
		m := &b.Members[i]
		if m.YAML, err = q.Objects.Put(ctx, []byte("apiVersion: pawl/v1alpha1\nkind: Case\nid: "+m.CaseID+"\n")); err != nil {
			return err
		}
		if m.Trace, err = q.Objects.Put(ctx, []byte("{\"resourceSpans\": []}\n")); err != nil {
			return err
		}
	}
	change, err := b.Change(func(m ratchet.Member) (string, string, error) {
		yaml, err := q.Objects.Get(ctx, m.YAML)
		if err != nil {
			return "", "", err
		}
		trace, err := q.Objects.Get(ctx, m.Trace)
		return string(yaml), string(trace), err
	})
	if err != nil {
		return err
	}
	in, err := ghpr.Freeze(change)
	if err != nil {
		return err
	}
	if b.Body, err = q.Objects.Put(ctx, []byte(in.Body)); err != nil {
		return err
	}
	in = in.Slim()
	in.Body = ""
	outcome(rng, &in, now)
	b.Intent = &in
	return nil
}

func serviceOf(rng *rand.Rand, name string, now time.Time, traces int) *ratchet.Service {
	s := &ratchet.Service{Verdicts: map[classify.Verdict]int{classify.Passing: traces, classify.Failing: traces / 9, classify.Unclassified: traces / 40, classify.Incomplete: traces / 50},
		FirstSeen: now.AddDate(0, 0, -40), LastSeen: now.Add(-time.Duration(rng.IntN(50)) * time.Minute)}
	s.Name = name
	for i := range traces {
		at := now.AddDate(0, 0, -30).Add(time.Duration(i) * 30 * 24 * time.Hour / time.Duration(traces))
		s.History.Take(contextOf(versions[min(len(versions)-1, i*len(versions)/traces)]), rng.IntN(9) == 0, at)
	}
	return s
}

func contextOf(version string) lineage.Context {
	return lineage.Context{Version: version, Agents: []lineage.AgentContext{{Agent: "support", Models: []string{"gpt-4o"}, Prompts: []string{fmt.Sprintf("%012x", len(version))}}}}
}

func groupOf(rng *rand.Rand, i int, now time.Time, past map[string]*ratchet.Service, ids []string) ratchet.Group {
	k, tool, service := kinds[i%len(kinds)], tools[(i/len(kinds))%len(tools)], services[(i/7)%min(len(services), max(1, len(past)))]
	n := 2 + i/(len(kinds)*len(tools))
	fp := classify.NewFingerprint(k.label, service, "support", k.parts(tool, n)...)
	began := rng.IntN(35)
	g := ratchet.Group{Fingerprint: fp, Rule: k.rule, Service: service, Form: k.form, Severity: k.severity, Confidence: 0.8 + rng.Float64()/5, Title: fmt.Sprintf(k.title, tool), Why: fmt.Sprintf(k.why, tool, n)}
	if k.label == classify.NoLabel {
		g.Title = fmt.Sprintf(k.title, "ToolFailed")
	}
	g.FirstSeen = now.AddDate(0, 0, -began).Add(-time.Hour)
	version := versions[rng.IntN(len(versions))]
	if s := past[service]; s != nil {
		g.Began = s.History.Before(contextOf(version), "support", g.FirstSeen)
	}
	for day := began; day >= 0; day-- {
		sightings := rng.IntN(4) * rng.IntN(1+(began-day)/4+1)
		if day == began {
			sightings++
		}
		if sightings == 0 {
			continue
		}
		g.LastSeen = now.AddDate(0, 0, -day).Add(-time.Duration(rng.IntN(50)) * time.Minute)
		g.Days = append(g.Days, ratchet.Day{Day: ratchet.DayOf(g.LastSeen), N: sightings})
		for range sightings {
			g.Spread.Add(contextOf(version), "support", 1)
		}
		g.Count += sightings
	}
	for j := range min(1+rng.IntN(4), len(ids), g.Count) {
		id := ids[(i*5+j)%len(ids)]
		g.Seen = append(g.Seen, id[len(id)-12:]+fmt.Sprintf("%064x", i)[:12]) // as the group remembers them
		g.Specimens = append(g.Specimens, ratchet.Specimen{TraceID: ids[(i*5+j)%len(ids)], Revision: fmt.Sprintf("%064x", i), Object: fmt.Sprintf("%064x", j), Severity: k.severity, Confidence: g.Confidence, Why: g.Why, Seen: g.LastSeen.Add(-time.Duration(j) * time.Hour), Version: version})
	}
	if rng.IntN(25) == 0 {
		g.Decide(ratchet.Decision{Who: people[i%len(people)], When: now.Add(-time.Hour), Choice: ratchet.ChoiceDismiss, As: ratchet.AsIntended, Reason: "polling is what this agent is for"})
	}
	return g
}

// propose puts some groups that may have a case into pull requests, in all the states that these have.
func propose(rng *rand.Rand, g *ratchet.Group, batches map[string]*ratchet.Batch, now time.Time) {
	if g.Form == classify.FormNone || rng.IntN(12) > 0 || len(g.Decisions) > 0 || len(g.Specimens) == 0 {
		return
	}
	b := &ratchet.Batch{Repo: "acme/agents", Base: "main", Set: "regressions", Label: g.Fingerprint.Label, Service: g.Service, Number: 1 + rng.IntN(3), Opened: now.Add(-time.Duration(rng.IntN(400)) * time.Hour)}
	key := b.Key()
	if have := batches[key]; have != nil {
		b = have
	} else {
		batches[key] = b
	}
	b.Members = append(b.Members, ratchet.Member{Fingerprint: g.Fingerprint.Digest(), CaseID: g.ID(), CaseDigest: fmt.Sprintf("%064x", len(b.Members)+1), TraceID: g.Specimens[0].TraceID, Title: g.Title, Why: g.Why,
		Rule: g.Rule, Confidence: g.Confidence, Count: g.Count, FirstSeen: g.FirstSeen, LastSeen: g.LastSeen, Weak: rng.IntN(5) == 0, Shown: "red on its recording"})
	g.Batch = key
}

// outcome lets an intent have come somewhere.
func outcome(rng *rand.Rand, in *ghpr.Intent, now time.Time) {
	number := 100 + rng.IntN(900)
	done := ghpr.Step{Outcome: ghpr.Confirmed, Sends: 1}
	in.Steps = ghpr.Steps{Ref: done, PR: done, Labels: done}
	in.Receipt = ghpr.Receipt{State: ghpr.StateOpen, Number: number, URL: fmt.Sprintf("https://github.com/%s/pull/%d", in.Repo, number), ObservedAt: now.Add(-3 * time.Minute)}
	in.NotBefore = now.Add(24 * time.Hour)
	switch rng.IntN(6) {
	case 0:
		in.Receipt.State, in.Receipt.MergedBy = ghpr.StateMerged, people[number%len(people)]
	case 1:
		in.Receipt.State, in.Receipt.ClosedBy = ghpr.StateClosed, people[number%len(people)]
	case 2:
		in.Parked = &ghpr.Parked{Reason: "somebody pushed to the branch, so pawl leaves it alone", Evidence: []string{"the branch stands at 4be1c09, pawl's commit is 91d02aa"}, At: now.Add(-time.Hour)}
	case 3:
		in.Receipt, in.Steps = ghpr.Receipt{}, ghpr.Steps{Ref: ghpr.Step{Outcome: ghpr.Planned}, PR: ghpr.Step{Outcome: ghpr.Planned}, Labels: ghpr.Step{Outcome: ghpr.Planned}}
		in.Waiting = "5 of 5 pull requests are open: waits until one is closed"
	}
}
