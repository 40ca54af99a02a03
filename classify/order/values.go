package order

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Values returns what the arguments say under a name: its one value, or those of a list, texts without case and outer blanks. The name is a path
// with dots or slashes, or a key that may stand deeper in the arguments and be spelled with other signs (productId, product_id). Told is false
// where the arguments cannot be read.
func Values(args trajectory.Value, name string) (values []string, told bool) {
	if args.Truncated || args.JSON.Kind() != '{' {
		return nil, false
	}
	var doc any
	if json.Unmarshal(args.JSON, &doc) != nil {
		return nil, false
	}
	path := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '/' })
	if v, ok := at(doc, path); ok {
		return scalars(v, nil), true
	}
	if len(path) == 1 {
		if v, ok := anywhere(doc, plain(path[0]), 3); ok {
			return scalars(v, nil), true
		}
	}
	return nil, true
}

func at(doc any, path []string) (any, bool) {
	for _, p := range path {
		switch d := doc.(type) {
		case map[string]any:
			v, ok := d[p]
			if !ok {
				return nil, false
			}
			doc = v
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i < 0 || i >= len(d) {
				return nil, false
			}
			doc = d[i]
		default:
			return nil, false
		}
	}
	return doc, len(path) > 0
}

// anywhere gathers the values of a key, level by level: the first level that has it counts.
func anywhere(doc any, key string, depth int) (any, bool) {
	level := []any{doc}
	for range depth {
		var found, next []any
		for _, d := range level {
			switch d := d.(type) {
			case map[string]any:
				for k, v := range d {
					if plain(k) == key {
						found = append(found, v)
					}
					next = append(next, v)
				}
			case []any:
				for _, v := range d {
					if m, ok := v.(map[string]any); ok {
						for k, w := range m {
							if plain(k) == key {
								found = append(found, w)
							}
						}
						next = append(next, v)
					}
				}
			}
		}
		if len(found) > 0 {
			return found, true
		}
		level = next
	}
	return nil, false
}

// plain is a key without case and signs, its plural taken for its singular.
func plain(key string) string {
	return strings.TrimSuffix(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(key)), "s")
}

func scalars(v any, out []string) []string {
	switch v := v.(type) {
	case string:
		return append(out, strings.ToLower(strings.TrimSpace(v)))
	case float64:
		return append(out, strconv.FormatFloat(v, 'f', -1, 64))
	case bool:
		return append(out, strconv.FormatBool(v))
	case []any:
		for _, e := range v {
			out = scalars(e, out)
		}
	}
	return out
}
