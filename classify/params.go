package classify

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
)

// decodeParams lays overrides over a rule's defaults. It returns the struct for the rule and the same as a map, to be frozen into cases.
func decodeParams(r Rule, over map[string]any) (any, map[string]any, error) {
	if r.Params == nil {
		if len(over) > 0 {
			return nil, nil, fmt.Errorf("rule %s has no parameters, but config sets %s", r.Name, slices.Sorted(maps.Keys(over))[0])
		}
		return nil, map[string]any{}, nil
	}
	known, err := asMap(r.Params)
	if err != nil {
		return nil, nil, fmt.Errorf("rule %s: parameters: %w", r.Name, err)
	}
	for _, name := range slices.Sorted(maps.Keys(over)) {
		if _, ok := known[name]; !ok {
			return nil, nil, fmt.Errorf("rule %s has no parameter %q%s", r.Name, name, DidYouMean(name, slices.Sorted(maps.Keys(known))))
		}
	}
	// The defaults are taken over by their JSON, not by assignment: a table in them is one for all engines and must not be written to.
	p := reflect.New(reflect.TypeOf(r.Params))
	for _, layer := range []any{r.Params, over} {
		b, err := json.Marshal(layer)
		if err != nil {
			return nil, nil, fmt.Errorf("rule %s: parameters: %w", r.Name, err)
		}
		if err := json.Unmarshal(b, p.Interface()); err != nil {
			return nil, nil, fmt.Errorf("rule %s: parameters: %w", r.Name, err)
		}
	}
	if v, ok := p.Elem().Interface().(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return nil, nil, fmt.Errorf("rule %s: parameters: %w", r.Name, err)
		}
	}
	effective, err := asMap(p.Elem().Interface())
	return p.Elem().Interface(), effective, err
}

func asMap(v any) (map[string]any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(b, &m)
}

// DidYouMean returns `; did you mean "x"?` for the nearest of the known words, or the list of them when none is near.
func DidYouMean(word string, known []string) string {
	if near, ok := Nearest(word, known); ok {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Sprintf("; known are %v", known)
}

// Nearest returns the known word that is fewest edits away, if that is two, or at most a third of its length. Of equals the first wins.
func Nearest(word string, known []string) (string, bool) {
	best, at := "", -1
	for _, k := range known {
		d := Edits(word, k)
		long := max(len(k), len(word))
		if d <= max(2, long/3) && d < long-1 && (at < 0 || d < at) {
			best, at = k, d
		}
	}
	return best, at >= 0
}

// Edits is the Levenshtein distance in bytes, of the first 128 bytes: names are no longer.
func Edits(a, b string) int {
	a, b = a[:min(len(a), 128)], b[:min(len(b), 128)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
