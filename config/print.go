package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// YAML returns the effective values in the order of the documentation, secrets as [secret]. Without secrets it parses
// to the same Config.
func (c Config) YAML() ([]byte, error) {
	tree, err := tree(reflect.ValueOf(c), "")
	if err != nil {
		return nil, fmt.Errorf("printing the configuration: %w", err)
	}
	return yaml.MarshalWithOptions(tree, yaml.IndentSequence(true))
}

// JSON returns the effective values as one line of JSON, secrets as [secret].
func (c Config) JSON() ([]byte, error) {
	text, err := c.YAML()
	if err != nil {
		return nil, err
	}
	var plain any
	if err := yaml.Unmarshal(text, &plain); err != nil {
		return nil, fmt.Errorf("printing the configuration: %w", err)
	}
	return json.Marshal(plain)
}

// tree turns a value into what the YAML encoder writes without knowing our types. An empty value prints as null where
// null is what a person would write for it.
func tree(v reflect.Value, tag reflect.StructTag) (any, error) {
	if _, ok := tag.Lookup("null"); ok && v.IsZero() {
		return nil, nil
	}
	if schema, ok := v.Interface().(JSONSchema); ok {
		var plain any
		if schema == nil {
			return nil, nil
		}
		err := json.Unmarshal(schema, &plain)
		return plain, err
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		return string(text), err
	}
	switch v.Kind() {
	case reflect.Pointer:
		return tree(v.Elem(), "")
	case reflect.Struct:
		return structTree(v)
	case reflect.Map:
		return mapTree(v)
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			item, err := tree(v.Index(i), "")
			if err != nil {
				return nil, err
			}
			list[i] = item
		}
		return list, nil
	case reflect.String:
		return v.String(), nil
	}
	return v.Interface(), nil
}

func structTree(v reflect.Value) (any, error) {
	var out yaml.MapSlice
	for sf := range v.Type().Fields() {
		item, err := tree(v.FieldByIndex(sf.Index), sf.Tag)
		if err != nil {
			return nil, err
		}
		out = append(out, yaml.MapItem{Key: sf.Tag.Get("yaml"), Value: item})
	}
	return out, nil
}

func mapTree(v reflect.Value) (any, error) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	out := yaml.MapSlice{}
	for _, k := range keys {
		item, err := tree(v.MapIndex(k), "")
		if err != nil {
			return nil, err
		}
		out = append(out, yaml.MapItem{Key: k.String(), Value: item})
	}
	return out, nil
}
