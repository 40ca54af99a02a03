package trajectory

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ownError is what a span says went wrong in it: by an exception event whatever its status, by error.type, by status. A pause for a person
// is no error.
func (n *node) ownError() *Error {
	s := n.span
	e := n.exception()
	if e == nil && n.facts.Error != nil {
		e = &Error{Type: n.facts.Error.Type, Message: cmp.Or(n.facts.Error.Message, s.StatusMessage), Code: n.facts.Error.Code}
	}
	if e == nil && s.Status == StatusError {
		e = &Error{Message: s.StatusMessage, Type: s.Attrs.Str("error.type")}
	}
	if e == nil || isPause(e.Type) || isPause(e.Message) {
		return nil
	}
	if s.Status == StatusError {
		e.Message = cmp.Or(e.Message, s.StatusMessage)
	}
	if e.Code == 0 {
		e.Code = cmp.Or(httpCode(s.Attrs), codeOf(e.Type), codeInMessage(e.Message))
	}
	return e
}

// exception reads the last exception event: the one that ended the span.
func (n *node) exception() *Error {
	var e *Error
	for _, ev := range n.span.Events {
		if ev.Name == "exception" {
			e = &Error{Type: ev.Attrs.Str("exception.type"), Message: ev.Attrs.Text("exception.message")}
		}
	}
	for _, l := range n.span.Logs {
		if l.Name == "gen_ai.client.operation.exception" && e == nil {
			a := l.all()
			e = &Error{Type: a.Str("exception.type", "error.type"), Message: a.Text("exception.message")}
		}
	}
	return e
}

// isPause says whether an exception is a framework's way to wait for a person.
func isPause(s string) bool {
	for _, w := range []string{"GraphInterrupt", "NodeInterrupt", "ApprovalRequired", "CallDeferred", "GraphBubbleUp"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

func httpCode(a Attrs) int {
	if n := a.Int("http.response.status_code", "http.status_code"); n != nil && *n >= 400 && *n < 600 {
		return int(*n)
	}
	return 0
}

// codeOf reads an HTTP status that stands for itself.
func codeOf(s string) int {
	if n, err := strconv.Atoi(s); err == nil && n >= 400 && n < 600 {
		return n
	}
	return 0
}

// codeInMessage reads the HTTP status with which many clients begin their message ("400 This model's ...", "status code 403").
func codeInMessage(msg string) int {
	first, rest, _ := strings.Cut(msg, " ")
	if class := strings.TrimSuffix(first, ":"); class != first && strings.HasSuffix(class, "Error") { // "Error: 429 Rate limit ..."
		first, _, _ = strings.Cut(rest, " ")
	}
	if n := codeOf(strings.TrimRight(first, ":,")); n > 0 {
		return n
	}
	lower := strings.ToLower(msg)
	for _, lead := range []string{"status code ", "status code: ", "status ", "http ", "error code: "} {
		if i := strings.Index(lower, lead); i >= 0 {
			rest := lower[i+len(lead):]
			if n := codeOf(rest[:min(3, len(rest))]); n > 0 {
				return n
			}
		}
	}
	return 0
}

// deeper completes an error with what the spans below it tell: the HTTP call that was refused often is the only place with the cause.
func (n *node) deeper(e *Error, depth int) {
	if depth > 8 {
		return
	}
	for _, c := range n.children {
		if e.Code != 0 && e.Message != "" {
			return
		}
		if c.folded == nil && c.facts.Role != RoleNone && c.facts.Role != RoleInner {
			continue // its errors are its own
		}
		if e.Code == 0 {
			e.Code = httpCode(c.span.Attrs)
		}
		if c.err != nil {
			e.Message, e.Type = cmp.Or(e.Message, c.err.Message), cmp.Or(e.Type, c.err.Type)
			e.Code = cmp.Or(e.Code, c.err.Code)
		}
		c.deeper(e, depth+1)
	}
}

// smeared says whether a span's error status was copied onto it from another: it has no exception of its own, and another span that has one
// carries the same message.
func (b *builder) smeared(n *node) bool {
	if n.err == nil || n.exception() != nil || n.span.StatusMessage == "" {
		return false
	}
	if b.thrown == nil {
		b.thrown = map[string][]*node{}
		for _, o := range b.nodes {
			if o.span.StatusMessage != "" && o.exception() != nil {
				b.thrown[o.span.StatusMessage] = append(b.thrown[o.span.StatusMessage], o)
			}
		}
	}
	return slices.ContainsFunc(b.thrown[n.span.StatusMessage], func(o *node) bool { return !inside(o, n) })
}

// inside says whether a node lies below another.
func inside(n, root *node) bool {
	for p := range n.above {
		if p == root {
			return true
		}
	}
	return false
}

// resultError reads the error that a result itself reports, nil when it reports none.
func resultError(v Value) *Error {
	if e := markedError(v.JSON); e != nil {
		return e
	}
	if v.Parsed == ParsedWrap && (strings.Contains(v.Raw, `"status":"error"`) || strings.Contains(v.Raw, `"status": "error"`)) {
		return &Error{Type: "error_result", Message: textOfValue(v)}
	}
	return textError(textOfValue(v))
}

// markedError reads the error marks of a JSON result: {"error": ...}, is_error, status.
func markedError(v jsontext.Value) *Error {
	if v.Kind() != '{' || !bytes.Contains(v, []byte("rror")) {
		return nil // every mark has that in it
	}
	o := readObject(string(v))
	message := o.str("message", "error_message", "detail", "reason")
	if inner := o.object("error"); inner != nil {
		return &Error{Type: cmp.Or(inner.str("type", "code", "name"), "error_result"), Message: cmp.Or(inner.str("message"), message)}
	}
	text := o.str("error")
	switch {
	case text != "" && !strings.EqualFold(text, "none") && text != "false":
		return &Error{Type: "error_result", Message: cmp.Or(message, text)}
	case o.isTrue("error", "is_error", "isError"):
		return &Error{Type: "error_result", Message: cmp.Or(message, o.str("result", "content", "text"), joinedText(contentParts(o.get("content", "result"), 0)))}
	case o.str("status") == "error" && len(o) <= 3: // more members: a record whose own state is "error"
		return &Error{Type: "error_result", Message: message}
	}
	return nil
}

// textOfValue is a value's text: what a JSON string holds, or the raw text.
func textOfValue(v Value) string {
	if v.JSON.Kind() == '"' {
		s, _ := unquote(string(v.JSON))
		return s
	}
	return v.Raw
}

// The ways in which frameworks tell the model that a tool failed, by what the text begins with or holds.
var (
	errorPrefixes = []string{"error:", "error executing", "error calling", "error running", "error invoking", "error while", "tool error", "tool execution failed", "an error occurred", "failed to ", "exception:",
		"traceback (most recent call last)", "ai_", "unknown tool", "invalid input for tool", "received tool input did not match", "typeerror:", "toolerror:", "multiple handoffs detected"}
	unknownToolWords = []string{"unknown tool", "is not found in the tools_dict", "not found in agent", "should be one of",
		"is not part of the provided tools", "not found in any workbench", "tried to call unavailable tool", "unknown ai function",
		"these are the only available", "no toolcallback found", "is not a valid tool", "nosuchtool", "not found in registry"}
	invalidArgumentWords = []string{"invalid input for tool", "invalidtoolinput", "invalidtoolarguments", "input did not match expected schema",
		"input validation failed", "schema validation failed", "validation error", "invalid arguments", "invalid tool input", "invalid json", "json parsing failed"}
)

// toolNotFound matches "Tool refund not found" where it is the message, perhaps behind the error's class and code, and not a part of prose.
var toolNotFound = regexp.MustCompile("^\\s*(\\S+ )?(\\S+: )?tool [\"'`]?[^\\s\"'`]{1,100}[\"'`]? not found\\b")

// Types of an Error that a framework's own words tell: the model named a tool that does not exist, or gave arguments that the schema refuses; or
// settings or a hook, and no person, refused the call.
const (
	ErrUnknownTool      = "unknown_tool"
	ErrInvalidArguments = "invalid_arguments"
	ErrDeniedByPolicy   = "denied_by_policy"
)

// textError reads a result that is prose about a failure; nil when it is not.
func textError(text string) *Error {
	if isJSON(text) {
		return nil // no prose
	}
	head := strings.ToLower(strings.TrimSpace(text[:min(len(text), 400)]))
	for _, p := range errorPrefixes {
		if strings.HasPrefix(head, p) && (p != "ai_" || strings.Contains(head, "error")) {
			return &Error{Type: cmp.Or(frameworkVerdict(head), "error_result"), Message: text}
		}
	}
	return nil
}

// frameworkVerdict names the class of an error that the framework itself found in the call; "" when it is another.
func frameworkVerdict(message string) string {
	lower := strings.ToLower(message)
	for _, w := range unknownToolWords {
		if strings.Contains(lower, w) {
			return ErrUnknownTool
		}
	}
	if toolNotFound.MatchString(lower) {
		return ErrUnknownTool
	}
	if _, rest, ok := strings.Cut(lower, "requested function"); ok && strings.Contains(rest, "not found") {
		return ErrUnknownTool
	}
	for _, w := range invalidArgumentWords {
		if strings.Contains(lower, w) {
			return ErrInvalidArguments
		}
	}
	return ""
}

// isTimeout says whether an error is a timeout by its own words.
func isTimeout(e *Error) bool {
	text := strings.ToLower(e.Type + " " + e.Message[:min(len(e.Message), 300)])
	for _, w := range []string{"timeout", "timed out", "etimedout", "deadline exceeded", "deadline_exceeded"} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return e.Code == 408 || e.Code == 504
}
