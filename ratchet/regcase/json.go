package regcase

import (
	"github.com/go-json-experiment/json/jsontext"
)

// JSON is any JSON value inside a case, with sorted keys, no blanks, and numbers as they were spelled: an id beyond 2^53 must survive. In YAML it
// is written as JSON in flow style, which is YAML too; nil is null.
type JSON jsontext.Value

// canonicalize sorts keys and strips blanks but, unlike RFC 8785, leaves the spelling of numbers alone.
func canonicalize(v *jsontext.Value) error {
	return v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
}

// NewJSON canonicalises raw; a text that is not JSON becomes a JSON string.
func NewJSON(raw []byte) JSON {
	v := jsontext.Value(raw).Clone()
	if len(raw) == 0 {
		return nil
	}
	if err := canonicalize(&v); err != nil {
		s, err := jsontext.AppendQuote(nil, raw)
		if err != nil {
			return nil
		}
		return JSON(s)
	}
	if string(v) == "null" {
		return nil
	}
	return JSON(v)
}

// MarshalJSON writes the value, null for nil.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == nil {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON takes the value over in canonical form.
func (j *JSON) UnmarshalJSON(b []byte) error {
	*j = NewJSON(b)
	return nil
}
