package rule

import (
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// says is a framework's wording: who speaks, and what it looks like. Patterns are matched against the first part of an error's text, in lower
// case, so that a document that merely quotes one does not match.
type says struct {
	who string
	finder
}

const phraseWindow = 2000

func wording(who, pattern string) says { return says{who, lookFor(pattern)} }

// refusals are the words by which frameworks say that a tool's arguments are not what its schema wants. Strong ones are said by nobody else,
// so they hold wherever they stand at the beginning of a result; the others only in what is an error already.
var refusals = []says{
	wording("AI SDK", `ai_invalidtool(input|arguments)error|invalidtoolinputerror|^(error: )?invalid (input|arguments) for tool `),
	wording("MCP", `mcp error -32602|\(?code:? -32602|input validation error:|^invalid arguments for tool`),
	wording("LangChain", `received tool input did not match expected schema|toolinputparsingexception|^error invoking tool .{1,200} with kwargs .* with error`),
	wording("OpenAI Agents", `invalid json input for tool|error occurred while parsing tool arguments`),
	wording("Mastra", `tool (input )?validation failed for|tool input validation failed|provided arguments:`),
	wording("Genkit", `schema validation failed\.? parse errors?`),
	wording("pydantic", `\d+ validation errors? for |\[type=[a-z_]+, input_value=|"loc": ?\[.*"msg": ?"|fix the errors and try again`),
	wording("pydantic-ai", `invalid arguments? for tool|tool arguments validation`),
	wording("zod", `zoderror|"code": ?"(invalid_type|invalid_enum_value|invalid_value|invalid_string|invalid_format|unrecognized_keys|too_big|too_small)"`),
	wording("Python jsonschema", `failed validating '|is not of type '|' is a required property|additional properties are not allowed \(`),
	wording("Ajv", `must have required property '|must not have additional properties|must be equal to one of the allowed values|must be (string|number|integer|boolean|array|object)\b`),
	wording("Python", `got an unexpected keyword argument|missing \d+ required (positional|keyword-only) argument`),
	wording("JSON parser", `(unexpected (token|end of json|non-whitespace)|unterminated string|expecting (property name|',' delimiter|value)).{0,80}(json|line \d+ column \d+|position \d+|$)`),
	wording("the tool", `\binvalid[_ ](tool[_ ])?(arguments?|params?|parameters?|input)\b|schema[_ ]validation|arguments? (do|does) not match|not valid json|is not valid json`),
}

// refusedBy returns who says, in this call's error or failed result, that the arguments are invalid; "" when nobody does.
func refusedBy(c *trajectory.ToolCall) string {
	if c.Error != nil && speaker(unknownTool, c.Error.Message) != "" {
		return "" // MCP has one number for both
	}
	texts := []string{}
	if c.Error != nil {
		texts = append(texts, c.Error.Type+" "+c.Error.Message)
	}
	if c.HasResult && (failed(c) || looksFailed(c)) {
		texts = append(texts, c.Result.Raw)
	}
	for _, text := range texts {
		if who := speaker(refusals, text); who != "" {
			return who
		}
	}
	if c.Error != nil && c.Error.Type == trajectory.ErrInvalidArguments {
		return "the framework"
	}
	return ""
}

// speaker returns who uses such words in the beginning of the text.
func speaker(list []says, text string) string {
	low := strings.ToLower(strings.TrimSpace(text[:min(len(text), phraseWindow)]))
	if low == "" {
		return ""
	}
	for _, s := range list {
		if s.in(low) {
			return s.who
		}
	}
	return ""
}

// looksFailed says that a result reads as an error although nothing marks it as one.
func looksFailed(c *trajectory.ToolCall) bool { return classify.LooksFailed(c) }
