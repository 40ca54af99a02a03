package config

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
)

// node is the part of JSON Schema that pawl.yaml needs.
type node struct {
	Schema      string           `json:"$schema,omitempty"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Type        any              `json:"type,omitempty"` // a name, or a list of names where null is allowed
	Pattern     string           `json:"pattern,omitempty"`
	Enum        []string         `json:"enum,omitempty"`
	Minimum     *float64         `json:"minimum,omitempty"`
	Maximum     *float64         `json:"maximum,omitempty"`
	Default     any              `json:"default,omitempty"`
	Properties  map[string]*node `json:"properties,omitempty"`
	Required    []string         `json:"required,omitempty"`
	Names       *node            `json:"propertyNames,omitempty"`
	Additional  any              `json:"additionalProperties,omitempty"`
	Items       *node            `json:"items,omitempty"`
}

// Schema returns the JSON Schema (draft 2020-12) of pawl.yaml, for editors; the same input gives the same bytes.
func Schema() ([]byte, error) {
	root := schemaOf(reflect.TypeFor[Config](), "", reflect.ValueOf(Default()))
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "pawl.yaml"
	root.Required = nil // every key has a default
	out, err := json.MarshalIndent(root, "", "  ")
	return append(out, '\n'), err
}

// schemaOf describes t; def holds the default of this place, invalid within lists and maps.
func schemaOf(t reflect.Type, tag reflect.StructTag, def reflect.Value) *node {
	n := typeNode(t, def)
	n.Description = tag.Get("doc")
	meaning, null := tag.Lookup("null")
	if null {
		n.Description += "; null: " + meaning
	}
	if name, ok := n.Type.(string); ok && (null || name == "object" || name == "array") {
		n.Type = []string{name, "null"} // a section may stand empty, with all its lines commented out
	}
	bounded := n
	if inner, ok := n.Additional.(*node); ok {
		bounded = inner // the bounds of a table are those of its values
	}
	bounded.Minimum, bounded.Maximum = limit(tag.Get("min")), limit(tag.Get("max"))
	return n
}

func typeNode(t reflect.Type, def reflect.Value) *node {
	switch {
	case t == secretType:
		return &node{Type: "string", Pattern: reference.String()}
	case t == schemaType:
		return &node{Type: "object"}
	case t.Implements(textType) || reflect.PointerTo(t).Implements(textType):
		return textNode(t, def)
	case t.Implements(enumType):
		return &node{Type: "string", Enum: reflect.Zero(t).Interface().(enum).Values(), Default: given(def)}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeNode(t.Elem(), reflect.Value{})
	case reflect.Struct:
		return structNode(t, def)
	case reflect.Map:
		return &node{Type: "object", Names: typeNode(t.Key(), reflect.Value{}), Additional: typeNode(t.Elem(), reflect.Value{})}
	case reflect.Slice:
		return &node{Type: "array", Items: typeNode(t.Elem(), element(t.Elem()))}
	case reflect.Bool:
		return &node{Type: "boolean", Default: given(def)}
	case reflect.Float64:
		return &node{Type: "number", Default: given(def)}
	case reflect.String:
		return &node{Type: "string", Default: given(def)}
	}
	return &node{Type: "integer", Default: given(def)}
}

// textNode describes a type that reads itself from text; a size may also be a plain number.
func textNode(t reflect.Type, def reflect.Value) *node {
	n := &node{Type: "string"}
	switch t {
	case reflect.TypeFor[Duration]():
		n.Pattern = `^[0-9.]+(ns|us|µs|ms|s|m|h)([0-9.]+(ns|us|µs|ms|s|m|h))*$`
	case reflect.TypeFor[Bytes]():
		n.Pattern, n.Type = `^[0-9]+ *([KMGT]iB|B)?$`, []string{"string", "integer"}
	case reflect.TypeFor[Addr]():
		n.Pattern = `^.+:[0-9]+$`
	}
	if def.IsValid() && !def.IsZero() {
		if text, ok := def.Interface().(encoding.TextMarshaler); ok {
			out, _ := text.MarshalText()
			n.Default = string(out)
		} else {
			n.Default = def.String()
		}
	}
	return n
}

func structNode(t reflect.Type, def reflect.Value) *node {
	n := &node{Type: "object", Properties: map[string]*node{}, Additional: false}
	for sf := range t.Fields() {
		inner := reflect.Value{}
		if def.IsValid() {
			inner = def.FieldByIndex(sf.Index)
		}
		name := sf.Tag.Get("yaml")
		n.Properties[name] = schemaOf(sf.Type, sf.Tag, inner)
		if sf.Tag.Get("required") == "true" {
			n.Required = append(n.Required, name)
		}
	}
	return n
}

// element is the value that a new entry of a list starts from.
func element(t reflect.Type) reflect.Value {
	fresh := reflect.New(t)
	if e, ok := fresh.Interface().(defaulter); ok {
		e.setDefaults()
		return fresh.Elem()
	}
	return reflect.Value{}
}

func given(def reflect.Value) any {
	if !def.IsValid() || def.IsZero() && def.Kind() != reflect.Bool {
		return nil
	}
	return def.Interface()
}

// limit is a bound of a number. A size is text as a rule, so its bound is left to the decoder.
func limit(tag string) *float64 {
	x, err := strconv.ParseFloat(tag, 64)
	if err != nil {
		return nil
	}
	return &x
}
