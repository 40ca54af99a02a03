package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Sum is the digest of what a model is told of the tool, and of what the tool promises: "sha256:" and 64 hex digits over the canonical JSON of its name, title,
// description, schemas and annotations. Whitespace and the order of members do not count. Effect and execution are the team's own words and are outside.
func (t Tool) Sum() string {
	b, err := json.Marshal(struct {
		Name        string         `json:"name"`
		Title       string         `json:"title"`
		Description string         `json:"description"`
		Schema      jsontext.Value `json:"schema"`
		Output      jsontext.Value `json:"output_schema"`
		Annotations Annotations    `json:"annotations"`
		Server      string         `json:"server"`
	}{t.Name, t.Title, t.Description, canonical(t.Schema), canonical(t.OutputSchema), t.Annotations, t.Server})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Pinned says whether the tool is recorded as somebody saw it, so that a difference is a change.
func (t Tool) Pinned() bool { return t.Digest != "" }

// Pin returns the tool with its digest set to what it is now.
func (t Tool) Pin() Tool {
	t.Digest = t.Sum()
	return t
}

// canonical returns a JSON value in canonical form, nil for none.
func canonical(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return nil
	}
	c := slices.Clone(v)
	if c.Canonicalize(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return v
	}
	return c
}
