package regcase

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
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
	if string(b) == "null" {
		*j = nil
		return nil
	}
	*j = NewJSON(b)
	return nil
}

// MarshalYAML writes the value in flow style.
func (j JSON) MarshalYAML() ([]byte, error) { return j.MarshalJSON() }

// UnmarshalYAML reads flow JSON as it stands and any other YAML by its JSON meaning.
func (j *JSON) UnmarshalYAML(b []byte) error {
	if jsontext.Value(b).IsValid() {
		return j.UnmarshalJSON(jsontext.Value(b))
	}
	v, err := yaml.YAMLToJSON(b)
	if err != nil {
		return fmt.Errorf("value is not YAML: %w", err)
	}
	return j.UnmarshalJSON([]byte(jsontext.Value(trimSpace(v))))
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == ' ') {
		b = b[:len(b)-1]
	}
	return b
}
