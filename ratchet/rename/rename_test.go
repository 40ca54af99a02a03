package rename

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/record"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/regcase/casetest"
	"github.com/pawl-dev/pawl/test/sample"
)

// There and back is what was, every step is a valid case, and a name that nobody uses changes nothing.
func TestThereAndBack(t *testing.T) {
	trace := []byte(`{"spans":[{"name":"execute_tool get_order","attributes":[{"key":"gen_ai.tool.name","value":{"stringValue":"get_order"}},{"key":"gen_ai.tool.call.arguments","value":{"stringValue":"{\"order_id\":\"ORD-1\"}"}}]}]}`)
	renames := []regcase.Rename{{Tool: "get_order", To: "fetch_order"}, {Tool: "get_order", Field: "/order_id", To: "/id"}, {Tool: "search_orders", Field: "/items/0/sku", To: "/items/0/code"}}
	changed := 0
	for seed := range uint64(25) {
		c := casetest.Case(rand.New(rand.NewPCG(seed, 3)))
		c.Trace.SHA256 = regcase.SHA256(trace)
		before := encode(t, c)
		for _, n := range renames {
			there, renamed, err := Apply(n, c, trace)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(encode(t, c), before) {
				t.Fatalf("seed %d: the case that was given has changed", seed)
			}
			if !bytes.Equal(encode(t, there), before) {
				changed++
			}
			back, restored, err := Apply(inverse(n), there, renamed)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(before), string(encode(t, back))); d != "" || !bytes.Equal(restored, trace) {
				t.Fatalf("seed %d: %+v and back:\n%s\n%s", seed, n, d, restored)
			}
		}
		if same, raw, err := Apply(regcase.Rename{Tool: "nobody", To: "x"}, c, trace); err != nil || !bytes.Equal(encode(t, same), before) || !bytes.Equal(raw, trace) {
			t.Fatalf("seed %d: a name that nobody uses changes something, %v", seed, err)
		}
	}
	if changed < 40 {
		t.Errorf("only %d of 75 renames changed anything", changed)
	}
}

func inverse(n regcase.Rename) regcase.Rename {
	if n.Field == "" {
		return regcase.Rename{Tool: n.To, To: n.Tool}
	}
	return regcase.Rename{Tool: n.Tool, Field: n.To, To: n.Field}
}

func encode(t *testing.T, c regcase.Case) []byte {
	t.Helper()
	b, err := regcase.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// In every dialect the renamed recording is read as the same trajectory with the new names.
func TestDialects(t *testing.T) {
	for _, d := range sample.Dialects {
		t.Run(d.Name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			td := sample.Trace(d, sample.Named("healthy").Make(rng), time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rng)
			tr := trajectory.FromOTLP([]ptrace.Traces{td}, nil)[0]
			doc, err := record.Encode(tr, func(string) bool { return true }, func(_, s string) string { return s })
			if err != nil {
				t.Fatal(err)
			}
			before := read(t, doc)
			call := before.ToolCalls[0]
			field := firstField(t, call.Arguments.JSON)
			c := regcase.Case{}
			_, renamed, err := Apply(regcase.Rename{Tool: call.Name, To: "a_new_name"}, c, doc)
			if err != nil {
				t.Fatal(err)
			}
			_, both, err := Apply(regcase.Rename{Tool: "a_new_name", Field: "/" + field, To: "/a_new_field"}, c, renamed)
			if err != nil {
				t.Fatal(err)
			}
			after := read(t, both)
			compare(t, before, after, call.Name, field)
			if bytes.Contains(both, []byte(`"`+call.Name+`"`)) {
				t.Error("the old name is left somewhere")
			}
		})
	}
}

func read(t *testing.T, doc []byte) *trajectory.Trajectory {
	t.Helper()
	td, ld, err := record.Decode(doc)
	if err != nil {
		t.Fatal(err)
	}
	return trajectory.Build(trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs{ld})[0])
}

func firstField(t *testing.T, args []byte) string {
	t.Helper()
	ms := members(args)
	if len(ms) == 0 {
		t.Fatalf("no arguments: %s", args)
	}
	return ms[0].name
}

func compare(t *testing.T, before, after *trajectory.Trajectory, tool, field string) {
	t.Helper()
	if len(before.ToolCalls) != len(after.ToolCalls) || cmp.Diff(before.Reply, after.Reply) != "" {
		t.Fatalf("%d calls became %d", len(before.ToolCalls), len(after.ToolCalls))
	}
	for i, b := range before.ToolCalls {
		a := after.ToolCalls[i]
		want, args := b.Name, string(regcase.NewJSON(b.Arguments.JSON))
		if b.Name == tool {
			want, args = "a_new_name", string(regcase.NewJSON([]byte(strings.Replace(string(b.Arguments.JSON), `"`+field+`"`, `"a_new_field"`, 1))))
		}
		if got := string(regcase.NewJSON(a.Arguments.JSON)); a.Name != want || got != args || a.Outcome != b.Outcome {
			t.Errorf("call %d: %s %s, want %s %s", i, a.Name, got, want, args)
		}
	}
	for i, b := range before.ToolsOffered {
		if a := after.ToolsOffered[i]; b.Name == tool && (a.Name != "a_new_name" || b.Schema != nil && (bytes.Contains(a.Schema, []byte(`"`+field+`"`)) || !bytes.Contains(a.Schema, []byte(`"a_new_field"`)))) {
			t.Errorf("offered %s %s", a.Name, a.Schema)
		}
	}
}

// A schema's digest in the case follows the schema that the trace offers.
func TestSchemaDigest(t *testing.T) {
	schema := `{"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"]}`
	trace := []byte(`{"tools":[{"type":"function","function":{"name":"get_order","parameters":` + schema + `}}]}`)
	c := regcase.Case{Tools: []regcase.Tool{{Name: "get_order", SchemaSHA256: new(regcase.SHA256(regcase.NewJSON([]byte(schema))))}}}
	got, _, err := Apply(regcase.Rename{Tool: "get_order", Field: "/order_id", To: "/id"}, c, trace)
	want := regcase.SHA256(regcase.NewJSON([]byte(strings.ReplaceAll(schema, "order_id", "id"))))
	if err != nil || *got.Tools[0].SchemaSHA256 != want {
		t.Errorf("%s, want %s, %v", *got.Tools[0].SchemaSHA256, want, err)
	}
}

func TestFrozenPolicy(t *testing.T) {
	c := regcase.Case{Expect: regcase.Expect{Never: []regcase.Never{{Policy: regcase.NewJSON([]byte(`{"must_precede":[{"tool":"upsert","before":"check","same":"id"}]}`))}}}}
	tool, _, _ := Apply(regcase.Rename{Tool: "check", To: "validate"}, c, []byte("{}"))
	field, _, _ := Apply(regcase.Rename{Tool: "upsert", Field: "/id", To: "/product_id"}, c, []byte("{}"))
	if got := string(tool.Expect.Never[0].Policy); !strings.Contains(got, `"before":"validate"`) {
		t.Error(got)
	}
	if got := string(field.Expect.Never[0].Policy); !strings.Contains(got, `"same":"product_id"`) {
		t.Error(got)
	}
}

func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"name":"t","arguments":"{\"a\":1}","tools":[{"name":"t","parameters":{"properties":{"a":{}},"required":["a"]}}]}`), "t", "/a", "/b")
	f.Fuzz(func(t *testing.T, trace []byte, tool, field, to string) {
		n := regcase.Rename{Tool: tool, Field: field, To: to, Reason: "x", Issue: "#1"}
		if n.Check() != nil {
			return
		}
		c, out, err := Apply(n, regcase.Case{}, trace)
		if err != nil {
			return
		}
		if c.Trace.SHA256 != regcase.SHA256(out) {
			t.Error("the digest is not that of the trace")
		}
		if _, _, err := Apply(n, c, out); err != nil {
			t.Errorf("what comes out is no JSON any more: %v\n%s", err, out)
		}
	})
}
