package main

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A capture written here, of one run of S13: the model asks for a price to be set, and says so. What the spans hold differs by case.
func TestVerdicts(t *testing.T) {
	const asked = `[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"upsert_product","arguments":{"product_id":"PRD-204","price":19.9,"currency":"EUR"}}]}]`
	other := strings.Replace(asked, "19.9,", "20,", 1)
	for _, c := range []struct {
		name, asked, note string
		want              map[fact]cell
	}{
		{"all there", asked, "", map[fact]cell{modelCalls: {Right: 2}, requested: {Right: 1}, executed: {Right: 1}, arguments: {Right: 1}, results: {Right: 1},
			outcomes: {Right: 1}, tokens: {Right: 2}, tools: {Absent: 1}, handoffs: {Right: 1}, userMessages: {Right: 1}, reply: {Right: 1}, session: {Right: 1}}},
		{"other arguments, and the true ones nowhere", other, "", map[fact]cell{arguments: {Absent: 1}, requested: {Right: 1}}},
		{"other arguments, and the true ones where nobody looks", other, `{"a":{"product_id":"PRD-204","currency":"EUR","price":19.9}}`, map[fact]cell{arguments: {Wrong: 1}}},
		{"no request at all", `[{"role":"assistant","parts":[{"type":"text","content":"Well."}]}]`, "", map[fact]cell{requested: {Absent: 1}, arguments: {Absent: 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeCapture(t, c.asked, c.note)
			sheets, err := matrix(dir, "")
			if err != nil || len(sheets) != 1 {
				t.Fatalf("%d rows, %v", len(sheets), err)
			}
			for f, want := range c.want {
				if got := sheets[0].Cells[f]; got != want {
					t.Errorf("%s: got %+v, want %+v\n%s", f, got, want, strings.Join(append(sheets[0].Wrong, sheets[0].Notes...), "\n"))
				}
			}
		})
	}
}

func writeCapture(t *testing.T, asked, note string) string {
	t.Helper()
	answered := `[{"role":"user","parts":[{"type":"text","content":"Set the price of PRD-204 to 19.90 EUR."}]}` + strings.TrimPrefix(strings.TrimSuffix(asked, "]"), "[") +
		`,{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":{"ok":true}}]}]`
	answered = strings.Replace(answered, `]}{"role"`, `]},{"role"`, 1)
	spans := []string{
		span("01", "", "invoke_agent m", 0, map[string]string{"gen_ai.operation.name": "invoke_agent", "session.id": "s-1", "note": note}),
		span("02", "01", "chat m", 1, map[string]string{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": "#20", "gen_ai.usage.output_tokens": "#5",
			"gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"Set the price of PRD-204 to 19.90 EUR."}]}]`, "gen_ai.output.messages": asked}),
		span("03", "01", "chat m", 5, map[string]string{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": "#30", "gen_ai.usage.output_tokens": "#6",
			"gen_ai.input.messages": answered, "gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"The price of PRD-204 is now 19.90 EUR."}]}]`}),
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "MANIFEST.tsv"), "sdk\tversion\tscenario\nvercel-ai\t0\tS13\n")
	base := filepath.Join(dir, "vercel-ai-0", "S13")
	write(t, base+".truth.json", `{"session_id":"s-1","labels":["ok"],"outcome":{"turns":["The price of PRD-204 is now 19.90 EUR."],"error":null},
		"tool_log":[{"name":"upsert_product","args":{"product_id":"PRD-204","price":19.9,"currency":"EUR"},"outcome":"ok","result":{"ok":true}}]}`)
	f, err := os.Create(base + ".otlp.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	fmt.Fprintf(z, `{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"gen_ai"},"spans":[%s]}]}]}`+"\n", strings.Join(spans, ","))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// span is one span as OTLP JSON; an attribute that begins with # is a number.
func span(id, parent, name string, at int, attrs map[string]string) string {
	var list []string
	for k, v := range attrs {
		value := fmt.Sprintf(`{"stringValue":%s}`, canonical(v))
		if n, ok := strings.CutPrefix(v, "#"); ok {
			value = `{"intValue":"` + n + `"}`
		}
		list = append(list, fmt.Sprintf(`{"key":%q,"value":%s}`, k, value))
	}
	if parent != "" {
		parent = "00000000000000" + parent
	}
	return fmt.Sprintf(`{"traceId":"000000000000000000000000000000aa","spanId":"00000000000000%s","parentSpanId":%q,"name":%q,"startTimeUnixNano":"17700000000%02d000000","endTimeUnixNano":"17700000000%02d000000","attributes":[%s],"status":{}}`,
		id, parent, name, at, at+2, strings.Join(list, ","))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
