package config

import (
	_ "embed"
	"slices"
)

//go:embed example.yaml
var example []byte

// Example returns a pawl.yaml in which every section stands commented out with its defaults or an example.
func Example() []byte { return slices.Clone(example) }
