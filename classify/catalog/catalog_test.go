package catalog

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestNormalise(t *testing.T) {
	for in, want := range map[string]string{
		"get_order": "get_order", "functions.get_order": "get_order", "mcp__shop__get_order": "get_order", "shop/get_order": "get_order",
		"functions.Read:0": "Read", "mcp__": "mcp__", "functions.": "functions.", "a/": "a/", " x ": "x", "mcp__shop__": "mcp__shop__",
		"default_api.search": "search",
	} {
		if got := Normalise(in); got != want {
			t.Errorf("Normalise(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzNormalise(f *testing.F) {
	f.Add("functions.mcp__a__b/c:0")
	f.Fuzz(func(t *testing.T, s string) {
		if strings.TrimSpace(s) != "" && Normalise(s) == "" {
			t.Errorf("Normalise(%q) lost the name", s)
		}
	})
}

func TestLookup(t *testing.T) {
	c, err := New([]Tool{
		{Name: "get_order", Effect: EffectRead, Schema: jsontext.Value(`{"type":"object"}`)},
		{Name: "a/list"}, {Name: "b/list"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if tool, ok := c.Tool("mcp__shop__get_order"); !ok || tool.Effect != EffectRead {
		t.Errorf("Tool by normalised name = %+v, %v", tool, ok)
	}
	if tool, ok := c.Tool("a/list"); !ok || tool.Effect != EffectUnknown {
		t.Errorf("Tool by exact name = %+v, %v", tool, ok)
	}
	if tool, ok := c.Tool("list"); ok {
		t.Errorf("an ambiguous name found %+v", tool)
	}
	if _, ok := (*Catalog)(nil).Tool("get_order"); ok {
		t.Error("a nil catalog found a tool")
	}
}

func TestRefuses(t *testing.T) {
	for want, tools := range map[string][]Tool{
		"no name":        {{}},
		"declared twice": {{Name: "a"}, {Name: "a"}},
		"none of read":   {{Name: "a", Effect: "wirte"}},
		"not JSON":       {{Name: "a", Schema: jsontext.Value(`{`)}},
	} {
		if _, err := New(tools); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v) = %v, want an error with %q", tools, err, want)
		}
	}
}
