package rule

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// eachKeyword shows every member of every object in a schema.
func eachKeyword(schema jsontext.Value, show func(key string, v any)) {
	var doc any
	if json.Unmarshal(schema, &doc) != nil {
		return
	}
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		if depth > 24 {
			return
		}
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				show(k, e)
				walk(e, depth+1)
			}
		case []any:
			for _, e := range v {
				walk(e, depth+1)
			}
		}
	}
	walk(doc, 0)
}

// leafTexts lists the texts and numbers in a JSON value, as texts.
func leafTexts(v any) []string {
	switch v := v.(type) {
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, leafTexts(e)...)
		}
		return out
	case string:
		return []string{v}
	case float64, bool:
		return []string{fmt.Sprint(v)}
	}
	return nil
}

// eachLeaf shows every text and number of a JSON value: its place, itself, and, flat, the object that it stands in.
func eachLeaf(doc jsontext.Value, show func(pointer []string, value, beside string)) {
	var v any
	if json.Unmarshal(doc, &v) != nil {
		return
	}
	var walk func(v any, pointer []string, beside string)
	walk = func(v any, pointer []string, beside string) {
		if len(pointer) > 16 {
			return
		}
		switch v := v.(type) {
		case map[string]any:
			own, _ := json.Marshal(v, json.Deterministic(true))
			all := flat(string(own))
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(v[k], append(slices.Clone(pointer), k), all)
			}
		case []any:
			for i, e := range v {
				walk(e, append(slices.Clone(pointer), strconv.Itoa(i)), beside)
			}
		case string:
			show(pointer, v, beside)
		case float64:
			show(pointer, strconv.FormatFloat(v, 'f', -1, 64), beside)
		}
	}
	walk(v, nil, "")
}
