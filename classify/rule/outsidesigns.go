package rule

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// sign is what an error or a result says of the outside.
type sign struct {
	is   trouble
	code string  // the number, where one is known; else the kind's word
	sure float64 // of the reading: 0..1
}

// says puts a sign in words: "access denied (HTTP 403)".
func (s sign) says() string {
	switch n, err := strconv.Atoi(s.code); {
	case err != nil:
		return s.is.says()
	case n < 0:
		return s.is.says() + " (JSON-RPC " + s.code + ")"
	default:
		return s.is.says() + " (HTTP " + s.code + ")"
	}
}

func signOf(is trouble, code string, sure float64) sign {
	return sign{is, cmp.Or(code, string(is)), sure}
}

// readError reads an error: its class or code, then its words, then the numbers in it. A number comes last since many services answer all with
// one, and their words say what it is: a 403 for a rate limit, a 400 for credit that is used up.
func readError(e *trajectory.Error) (sign, bool) {
	text := errorText(e.Message)
	low := strings.ToLower(text)
	if personSays.in(low) || personSays.in(strings.ToLower(e.Type)) || modelSays.in(low) {
		return sign{}, false
	}
	if s, ok := readStructure(jsontext.Value(strings.TrimSpace(e.Message)), 0, true); ok {
		return s, true
	}
	http := cmp.Or(e.Code, statusIn(low))
	rpc := cmp.Or(rpcIn(strings.ToLower(e.Type)), rpcIn(low))
	if rpc == rpcInvalidParams || rpc == rpcAsksPerson {
		return sign{}, false
	}
	is, sure := troubleIn(e.Type, low)
	switch {
	case rpc != 0 && ofRPC(rpc) && (is == "" || is == unreachable || is == badProtocol || is == aborted):
		return signOf(badProtocol, strconv.Itoa(rpc), 0.95), true
	case rpc != 0 && is != "":
		return signOf(is, strconv.Itoa(rpc), 0.9), true
	case is != "":
		return withStatus(is, http, sure), true
	case ofHTTP(http) != "" && !ownFault(http, low):
		return signOf(ofHTTP(http), strconv.Itoa(http), 0.95), true
	}
	return sign{}, false
}

// ownFault says that a service answers a request that is wrong with 500, as many do that never check what they are sent.
func ownFault(status int, low string) bool { return status == 500 && requestSays.in(low) }

// troubleIn is the trouble that the class of an error or its words tell, "" for none, and how sure that is.
func troubleIn(class, low string) (trouble, float64) {
	is, ok := namedTrouble(class)
	if ok && is != aborted && is != unreachable {
		return is, 0.95
	}
	for _, w := range troubleWords {
		if w.in(low) {
			if w.is == aborted {
				return aborted, 0.6
			}
			return w.is, 0.85
		}
	}
	if lead, _, found := strings.Cut(low, ":"); found { // "RESOURCE_EXHAUSTED: quota of ...", "AccessDenied: not ..."
		if k, ok := namedTrouble(lead); ok {
			return k, 0.9
		}
	}
	if ok && is == aborted {
		return is, 0.6
	}
	return is, 0.9
}

// withStatus joins what the words say and the HTTP status. A status of 500 or more that came with a timeout is the gateway's; one of 401 is
// never about what the caller may do.
func withStatus(is trouble, http int, sure float64) sign {
	kind := ofHTTP(http)
	switch {
	case kind == down && http != 500 && (is == timedOut || is == aborted), kind == unauthenticated && is == refused:
		is = kind
	case kind != is:
		return signOf(is, "", sure)
	}
	return signOf(is, strconv.Itoa(http), 0.95)
}

// errorText is what of a message is read: all of a short one; of a long one, which may be a document, a log or a traceback, its first line and
// its last.
func errorText(message string) string {
	message = strings.TrimSpace(message)
	if len(message) <= 1000 {
		return message
	}
	first, rest, _ := strings.Cut(message, "\n")
	last := rest[strings.LastIndexByte(strings.TrimSpace(rest), '\n')+1:]
	return first[:min(len(first), 400)] + "\n" + last[:min(len(last), 400)]
}

// Bounds of what is looked at in results that nothing marks as errors: what is longer is data.
const (
	wholeMost     = 160
	structureMost = 2000
	listMost      = 700
	membersMost   = 8
)

// readResult reads a result that nothing marks as an error: a small JSON object that is an error by its members, or a text that says nothing
// else. A document that speaks of errors is none.
func readResult(v trajectory.Value) (sign, bool) {
	switch {
	case v.Truncated:
		return sign{}, false
	case v.JSON == nil:
		return readWhole(v.Raw)
	}
	return readStructure(v.JSON, 0, false)
}

func readWhole(text string) (sign, bool) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > wholeMost {
		return sign{}, false
	}
	low := strings.ToLower(text)
	if strings.HasPrefix(low, "mcp error -32") { // an SDK's own words, which it gives as text
		return readError(&trajectory.Error{Message: text})
	}
	for _, w := range wholeWords {
		if w.in(low) {
			s := withStatus(w.is, statusIn(low), 0.8)
			s.sure = 0.8
			return s, true
		}
	}
	return sign{}, false
}

// errorMarks are bytes of which a structure that tells an error has one: they spare most results the reading.
var errorMarks = [][]byte{[]byte("rror"), []byte(`tatus`), []byte(`ode"`), []byte(`"__type`), []byte(`"text"`), []byte(`"response"`), []byte(`"result"`), []byte(`"output"`), []byte(`"content"`)}

func marked(v jsontext.Value) bool {
	return slices.ContainsFunc(errorMarks, func(m []byte) bool { return bytes.Contains(v, m) })
}

// readStructure reads JSON; told says that what is around it calls it an error.
func readStructure(v jsontext.Value, depth int, told bool) (sign, bool) {
	if len(v) < 2 || len(v) > structureMost || depth > 3 {
		return sign{}, false
	}
	switch v[0] {
	case '"':
		var s string
		if json.Unmarshal(v, &s) != nil {
			return sign{}, false
		}
		if s = strings.TrimSpace(s); s != "" && (s[0] == '{' || s[0] == '[') {
			return readStructure(jsontext.Value(s), depth+1, told)
		}
		return readWhole(s)
	case '[': // a list of one error; a longer one is data
		var list []jsontext.Value
		if len(v) <= listMost && marked(v) && json.Unmarshal(v, &list) == nil && len(list) == 1 {
			return readStructure(list[0], depth+1, told)
		}
	case '{':
		var members map[string]jsontext.Value
		if marked(v) && json.Unmarshal(v, &members, jsontext.AllowDuplicateNames(true)) == nil && len(members) <= membersMost {
			return readMembers(members, depth, told)
		}
	}
	return sign{}, false
}

// The members by which APIs tell errors: their codes, their words, what marks an object as one, and what wraps another answer.
var (
	codeMembers = []string{"code", "error_code", "errorCode", "status", "statusCode", "status_code", "http_status", "httpStatus", "http_code", "type", "error_type", "errorType", "name", "__type", "reason", "error", "sqlstate"}
	wordMembers = []string{"message", "msg", "detail", "details", "error_message", "errorMessage", "error_description", "error", "description", "title", "messages", "Message", "fault", "text"}
	errorKeys   = []string{"error", "errors", "error_code", "errorCode", "error_message", "errorMessage", "error_type", "errorType", "error_description", "__type", "isError", "is_error", "fault", "Fault", "exception"}
	wrapMembers = []string{"error", "errors", "response", "result", "output", "content", "body", "data", "text", "fault", "extensions", "Error", "return_value"}
)

// dataMembers hold what was asked for, whatever stands beside them.
var dataMembers = []string{"data", "result", "response", "output", "content", "body", "text", "return_value"}

// readMembers reads an object. It is an error if a member says so that means nothing else, or if it has a code and words and little besides.
func readMembers(m map[string]jsontext.Value, depth int, told bool) (sign, bool) {
	told = told || tellsError(m)
	if s, ok := readCodes(m); ok && (told || hasWords(m) && len(m) <= 4) {
		return s, true
	}
	for _, k := range wrapMembers {
		inner, ok := m[k]
		if !ok || len(m) > 3 && k != "error" && k != "errors" && k != "fault" {
			continue
		}
		if s, ok := readStructure(inner, depth+1, told && !slices.Contains(dataMembers, k)); ok {
			return s, true
		}
	}
	if told {
		for _, k := range wordMembers {
			if s, ok := readWords(m[k]); ok {
				return s, true
			}
		}
	}
	return sign{}, false
}

// readCodes reads numbers and names of errors out of an object's members.
func readCodes(m map[string]jsontext.Value) (sign, bool) {
	rpc := m["jsonrpc"] != nil || m["code"] != nil && m["message"] != nil && len(m) <= 3
	for _, k := range codeMembers {
		text := strings.Trim(string(m[k]), `"`)
		n, err := strconv.Atoi(text)
		switch {
		case text == "" || text[0] == '{' || text[0] == '[':
		case err == nil && rpc && ofRPC(n):
			if s, ok := readWords(m["message"]); ok && s.is != unreachable && s.is != aborted {
				return signOf(s.is, text, s.sure), true
			}
			return signOf(badProtocol, text, 0.95), true
		case err == nil && ofHTTP(n) != "":
			if s, ok := readWords(m["message"]); ok {
				return withStatus(s.is, n, 0.9), true
			}
			if ownFault(n, strings.ToLower(string(m["message"]))) {
				return sign{}, false
			}
			return signOf(ofHTTP(n), text, 0.9), true
		case err != nil:
			if is, ok := namedTrouble(text); ok {
				return signOf(is, "", 0.9), true
			}
		}
	}
	return sign{}, false
}

// readWords reads a member that is words about an error.
func readWords(v jsontext.Value) (sign, bool) {
	var text string
	if len(v) < 3 || len(v) > 600 || v[0] != '"' || json.Unmarshal(v, &text) != nil {
		return sign{}, false
	}
	low := strings.ToLower(text)
	if personSays.in(low) {
		return sign{}, false
	}
	if is, sure := troubleIn("", low); is != "" {
		return withStatus(is, statusIn(low), sure), true
	}
	if n := statusIn(low); ofHTTP(n) != "" && !ownFault(n, low) {
		return signOf(ofHTTP(n), strconv.Itoa(n), 0.85), true
	}
	return sign{}, false
}

func tellsError(m map[string]jsontext.Value) bool {
	return slices.ContainsFunc(errorKeys, func(k string) bool {
		v := string(m[k])
		return v != "" && v != "null" && v != "false" && v != `""` && v != "[]" && v != "0" && v != "{}"
	})
}

func hasWords(m map[string]jsontext.Value) bool {
	return slices.ContainsFunc(wordMembers, func(k string) bool { return len(m[k]) > 2 && m[k][0] == '"' })
}

// toolSign is what the answer to a tool call says of the outside. What the agent itself got wrong, the tool's name or its arguments, is
// none of it; nor is what a person refused.
func toolSign(c *trajectory.ToolCall) (sign, bool) {
	if c.Outcome == trajectory.OutcomeDenied {
		return sign{}, false
	}
	if c.Error != nil && (c.Error.Type == trajectory.ErrUnknownTool || c.Error.Type == trajectory.ErrInvalidArguments) || refusedBy(c) != "" {
		return sign{}, false
	}
	if classify.Failed(c) {
		if c.Error != nil {
			if s, ok := readError(c.Error); ok {
				return s, true
			}
		}
		if c.HasResult && !c.Result.Truncated && c.Result.Raw != "" && (c.Error == nil || c.Error.Message != c.Result.Raw) {
			return readError(&trajectory.Error{Message: c.Result.Raw})
		}
		return sign{}, false
	}
	if !c.HasResult {
		return sign{}, false
	}
	return readResult(c.Result)
}

// mute says that something failed and that nobody says how: no message, no code, or a framework's word that it keeps it to itself.
func mute(e *trajectory.Error, result trajectory.Value) bool {
	if e == nil || hiddenWords.in(strings.ToLower(e.Message)) {
		return e != nil
	}
	_, known := namedTrouble(e.Type)
	return e.Message == "" && e.Code == 0 && !known && strings.TrimSpace(result.Raw) == ""
}
