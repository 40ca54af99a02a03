package effect

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Fate is what became of one attempt.
type Fate string

// The fates. Lost: it may have been done or not. Broke: the other side answered that it broke on it (5xx), perhaps half way. Unseen: the
// data does not tell.
const (
	Done      Fate = "done"
	Declined  Fate = "refused" // nothing was done, and the answer says so
	WentWrong Fate = "failed"
	Broke     Fate = "broke"
	Lost      Fate = "lost"
	NotRun    Fate = "never_run"
	Unseen    Fate = "unseen"
)

// Outcome is a fate and how it shows: a few words of pawl's own.
type Outcome struct {
	Fate Fate
	How  string
}

func (f Fate) state() State {
	switch f {
	case Done:
		return Confirmed
	case Declined:
		return Refused
	case WentWrong:
		return Failed
	case NotRun:
		return NeverRun
	case Lost, Broke:
		return Unknown
	}
	return Sent
}

// OutcomeOf reads the outcome of a call. Of a writing call, answers that say in plain words that nothing was done count although nothing marks
// them as an error.
func OutcomeOf(c *trajectory.ToolCall, writes bool) Outcome {
	switch c.Outcome {
	case trajectory.OutcomeOK:
		if writes {
			return spoken(c)
		}
		return Outcome{Done, ""}
	case trajectory.OutcomeDenied:
		return Outcome{Declined, "it was denied"}
	case trajectory.OutcomeMissing:
		return Outcome{NotRun, "it was never executed"}
	case trajectory.OutcomeTimeout:
		if neverLeft.MatchString(errorText(c)) {
			return Outcome{Declined, "it never left"}
		}
		return Outcome{Lost, "it timed out"}
	case trajectory.OutcomeError:
		return wrong(c)
	}
	if c.HasResult && writes {
		return spoken(c)
	}
	return Outcome{Unseen, ""}
}

func errorText(c *trajectory.ToolCall) string {
	var b strings.Builder
	if c.Error != nil {
		b.WriteString(c.Error.Type + " " + c.Error.Message + "\n")
	}
	if c.HasResult {
		b.WriteString(head(c.Result.Raw))
	}
	return strings.ToLower(head(b.String()))
}

func head(s string) string { return s[:min(len(s), 2000)] }

// What errors say of the way a request took. Before it left, nothing can have happened.
var (
	neverLeft = regexp.MustCompile(`connection refused|econnrefused|enotfound|eai_again|getaddrinfo|name or service not known|no such host|name resolution|` +
		`failed to resolve|certificate|tls handshake|ssl: |connect timeout|connecttimeout|connection timeout error|und_err_connect|circuit (breaker )?(is )?open|no route to host|unreachable`)
	onTheWay = regexp.MustCompile(`econnreset|connection (was |is )?(reset|aborted|lost|dropped|closed|terminated|broken)|connection error|reset by peer|socket hang up|broken pipe|\bepipe\b|` +
		`remote end closed|server disconnected|remoteprotocolerror|incomplete ?read|unexpected eof|premature close|stream (was )?(closed|reset)|` +
		`time[d]?[ -]?out|etimedout|esockettimedout|deadline[ _]exceeded|aborterror|(operation|request) was aborted|mcp error -32001|no response (was )?received`)
	refusal = regexp.MustCompile(`\b(unknown tool|no such tool|tool not found|invalid|validation|not allowed|not permitted|forbidden|unauthori[sz]ed|permission|access denied|denied|rejected|refused|` +
		`declined|not found|does(n't| not) exist|no such|already exists|missing required|must (be|have)|is required|rate limit|too many requests|quota|insufficient|out of stock|not available|not a valid)\b`)
	status   = regexp.MustCompile(`(?:\bhttp(?:/\d(?:\.\d)?)?|\bstatus(?:[ _]?code)?|\bcode|\bresponse)["']?\s*[:=]?\s*["'(\[]?([45]\d\d)\b|\b([45]\d\d)[:,]? (?:internal server|bad gateway|service (?:temporarily )?unavailable|gateway time|client error|server error|unauthorized|forbidden|not found|bad request|conflict|unprocessable|too many)`)
	words5xx = regexp.MustCompile(`internal server error|bad gateway|service (is )?(temporarily )?unavailable|internalservererror`)
)

// wrong reads the outcome of a call that is marked as an error.
func wrong(c *trajectory.ToolCall) Outcome {
	text := errorText(c)
	if c.Error != nil && (c.Error.Type == trajectory.ErrUnknownTool || c.Error.Type == trajectory.ErrInvalidArguments) {
		return Outcome{Declined, "it was refused"}
	}
	if neverLeft.MatchString(text) {
		return Outcome{Declined, "it never left"}
	}
	code := codeOf(c, text)
	switch {
	case code == 408 || code == 504 || code == 524:
		return Outcome{Lost, "it timed out (status " + strconv.Itoa(code) + ")"}
	case code == 501 || code == 505:
		return Outcome{Declined, "it was refused (status " + strconv.Itoa(code) + ")"}
	case code >= 500:
		return Outcome{Broke, "the other side broke (status " + strconv.Itoa(code) + ")"}
	case code >= 400:
		return Outcome{Declined, "it was refused (status " + strconv.Itoa(code) + ")"}
	case refusal.MatchString(text):
		return Outcome{Declined, "it was refused"}
	case onTheWay.MatchString(text):
		return Outcome{Lost, "the answer was lost"}
	case words5xx.MatchString(text):
		return Outcome{Broke, "the other side broke"}
	}
	return Outcome{WentWrong, "it failed"}
}

func codeOf(c *trajectory.ToolCall, text string) int {
	if c.Error != nil && c.Error.Code >= 400 && c.Error.Code < 600 {
		return c.Error.Code
	}
	m := status.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1] + m[2])
	return n
}

// spoken reads the answer to a writing call that nothing marks as an error.
func spoken(c *trajectory.ToolCall) Outcome {
	if !c.HasResult {
		return Outcome{Done, ""}
	}
	if text, bad := badMember(c.Result.JSON, 0); bad {
		if refusal.MatchString(strings.ToLower(text)) {
			return Outcome{Declined, "its result says that it was refused"}
		}
		return Outcome{WentWrong, "its result says that it failed"}
	}
	text := plain(c.Result)
	if text == "" || len(text) > 300 || goodWords.MatchString(text) || !badText.MatchString(text) {
		return Outcome{Done, ""}
	}
	if refusal.MatchString(text) {
		return Outcome{Declined, "its result says that it was refused"}
	}
	return Outcome{WentWrong, "its result says that it failed"}
}

var (
	badText = regexp.MustCompile(`^["'\s*_\x{274c}\x{26a0}\x{fe0f}]*(error|failed|failure|exception|traceback|invalid|unable|could ?n[o']t|cannot|can't|denied|forbidden|unauthori[sz]ed|not (found|allowed|permitted|authori[sz]ed)|no such|unknown (tool|function))\b|` +
		`^[^.!?\n]{0,80}\b(not found|does(n't| not) exist|(was|were|is|are)(n't| not) (found|provided|sent|created|updated|deleted|allowed|permitted|a valid)|not provided|is invalid|(was|were|been) rejected|permission denied|access denied|(has|have)? ?failed)\b`)
	goodWords = regexp.MustCompile(`\b(success(ful|fully)?|succeeded|already|0 (errors|failed)|no errors?)\b`)
)

// plain is an answer's text in lower case, without the wrapping that MCP and JSON put around it.
func plain(v trajectory.Value) string {
	var s string
	if v.JSON.Kind() == '"' && json.Unmarshal(v.JSON, &s) == nil {
		return strings.ToLower(strings.TrimSpace(s))
	}
	if v.JSON != nil && v.JSON.Kind() != '"' {
		var parts []struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(v.JSON, &parts) == nil && len(parts) == 1 {
			return strings.ToLower(strings.TrimSpace(parts[0].Text))
		}
		return ""
	}
	return strings.ToLower(strings.TrimSpace(v.Raw))
}

// badMember looks for the marks by which answers say that they are none: {"error": ...}, {"success": false}, {"status": "failed"}. It returns
// the answer's own words.
func badMember(v []byte, depth int) (string, bool) {
	var o map[string]any
	if len(v) == 0 || v[0] != '{' || len(v) > 1<<16 || json.Unmarshal(v, &o) != nil {
		return "", false
	}
	words := head(string(v))
	if o["success"] == true || o["ok"] == true {
		return "", false // of many perhaps some failed: the answer as a whole calls itself good
	}
	for _, name := range []string{"error", "errors", "err", "isError", "is_error"} {
		switch e := o[name].(type) {
		case string:
			if e != "" && !strings.EqualFold(e, "none") && !strings.EqualFold(e, "null") && e != "false" {
				return words, true
			}
		case bool:
			if e {
				return words, true
			}
		case map[string]any:
			if len(e) > 0 {
				return words, true
			}
		case []any:
			if len(e) > 0 {
				return words, true
			}
		}
	}
	for _, name := range []string{"success", "ok", "succeeded", "successful"} {
		if b, is := o[name].(bool); is && !b {
			return words, true
		}
	}
	for _, name := range []string{"status", "state", "outcome", "result"} {
		s, _ := o[name].(string)
		switch strings.ToLower(s) {
		case "error", "failed", "failure", "rejected", "denied", "declined", "refused", "fail":
			return words, true
		}
	}
	for _, name := range []string{"structuredContent", "result", "data", "response"} {
		if inner, is := o[name].(map[string]any); is && depth < 2 {
			b, _ := json.Marshal(inner)
			if text, bad := badMember(b, depth+1); bad {
				return text, true
			}
		}
	}
	return "", false
}
