package regcase

import (
	"fmt"
	"os"
	"path"
	"slices"
)

// WaiversKind is the kind of document that waivers.yaml is.
const WaiversKind = "Waivers"

// Waiver is the stated reason for one deliberate loosening: one field of one case, from one value to another, once.
type Waiver struct {
	Field  string `json:"field" jsonschema:"required,minLength=1"`                 // JSON pointer into the case: /runs/n
	Base   JSON   `json:"base" jsonschema:"required"`                              // the value that the field has on the base branch; null: it is not there
	Head   JSON   `json:"head" jsonschema:"required"`                              // the value that it may have from now on; null: it is not there
	Reason string `json:"reason" jsonschema:"required,minLength=1,maxLength=1000"` // a sentence
	Issue  string `json:"issue" jsonschema:"required,minLength=1,maxLength=1000"`  // an issue or a link where it was decided: #12 or https://...
}

// Waivers is <case>/waivers.yaml. The list only grows: an entry that a base branch holds is spent, and stays.
type Waivers struct {
	APIVersion string   `json:"apiVersion" jsonschema:"required"`
	Kind       string   `json:"kind" jsonschema:"required"`
	Waivers    []Waiver `json:"waivers" jsonschema:"required"`
}

// Check names the first part of a waiver that does not say what it must.
func (w Waiver) Check() error {
	switch {
	case w.Field == "" || !IsPointer(w.Field):
		return fmt.Errorf("field: %q is not a JSON pointer into the case such as /runs/n", w.Field)
	case string(w.Base) == string(w.Head):
		return fmt.Errorf("field %s: base and head are the same value, so nothing is waived", w.Field)
	case blank(w.Reason):
		return fmt.Errorf("field %s: there is no reason", w.Field)
	case blank(w.Issue):
		return fmt.Errorf("field %s: there is no issue: name one, or a link, where it was decided", w.Field)
	}
	if err := line("issue", w.Issue, 1); err != nil {
		return fmt.Errorf("field %s: %w", w.Field, err)
	}
	return line("field "+w.Field+": reason", w.Reason, 1)
}

// DecodeWaivers reads waivers.yaml as strictly as a case.
func DecodeWaivers(b []byte) ([]Waiver, error) {
	var w Waivers
	if _, err := decodeVersioned(b, &w, WaiversKind, nil); err != nil {
		return nil, err
	}
	return w.Waivers, checkWaivers(w.Waivers)
}

func checkWaivers(list []Waiver) error {
	if len(list) > maxList {
		return malformed(0, "%d waivers, at most %d", len(list), maxList)
	}
	for i, w := range list {
		if err := w.Check(); err != nil {
			return malformed(0, "/waivers/%d: %v", i, err)
		}
	}
	return nil
}

// EncodeWaivers gives the canonical bytes of waivers.yaml.
func EncodeWaivers(list []Waiver) ([]byte, error) {
	if err := checkWaivers(list); err != nil {
		return nil, err
	}
	return encodeYAML(Waivers{APIVersion, WaiversKind, list})
}

// AddWaiver appends one entry to the waivers of the case in dir. An entry that is there already is left alone and is no error.
func AddWaiver(root *os.Root, dir string, w Waiver) error {
	list, err := readWaivers(Checkout(root), dir)
	if err != nil {
		return err
	}
	same := func(o Waiver) bool {
		return o.Field == w.Field && string(o.Base) == string(w.Base) && string(o.Head) == string(w.Head) && o.Reason == w.Reason && o.Issue == w.Issue
	}
	if slices.ContainsFunc(list, same) {
		return nil
	}
	b, err := EncodeWaivers(append(list, w))
	if err != nil {
		return err
	}
	return WriteFile(root, path.Join(dir, WaiversFile), b)
}
