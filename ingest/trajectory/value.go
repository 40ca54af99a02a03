package trajectory

import "github.com/go-json-experiment/json/jsontext"

// Parsed says how a value was read.
type Parsed string

// How a Value was read.
const (
	ParsedAbsent Parsed = "absent" // nothing was recorded
	ParsedObject Parsed = "object" // a JSON value, as such
	ParsedString Parsed = "string" // JSON text in a string: the usual form of arguments
	ParsedDouble Parsed = "double_encoded"
	ParsedRepr   Parsed = "python_repr"
	ParsedArgs   Parsed = "args_kwargs" // unwrapped from {args, kwargs}
	ParsedWrap   Parsed = "wrapper"     // unwrapped from a framework's wrapper
	ParsedText   Parsed = "text"        // not JSON and never meant to be
	ParsedBroken Parsed = "broken"      // meant to be JSON and is not: cut, concatenated or malformed
)

// Value is a tool call's arguments or result: the raw text as recorded and its JSON, if it has one.
type Value struct {
	Raw       string
	JSON      jsontext.Value // canonical (RFC 8785); nil when Parsed is absent, text or broken
	Parsed    Parsed
	Truncated bool // cut by a limit, or withheld ("[REDACTED]"): no rule may judge its content
}
