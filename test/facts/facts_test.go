package main

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the matrices into testdata as they are now")

const dataDir = "../../../shared/data"

// Each matrix is the one in testdata: what was right stays right, and nothing that was wrong is called absent.
func TestMatrix(t *testing.T) {
	if raced {
		t.Skip("one goroutine: nothing for the race detector")
	}
	for _, name := range []string{"captures", "public"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(dataDir, name)
			if _, err := os.Stat(dir); err != nil {
				t.Skipf("no real telemetry at %s", dir)
			}
			sheets, err := matrix(dir, "")
			if err != nil {
				t.Fatal(err)
			}
			got, golden := table(sheets), filepath.Join("testdata", name+".md")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the matrix has changed; when it is better, run with -update:\n%s", diff(string(want), got))
				for _, s := range sheets {
					t.Log(strings.Join(s.Wrong, "\n"))
				}
			}
		})
	}
}

func diff(want, got string) string {
	var b strings.Builder
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i < len(w) && i < len(g) && w[i] == g[i] {
			continue
		}
		if i < len(w) {
			b.WriteString("- " + w[i] + "\n")
		}
		if i < len(g) {
			b.WriteString("+ " + g[i] + "\n")
		}
	}
	return b.String()
}

// The marks by which the raw reader knows model and tool spans find as many as the captures' own list counts.
func TestMarksAgreeWithTheList(t *testing.T) {
	dir := filepath.Join(dataDir, "captures")
	rows, err := readManifest(dir)
	if err != nil {
		t.Skipf("no captures: %v", err)
	}
	for _, r := range rows {
		raw, err := readCapture(filepath.Join(dir, r["sdk"]+"-"+r["version"], r["scenario"]+".otlp.jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		of, models, tools := emitters[r["sdk"]], 0, 0
		for _, s := range raw.spans {
			if of.model(s) {
				models++
			}
			if of.tool(s) {
				tools++
			}
		}
		if strconv.Itoa(models) != r["llm_spans"] || strconv.Itoa(tools) != r["tool_spans"] {
			t.Errorf("%s %s: %d model and %d tool spans, the list has %s and %s", r["sdk"], r["scenario"], models, tools, r["llm_spans"], r["tool_spans"])
		}
	}
}

// What the raw reader finds, it finds at any depth and in flattened keys; what is not there, it does not find.
func TestIndex(t *testing.T) {
	c := capture{spans: []rawSpan{
		{name: "chat", attrs: map[string]any{"body": `{"messages":"[{\"tool\":{\"name\":\"get_order\",\"input\":{\"id\":7}}}]"}`}},
		{name: "run get_order", attrs: map[string]any{"a.0.function.name": "send", "a.0.function.arguments": `{"to": "x"}`}},
	}}
	x := c.index(nil)
	for _, ok := range []bool{x.hasValue(`{"id": 7}`), x.hasCall("get_order", `{"id":7}`), x.hasCall("send", `{"to":"x"}`), x.hasText("run get"), x.most("id") == 7} {
		if !ok {
			t.Fatal("something that is there was not found")
		}
	}
	if x.hasValue(`{"id": 8}`) || x.hasCall("get_order", `{"to":"x"}`) || x.most("none") != -1 {
		t.Error("something was found that is not there")
	}
	if y := c.index(named("run")); y.hasCall("send", `{"to":"x"}`) {
		t.Error("a span that was left out is searched")
	}
}
