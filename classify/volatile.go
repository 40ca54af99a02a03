package classify

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Fields that differ from call to call without meaning another call: the identity of the request and its time.
var volatileField = regexp.MustCompile(`(?i)^_*(x[-_])?((request|trace|span|correlation|invocation|call|message|tool_?call)[-_]?id|traceparent|` +
	`idempotency[-_]?key|nonce|ts|time_?stamp|(server|current|response|request)[-_]?time|` +
	`(requested|sent|fetched|retrieved|generated|checked|queried|as_of|served)[-_]?at|` +
	`(elapsed|duration|took|latency)([-_]?(ms|s|sec|seconds|millis))?|etag)$`)

// Arguments in which models say why they call: beside others another reason makes no other call. Alone it is what the call is for.
var reasonField = regexp.MustCompile(`(?i)^_*(explanation|rationale|reasoning|thoughts?|thinking|justification|(reason|purpose)[-_]?for[-_]?(the[-_]?)?(tool[-_]?)?(call|use|calling))$`)

var clock = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(Z|[+-]\d\d:?\d\d)?`)

func withoutClocks(s string) string {
	if !hasClock(s) {
		return s
	}
	return clock.ReplaceAllString(s, "#")
}

// hasClock says whether there may be a time of day after a date: it spares most texts the pattern.
func hasClock[T ~string | ~[]byte](s T) bool {
	digit := func(i int) bool { return s[i]-'0' < 10 }
	for i := len("2006-01-02T15"); i+2 < len(s); i++ {
		if s[i] == ':' && digit(i+1) && digit(i+2) && digit(i-1) && digit(i-2) && (s[i-3] == 'T' || s[i-3] == ' ') {
			return true
		}
	}
	return false
}

// Steady returns the canonical JSON with the volatile fields blanked. Of results, inValues, times inside of texts are blanked too; of arguments,
// empty members are left out.
func Steady(v jsontext.Value, inValues bool) string {
	if !hasVolatileKey(v) && !(inValues && hasClock(v)) && (inValues || !hasEmpty(v)) {
		return string(v)
	}
	var doc any
	if err := json.Unmarshal(v, &doc); err != nil {
		return string(v)
	}
	b, err := json.Marshal(blank(doc, inValues), json.Deterministic(true))
	if err != nil {
		return string(v)
	}
	return string(b)
}

// hasVolatileKey looks for a volatile field in canonical JSON without parsing it; what looks like a key inside of a text does no harm.
func hasVolatileKey(v []byte) bool {
	for at := 0; ; {
		end := bytes.Index(v[at:], []byte(`":`))
		if end < 0 {
			return false
		}
		key := v[at : at+end]
		key = key[bytes.LastIndexByte(key, '"')+1:]
		if volatileEnd(key) && (volatileField.Match(key) || reasonField.Match(key)) {
			return true
		}
		at += end + 2
	}
}

// volatileEnd is a cheap test that spares most keys the pattern: how its alternatives end.
func volatileEnd(key []byte) bool {
	if len(key) < 2 || len(key) > 40 {
		return false
	}
	switch string(bytes.ToLower(key[len(key)-2:])) {
	case "id", "nt", "ey", "ce", "ts", "mp", "me", "at", "ms", "_s", "-s", "ns", "ks", "ys", "ds", "ec", "is", "ed", "on", "ok", "cy", "ag", "le", "ng", "ht", "ll", "se":
		return true
	}
	return false
}

func blank(doc any, inValues bool) any {
	switch d := doc.(type) {
	case map[string]any:
		reasons := !inValues && hasOthers(d)
		for k, v := range d {
			if !inValues && empty(v) {
				delete(d, k)
				continue
			}
			if (volatileField.MatchString(k) || reasons && reasonField.MatchString(k)) && !isStructure(v) {
				d[k] = "#"
				continue
			}
			d[k] = blank(v, inValues)
		}
	case []any:
		for i, v := range d {
			d[i] = blank(v, inValues)
		}
	case string:
		if inValues {
			return withoutClocks(d)
		}
	}
	return doc
}

// hasOthers says that an object holds more than reasons.
func hasOthers(d map[string]any) bool {
	for k, v := range d {
		if !reasonField.MatchString(k) && !empty(v) {
			return true
		}
	}
	return false
}

// empty values say no more than leaving them out: models that call a tool without arguments vary them at random.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func hasEmpty(v []byte) bool {
	for _, e := range []string{`:""`, `:{}`, `:[]`, `:null`} {
		if bytes.Contains(v, []byte(e)) {
			return true
		}
	}
	return false
}

func isStructure(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// Answer returns what a call answered, such that two answers that say the same are equal: volatile fields and times blanked, and in
// errors every number and id. The second value is false when the data does not hold the answer.
func Answer(c *trajectory.ToolCall) (string, bool) {
	if Failed(c) {
		text := c.Result.Raw
		if text == "" && c.Error != nil {
			text = c.Error.Type + " " + c.Error.Message
		}
		return string(c.Outcome) + " " + Scrub(text), true
	}
	switch {
	case !c.HasResult || c.Result.Truncated:
		return "", false
	case c.Result.JSON != nil:
		return Steady(c.Result.JSON, true), true
	default:
		return withoutClocks(strings.TrimSpace(c.Result.Raw)), true
	}
}

// Failed says that the call is known to have gone wrong.
func Failed(c *trajectory.ToolCall) bool {
	return c.Outcome == trajectory.OutcomeError || c.Outcome == trajectory.OutcomeDenied || c.Outcome == trajectory.OutcomeTimeout
}
