package trajectory

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

func sketchTools(s *ToolSet) string {
	if s == nil {
		return "not stated"
	}
	var b strings.Builder
	for _, d := range s.Tools {
		fmt.Fprintf(&b, "%s", d.Name)
		if d.Builtin {
			b.WriteString(" builtin")
		}
		if d.Schema != nil {
			fmt.Fprintf(&b, " %s", d.Schema)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

const lookSchema = `{"properties":{"q":{"type":"string"}},"type":"object"}`

var toolDefCases = []struct{ name, text, want string }{
	{"flat", `[{"type":"function","name":"look","description":"d","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}]`, "look " + lookSchema},
	{"openai nested", `[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}}]`, "look " + lookSchema},
	{"ai sdk 5", `["{\"type\":\"function\",\"name\":\"look\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"string\"}}}}"]`, "look " + lookSchema},
	{"ai sdk wrapped schema", `[{"name":"look","inputSchema":{"jsonSchema":{"type":"object","properties":{"q":{"type":"string"}}}}}]`, "look " + lookSchema},
	{"anthropic", `[{"name":"look","input_schema":{"type":"object","properties":{"q":{"type":"string"}}}}]`, "look " + lookSchema},
	{"bedrock", `{"toolConfig":{"tools":[{"toolSpec":{"name":"look","inputSchema":{"json":{"type":"object","properties":{"q":{"type":"string"}}}}}}]}}`, "look " + lookSchema},
	{"gemini, upper case", `{"config":{"tools":[{"function_declarations":[{"name":"look","parameters":{"type":"OBJECT","properties":{"q":{"type":"STRING"}}}}]}]}}`, "look " + lookSchema},
	{"gemini, an enum value that looks like a type", `[{"name":"f","parameters":{"type":"OBJECT","properties":{"type":{"type":"STRING","enum":["STRING"]}}}}]`, `f {"properties":{"type":{"enum":["STRING"],"type":"string"}},"type":"object"}`},
	{"gemini builtin", `[{"google_search":{}},{"functionDeclarations":[{"name":"f"}]}]`, "google_search builtin\nf"},
	{"schema as text", `[{"name":"look","parameters":"{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"string\"}}}"}]`, "look " + lookSchema},
	{"pydantic", `{"function_tools":[{"name":"look","parameters_json_schema":{"type":"object","properties":{"q":{"type":"string"}}}}]}`, "look " + lookSchema},
	{"names", `["look","write"]`, "look\nwrite"},
	{"comma names", `look, write`, "look\nwrite"},
	{"one name", `look`, "look"},
	{"builtins", `[{"type":"web_search_preview"},{"type":"provider-defined","id":"openai.file_search","name":"file_search","args":{}},{"type":"bash_20250124","name":"bash"}]`, "web_search_preview builtin\nfile_search builtin\nbash builtin"},
	{"openai custom tool", `[{"type":"custom","custom":{"name":"sql","description":"d"}}]`, "sql"},
	{"anthropic custom with a schema", `[{"type":"custom","name":"look","input_schema":{"type":"object","properties":{"q":{"type":"string"}}}}]`, "look " + lookSchema},
	{"a validator's internals are no schema", `[{"name":"look","parameters":{"_def":{"typeName":"ZodObject"}}}]`, "look"},
	{"stated as none", `[]`, ""},
	{"a body without tools", `{"model":"m","temperature":1}`, "not stated"},
	{"a body with none", `{"model":"m","tools":[]}`, ""},
	{"twice the same name", `[{"name":"a","description":"first"},{"name":"a"}]`, "a"},
	{"cut", `[{"name":"a"},{"name":"b","param`, "a"},
	{"prose", `no tools were given`, "not stated"},
	{"nothing", ``, "not stated"},
	{"null", `null`, "not stated"},
}

func TestParseToolDefs(t *testing.T) {
	for _, c := range toolDefCases {
		t.Run(c.name, func(t *testing.T) {
			if got := sketchTools(ParseToolDefs(c.text)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestToolSetDigest(t *testing.T) {
	a := ParseToolDefs(`[{"name":"a","parameters":{"type":"object","properties":{}}},{"name":"b"}]`)
	b := ParseToolDefs(`[{"name":"b"}, {"parameters": {"properties":{}, "type":"object"}, "name":"a"}]`)
	if a.Digest != b.Digest {
		t.Error("order and spacing changed the digest")
	}
	if c := ParseToolDefs(`[{"name":"a"},{"name":"b"}]`); c.Digest == a.Digest {
		t.Error("a lost schema kept the digest")
	}
}

func TestToolDefsOfSlices(t *testing.T) {
	v := pcommon.NewValueSlice()
	v.Slice().AppendEmpty().SetStr(`{"type":"function","name":"look","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}`)
	if got := sketchTools(ToolDefsOf(v)); got != "look "+lookSchema {
		t.Errorf("got %s", got)
	}
}

func TestLooksLikeSchema(t *testing.T) {
	for text, want := range map[string]bool{
		lookSchema:                           true,
		`{"type":"object","properties":{}}`:  true,
		`{"query":{"type":"any"}}`:           true,
		`{"query":"kettle"}`:                 false,
		`{}`:                                 false,
		`{"type":"object"}`:                  false,
		`{"filter":{"type":"eq"},"limit":5}`: false,
		`not json`:                           false,
	} {
		if got := looksLikeSchema(text); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}

func FuzzParseToolDefs(f *testing.F) {
	for _, c := range toolDefCases {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := ParseToolDefs(text)
		if s == nil {
			return
		}
		for _, d := range s.Tools {
			if d.Name == "" {
				t.Error("a tool without a name")
			}
		}
		if again := NewToolSet(s.Tools); again.Digest != s.Digest {
			t.Error("digest not stable")
		}
	})
}
