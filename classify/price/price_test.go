package price

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func table(t testing.TB, own ...Own) *Table {
	t.Helper()
	tb, err := New(own)
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// today is a time at which the last prices of the list hold.
func today(t *Table) time.Time { return t.asOf }

func usage(in, out int64) trajectory.Usage { return trajectory.Usage{Input: &in, Output: &out} }

// The list is dated, says where its numbers are from, and every entry of it makes sense.
func TestList(t *testing.T) {
	var f file
	if err := json.Unmarshal(pricesJSON, &f, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.DateOnly, f.AsOf); err != nil || f.Source == "" || f.Note == "" {
		t.Errorf("head: %q %q", f.AsOf, f.Source)
	}
	if len(f.Models) < 150 {
		t.Errorf("only %d entries", len(f.Models))
	}
	for _, e := range f.Models {
		if e.Provider == "" || len(e.Names) == 0 || e.Input <= 0 || e.Output <= 0 {
			t.Errorf("%+v", e)
		}
		for _, n := range e.Names {
			if n != strings.ToLower(n) || strings.TrimSpace(n) == "" {
				t.Errorf("name %q of %s", n, e.Provider)
			}
		}
		rates := []Rate{e.Rate}
		for _, tr := range e.Tiers {
			rates = append(rates, tr.Rate)
		}
		for i, r := range rates {
			if or(r.CacheRead, r.Input) > r.Input {
				t.Errorf("%s %v: a cached token is dearer than a fresh one", e.Provider, e.Names)
			}
			if i > 0 && (r.Input < rates[i-1].Input || r.Output < rates[i-1].Output || e.Tiers[i-1].Above <= 0) {
				t.Errorf("%s %v: a longer call is cheaper", e.Provider, e.Names)
			}
		}
	}
	for k, es := range table(t).models {
		if !slices.IsSortedFunc(es, func(a, b *entry) int { return strings.Compare(a.From, b.From) }) {
			t.Errorf("%v: not by date", k)
		}
		for i := range es[1:] {
			if es[i].From == es[i+1].From {
				t.Errorf("%v: two prices for one time", k)
			}
		}
	}
}

// What a name is priced as: USD for a million tokens in and a million out. 0 is no price.
func TestNames(t *testing.T) {
	tb := table(t)
	for _, c := range []struct {
		provider, model string
		in, out         float64
	}{
		// as the maker calls them, with the date of a release and without
		{"openai", "gpt-4o", 2.5, 10},
		{"openai", "gpt-4o-2024-08-06", 2.5, 10},
		{"openai", "gpt-4o-2024-05-13", 5, 15}, // that one was dearer
		{"openai", "gpt-4o-2026-01-01", 2.5, 10},
		{"openai", "GPT-4o-mini", 0.15, 0.6},
		{"openai", "gpt-4o-mini-2024-07-18", 0.15, 0.6},
		{"openai", "o3", 2, 8},
		{"anthropic", "claude-3-5-haiku-latest", 0.8, 4},
		{"anthropic", "claude-sonnet-4-20250514", 3, 15},
		{"anthropic", "claude-haiku-4-5-20251001", 1, 5},
		{"mistral", "mistral-large-2411", 2, 6},
		{"cohere", "command-r-plus-08-2024", 2.5, 10},
		{"x_ai", "grok-4", 3, 15},
		// nothing that is merely like another
		{"openai", "gpt-4o-max", 0, 0},
		{"openai", "gpt-4ox", 0, 0},
		{"openai", "gpt-4", 30, 60},
		{"openai", "gpt-4-2", 0, 0},
		{"openai", "gpt", 0, 0},
		{"openai", "o3-ultra", 0, 0},
		{"anthropic", "claude", 0, 0},
		{"anthropic", "claude-sonnet-4-7", 0, 0},
		{"openai", "", 0, 0},
		{"openai", "latest", 0, 0},
		{"openai", "-2024-08-06", 0, 0},
		{"openai", strings.Repeat("gpt-4o-2024-08-06", 100), 0, 0},
		// fine-tunes
		{"openai", "ft:gpt-4o-2024-08-06:acme:support:Ab12Cd", 3.75, 15},
		{"openai", "ft:gpt-4o-mini-2024-07-18:acme::Ab12Cd", 0.3, 1.2},
		{"openai", "ft:gpt-4.1-2025-04-14:acme::Ab12Cd", 0, 0},
		{"", "ft:gpt-3.5-turbo:acme::x", 3, 6},
		// Bedrock: regions, versions, ARNs
		{"aws.bedrock", "anthropic.claude-3-haiku-20240307-v1:0", 0.25, 1.25},
		{"aws.bedrock", "eu.anthropic.claude-3-7-sonnet-20250219-v1:0", 3, 15},
		{"aws.bedrock", "us.anthropic.claude-haiku-4-5-20251001-v1:0", 1.1, 5.5},
		{"aws.bedrock", "global.anthropic.claude-haiku-4-5-20251001-v1:0", 1, 5},
		{"", "us.amazon.nova-pro-v1:0", 0.8, 3.2},
		{"anthropic", "eu.anthropic.claude-3-5-sonnet-20241022-v2:0", 3, 15},
		{"aws.bedrock", "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-3-7-sonnet-20250219-v1:0", 3, 15},
		{"aws.bedrock", "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0", 0.06, 0.24},
		{"aws.bedrock", "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3d4e5f6", 0, 0},
		{"aws.bedrock", "arn:aws:bedrock:us-east-1:123456789012:provisioned-model/abc123", 0, 0},
		{"aws.bedrock", "arn:aws:sagemaker:us-east-1:123456789012:endpoint/x", 0, 0},
		{"aws.bedrock", "claude-3-haiku", 0, 0}, // whose region is not told
		{"aws.bedrock", "us-gov.anthropic.claude-3-haiku-20240307-v1:0", 0, 0},
		{"", "bedrock/us-east-1/anthropic.claude-3-haiku-20240307-v1:0", 0.25, 1.25},
		{"", "bedrock/converse/us.anthropic.claude-3-haiku-20240307-v1:0", 0.25, 1.25},
		// Google, by either door
		{"gcp.gemini", "gemini-2.5-flash", 0.3, 2.5},
		{"gcp.gemini", "models/gemini-2.5-flash", 0.3, 2.5},
		{"gcp.vertex_ai", "gemini-2.0-flash-001", 0.1, 0.4},
		{"gcp.vertex_ai", "publishers/google/models/gemini-2.5-flash", 0.3, 2.5},
		{"gcp.vertex_ai", "projects/p/locations/l/publishers/anthropic/models/claude-3-7-sonnet@20250219", 3, 15},
		{"gcp.vertex_ai", "claude-3-7-sonnet@20250219", 3, 15},
		{"gcp.vertex_ai", "claude-3-5-sonnet-v2@20241022", 3, 15},
		{"gcp.vertex_ai", "projects/p/locations/l/endpoints/123456", 0, 0},
		{"", "googleai/gemini-2.5-flash", 0.3, 2.5},
		{"", "vertex_ai/gemini-2.5-flash", 0.3, 2.5},
		{"gcp.gemini", "tunedmodels/gemini-2.5-flash", 0, 0},
		// routers
		{"", "openai/gpt-4o", 2.5, 10},
		{"openai", "anthropic/claude-haiku-4-5", 1, 5},
		{"openai", "azure/gpt-4o", 0, 0},
		{"openrouter", "openai/gpt-4o", 2.5, 10},
		{"", "openrouter/openai/gpt-4o-mini", 0.15, 0.6},
		{"openrouter", "acme/gpt-4o", 0, 0},
		{"openrouter", "gpt-4o", 0, 0},
		{"groq", "openai/gpt-oss-120b", 0.15, 0.6},
		{"groq", "openai/gpt-4o", 0, 0}, // it sells no such thing
		{"groq", "llama-3.3-70b-versatile", 0.59, 0.79},
		{"", "groq/llama-3.3-70b-versatile", 0.59, 0.79},
		// Azure: a deployment may have any name; what it answered as is the model
		{"azure.ai.openai", "gpt-4o", 0, 0},
		{"azure.ai.openai", "my-deployment", 0, 0},
		{"azure.ai.openai", "gpt-4o-2024-08-06", 2.5, 10},
		{"azure.ai.openai", "my-deployment-2024-08-06", 0, 0},
		// whoever serves it: a model that its maker alone sells, and one that anybody may
		{"", "claude-3-5-haiku-20241022", 0.8, 4},
		{"acme-proxy", "gpt-4o", 2.5, 10},
		{"openai", "claude-3-5-haiku-20241022", 0.8, 4},
		{"ollama", "gpt-oss-120b", 0, 0},
		{"", "gpt-oss-120b", 0, 0},
		{"ollama", "mistral-large", 0, 0},
		{"", "mistral-large-latest", 2, 6},
		{"", "llama-3.3-70b-versatile", 0, 0},
		{"", "gpt-4o-fake", 0, 0},
	} {
		u := usage(1e6, 0)
		got := func(u trajectory.Usage) float64 {
			usd, _, _ := tb.Of(Call{Provider: c.provider, Models: []string{c.model}, At: today(tb), Usage: u})
			return usd
		}
		if in, out := got(u), got(usage(0, 1e6)); in != tiered(tb, c.provider, c.model, c.in) || math.Abs(out-c.out) > 1e-9 {
			t.Errorf("%q of %q: in %v out %v, want %v %v", c.model, c.provider, in, out, c.in, c.out)
		}
	}
}

// tiered is the price of a million input tokens in one call, given that of a token in a short one.
func tiered(tb *Table, provider, model string, base float64) float64 {
	es, _ := tb.find(provider, model)
	if es == nil {
		return 0
	}
	e := tb.at(es, today(tb))
	if e.Input != base {
		return base
	}
	return e.rate(1e6).Input
}

// Sums by hand: fresh, cached, written, heard, spoken, and a call beyond a tier.
func TestOf(t *testing.T) {
	tb := table(t)
	at := time.Date(2026, 9, 23, 12, 0, 0, 0, time.UTC)
	n := func(v int64) *int64 { return &v }
	for name, c := range map[string]struct {
		call Call
		want float64
	}{
		"cached": {Call{Provider: "openai", Models: []string{"gpt-4o-mini"}, Usage: trajectory.Usage{Input: n(10_000), Output: n(1_000), CacheRead: n(4_000), Reasoning: n(500)}},
			(6_000*0.15 + 4_000*0.075 + 1_000*0.6) / 1e6},
		"written": {Call{Provider: "anthropic", Models: []string{"claude-haiku-4-5"}, Usage: trajectory.Usage{Input: n(12_632), Output: n(100), CacheRead: n(12_000), CacheWrite: n(629)}},
			(3*1 + 12_000*0.1 + 629*1.25 + 100*5) / 1e6},
		"no price of the cache": {Call{Provider: "openai", Models: []string{"gpt-4"}, Usage: trajectory.Usage{Input: n(1_000), Output: n(0), CacheRead: n(1_000)}}, 0.03},
		"audio": {Call{Provider: "openai", Models: []string{"gpt-audio"}, Usage: trajectory.Usage{Input: n(300), Output: n(200), AudioIn: n(250), AudioOut: n(150)}},
			(50*2.5 + 250*32 + 50*10 + 150*64) / 1e6},
		"short":                            {Call{Provider: "gcp.gemini", Models: []string{"gemini-2.5-pro"}, Usage: usage(200_000, 1_000)}, (200_000*1.25 + 1_000*10) / 1e6},
		"long":                             {Call{Provider: "gcp.gemini", Models: []string{"gemini-2.5-pro"}, Usage: usage(200_001, 1_000)}, (200_001*2.5 + 1_000*15) / 1e6},
		"responded first":                  {Call{Provider: "openai", Models: []string{"gpt-4o-2024-05-13", "gpt-4o"}, Usage: usage(1_000, 0)}, 0.005},
		"requested, for want of the other": {Call{Provider: "openai", Models: []string{"", "gpt-4o"}, Usage: usage(1_000, 0)}, 0.0025},
		"before its price fell":            {Call{Provider: "openai", Models: []string{"o3"}, At: time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC), Usage: usage(1_000, 0)}, 0.01},
		"after it":                         {Call{Provider: "openai", Models: []string{"o3"}, At: time.Date(2025, 6, 10, 0, 0, 0, 0, time.UTC), Usage: usage(1_000, 0)}, 0.002},
		"more cached than there are":       {Call{Provider: "openai", Models: []string{"gpt-4o"}, Usage: trajectory.Usage{Input: n(10), Output: n(0), CacheRead: n(99), CacheWrite: n(99), AudioIn: n(99)}}, 10 * 1.25 / 1e6},
	} {
		if c.call.At.IsZero() {
			c.call.At = at
		}
		usd, from, why := tb.Of(c.call)
		if math.Abs(usd-c.want) > 1e-12 || from != tb.Source() || why != "" {
			t.Errorf("%s: %v by %q (%q), want %v", name, usd, from, why, c.want)
		}
	}
	if tb.Source() != "prices of 2026-09-23" {
		t.Errorf("source %q", tb.Source())
	}
}

// What is not known says why, where there is more to say than that nobody has listed it.
func TestUnknown(t *testing.T) {
	tb := table(t)
	one := usage(10, 10)
	for _, c := range []struct {
		call Call
		why  string
	}{
		{Call{Provider: "openai", Models: []string{"gpt-99"}, Usage: one}, ""},
		{Call{Provider: "azure.ai.openai", Models: []string{"", "prod"}, Usage: one}, whyAzure},
		{Call{Models: []string{"azure/prod"}, Usage: one}, whyAzure},
		{Call{Provider: "openai", Models: []string{"ft:gpt-4.1:acme::1"}, Usage: one}, whyTuned},
		{Call{Models: []string{"arn:aws:bedrock:eu-west-1:1:application-inference-profile/x"}, Usage: one}, whyARN},
		{Call{Provider: "gcp.gemini", Models: []string{"gemini-2.5-pro"}, Usage: usage(300_000, 10), Sum: true}, "its price depends on the size of each call, and the sum alone is told"},
		{Call{Provider: "openai", Models: []string{"gpt-4o"}, Usage: trajectory.Usage{Input: one.Input}}, ""},
		{Call{Usage: one}, ""},
	} {
		if _, from, why := tb.Of(c.call); from != "" || why != c.why {
			t.Errorf("%v: by %q, why %q, want %q", c.call.Models, from, why, c.why)
		}
	}
	if usd, from, _ := tb.Of(Call{Provider: "gcp.gemini", Models: []string{"gemini-2.5-pro"}, Usage: usage(100_000, 0), Sum: true}); from == "" || usd != 0.125 {
		t.Errorf("a sum below the tier: %v by %q", usd, from)
	}
}

// The user's own prices go first, by pattern and provider, the first that matches.
func TestOwn(t *testing.T) {
	half := 0.5
	tb := table(t, Own{Provider: "azure.ai.openai", Model: "prod-*", Rate: Rate{Input: 2, Output: 8, CacheRead: &half}},
		Own{Model: "acme/*", Rate: Rate{Input: 1, Output: 1}}, Own{Model: "GPT-4o", Rate: Rate{Input: 7, Output: 7}}, Own{Model: "local-?", Rate: Rate{}})
	for _, c := range []struct {
		provider, model string
		want            float64
		from            trajectory.CostSource
	}{
		{"azure.ai.openai", "prod-eu", 2, OwnSource}, {"azure", "PROD-eu", 2, OwnSource}, {"openai", "prod-eu", 0, ""},
		{"any", "acme/a/b", 1, OwnSource}, {"openai", "gpt-4o", 7, OwnSource}, {"openai", "gpt-4o-mini", 0.15, tb.Source()},
		{"ollama", "local-7", 0, OwnSource}, {"ollama", "local-70", 0, ""},
	} {
		usd, from, _ := tb.Of(Call{Provider: c.provider, Models: []string{c.model}, At: today(tb), Usage: usage(1e6, 0)})
		if usd != c.want || from != c.from {
			t.Errorf("%s %s: %v by %q, want %v by %q", c.provider, c.model, usd, from, c.want, c.from)
		}
	}
	for _, bad := range []Own{{}, {Model: "x", Rate: Rate{Input: -1}}, {Model: "x", Rate: Rate{Output: math.NaN()}}} {
		if _, err := New([]Own{bad}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// parts are the counts of a usage that exclude one another.
type parts struct{ fresh, read, written, heard, text, spoken int64 }

func (p parts) usage() trajectory.Usage {
	in, out := p.fresh+p.read+p.written+p.heard, p.text+p.spoken
	return trajectory.Usage{Input: &in, Output: &out, CacheRead: &p.read, CacheWrite: &p.written, AudioIn: &p.heard, AudioOut: &p.spoken}
}

func (p *parts) all() []*int64 {
	return []*int64{&p.fresh, &p.read, &p.written, &p.heard, &p.text, &p.spoken}
}

// For every model of the list: a token more of any kind never costs less, a cached one never more than a fresh one, and what is spent on two
// calls is the sum of both as long as no tier lies between.
func TestProperties(t *testing.T) {
	tb := table(t)
	r := rand.New(rand.NewPCG(7, 11))
	keys := slices.SortedFunc(maps.Keys(tb.models), func(a, b key) int {
		return cmp.Or(strings.Compare(a.provider, b.provider), strings.Compare(a.name, b.name))
	})
	for _, k := range keys {
		es := tb.models[k]
		cost := func(p parts) float64 {
			u := p.usage()
			return tb.at(es, today(tb)).rate(*u.Input).cost(u)
		}
		for range 20 {
			var a, b parts
			for i, n := range a.all() {
				*n, *b.all()[i] = r.Int64N(60_000), r.Int64N(60_000)
			}
			more := a
			*more.all()[r.IntN(6)] += 1 + r.Int64N(200_000)
			if cost(more) < cost(a) {
				t.Fatalf("%v: %+v costs %v and %+v %v", k, a, cost(a), more, cost(more))
			}
			cached := a
			cached.fresh, cached.read = 0, a.fresh+a.read
			if cost(cached) > cost(a)+1e-12 {
				t.Fatalf("%v: cached is dearer than fresh: %v, %v", k, cost(cached), cost(a))
			}
			both := a
			for i, n := range both.all() {
				*n += *b.all()[i]
			}
			first := tb.at(es, today(tb)).rate(0)
			if sum := first.cost(a.usage()) + first.cost(b.usage()); math.Abs(sum-first.cost(both.usage())) > 1e-9 {
				t.Fatalf("%v: the sum is not that of its parts", k)
			}
		}
	}
}

// Whatever the words, looking them up ends, and what is found is on the list under a name that the words hold.
func FuzzFind(f *testing.F) {
	for _, s := range []string{"gpt-4o-2024-08-06", "eu.anthropic.claude-3-7-sonnet-20250219-v1:0", "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-3-haiku-20240307-v1:0",
		"ft:gpt-4o::", "publishers/google/models/gemini-2.5-pro", "models/", "openrouter/openrouter/openai/", "a/b/c/d", "azure/x-2024-01-01", "claude-3-5-sonnet-v2@20241022", "://", "ft:", "-latest-latest"} {
		f.Add("openai", s)
		f.Add("", s)
	}
	tb := table(f)
	squeeze := regexp.MustCompile(`[^a-z0-9]`)
	f.Fuzz(func(t *testing.T, provider, model string) {
		es, why := tb.find(provider, model)
		if es == nil {
			return
		}
		if why != "" {
			t.Errorf("found, and not: %q", why)
		}
		said := squeeze.ReplaceAllString(strings.ToLower(model), "")
		if !slices.ContainsFunc(es[0].Names, func(n string) bool { return strings.Contains(said, squeeze.ReplaceAllString(n, "")) }) {
			t.Errorf("%q is priced as %v", model, es[0].Names)
		}
	})
}

// A pattern matches as the plain reading of it does.
func FuzzWild(f *testing.F) {
	f.Add("a*b?c", "axxbxc")
	f.Add("***", "")
	f.Add("*/gpt-?o*", "acme/gpt-4o-mini")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if strings.Count(pattern, "*") > 6 || len(pattern) > 40 || len(name) > 60 {
			return
		}
		if got, want := wild(pattern, name), plainly(pattern, name); got != want {
			t.Errorf("wild(%q, %q) = %v", pattern, name, got)
		}
	})
}

func plainly(pattern, name string) bool {
	if pattern == "" {
		return name == ""
	}
	if pattern[0] == '*' {
		return plainly(pattern[1:], name) || name != "" && plainly(pattern, name[1:])
	}
	return name != "" && (pattern[0] == '?' || pattern[0] == name[0]) && plainly(pattern[1:], name[1:])
}
