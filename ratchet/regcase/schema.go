package regcase

import (
	"embed"
	"fmt"
)

//go:embed schema/*.json
var schemas embed.FS

// SchemaNames are the documents of a set that have a published JSON Schema: case (case.yaml), waivers (waivers.yaml), fixtures
// (_fixtures/<tool>.yaml), golden (_golden/*.yaml) and renames (renames.yaml).
func SchemaNames() []string { return []string{"case", "waivers", "fixtures", "golden", "renames"} }

// Schema returns the JSON Schema (draft 2020-12) of one of SchemaNames. It is made of the types of this package and of their comments.
func Schema(name string) ([]byte, error) {
	b, err := schemas.ReadFile("schema/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("there is no schema %q: known are %v", name, SchemaNames())
	}
	return b, nil
}
