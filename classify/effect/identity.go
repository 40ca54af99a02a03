package effect

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// onceKey are the names of arguments by which a server knows that it has seen the request before.
var onceKey = regexp.MustCompile(`(?i)^_*(x[-_])?(idempotency[-_]?(key|token|id)|idempotent[-_]?key|client[-_]?(token|request[-_]?(id|token)|reference([-_]?id)?)|request[-_]?(id|token)|` +
	`dedup(e|lication)?[-_]?(id|key|token)|transaction[-_]?token|nonce)$`)

// passing are the names of arguments that differ between attempts and say nothing of the effect.
var passing = regexp.MustCompile(`(?i)^_*(attempt|retry|retries|retry[-_]?count|time_?stamp|ts|now|trace[-_]?id|span[-_]?id|traceparent|correlation[-_]?id|(requested|sent|issued)[-_]?at)$`)

// identity is a call's arguments in canonical form, without what differs between attempts at one effect. It answers false when the data does not
// hold the arguments.
func identity(c *trajectory.ToolCall) (string, bool) {
	a := c.Arguments
	if a.Truncated || a.JSON == nil && a.Raw == "" && a.Parsed == trajectory.ParsedAbsent && !c.Requested {
		return "", false
	}
	var doc any
	if a.JSON == nil || json.Unmarshal(a.JSON, &doc) != nil {
		return strings.TrimSpace(a.Raw), true
	}
	if o, ok := doc.(map[string]any); ok {
		for k := range o {
			if onceKey.MatchString(k) || passing.MatchString(k) {
				delete(o, k)
			}
		}
	}
	b, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return string(a.JSON), true
	}
	return string(b), true
}

// SameOnceKey says that both calls carry the same key by which the server knows a request that it has seen.
func SameOnceKey(a, b *trajectory.ToolCall) bool {
	for k, v := range onceKeys(a) {
		if v != "" && onceKeys(b)[k] == v {
			return true
		}
	}
	return false
}

// OtherOnceKey says that both calls carry such keys, and that none is the same: the server must take them for two requests.
func OtherOnceKey(a, b *trajectory.ToolCall) bool {
	return len(onceKeys(a)) > 0 && len(onceKeys(b)) > 0 && !SameOnceKey(a, b)
}

func onceKeys(c *trajectory.ToolCall) map[string]string {
	var o map[string]any
	if c.Arguments.JSON == nil || json.Unmarshal(c.Arguments.JSON, &o) != nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range o {
		if onceKey.MatchString(k) {
			b, _ := json.Marshal(v)
			out[strings.ToLower(k)] = strings.Trim(string(b), `"`)
		}
	}
	return out
}

// Values are the texts and numbers of a call's arguments that may name a thing, sorted: three signs and more, and at most 200.
func Values(c *trajectory.ToolCall) []string {
	var doc any
	if c.Arguments.JSON == nil || json.Unmarshal(c.Arguments.JSON, &doc) != nil {
		return nil
	}
	var out []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		case string:
			if s := strings.ToLower(strings.TrimSpace(v)); len(s) >= 3 && len(s) <= 200 {
				out = append(out, s)
			}
		case float64:
			if b, _ := json.Marshal(v); len(b) >= 3 {
				out = append(out, string(b))
			}
		}
	}
	walk(doc)
	slices.Sort(out)
	return slices.Compact(out)
}

// ByKey are the texts among a call's arguments, by key, in lower case: three signs and more, and at most 200.
func ByKey(c *trajectory.ToolCall) map[string]string {
	var o map[string]any
	if c.Arguments.JSON == nil || json.Unmarshal(c.Arguments.JSON, &o) != nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range o {
		s, _ := v.(string)
		if s = strings.ToLower(strings.TrimSpace(s)); len(s) >= 3 && len(s) <= 200 {
			out[k] = s
		}
	}
	return out
}
