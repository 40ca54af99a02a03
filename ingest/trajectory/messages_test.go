package trajectory

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// sketch renders messages in one line each, so that a table can state what a text means.
func sketch(ms []Message) string {
	var b strings.Builder
	for _, m := range ms {
		fmt.Fprintf(&b, "%s:", m.Role)
		for _, p := range m.Parts {
			switch p.Kind {
			case PartText:
				fmt.Fprintf(&b, " %q", p.Text)
			case PartReasoning:
				fmt.Fprintf(&b, " think(%s)", p.Text)
			case PartToolCall:
				fmt.Fprintf(&b, " call(%s %s %s)", p.ID, p.Name, valueSketch(p.Value))
			case PartToolResult:
				fmt.Fprintf(&b, " result(%s %s)", p.ID, valueSketch(p.Value))
				if p.Failed {
					b.WriteString("!")
				}
			default:
				fmt.Fprintf(&b, " other(%s %s)", p.Text, p.Name)
			}
		}
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

func valueSketch(v Value) string {
	if v.JSON != nil {
		return string(v.JSON)
	}
	return v.Raw
}

var messageCases = []struct{ name, text, want string }{
	{"otel parts", `[{"role":"system","parts":[{"type":"text","content":"Be brief."}]},{"role":"user","parts":[{"type":"text","content":"hi"}]},
		{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"tool_call","id":"c1","name":"look","arguments":{"q":1}}],"finish_reason":"tool_call"},
		{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":{"n":2}}]}]`,
		`system: "Be brief."
user: "hi"
assistant: think(hm) call(c1 look {"q":1})
tool: result(c1 {"n":2})`},
	{"otel result under the old key, from the user", `[{"role":"user","parts":[{"type":"tool_call_response","id":"c1","result":"fine"}]}]`, `tool: result(c1 fine)`},
	{"otel tool message with text for a result", `[{"role":"tool","parts":[{"type":"text","content":"boom"}]}]`, `tool: result( boom)`},
	{"otel thinking, server tool, media", `[{"role":"assistant","parts":[{"type":"thinking","content":"t"},{"type":"server_tool_call","id":"s","name":"web_search"},{"type":"blob","content":"AAAA"}]}]`,
		`assistant: think(t) other(server_tool_call web_search) other(blob )`},
	{"bare content without parts", `[{"role":"user","content":"hello"}]`, `user: "hello"`},
	{"arguments as JSON text", `[{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"f","arguments":"{\"a\":1}"}]}]`, `assistant: call(c f {"a":1})`},
	{"system instructions: parts alone", `[{"type":"text","content":"one"},{"type":"text","content":"two"}]`, `: "one" "two"`},
	{"openai chat", `[{"role":"developer","content":"d"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":true}"}}]},{"role":"tool","tool_call_id":"c1","content":"[1,2]"}]`,
		`system: "d"
assistant: call(c1 f {"x":true})
tool: result(c1 [1,2])`},
	{"openai legacy function call", `[{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"ok"}]`, "assistant: call( f {})\ntool: result( ok)"},
	{"openai custom tool, text input", `[{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"sql","input":"select 1"}}]}]`, `assistant: call(c sql select 1)`},
	{"openai text parts and an image", `[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"x"}}]}]`, `user: "see" other(image_url )`},
	{"openai request body", `{"model":"m","messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f"}}]}`, `user: "q"`},
	{"openai answer body", `{"id":"x","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"done"}}],"usage":{}}`, `assistant: "done"`},
	{"openai responses request", `{"model":"m","instructions":"Be kind.","input":[{"role":"user","content":"q"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"out"}]}`,
		`system: "Be kind."
user: "q"
assistant: call(call_1 f {})
tool: result(call_1 out)`},
	{"openai responses, text input", `{"model":"m","input":"just text"}`, `user: "just text"`},
	{"openai responses answer", `{"object":"response","instructions":"i","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hey"}]},{"type":"web_search_call","id":"ws"},{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":2}"}]}`,
		`assistant: think(s)
assistant: "hey"
assistant: other(web_search_call )
assistant: call(c f {"a":2})`},
	{"openai agents items", `[{"role":"user","content":"q"},{"type":"function_call","id":"fc","callId":"c","name":"f","arguments":"{}"},{"type":"function_call_result","callId":"c","name":"f","output":{"type":"text","text":"r"}}]`,
		"user: \"q\"\nassistant: call(c f {})\ntool: result(c r)"},
	{"anthropic request", `{"model":"c","system":[{"type":"text","text":"S"}],"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"I look"},{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"bad","is_error":true}]}]}`,
		`system: "S"
user: "q"
assistant: think(t) "I look" call(toolu_1 f {"a":1})
tool: result(toolu_1 bad)!`},
	{"anthropic answer", `{"id":"msg","type":"message","role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`, `assistant: other(server_tool_use web_search) "ok"`},
	{"bedrock request", `{"modelId":"m","system":[{"text":"S"}],"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"f","input":{"a":1}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t1","status":"error","content":[{"text":"no"}]}}]}]}`,
		`system: "S"
user: "q"
assistant: call(t1 f {"a":1})
tool: result(t1 no)!`},
	{"bedrock json result", `[{"role":"user","content":[{"toolResult":{"toolUseId":"t1","status":"success","content":[{"json":{"k":1}}]}}]}]`, `tool: result(t1 {"k":1})`},
	{"bedrock answer", `{"output":{"message":{"role":"assistant","content":[{"text":"hi"}]}},"stopReason":"end_turn","usage":{"inputTokens":1}}`, `assistant: "hi"`},
	{"gemini request", `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":1}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":3}}}]}],"systemInstruction":{"parts":[{"text":"S"}]}}`,
		`system: "S"
user: "q"
assistant: call( f {"a":1})
tool: result( {"result":3})`},
	{"gemini snake case, config", `{"config":{"system_instruction":"S"},"contents":[{"role":"model","parts":[{"thought":true,"text":"t"},{"function_call":{"id":"x","name":"f"}}]}]}`, "system: \"S\"\nassistant: think(t) call(x f {})"},
	{"gemini answer", `{"candidates":[{"content":{"role":"model","parts":[{"text":"yes"}]},"finishReason":"STOP"}]}`, `assistant: "yes"`},
	{"ai sdk prompt", `[{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"f","input":{"a":1}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"f","output":{"type":"json","value":{"ok":true}}}]}]`,
		`system: "S"
user: "q"
assistant: call(c f {"a":1})
tool: result(c {"ok":true})`},
	{"ai sdk 4 and the error of 5", `[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"f","args":{"a":1}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"f","result":{"v":1}},{"type":"tool-result","toolCallId":"d","toolName":"g","output":{"type":"error-text","value":"Invalid input"}}]}]`,
		`assistant: call(c f {"a":1})
tool: result(c {"v":1}) result(d Invalid input)!`},
	{"ai sdk response calls", `[{"toolCallId":"c","toolName":"f","input":"{\"a\":1}"},{"toolCallId":"d","toolName":"g","args":"{}"}]`, `assistant: call(c f {"a":1}) call(d g {})`},
	{"ai sdk outer prompt", `{"system":"S","messages":[{"role":"user","content":"q"}]}`, "system: \"S\"\nuser: \"q\""},
	{"ai sdk outer prompt, text", `{"system":"S","prompt":"q"}`, "system: \"S\"\nuser: \"q\""},
	{"ai sdk call that the provider ran", `[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"web_search","input":{},"providerExecuted":true}]}]`, `assistant: other(tool-call web_search)`},
	{"langchain constructors, batch", `{"messages":[[{"lc":1,"type":"constructor","id":["langchain_core","messages","SystemMessage"],"kwargs":{"content":[{"type":"text","text":"S"}]}},{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessageChunk"],"kwargs":{"content":"","tool_calls":[{"name":"f","args":{"a":1},"id":"c","type":"tool_call"}],"additional_kwargs":{"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}}},{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"status":"error","content":"boom","tool_call_id":"c","name":"f"}}]]}`,
		`system: "S"
assistant: call(c f {"a":1})
tool: result(c boom)!`},
	{"langchain generations", `{"generations":[[{"text":"","message":{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"","invalid_tool_calls":[{"name":"f","args":"{bad","id":"c","error":"e"}]}}}]],"llmOutput":{}}`, `assistant: call(c f {bad)`},
	{"langchain plain", `[{"type":"human","content":"q"},{"type":"ai","content":"","tool_calls":[{"name":"f","args":{},"id":"c"}]},{"type":"tool","content":"r","tool_call_id":"c"}]`,
		"user: \"q\"\nassistant: call(c f {})\ntool: result(c r)"},
	{"langchain content blocks repeat the calls", `[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"a":1}}],"tool_calls":[{"id":"c","name":"f","args":{"a":1}}]}]`, `assistant: call(c f {"a":1})`},
	{"calls that came as tool", `[{"role":"tool","content":[{"type":"tool_call","id":"c","name":"f","arguments":{}}]}]`, `assistant: call(c f {})`},
	{"unknown roles by place", `[{"role":"user","content":"q"},{"role":"unknown","content":"a"}]`, "user: \"q\"\nassistant: \"a\""},
	{"ids that mean none", `[{"role":"assistant","tool_calls":[{"id":"None","name":"f","args":{}},{"id":"call_","name":"g","args":{}}]}]`, `assistant: call( f {}) call( g {})`},
	{"list inside a string", `"[{\"role\":\"user\",\"content\":\"q\"}]"`, `user: "q"`},
	{"cut list", `[{"role":"user","content":"one"},{"role":"assistant","content":"tw`, `user: "one"`},
	{"cut body", `{"model":"m","messages":[{"role":"user","content":"one"},{"role":"assis`, `user: "one"`},
	{"plain text", `hello there`, `: "hello there"`},
	{"single part", `{"type":"text","text":"x"}`, `: "x"`},
	{"user json stays text", `[{"role":"user","content":"[{\"a\":1}]"}]`, `user: "[{\"a\":1}]"`},
	{"null", `null`, ``},
	{"empty list", `[]`, ``},
	{"not json", `[hello]`, ``},
}

func TestParseMessages(t *testing.T) {
	for _, c := range messageCases {
		t.Run(c.name, func(t *testing.T) {
			if got := sketch(ParseMessages(c.text)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestMessagesOfStructures(t *testing.T) {
	v := pcommon.NewValueSlice()
	m := v.Slice().AppendEmpty().SetEmptyMap()
	m.PutStr("role", "assistant")
	call := m.PutEmptySlice("parts").AppendEmpty().SetEmptyMap()
	call.PutStr("type", "tool_call")
	call.PutStr("id", "c")
	call.PutStr("name", "f")
	call.PutEmptyMap("arguments").PutInt("n", 9007199254740991)
	if got, want := sketch(MessagesOf(v)), `assistant: call(c f {"n":9007199254740991})`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Of a cut text the messages before the cut must come out as they would from the whole.
func TestCutListsKeepWhatIsWhole(t *testing.T) {
	whole := `[{"role":"user","content":"one"},{"role":"assistant","tool_calls":[{"id":"c","name":"f","args":{"a":[1,2]}}]},{"role":"tool","tool_call_id":"c","content":"r"}]`
	want := sketch(ParseMessages(whole))
	for n := range len(whole) {
		if got := sketch(ParseMessages(whole[:n])); !strings.HasPrefix(want, got) {
			t.Fatalf("cut at %d gave\n%s", n, got)
		}
	}
}

func FuzzParseMessages(f *testing.F) {
	for _, c := range messageCases {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range ParseMessages(text) {
			if !isAnyOf(m.Role, "", "user", "assistant", "system", "tool") {
				t.Errorf("role %q", m.Role)
			}
			for _, p := range m.Parts {
				if p.Kind == "" {
					t.Error("a part without a kind")
				}
			}
		}
	})
}

func BenchmarkParseMessages(b *testing.B) {
	turn := `{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"look","arguments":{"q":"some words to look for","limit":5}}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":{"items":[1,2,3],"note":"` + strings.Repeat("text ", 100) + `"}}]}`
	text := "[" + strings.Repeat(turn+",", 49) + turn + "]"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		ParseMessages(text)
	}
}
