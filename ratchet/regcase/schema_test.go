package regcase

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	schemagen "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-dev/pawl/classify"
)

var update = flag.Bool("update", false, "write the schemas anew")

// documents are the types that have a schema, and constants that their fields hold.
var documents = map[string]struct {
	title string
	of    any
	kind  string
}{
	"case":     {"case.yaml: one regression test", Case{}, Kind},
	"waivers":  {"waivers.yaml: the stated reasons for loosening a case", Waivers{}, WaiversKind},
	"fixtures": {"_fixtures/<tool>.yaml: the team's answers for a tool", Stubs{}, StubsKind},
	"golden":   {"_golden/*.yaml: cases written by hand", Goldens{}, GoldenKind},
	"renames":  {"renames.yaml: what tools and fields of arguments are called now", Renames{}, RenamesKind},
}

func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	for name, d := range documents {
		want := generate(t, d.title, d.of, d.kind)
		if *update {
			if err := os.WriteFile("schema/"+name+".json", want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := Schema(name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("schema/%s.json is not that of the types, %v: go test ./ratchet/regcase -run TestSchemasAre -update", name, err)
		}
	}
	if len(documents) != len(SchemaNames()) {
		t.Errorf("%d documents, %d names", len(documents), len(SchemaNames()))
	}
}

func generate(t *testing.T, title string, of any, kind string) []byte {
	r := &schemagen.Reflector{RequiredFromJSONSchemaTags: true, ExpandedStruct: true, Mapper: ownSchema}
	if err := r.AddGoComments("github.com/pawl-dev/pawl/ratchet/regcase", "."); err != nil {
		t.Fatal(err)
	}
	for key, text := range r.CommentMap {
		r.CommentMap[key] = strings.Join(strings.Fields(text), " ")
	}
	s := r.Reflect(of)
	s.ID, s.Title = "", title
	nullable(s, reflect.TypeOf(of), s.Definitions, map[reflect.Type]bool{})
	constant(s, "apiVersion", APIVersion)
	if kind != "" {
		constant(s, "kind", kind)
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

func constant(s *schemagen.Schema, name, value string) {
	if p, ok := s.Properties.Get(name); ok {
		p.Const = value
	}
}

// nullable lets null stand for a pointer, as the reader does.
func nullable(s *schemagen.Schema, t reflect.Type, defs schemagen.Definitions, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	for sf := range t.Fields() {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		p, ok := s.Properties.Get(name)
		if !ok {
			continue
		}
		if sf.Type.Kind() == reflect.Pointer {
			about := p.Description
			p.Description = ""
			s.Properties.Set(name, &schemagen.Schema{AnyOf: []*schemagen.Schema{p, {Type: "null"}}, Description: about})
		}
		inner := sf.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map {
			inner = inner.Elem()
		}
		if d, ok := defs[inner.Name()]; ok && inner.Kind() == reflect.Struct {
			nullable(d, inner, defs, seen)
		}
	}
}

// ownSchema describes the types that read themselves.
func ownSchema(t reflect.Type) *schemagen.Schema {
	text := func(pattern string) *schemagen.Schema { return &schemagen.Schema{Type: "string", Pattern: pattern} }
	switch t {
	case reflect.TypeFor[JSON]():
		return &schemagen.Schema{}
	case reflect.TypeFor[State]():
		said, date := text(`\S`), text(`^\d{4}-\d{2}-\d{2}$`)
		return &schemagen.Schema{AnyOf: []*schemagen.Schema{{Type: "string", Enum: []any{"pending", "enforced"}},
			object("quarantined", closed(map[string]*schemagen.Schema{"owner": said, "reason": said, "review": date}, "owner", "reason", "review")),
			object("retired", closed(map[string]*schemagen.Schema{"reason": said}, "reason"))}}
	case reflect.TypeFor[classify.Fingerprint]():
		return closed(map[string]*schemagen.Schema{"id": text(validID.String()), "version": {Type: "integer", Minimum: "1"}, "label": text(validLabel.String()), "service": text(""), "agent": text(""),
			"parts": {Type: "object"}, "aliases": {Type: "array", Items: text("")}}, "version", "label", "service", "agent", "parts")
	case reflect.TypeFor[time.Time]():
		return &schemagen.Schema{Type: "string", Format: "date-time"}
	}
	return nil
}

// object is a mapping of one key to a mapping of its own.
func object(name string, inner *schemagen.Schema) *schemagen.Schema {
	return closed(map[string]*schemagen.Schema{name: inner}, name)
}

// closed is a mapping of known keys.
func closed(of map[string]*schemagen.Schema, required ...string) *schemagen.Schema {
	p := schemagen.NewProperties()
	for _, name := range slices.Sorted(maps.Keys(of)) {
		p.Set(name, of[name])
	}
	return &schemagen.Schema{Type: "object", Properties: p, Required: required, AdditionalProperties: schemagen.FalseSchema}
}

// compiled is a published schema as a validator knows it.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := Schema(name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// valid holds YAML against a schema by another reader than ours.
func valid(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	b, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestSchemasTakeWhatIsWritten(t *testing.T) {
	w, err := EncodeWaivers([]Waiver{{Field: "/runs/n", Base: NewJSON([]byte("5")), Head: NewJSON([]byte("3")), Reason: "too dear", Issue: "#12"}})
	if err != nil || valid(t, compiled(t, "waivers"), w) != nil {
		t.Errorf("%v %v\n%s", err, valid(t, compiled(t, "waivers"), w), w)
	}
	names, err := EncodeRenames([]Rename{{Tool: "get_order", To: "fetch_order", Reason: "one name in all services", Issue: "#3"}, {Tool: "refund", Field: "/id", To: "/order_id", Reason: "as the API says", Issue: "#4"}})
	if err != nil || valid(t, compiled(t, "renames"), names) != nil {
		t.Errorf("%v %v\n%s", err, valid(t, compiled(t, "renames"), names), names)
	}
	if again, err := DecodeRenames(names); err != nil || len(again) != 2 {
		t.Errorf("%v %v", again, err)
	}
	stubs := []byte("apiVersion: pawl/v1\nkind: Fixtures\ntool: get_order\nanswers:\n  - {arguments: {order_id: X}, result: {state: open}}\n  - {result: no such order, fault: error}\n")
	if _, err := DecodeStubs(stubs); err != nil || valid(t, compiled(t, "fixtures"), stubs) != nil {
		t.Errorf("%v %v", err, valid(t, compiled(t, "fixtures"), stubs))
	}
}

// What the schema refuses, the reader refuses too; the reader knows more.
func TestSchemaRefuses(t *testing.T) {
	good, err := Encode(example())
	if err != nil {
		t.Fatal(err)
	}
	schema := compiled(t, "case")
	for _, c := range [][2]string{{"form: never", "form: maybe"}, {"mode: soft", "mode: lenient"}, {"rate: 0.8", "rate: 1.5"}, {"effect: read", "effect: none"}, {"state: pending", "state: asleep"},
		{"owner: null", "owner: null\nsurprise: 1"}, {"tolerance: 0.2", "tolerance: -1"}, {"  - loop\n", "  []\n"}, {"confidence: 0.98", "confidence: 2"}, {"count: 7", "count: many"}} {
		bad := bytes.Replace(good, []byte(c[0]), []byte(c[1]), 1)
		if bytes.Equal(bad, good) {
			t.Fatalf("%q is not in the example:\n%s", c[0], good)
		}
		if valid(t, schema, bad) == nil {
			t.Errorf("the schema takes %q", c[1])
		}
		if _, err := Decode(bad); err == nil {
			t.Errorf("the reader takes %q", c[1])
		}
	}
}
