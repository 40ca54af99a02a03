package rule

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// What services, SDKs and frameworks say, and what it is; "" is nothing of the outside.
var troubleCases = []struct {
	class, message string
	status         int
	is             trouble
	code           string
}{
	{"openai.RateLimitError", "Error code: 429 - {'error': {'message': 'Rate limit reached', 'type': 'tokens'}}", 429, throttled, "429"},
	{"anthropic.InternalServerError", "Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}}", 529, down, "529"},
	{"google.genai.errors.ServerError", "503 UNAVAILABLE. {'error': {'code': 503, 'message': 'The model is overloaded.'}}", 503, down, "503"},
	{"google.api_core.exceptions.PermissionDenied", "403 Permission 'aiplatform.endpoints.predict' denied on resource", 403, refused, "403"},
	{"botocore.exceptions.ClientError", "An error occurred (AccessDeniedException) when calling the InvokeModel operation: User is not authorized to perform: bedrock:InvokeModel", 0, refused, "access_denied"},
	{"botocore.exceptions.ClientError", "An error occurred (ThrottlingException) when calling the Converse operation: Too many requests", 0, throttled, "rate_limited"},
	{"botocore.exceptions.NoCredentialsError", "Unable to locate credentials", 0, unauthenticated, "unauthenticated"},
	{"UnrecognizedClientException", "The security token included in the request is invalid.", 0, unauthenticated, "unauthenticated"},
	{"AuthorizationFailed", "The client does not have authorization to perform action", 0, refused, "access_denied"},
	{"litellm.exceptions.AuthenticationError", "AuthenticationError: OpenAIException - Access denied due to invalid subscription key", 401, unauthenticated, "401"},
	{"httpx.ConnectError", "[Errno 111] Connection refused", 0, unreachable, "unreachable"},
	{"APIConnectionError", "Connection error.", 0, unreachable, "unreachable"},
	{"aiohttp.client_exceptions.ServerDisconnectedError", "Server disconnected", 0, unreachable, "unreachable"},
	{"TypeError", "fetch failed", 0, unreachable, "unreachable"},
	{"*url.Error", `Get "https://a.example": dial tcp: lookup a.example: no such host`, 0, unreachable, "unreachable"},
	{"System.UnauthorizedAccessException", "Access to the path is denied.", 0, refused, "access_denied"},
	{"PermissionError", "[Errno 13] Permission denied: '/etc/shadow'", 0, refused, "access_denied"},
	{"ToolException", "missing_scope", 0, "", ""},
	{"missing_scope", "", 0, refused, "access_denied"},
	{"asyncio.exceptions.TimeoutError", "", 0, timedOut, "timed_out"},
	{"TimeoutError", "The operation was aborted due to timeout", 0, timedOut, "timed_out"},
	{"context.deadlineExceededError", "context deadline exceeded", 0, timedOut, "timed_out"},
	{"McpError", "Timed out while waiting for response to ClientRequest. Waited 5.0 seconds.", 0, timedOut, "timed_out"},
	{"23", "The operation was aborted due to timeout", 0, timedOut, "timed_out"},
	{"AbortError", "This operation was aborted", 0, aborted, "aborted"},
	{"AbortError", "Request was aborted by the user", 0, "", ""},
	{"", "HTTP/1.1 502 Bad Gateway", 0, down, "502"},
	{"", "HTTP 500: data error", 0, down, "500"},
	{"", "request invalid, data error. status_code=500", 0, "", ""},
	{"", "HTTP 500 Internal Server Error: the parameter id is required", 0, down, "500"},
	{"", "504 Gateway Time-out", 504, down, "504"},
	{"", "API rate limit exceeded for installation ID 7", 403, throttled, "rate_limited"},
	{"invalid_request_error", "Your credit balance is too low to access the Anthropic API", 400, throttled, "rate_limited"},
	{"-32000", "MCP error -32000: Connection closed", 0, badProtocol, "-32000"},
	{"-32001", "MCP error -32001: Request timed out", 0, timedOut, "-32001"},
	{"", "MCP error -32602: Invalid arguments for tool x", 0, "", ""},
	{"", "MCP error -32601: Method not found", 0, badProtocol, "-32601"},
	{"-32002", "Resource not found", 0, badProtocol, "-32002"},
	{"", "MCP error -32042: URL elicitation required", 0, "", ""},
	{"", "JSON-RPC error -32700: Parse error", 0, badProtocol, "-32700"},
	{"", "Unsupported protocol version: 2026-06-30", 0, badProtocol, "protocol"},
	{"ToolError", "SMTP 554 5.7.1 message rejected by policy", 0, "", ""},
	{"NotFoundError", "404 the order was not found", 404, "", ""},
	{"ValueError", "flight HAT001 not available on date 2024-05-01", 0, "", ""},
	{"ValueError", "the amount 500 exceeds the balance", 0, "", ""},
	{"", "user rejected the tool call", 0, "", ""},
	{"", "The user doesn't want to proceed with this tool use.", 0, "", ""},
	{"", "Could not parse LLM output: I do not have access to e-mails", 0, "", ""},
	{"", "Zugriff verweigert", 0, refused, "access_denied"},
	{"", "アクセスが拒否されました", 0, refused, "access_denied"},
	{"", "请求超时", 0, timedOut, "timed_out"},
}

func TestReadError(t *testing.T) {
	for _, c := range troubleCases {
		s, ok := readError(&trajectory.Error{Type: c.class, Message: c.message, Code: c.status})
		if ok != (c.is != "") || s.is != c.is || s.code != c.code {
			t.Errorf("%s %q %d: got %s %s, want %s %s", c.class, c.message, c.status, s.is, s.code, c.is, c.code)
		}
	}
}

// Small results that are errors by their members or as a whole, and data that look like it.
func TestReadResult(t *testing.T) {
	for text, want := range map[string]trouble{
		`{"error":{"code":403,"status":"PERMISSION_DENIED","message":"no"}}`:                             refused,
		`{"ok":false,"error":"ratelimited"}`:                                                             throttled,
		`{"ok":false,"error":"not_authed"}`:                                                              unauthenticated,
		`{"message":"Resource not accessible by integration","status":"403"}`:                            refused,
		`{"message":"Bad credentials","status":"401"}`:                                                   unauthenticated,
		`{"__type":"AccessDeniedException","Message":"nope"}`:                                            refused,
		`{"errors":[{"message":"Forbidden","extensions":{"code":"FORBIDDEN"}}],"data":null}`:             refused,
		`[{"errorCode":"INSUFFICIENT_ACCESS_OR_READONLY","message":"insufficient access rights"}]`:       refused,
		`{"fault":{"faultstring":"Rate limit quota violation","detail":{"errorcode":"x"}},"status":429}`: throttled,
		`{"statusCode":503,"error":"Service Unavailable","message":"upstream connect error"}`:            down,
		`{"content":[{"type":"text","text":"Tool call timed out."}],"isError":true}`:                     timedOut,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}`:                    badProtocol,
		`{"error":"","response":"{\"status\":\"401\",\"msg\":\"Authentication required\"}"}`:             unauthenticated,
		`Tool call timed out.`:                       timedOut,
		`403 Forbidden`:                              refused,
		`Too many requests, please try again later.`: throttled,

		`{"id":7,"name":"forbidden","permission":"denied","code":403}`:         "",
		`{"account":"A-1","balance":-32603,"code":"OK"}`:                       "",
		`{"url":"https://a.example","status":503,"took":12}`:                   "",
		`{"error":null,"status":"open"}`:                                       "",
		`{"error":"","data":{"status":500,"units":"kg"}}`:                      "",
		`{"code":200,"message":"ok"}`:                                          "",
		`{"room":"403","floor":4,"title":"Meeting room 403"}`:                  "",
		`{"error":{"code":404,"message":"no such order"}}`:                     "",
		`How to fix 403 Forbidden: ask whoever runs the server for permission`: "",
		`The flight was delayed since the connection was lost.`:                "",
		`timeout: 30`: "",
		`{"denied":"permission denied is a common error","lines":["403 Forbidden"]}`: "",
	} {
		v := trajectory.ParseValue(text)
		if s, _ := readResult(v); s.is != want {
			t.Errorf("%s: got %q, want %q", text, s.is, want)
		}
	}
}

// A name stands for one trouble, and in the form in which it is looked up.
func TestTroubleNames(t *testing.T) {
	for name, is := range troubleNames {
		if noLetters.MatchString(name) {
			t.Errorf("%s (%s) is never looked up in this form", name, is)
		}
	}
	for _, w := range slices.Concat(troubleWords, wholeWords) {
		if strings.ToLower(w.re.String()) != strings.ReplaceAll(w.re.String(), `\W`, `\w`) {
			t.Errorf("%s: %s is matched against lower case", w.is, w.re)
		}
	}
}

// Whatever a result or an error holds, reading it ends, and gives a code that may stand in a fingerprint.
func FuzzTrouble(f *testing.F) {
	for _, c := range troubleCases {
		f.Add(c.class, c.message)
	}
	f.Add("", `{"error":{"error":{"error":{"error":{"code":403}}}}}`)
	f.Fuzz(func(t *testing.T, class, message string) {
		for _, read := range []func() (sign, bool){
			func() (sign, bool) { return readError(&trajectory.Error{Type: class, Message: message}) },
			func() (sign, bool) { return readResult(trajectory.ParseValue(message)) },
			func() (sign, bool) { return readStructure(jsontext.Value(message), 0, true) },
		} {
			if s, ok := read(); ok && (s.is == "" || len(s.code) > 20 || s.sure <= 0 || s.sure > 1) {
				t.Errorf("%q %q: %+v", class, message, s)
			}
		}
	})
}
