package catalog

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

const page = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get_order","title":"Order","description":"Reads one order.","inputSchema":{"type":"object"},` +
	`"annotations":{"readOnlyHint":true,"title":"x"},"_meta":{}}],"nextCursor":"a"}}`

func TestRead(t *testing.T) {
	for name, text := range map[string]string{
		"pages, one after the other": page + "\n" + strings.Replace(page, "get_order", "send_mail", 1),
		"pages in a list":            "[" + page + "," + strings.Replace(page, "get_order", "send_mail", 1) + "]",
		"bare tools":                 `[{"name":"get_order","inputSchema":{}},{"name":"send_mail"}]`,
		"one page without a wrapper": `{"tools":[{"name":"get_order"},{"name":"send_mail"}]}`,
	} {
		tools, err := Read([]byte(text))
		if err != nil || len(tools) != 2 || tools[0].Name != "get_order" || tools[1].Name != "send_mail" || !tools[0].Pinned() {
			t.Errorf("%s: %+v, %v", name, tools, err)
		}
		var b, again bytes.Buffer
		if err := Write(&b, tools); err != nil {
			t.Fatal(err)
		}
		back, err := Read(b.Bytes())
		if err != nil || Write(&again, back) != nil || again.String() != b.String() {
			t.Errorf("%s: read back %v\n%s\n%s", name, err, b.String(), again.String())
		}
		if _, err := New(back); err != nil {
			t.Error(err)
		}
	}
	for want, text := range map[string]string{
		"there are none":   ``,
		"error -32601":     `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`,
		"document 2":       page + `{`,
		"has no name":      `{"tools":[{"title":"x"}]}`,
		"of version":       `{"kind":"Catalog","apiVersion":"pawl/v9","tools":[]}`,
		"unknown object m": `{"kind":"Catalog","apiVersion":"pawl/v1alpha1","tools":[{"name":"a","efect":"read"}]}`,
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%s) = %v, want an error with %q", text, err, want)
		}
	}
	edited := Tool{Name: "a", Description: "x"}.Pin()
	edited.Description = "y"
	if _, err := New([]Tool{edited}); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("a tool that was edited after it was pinned: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(page))
	f.Add([]byte(`[[[{"tools":[null]}]]]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		tools, err := Read(text)
		if err == nil && len(tools) == 0 {
			t.Error("neither tools nor an error")
		}
		Lint(tools)
	})
}

func TestLint(t *testing.T) {
	tools := []Tool{
		{Name: "good", Description: "x", Effect: EffectRead, Schema: []byte(`{"type":"object","properties":{"a":{"type":"string","description":"x"}},"required":["a"]}`)},
		{Name: "mcp__shop__get", Effect: EffectWrite, Description: "x", Schema: []byte(`{"type":"object","properties":{"a":{"enum":[],"description":"x"},"n":{"type":"integer","minimum":5,"maximum":1}},"required":["b"],"additionalProperties":false}`)},
		{Name: "get"},
	}
	got := []string{}
	for _, c := range Lint(tools) {
		level := "advice"
		if c.Error {
			level = "error"
		}
		got = append(got, level+" "+c.Tool+c.Pointer+" "+c.What)
	}
	want := []string{
		"advice get has no declared effect: whether a repeated call does harm is unknown",
		"advice get has no description: the model has only its name to go by",
		"advice get has no schema: its arguments cannot be judged",
		"advice get has the name of mcp__shop__get once prefixes are off: calls cannot be told apart by their names",
		"advice mcp__shop__get has the name of get once prefixes are off: calls cannot be told apart by their names",
		`error mcp__shop__get wants "b" and does not allow it`,
		"error mcp__shop__get/a allows nothing: its list of values is empty",
		"error mcp__shop__get/n allows nothing: minimum is above maximum",
		"advice mcp__shop__get/n has no description",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
