package trajectory

import (
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// beneathSpans is a trace of an agent whose tool does things: each span is {id, parent, kind, attributes}.
func beneathSpans(t *testing.T, text string) *Trajectory {
	t.Helper()
	var u ptrace.JSONUnmarshaler
	td, err := u.UnmarshalTraces([]byte(`{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{"name":"x"},"spans":[` + text + `]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return Build(FromOTLP([]ptrace.Traces{td}, nil)[0])
}

func span(id, parent, kind, name, attrs string) string {
	return `{"traceId":"000000000000000000000000000000aa","spanId":"00000000000000` + id + `","parentSpanId":"` + parent + `","name":"` + name + `","kind":` + kind +
		`,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000001000000000","attributes":[` + attrs + `]}`
}

func attr(key, value string) string {
	return `{"key":"` + key + `","value":{"stringValue":"` + value + `"}}`
}

func TestBeneath(t *testing.T) {
	const tool = "0000000000000001"
	toolSpan := span("01", "", "1", "execute_tool track", attr("gen_ai.operation.name", "execute_tool")+","+attr("gen_ai.tool.name", "track"))
	cases := []struct{ name, spans, want string }{
		{"nothing", toolSpan, ""},
		{"a model", toolSpan + "," + span("02", tool, "3", "chat gpt-4.1", attr("gen_ai.operation.name", "chat")+","+attr("gen_ai.request.model", "gpt-4.1")+","+attr("server.address", "api.openai.com")), "gpt-4.1"},
		{"a host, by its URL", toolSpan + "," + span("02", tool, "3", "GET", attr("url.full", "https://API.carrier.example:8443/v1?x=1")), "api.carrier.example"},
		{"a host, by its address", toolSpan + "," + span("02", tool, "3", "GET", attr("http.request.method", "GET")+","+attr("server.address", "api.carrier.example")), "api.carrier.example"},
		{"a server's span is no call", toolSpan + "," + span("02", tool, "2", "GET", attr("url.full", "https://api.carrier.example/")), ""},
		{"a database", toolSpan + "," + span("02", tool, "3", "SELECT", attr("db.system", "postgresql")+","+attr("server.address", "db.example.com")), ""},
		{"the road to an MCP server", toolSpan + "," + span("02", tool, "3", "tools/call track", attr("mcp.method.name", "tools/call")) + "," +
			span("03", "0000000000000002", "3", "POST", attr("url.full", "https://mcp.example.com/rpc")), ""},
		{"what the MCP server does", toolSpan + "," + span("02", tool, "3", "tools/call track", attr("mcp.method.name", "tools/call")) + "," +
			span("03", "0000000000000002", "3", "POST", attr("http.request.method", "POST")+","+attr("url.path", "/mcp")) + "," +
			span("04", "0000000000000003", "2", "tools/call track", attr("mcp.method.name", "tools/call")) + "," +
			span("05", "0000000000000004", "3", "GET", attr("url.full", "https://api.carrier.example/")), "api.carrier.example"},
		{"a server that asks for a model", toolSpan + "," + span("02", tool, "2", "sampling/createMessage", attr("mcp.method.name", "sampling/createMessage")), "?"},
	}
	for _, c := range cases {
		tr := beneathSpans(t, c.spans)
		i := slices.IndexFunc(tr.ToolCalls, func(x ToolCall) bool { return x.Executed && x.Name == "track" })
		if i < 0 {
			t.Errorf("%s: no call of track in %+v", c.name, tr.ToolCalls)
			continue
		}
		got := ""
		for _, b := range tr.ToolCalls[i].Beneath {
			got += b.Model + b.Host
		}
		if got != c.want {
			t.Errorf("%s: beneath is %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOutputWanted(t *testing.T) {
	const schema = `{"properties":{"city":{"type":"string"}},"type":"object"}`
	for text, want := range map[string]string{
		`{"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":` + schema + `}}}`:                                    schema,
		`{"text":{"format":{"type":"json_schema","name":"x","schema":` + schema + `}}}`:                                                    schema,
		`{"config":{"response_mime_type":"application/json","response_schema":{"type":"OBJECT","properties":{"city":{"type":"STRING"}}}}}`: schema,
		`{"generationConfig":{"responseJsonSchema":` + schema + `}}`:                                                                       schema,
		`{"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}}`:                                                      schema,
		`{"model":"llama3","messages":[],"format":` + schema + `}`:                                                                         schema,
		`{"output_mode":"native","output_object":{"json_schema":` + schema + `}}`:                                                          schema,
		`{"output":{"format":"json","schema":` + schema + `}}`:                                                                             schema,
		`{"extra_body":{"guided_json":` + schema + `}}`:                                                                                    schema,
		`{"response_format":{"type":"json_object"}}`:                                                                                       "json",
		`{"responseFormat":"json"}`:           "json",
		`{"response_format":null}`:            "",
		`{"response_format":""}`:              "",
		`{"response_format":{"type":"text"}}`: "",
		`{"output_mode":"tool","output_object":{"json_schema":` + schema + `}}`: "",
		`{"format":"json"}`:                            "",
		`{"tools":[{"output_schema":` + schema + `}]}`: "",
		`{"response_format":{"type":"json_schema"`:     "json", // the schema was cut off
	} {
		w := wantedBy(readObject(text), 0)
		got := string(w.Schema)
		if got == "" && w.JSON {
			got = "json"
		}
		if got != want {
			t.Errorf("%s wants %q, want %q", text, got, want)
		}
	}
}

// The AI SDK tells the schema of an object on the span around the model's call.
func TestOutputWantedAbove(t *testing.T) {
	tr := beneathSpans(t, span("01", "", "1", "ai.generateObject", attr("ai.operationId", "ai.generateObject")+","+attr("ai.schema", `{\"type\":\"object\",\"required\":[\"city\"]}`))+","+
		span("02", "0000000000000001", "1", "ai.generateObject.doGenerate", attr("ai.operationId", "ai.generateObject.doGenerate")+","+attr("ai.model.id", "gpt-4.1")+","+
			attr("ai.response.finishReason", "stop")+","+attr("ai.response.object", `{\"town\":\"Bern\"}`)))
	if len(tr.ModelCalls) != 1 || string(tr.ModelCalls[0].Wanted.Schema) != `{"required":["city"],"type":"object"}` || tr.ModelCalls[0].Text != `{"town":"Bern"}` {
		t.Errorf("model calls %+v", tr.ModelCalls)
	}
}
