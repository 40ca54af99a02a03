package trajectory

import (
	"maps"
	"math"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Attrs are attributes by key. Values point into the decoded request.
type Attrs map[string]pcommon.Value

// AttrsOf indexes a pdata map. Of a key that occurs twice the first non-empty value wins; a value without a key, which OTLP forbids and JSON
// leaves out, is none.
func AttrsOf(m pcommon.Map) Attrs {
	if m.Len() == 0 {
		return nil
	}
	a := make(Attrs, m.Len())
	for k, v := range m.All() {
		if old, ok := a[k]; k == "" || ok && old.Type() != pcommon.ValueTypeEmpty {
			continue
		}
		a[k] = v
	}
	return a
}

// with is a copy that has the value too.
func (a Attrs) with(key string, v pcommon.Value) Attrs {
	out := make(Attrs, len(a)+1)
	maps.Copy(out, a)
	out[key] = v
	return out
}

// Has says whether the key is there with a value that is not empty.
func (a Attrs) Has(key string) bool {
	v, ok := a[key]
	return ok && v.Type() != pcommon.ValueTypeEmpty
}

// HasPrefix says whether any key begins so.
func (a Attrs) HasPrefix(prefix string) bool {
	for k := range a {
		if strings.HasPrefix(k, prefix) {
			return true
		}
	}
	return false
}

// Str returns the first of the keys that holds a text worth having: a string as it is, a structure as JSON text. The sentinels that emitters
// send for "nothing" ("unknown", "None", "N/A", ...) count as absent here; use Text where they may be content.
func (a Attrs) Str(keys ...string) string {
	for _, k := range keys {
		if s := a.Text(k); s != "" && !sentinel(s) {
			return s
		}
	}
	return ""
}

// Text returns the value of a key as text, "" when it is absent; structures come as JSON text.
func (a Attrs) Text(key string) string {
	v, ok := a[key]
	if !ok || v.Type() == pcommon.ValueTypeEmpty {
		return ""
	}
	if v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return v.AsString()
}

// Int returns the first of the keys that holds a whole number of any spelling (int, double, decimal text). NaN, negative numbers (-1 is a
// common sentinel) and text that is no number count as absent.
func (a Attrs) Int(keys ...string) *int64 {
	for _, k := range keys {
		if f, ok := a.number(k); ok && f >= 0 && f < math.MaxInt64 {
			n := int64(f)
			return &n
		}
	}
	return nil
}

// Float returns the first of the keys that holds a number, as Int does but with its fraction.
func (a Attrs) Float(keys ...string) *float64 {
	for _, k := range keys {
		if f, ok := a.number(k); ok && f >= 0 {
			return &f
		}
	}
	return nil
}

func (a Attrs) number(key string) (float64, bool) {
	v, ok := a[key]
	if !ok {
		return 0, false
	}
	switch v.Type() {
	case pcommon.ValueTypeInt:
		return float64(v.Int()), true
	case pcommon.ValueTypeDouble:
		f := v.Double()
		return f, !math.IsNaN(f) && !math.IsInf(f, 0)
	case pcommon.ValueTypeStr:
		f, err := strconv.ParseFloat(strings.TrimSpace(v.Str()), 64)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	default:
		return 0, false
	}
}

// Bool returns the truth of a key in any spelling (true, "true", "True", 1) and whether it states one.
func (a Attrs) Bool(key string) (value, ok bool) {
	v, there := a[key]
	if !there {
		return false, false
	}
	switch v.Type() {
	case pcommon.ValueTypeBool:
		return v.Bool(), true
	case pcommon.ValueTypeInt:
		return v.Int() != 0, true
	case pcommon.ValueTypeStr:
		b, err := strconv.ParseBool(strings.ToLower(v.Str()))
		return b, err == nil
	default:
		return false, false
	}
}

// Strings returns a list of texts in any of its containers: an array value, or one text. It does not split texts.
func (a Attrs) Strings(key string) []string {
	v, ok := a[key]
	if !ok {
		return nil
	}
	if v.Type() != pcommon.ValueTypeSlice {
		if s := a.Text(key); s != "" {
			return []string{s}
		}
		return nil
	}
	out := make([]string, 0, v.Slice().Len())
	for _, e := range v.Slice().All() {
		out = append(out, e.AsString())
	}
	return out
}

// sentinel says whether a text is one of the emitters' words for "nothing".
func sentinel(s string) bool {
	switch s {
	case "unknown", "Unknown", "None", "null", "N/A", "undefined", "<not specified>", "<not serializable>":
		return true
	}
	return false
}
