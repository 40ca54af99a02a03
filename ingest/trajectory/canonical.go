package trajectory

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient are the options for reading JSON from telemetry: nobody promised that names are unique or the text valid UTF-8.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// canonical returns the canonical form of a JSON text: RFC 8785, save that whole numbers keep all their digits (ids beyond 2^53 must
// stay apart). It returns nil when the text is not JSON.
func canonical(text string) jsontext.Value {
	v := jsontext.Value(text)
	err := v.Format(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.CanonicalizeRawFloats(true),
		jsontext.ReorderRawObjects(true))
	if err != nil {
		return nil
	}
	return v
}

// jsonText returns the first of the keys that holds something, as JSON text: structures are written out, texts are taken as they are.
func (a Attrs) jsonText(keys ...string) string {
	for _, k := range keys {
		if v, ok := a[k]; ok {
			if s := structured(v); s != "" {
				return s
			}
		}
	}
	return ""
}

// appendFloat writes a number as JSON: null for those that JSON lacks.
func appendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// appendString writes a JSON string, with invalid UTF-8 replaced: AppendQuote reports that as an error after it has done so.
func appendString(dst []byte, s string) []byte {
	out, _ := jsontext.AppendQuote(dst, s)
	return out
}
