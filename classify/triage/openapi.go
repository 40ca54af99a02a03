package triage

import (
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ratchet"
)

// The description of the API is made of the table of routes and, by reflection, of the very types that are read and written. It follows how those are encoded:
// what is nil is [], {} or null by its kind, and a key may be absent only where its tag says so.

// object is a JSON object on its way into the document.
type object = map[string]any

// OpenAPI describes the API as an OpenAPI 3.1 document.
func OpenAPI() ([]byte, error) {
	h := &handler{lg: slog.New(slog.DiscardHandler)}
	s := schemas{defs: object{}, names: map[reflect.Type]string{}}
	paths := object{}
	for _, r := range h.routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		at, ok := paths[path].(object)
		if !ok {
			at = object{}
			paths[path] = at
		}
		at[strings.ToLower(method)] = s.operation(r)
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info":    object{"title": "pawl", "version": "1", "description": "What pawl found, and what people decide on it. Errors are {\"error\": a sentence}."},
		"paths":   paths,
		"components": object{
			"schemas":         s.defs,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "one of auth.tokens in pawl.yaml; none on loopback without tokens, where the header " + PersonHeader + " names who decides"}},
		},
		"security": []object{{"token": []string{}}, {}},
	}, json.Deterministic(true), jsontext.WithIndent("  "))
}

// openapi answers GET /v1/openapi.json.
func (h *handler) openapi(w http.ResponseWriter, _ *http.Request) {
	doc, err := OpenAPI()
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	h.write(w, http.StatusOK, doc)
}

// common are the answers that any route may give beside its own.
var common = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable}

type apiError struct {
	Error string `json:"error"`
}

func (s *schemas) operation(r route) object {
	code := max(r.code, http.StatusOK)
	good := object{"description": "done", "content": content(s.of(reflect.TypeOf(r.answer)))}
	if r.paged {
		good["headers"] = object{"Link": object{"description": `<...>; rel="next": the next page; not there at the end`, "schema": object{"type": "string"}}}
	}
	answers := object{status(code): good}
	refuses := append(slices.Clone(common), r.refuses...)
	if r.body != nil {
		refuses = append(refuses, http.StatusRequestEntityTooLarge)
	}
	for _, c := range refuses {
		answers[status(c)] = object{"description": strings.ToLower(http.StatusText(c)), "content": content(s.of(reflect.TypeFor[apiError]()))}
	}
	out := object{"operationId": r.name, "summary": r.summary, "responses": answers, "x-role": string(r.role)}
	if p := parameters(r); len(p) > 0 {
		out["parameters"] = p
	}
	if r.body != nil {
		out["requestBody"] = object{"required": true, "content": content(s.of(reflect.TypeOf(r.body)))}
	}
	return out
}

func content(schema object) object { return object{"application/json": object{"schema": schema}} }

func status(code int) string {
	b, err := json.Marshal(code)
	if err != nil {
		return "default"
	}
	return string(b)
}

func parameters(r route) (out []object) {
	_, path, _ := strings.Cut(r.pattern, " ")
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			out = append(out, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	for _, p := range r.query {
		schema := object{"type": "string"}
		if p.number {
			schema = object{"type": "integer", "minimum": 1, "maximum": largestPage}
		}
		if len(p.enum) > 0 {
			schema["enum"] = p.enum
		}
		one := object{"name": p.name, "in": "query", "schema": schema}
		if p.doc != "" {
			one["description"] = p.doc
		}
		out = append(out, one)
	}
	return out
}

// schemas makes JSON schemas of types; structs with a name go into defs.
type schemas struct {
	defs  object
	names map[reflect.Type]string
}

// shaped says what it writes as JSON, where that is not what its fields say.
type shaped interface{ JSONShape() any }

// enums are the types of which all words are known.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[ratchet.Life]():      words(ratchet.Lives...),
	reflect.TypeFor[classify.Severity](): words(classify.Info, classify.Warning, classify.Blocking),
	reflect.TypeFor[classify.Verdict]():  words(classify.Failing, classify.Unclassified, classify.Incomplete, classify.Passing),
	reflect.TypeFor[classify.Source]():   words(classify.SourceRule, classify.SourceJudge, classify.SourceHuman),
}

func (s *schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[jsontext.Value]():
		return object{}
	case t == reflect.TypeFor[classify.Fingerprint]():
		return s.named(t, func() object { return s.structure(reflect.TypeFor[fingerprintShape]()) })
	case enums[t] != nil:
		return object{"type": "string", "enum": enums[t]}
	}
	if t.Kind() == reflect.Pointer {
		return orNothing(s.of(t.Elem()))
	}
	if x, ok := reflect.New(t).Interface().(shaped); ok {
		return s.named(t, func() object { return s.structure(reflect.TypeOf(x.JSONShape())) })
	}
	switch t.Kind() {
	case reflect.Struct:
		if t.Name() == "" {
			return s.structure(t)
		}
		return s.named(t, func() object { return s.structure(t) })
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}
		}
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	}
	return object{"type": "integer"}
}

// fingerprintShape is how a fingerprint is written.
type fingerprintShape struct {
	ID      string                    `json:"id"`
	Version int                       `json:"version"`
	Label   classify.Label            `json:"label"`
	Service string                    `json:"service"`
	Agent   string                    `json:"agent"`
	Parts   map[string]jsontext.Value `json:"parts"`
	Aliases []string                  `json:"aliases"`
}

func orNothing(schema object) object {
	if len(schema) == 0 {
		return schema
	}
	return object{"anyOf": []object{schema, {"type": "null"}}}
}

// named puts a type's schema among the definitions, once, and refers to it. Of two types with one name the second has its package's before it.
func (s *schemas) named(t reflect.Type, make func() object) object {
	name, ok := s.names[t]
	if !ok {
		name = strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
		if _, taken := s.defs[name]; taken {
			pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
			name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
		}
		s.names[t], s.defs[name] = name, object{}
		s.defs[name] = make()
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// structure is the schema of a struct's fields.
func (s *schemas) structure(t reflect.Type) object {
	fields, required := object{}, []string{}
	s.fields(t, fields, &required)
	out := object{"type": "object", "properties": fields, "additionalProperties": false}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = slices.Compact(required)
	}
	return out
}

// fields adds a struct's fields; those of what it embeds count as its own, and its own go before them.
func (s *schemas) fields(t reflect.Type, into object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			more, needs := object{}, []string{}
			s.fields(inner, more, &needs)
			for k, v := range more {
				if _, own := into[k]; !own {
					into[k] = v
				}
			}
			*required = append(*required, needs...)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		into[name] = s.of(f.Type)
		if may := strings.Contains(options, "omitzero") || strings.Contains(options, "omitempty"); !may {
			*required = append(*required, name)
		}
	}
}
