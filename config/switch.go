package config

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
)

// Switch reads nothing but `enabled` of a repository's own pawl.yaml, whatever version wrote the rest: false switches pawl off there, and without the key it is
// on. The error says that the text is no YAML mapping, or the key no boolean.
func Switch(text string) (bool, error) {
	var own map[string]any
	if err := yaml.Unmarshal([]byte(text), &own); err != nil {
		return false, fmt.Errorf("pawl.yaml: %w", errors.New(yaml.FormatError(err, false, false)))
	}
	switch on := own["enabled"].(type) {
	case nil:
		return true, nil
	case bool:
		return on, nil
	default:
		return false, fmt.Errorf("pawl.yaml: enabled is %v, want true or false", on)
	}
}
