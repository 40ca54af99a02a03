package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// conflict is a mistake between fields: each alone is fine.
type conflict struct{ key, message, advice string }

// Validate checks what holds between fields; Load and Parse have done so. Call it again after flags changed the
// Config. The error, if any, is [Problems] without places.
func (c Config) Validate() error {
	var ps Problems
	for _, f := range c.conflicts() {
		ps = append(ps, Problem{Key: f.key, Message: f.message, Advice: f.advice})
	}
	if len(ps) > 0 {
		return ps
	}
	return nil
}

func (c Config) conflicts() []conflict {
	return slices.Concat(
		c.openListeners(), c.samePorts(), c.certificates(), c.queueConflicts(), c.times(), c.proposals(), c.judgeConflicts(), c.gateConflicts(),
		c.toolConflicts(), c.policyConflicts(), c.names(), c.homeConflicts(), c.ruleConflicts(), c.priceConflicts(), c.labelConflicts(),
	)
}

// openListeners refuses addresses that others can reach and nobody has to prove who they are.
func (c Config) openListeners() []conflict {
	var found []conflict
	if c.Listen.HTTP != "" && !c.Listen.HTTP.Loopback() && len(c.Auth.Tokens) == 0 && c.Auth.Proxy == nil {
		found = append(found, conflict{"listen.http", fmt.Sprintf("`listen.http` is %s, which others can reach, and `auth.tokens` is empty", c.Listen.HTTP),
			"name who may use it under `auth.tokens`, have a proxy say so under `auth.proxy`, or listen on 127.0.0.1"})
	}
	if p := c.Auth.Proxy; p != nil && (p.Header == "" || len(p.From) == 0 || len(p.Roles) == 0) {
		found = append(found, conflict{"auth.proxy", "`auth.proxy` does not say all of `header`, `from` and `roles`", "name the header, where the proxy stands, and who may do what"})
	}
	if c.Ingest.Anonymous || len(c.Ingest.Tokens) > 0 || c.Ingest.TLS.ClientCA != "" {
		return found
	}
	for _, l := range []struct {
		key  string
		addr Addr
	}{{"listen.otlp_grpc", c.Listen.OTLPGRPC}, {"listen.otlp_http", c.Listen.OTLPHTTP}} {
		if l.addr != "" && !l.addr.Loopback() {
			found = append(found, conflict{l.key, fmt.Sprintf("`%s` is %s, which others can reach, and exporters need no token", l.key, l.addr),
				"set `ingest.tokens` or `ingest.tls.client_ca`, or `ingest.anonymous: true` where the network is trusted"})
		}
	}
	return found
}

func (c Config) samePorts() []conflict {
	var found []conflict
	taken := map[string]string{}
	for _, l := range []struct {
		key  string
		addr Addr
	}{{"listen.otlp_grpc", c.Listen.OTLPGRPC}, {"listen.otlp_http", c.Listen.OTLPHTTP}, {"listen.http", c.Listen.HTTP}, {"listen.webhooks", c.Listen.Webhooks}} {
		port := l.addr.port()
		if port == "" || port == "0" {
			continue
		}
		if other, ok := taken[port]; ok {
			found = append(found, conflict{l.key, fmt.Sprintf("`%s` has the port of `%s`, %s", l.key, other, port), "give each its own"})
		}
		taken[port] = l.key
	}
	if c.Listen.Webhooks != "" && len(c.Webhooks)+len(c.GHPR.Hooks) == 0 {
		found = append(found, conflict{"listen.webhooks", "`listen.webhooks` is set and `webhooks` names no source, so nothing would answer there",
			"name a source with its secret under `webhooks`"})
	}
	return found
}

func (c Config) certificates() []conflict {
	var found []conflict
	tls := c.Ingest.TLS
	if (tls.Cert == "") != (tls.Key == "") {
		found = append(found, conflict{"ingest.tls", "`ingest.tls` needs `cert` and `key` together", ""})
	}
	if tls.ClientCA != "" && tls.Cert == "" {
		found = append(found, conflict{"ingest.tls.client_ca", "`ingest.tls.client_ca` needs a server certificate", "set `ingest.tls.cert` and `ingest.tls.key`"})
	}
	if c.Ingest.Limits.Inflated < c.Ingest.Limits.Body {
		found = append(found, conflict{"ingest.limits.inflated", "`ingest.limits.inflated` is less than `ingest.limits.body`", ""})
	}
	return append(found, clientTLS("nats.tls", c.NATS.TLS)...)
}

func clientTLS(key string, tls ClientTLS) []conflict {
	if (tls.Cert == "") != (tls.Key == "") {
		return []conflict{{key, "`" + key + "` needs `cert` and `key` together", ""}}
	}
	return nil
}

var natsSchemes = []string{"nats", "tls", "ws", "wss"}

func natsURL(key, text string) []conflict {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains(natsSchemes, u.Scheme) {
		return []conflict{{key, "`" + key + "` is not an address such as nats://HOST:4222 or tls://HOST:4222", ""}}
	}
	if u.User != nil {
		return []conflict{{key, "`" + key + "` holds a password", "use a credentials file"}}
	}
	return nil
}

func (c Config) queueConflicts() []conflict {
	var found []conflict
	if c.NATS.URL != "" {
		found = natsURL("nats.url", c.NATS.URL)
	} else if c.NATS.Credentials != "" || c.NATS.TLS != (ClientTLS{}) {
		found = append(found, conflict{"nats", "`nats` has credentials or certificates and no `url`", "set `nats.url`, or leave them out"})
	}
	for i, s := range c.Queue.Sources {
		key := fmt.Sprintf("queue.sources[%d]", i)
		if s.URL != "" {
			found = append(found, natsURL(key+".url", s.URL)...)
		} else if c.NATS.URL == "" {
			found = append(found, conflict{key, "`" + key + "` has no server to read from", "set its `url`, or `nats.url`"})
		}
		found = append(found, clientTLS(key+".tls", s.TLS)...)
	}
	return found
}

// times refuses clocks that can never be reached because another one always strikes first.
func (c Config) times() []conflict {
	steps := []struct {
		key string
		d   Duration
	}{{"root_grace", c.Assemble.RootGrace}, {"idle_timeout", c.Assemble.IdleTimeout}, {"max_age", c.Assemble.MaxAge}, {"retention", c.Assemble.Retention}}
	var found []conflict
	for i := range len(steps) - 1 {
		if steps[i].d > steps[i+1].d {
			found = append(found, conflict{"assemble." + steps[i].key, fmt.Sprintf("`assemble.%s` (%s) is longer than `assemble.%s` (%s)",
				steps[i].key, steps[i].d, steps[i+1].key, steps[i+1].d), "root_grace <= idle_timeout <= max_age <= retention"})
		}
	}
	if c.Flags.Wait > maxFlagWait {
		found = append(found, conflict{"flags.wait", fmt.Sprintf("`flags.wait` (%s) is longer than flags are kept (%s)", c.Flags.Wait, maxFlagWait), "an hour is usual"})
	}
	if longest := min(maxSessionQuiet, c.Assemble.Retention); c.Absorb.SessionQuiet > longest {
		found = append(found, conflict{"absorb.session_quiet", fmt.Sprintf("`absorb.session_quiet` (%s) is longer than what is known of a session is kept (%s)",
			c.Absorb.SessionQuiet, longest), "minutes, and no more than assemble.retention"})
	}
	return found
}

// maxFlagWait leaves time to see what was not found before it is forgotten, a week after its last change.
const maxFlagWait = Duration(6 * 24 * time.Hour)

// maxSessionQuiet leaves time to judge a session before it is forgotten, a day after its last trace.
const maxSessionQuiet = Duration(12 * time.Hour)

var repoName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$`)

func (c Config) proposals() []conflict {
	var found []conflict
	g := c.GHPR
	if c.Absorb.Mode == ModeOpen && g.Mode != ModeOpen {
		found = append(found, conflict{"absorb.mode", fmt.Sprintf("`absorb.mode` is open and `ghpr.mode` is %s, so no pull request would be opened", g.Mode),
			"set `ghpr.mode: open`, or `absorb.mode: preview`"})
	}
	if g.Mode == ModeOpen && !g.Token.given() && g.App == nil {
		found = append(found, conflict{"ghpr.mode", "`ghpr.mode` is open and there is neither `ghpr.token` nor `ghpr.app`", ""})
	}
	if g.Token.given() && g.App != nil {
		found = append(found, conflict{"ghpr.app", "`ghpr.token` and `ghpr.app` are both set", "keep one"})
	}
	if u, err := url.Parse(g.BaseURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		found = append(found, conflict{"ghpr.base_url", "`ghpr.base_url` is not an address such as https://api.github.com/", ""})
	}
	found = append(found, c.network()...)
	for i, t := range c.Targets {
		if !repoName.MatchString(t.Repo) {
			found = append(found, conflict{fmt.Sprintf("targets[%d].repo", i), fmt.Sprintf("`targets[%d].repo` is not of the form owner/name", i), ""})
		}
	}
	return found
}

// network refuses the addresses that people write for the API's, and a proxy that cannot be one.
func (c Config) network() []conflict {
	var found []conflict
	if u, err := url.Parse(c.GHPR.BaseURL); err == nil {
		host := strings.ToLower(u.Hostname())
		switch {
		case host == "github.com" || host == "www.github.com":
			found = append(found, conflict{"ghpr.base_url", "`ghpr.base_url` is the page for people", "https://api.github.com/"})
		case strings.HasSuffix(host, ".ghe.com") && !strings.HasPrefix(host, "api."):
			found = append(found, conflict{"ghpr.base_url", "`ghpr.base_url` is the page for people", "https://api." + host + "/"})
		}
	}
	if p := c.GHPR.Proxy; p != "" {
		u, err := url.Parse(p)
		switch {
		case err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme):
			found = append(found, conflict{"ghpr.proxy", "`ghpr.proxy` is not an address such as http://proxy.example.com:3128", ""})
		case u.User != nil:
			found = append(found, conflict{"ghpr.proxy", "`ghpr.proxy` holds a password", "leave it out and set HTTPS_PROXY in the environment of pawl"})
		}
	}
	return found
}

func (c Config) judgeConflicts() []conflict {
	if !c.Judge.Enabled {
		return nil
	}
	var found []conflict
	if c.Judge.Model == "" {
		found = append(found, conflict{"judge.enabled", "`judge` is enabled and `judge.model` is missing", "name the model, with its version"})
	}
	if !c.Judge.APIKey.given() && c.Judge.BaseURL == "" {
		found = append(found, conflict{"judge.enabled", "`judge` is enabled and `judge.api_key` is missing", "write api_key: ${env:NAME}"})
	}
	return found
}

// homeConflicts refuses addresses that cannot be, and homes that would let nobody in.
func (c Config) homeConflicts() []conflict {
	var found []conflict
	for i, h := range c.Homes {
		key := fmt.Sprintf("homes[%d]", i)
		u, err := url.Parse(h.URL)
		switch {
		case h.URL == "":
		case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "":
			found = append(found, conflict{key + ".url", "`" + key + ".url` is not an address such as https://traces.example.com", ""})
		case u.User != nil:
			found = append(found, conflict{key + ".url", "`" + key + ".url` holds a password", "give it as `key` and `secret`"})
		}
		if h.Kind == "langfuse" && (!h.Key.given() || !h.Secret.given()) {
			found = append(found, conflict{key, "`" + key + "` needs `key` (Langfuse's public key) and `secret` (its secret key)", "write ${env:NAME}"})
		}
		if h.Kind == "langsmith" && (!h.Key.given() || h.Project == "") {
			found = append(found, conflict{key, "`" + key + "` needs `key` (LangSmith's API key) and `project`", "write ${env:NAME}"})
		}
	}
	if len(c.Homes) > 0 && c.Flags.FetchAfter > c.Flags.Wait {
		found = append(found, conflict{"flags.fetch_after", fmt.Sprintf("`flags.fetch_after` (%s) is longer than `flags.wait` (%s), so nothing would be fetched", c.Flags.FetchAfter, c.Flags.Wait), ""})
	}
	return found
}

func (c Config) gateConflicts() []conflict {
	e := c.Gate.Embeddings
	switch {
	case e.BaseURL == "" && (e.Model != "" || e.APIKey.given()):
		return []conflict{{"gate.embeddings", "`gate.embeddings` has no `base_url`", "write the address of the endpoint, such as https://api.openai.com/v1"}}
	case e.BaseURL != "" && e.Model == "":
		return []conflict{{"gate.embeddings", "`gate.embeddings` has no `model`", "name the model: the same words give other numbers with another"}}
	}
	return nil
}

func (c Config) toolConflicts() []conflict {
	var found []conflict
	for i, t := range c.Tools {
		if t.Schema != nil && t.SchemaFile != "" {
			key := fmt.Sprintf("tools[%d].schema_file", i)
			found = append(found, conflict{key, fmt.Sprintf("`tools[%d]` has `schema` and `schema_file`", i), "keep one"})
		}
	}
	return found
}

// labelConflicts refuses a label that no rule gives, pawl's or the team's own.
func (c Config) labelConflicts() []conflict {
	known := Labels()
	for _, r := range c.Custom {
		known = append(known, cmp.Or(r.Label, r.Name))
	}
	var found []conflict
	for i, l := range c.Absorb.Labels {
		if !slices.Contains(known, l) {
			key := fmt.Sprintf("absorb.labels[%d]", i)
			found = append(found, conflict{key, fmt.Sprintf("`%s` cannot be `%s`", key, oneLine(l)), advise(l, known)})
		}
	}
	for _, l := range slices.Sorted(maps.Keys(c.Severity)) {
		if !slices.Contains(known, string(l)) {
			found = append(found, conflict{"severity." + string(l), "no rule gives the label `" + oneLine(string(l)) + "`", advise(string(l), known)})
		}
	}
	return found
}

// policyConflicts refuses lines that no run could keep, or that say nothing.
func (c Config) policyConflicts() []conflict {
	var found []conflict
	for i, p := range c.Policy {
		for j, l := range p.MustPrecede {
			if key := fmt.Sprintf("policy[%d].must_precede[%d]", i, j); l.Tool == l.Before {
				found = append(found, conflict{key + ".before", "`" + key + "` wants a tool before itself, which no run can keep", ""})
			}
		}
		for j, r := range p.Route {
			key := fmt.Sprintf("policy[%d].route[%d]", i, j)
			if len(r.Allow)+len(r.Deny) == 0 {
				found = append(found, conflict{key, "`" + key + "` names no agent", "set `allow` or `deny`"})
			}
			for _, a := range r.Allow {
				if slices.Contains(r.Deny, a) {
					found = append(found, conflict{key, fmt.Sprintf("`%s` allows and denies %s", key, a), "keep one"})
				}
			}
		}
	}
	return found
}

// priceConflicts refuses a cache that is dearer than none, and a price that an earlier one hides.
func (c Config) priceConflicts() []conflict {
	var found []conflict
	seen := map[[2]string]int{}
	for i, p := range c.Prices {
		if p.CacheRead != nil && *p.CacheRead > p.Input {
			found = append(found, conflict{fmt.Sprintf("prices[%d].cache_read", i), fmt.Sprintf("`prices[%d].cache_read` is more than its `input`", i),
				"a cached token costs less than a fresh one: are the two swapped?"})
		}
		name := [2]string{strings.ToLower(p.Provider), strings.ToLower(string(p.Model))}
		if first, ok := seen[name]; ok {
			found = append(found, conflict{fmt.Sprintf("prices[%d].model", i), fmt.Sprintf("`prices[%d]` is for the same models as `prices[%d]`, which goes before it", i, first), "keep one"})
			continue
		}
		seen[name] = i
	}
	return found
}

// names refuses two entries of one name, of which one would silently win.
func (c Config) names() []conflict {
	found := repeated("auth.tokens", "name", c.Auth.Tokens, func(t Token) string { return t.Name })
	found = append(found, repeated("tools", "name", c.Tools, func(t Tool) string { return t.Name })...)
	found = append(found, repeated("homes", "name", c.Homes, func(h Home) string { return h.Name })...)
	found = append(found, repeated("queue.sources", "name", c.Queue.Sources, func(s QueueSource) string { return s.Name })...)
	return append(found, repeated("redact.patterns", "name", c.Redact.Patterns, func(p RedactPattern) string { return p.Name })...)
}

func repeated[T any](list, key string, items []T, name func(T) string) []conflict {
	var found []conflict
	seen := map[string]int{}
	for i, item := range items {
		if first, ok := seen[name(item)]; ok {
			found = append(found, conflict{fmt.Sprintf("%s[%d].%s", list, i, key),
				fmt.Sprintf("`%s[%d]` has the name of `%s[%d]`, %q", list, i, list, first, name(item)), "give each its own"})
			continue
		}
		seen[name(item)] = i
	}
	return found
}

func (c Config) ruleConflicts() []conflict {
	var found []conflict
	if c.Rules.Loop.Warn > c.Rules.Loop.Match {
		found = append(found, conflict{"rules.loop", "`rules.loop.warn` is more than `rules.loop.match`", ""})
	}
	if c.Rules.ContextOverflow.Warn > c.Rules.ContextOverflow.Match {
		found = append(found, conflict{"rules.context_overflow", "`rules.context_overflow.warn` is more than `rules.context_overflow.match`", ""})
	}
	if c.Rules.SkippedStep.MinRuns > c.Rules.SkippedStep.MinPlain {
		found = append(found, conflict{"rules.skipped_step", "`rules.skipped_step.min_runs` is more than `rules.skipped_step.min_plain`",
			"the same value in both calls is the stronger sign and needs fewer runs"})
	}
	if c.Rules.OverTrigger.MinRuns < 20 {
		found = append(found, conflict{"rules.over_trigger.min_runs", "`rules.over_trigger.min_runs` is less than 20", "a tool that is seldom used is not a forbidden one"})
	}
	return found
}
