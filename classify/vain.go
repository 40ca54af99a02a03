package classify

import (
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// errorShape is how tools that never fail by status say that they failed.
var errorShape = regexp.MustCompile(`(?i)^["\s]*(\[?\{\s*"?(error|errors|is_?error|status)"?\s*:\s*"?(error|failed|failure|true)|\[?\{\s*"?errors?"?\s*:\s*("[^"]|\{|\[\s*[^\]\s])|error\b|exception\b|traceback|[a-z_.]*(error|exception):|failed\b|invalid\b|unknown tool|tool .{0,80}not found|mcp error|fix the errors)`)

// LooksFailed says that a result reads as an error, whether or not anything marks it as one.
func LooksFailed(c *trajectory.ToolCall) bool {
	raw := c.Result.Raw
	text := strings.TrimSpace(raw[:min(len(raw), 300)])
	return mayFail(text) && errorShape.MatchString(text) || marked(raw, errorMark)
}

// mayFail spares most results the pattern: of an object, its first member must begin like one of those that tell an error.
func mayFail(text string) bool {
	rest := strings.TrimLeft(text, "\"\t\n\f\r ")
	if rest == "" {
		return false
	}
	if rest[0] != '{' && rest[0] != '[' {
		return !isDigit(rune(rest[0])) && rest[0] != '-' && rest[0] != '<'
	}
	member, object := strings.CutPrefix(strings.TrimPrefix(rest, "["), "{")
	member = strings.TrimPrefix(strings.TrimLeft(member, "\t\n\f\r "), "\"")
	return object && member != "" && strings.IndexByte("eEiIsS", member[0]) >= 0
}

// Vain are answers that bring an agent no further.
type Vain string

// The vain answers.
const (
	NotVain Vain = ""
	Error   Vain = "error" // the call failed, or its answer reads so
	Empty   Vain = "empty" // it found nothing
)

// VainOf says what of a call's answer is vain. An answer that is not known, or was cut, is not.
func VainOf(c *trajectory.ToolCall) Vain {
	switch {
	case Failed(c):
		return Error
	case !c.HasResult || c.Result.Truncated:
		return NotVain
	case LooksFailed(c):
		return Error
	case marked(c.Result.Raw, emptyMark) || foundNothing(c):
		return Empty
	}
	return NotVain
}

// What a sketch says of an answer whose words it does not hold, behind its digest.
const (
	errorMark = ".error"
	emptyMark = ".empty"
)

// marked says that a text is a digest of a sketch that bears such a mark.
func marked(raw, mark string) bool {
	d, ok := strings.CutSuffix(raw, mark)
	return ok && isDigest(d)
}

// isDigest says that a text is one of what digest makes.
func isDigest(s string) bool {
	return len(s) == 16 && strings.IndexFunc(s, func(r rune) bool { return r < 'a' || r > 'p' }) < 0
}

// noneFound is how tools say in words, and in nothing else, that there is nothing.
var noneFound = regexp.MustCompile(`(?i)^["\s]*(none|nothing|empty|null|\[\s*\]|(sorry, |there (are|is|were|was) )?(no|0|zero) [\w\s]{0,40}?(found|available|match(es|ing)?|results?|hits?|records?|rows?|entries)|(no|nothing|none) (was |were )?(found|matched)|not found)\b?[\s".!]*(for [^.]{0,60})?[\s".!]*$`)

func foundNothing(c *trajectory.ToolCall) bool {
	const longest = 600 // bytes: what says that there is nothing is short
	raw := c.Result.Raw
	if c.Result.JSON == nil {
		return len(raw) <= longest && noneFound.MatchString(raw)
	}
	if len(c.Result.JSON) > longest {
		return false
	}
	var doc any
	if json.Unmarshal(c.Result.JSON, &doc) != nil {
		return false
	}
	switch d := doc.(type) {
	case []any:
		return len(d) == 0
	case string:
		return noneFound.MatchString(d)
	case map[string]any:
		lists, rest := 0, true
		for k, v := range d {
			list, is := v.([]any)
			if is && len(list) == 0 {
				lists++
				continue
			}
			rest = rest && saysNothing(k, v)
		}
		return lists > 0 && rest
	}
	return false
}

// echoed are members that say what was asked, or how it went, beside a list that is empty.
var echoed = regexp.MustCompile(`(?i)^(query|q|search|keywords?|term|filters?|message|msg|note|detail|info|status|success|ok|limit|per_?page|page_?size|has_?more|took\w*|elapsed\w*)$`)

// saysNothing says that a member adds nothing to an empty list.
func saysNothing(key string, v any) bool {
	switch v := v.(type) {
	case nil, bool:
		return true
	case float64:
		return v == 0 || echoed.MatchString(key) || pagingField.MatchString(key) || volatileField.MatchString(key)
	case string:
		return v == "" || echoed.MatchString(key) || pagingField.MatchString(key) || volatileField.MatchString(key)
	case map[string]any:
		return len(v) == 0 || echoed.MatchString(key)
	}
	return false
}
