package regcase

import (
	"fmt"
	"strings"
)

// RenamesKind is the kind of document that renames.yaml is.
const RenamesKind = "Renames"

// Rename says that a tool, or a field of a tool's arguments, has another name now and is the same thing: cases that differ in that alone are as
// strict as before, which the package rename proves.
type Rename struct {
	Tool   string `json:"tool" jsonschema:"required,minLength=1"` // the tool: its old name where the tool itself is renamed
	Field  string `json:"field"`                                  // JSON pointer to the field in the tool's arguments; "" where the tool itself is renamed
	To     string `json:"to" jsonschema:"required,minLength=1"`   // the new name of the tool, or the new pointer, which differs from Field in its last part
	Reason string `json:"reason" jsonschema:"required,minLength=1,maxLength=1000"`
	Issue  string `json:"issue" jsonschema:"required,minLength=1,maxLength=1000"` // an issue or a link where it was decided
}

// Renames is <set>/renames.yaml. The list only grows.
type Renames struct {
	APIVersion string   `json:"apiVersion" jsonschema:"required"`
	Kind       string   `json:"kind" jsonschema:"required"`
	Renames    []Rename `json:"renames" jsonschema:"required"`
}

// Check names the first part of a rename that does not say what it must.
func (n Rename) Check() error {
	switch {
	case blank(n.Tool) || blank(n.To):
		return fmt.Errorf("a rename needs the tool and the new name")
	case n.Field == "" && n.Tool == n.To, n.Field == n.To:
		return fmt.Errorf("%s: the new name is the old one", n.Tool)
	case n.Field != "" && (!IsPointer(n.Field) || !IsPointer(n.To)):
		return fmt.Errorf("%s: %q and %q are to be JSON pointers such as /order_id", n.Tool, n.Field, n.To)
	case n.Field != "" && parent(n.Field) != parent(n.To):
		return fmt.Errorf("%s: %q and %q differ in more than their last part: a field that moves is another test", n.Tool, n.Field, n.To)
	case blank(n.Reason):
		return fmt.Errorf("%s: there is no reason", n.Tool)
	case blank(n.Issue):
		return fmt.Errorf("%s: there is no issue: name one, or a link, where it was decided", n.Tool)
	}
	return first(func() error { return line("tool", n.Tool, 1) }, func() error { return line("to", n.To, 1) },
		func() error { return line("reason", n.Reason, 1) }, func() error { return line("issue", n.Issue, 1) })
}

func parent(pointer string) string { return pointer[:strings.LastIndexByte(pointer, '/')+1] }

// DecodeRenames reads renames.yaml as strictly as a case.
func DecodeRenames(b []byte) ([]Rename, error) {
	var r Renames
	if _, err := decodeVersioned(b, &r, RenamesKind, nil); err != nil {
		return nil, err
	}
	return r.Renames, checkRenames(r.Renames)
}

func checkRenames(list []Rename) error {
	if len(list) > maxList {
		return malformed(0, "%d renames, at most %d", len(list), maxList)
	}
	for i, n := range list {
		if err := n.Check(); err != nil {
			return malformed(0, "/renames/%d: %v", i, err)
		}
	}
	return nil
}

// EncodeRenames gives the canonical bytes of renames.yaml.
func EncodeRenames(list []Rename) ([]byte, error) {
	if err := checkRenames(list); err != nil {
		return nil, err
	}
	return encodeYAML(Renames{APIVersion, RenamesKind, list})
}
