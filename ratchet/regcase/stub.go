package regcase

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// StubsDir holds the answers that the team gives for tools, in the set: _fixtures/<tool>.json, _fixtures/<tool>.yaml, or an executable
// _fixtures/<tool> that reads {"tool","arguments"} as JSON on its standard input and writes one {"result","fault"} to its standard output.
const StubsDir = "_fixtures"

// StubsKind is the kind of document that a file of stubs is.
const StubsKind = "Fixtures"

// Stub is one answer of the team for a tool.
type Stub struct {
	Arguments JSON    `json:"arguments"` // the arguments it answers, canonically equal; null: any that no other entry answers
	Result    JSON    `json:"result"`
	Fault     *string `json:"fault" jsonschema:"enum=error,enum=denied,enum=timeout,enum=missing"` // error | denied | timeout | missing: the tool fails in this way, with Result as what it says
}

// Stubs is a file of the team's answers for one tool. The first entry with equal arguments answers, then the first without any.
type Stubs struct {
	APIVersion string `json:"apiVersion" jsonschema:"required"`
	Kind       string `json:"kind" jsonschema:"required"`
	Tool       string `json:"tool" jsonschema:"required,minLength=1"` // its true name, since a name of a file cannot hold every character
	Answers    []Stub `json:"answers" jsonschema:"required,minItems=1"`
}

// StubFile is one entry of StubsDir.
type StubFile struct {
	Path       string // inside the set
	Tool       string // of an executable the name of the file
	Executable bool
	Answers    []Stub // of a file that is no executable
	SHA256     string // of the file's bytes
}

// Answer returns the team's answer to a call by its canonical arguments.
func (f StubFile) Answer(arguments JSON) (Stub, bool) {
	for _, s := range f.Answers {
		if s.Arguments != nil && string(s.Arguments) == string(arguments) {
			return s, true
		}
	}
	for _, s := range f.Answers {
		if s.Arguments == nil {
			return s, true
		}
	}
	return Stub{}, false
}

// DecodeStubs reads a file of answers, YAML or JSON, as strictly as a case.
func DecodeStubs(b []byte) (Stubs, error) {
	var s Stubs
	if _, err := decodeVersioned(b, &s, StubsKind, nil); err != nil {
		return s, err
	}
	if s.Tool == "" {
		return s, malformed(0, "/tool: the tool has no name")
	}
	if len(s.Answers) == 0 || len(s.Answers) > maxList {
		return s, malformed(0, "/answers: %d answers, want 1 to %d", len(s.Answers), maxList)
	}
	for i, a := range s.Answers {
		if err := checkFault(fmt.Sprintf("/answers/%d", i), a.Fault); err != nil {
			return s, malformed(0, "%v", err)
		}
	}
	return s, nil
}

// EncodeStubs gives the canonical YAML of a file of answers.
func EncodeStubs(s Stubs) ([]byte, error) { return encodeYAML(s) }

var stubName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// StubName is the name of the file, without its ending, that holds the answers of a tool.
func StubName(tool string) string {
	if stubName.MatchString(tool) {
		return tool
	}
	return "tool-" + SHA256([]byte(tool))[:10]
}

func stubFile(name string, b []byte, executable bool) (StubFile, error) {
	f := StubFile{Path: path.Join(StubsDir, name), SHA256: SHA256(b)}
	if ext := path.Ext(name); ext == ".json" || ext == ".yaml" {
		s, err := DecodeStubs(b)
		if err != nil {
			return f, err
		}
		if want := StubName(s.Tool); strings.TrimSuffix(name, ext) != want {
			return f, malformed(0, "it answers for %s, whose file is %s%s", s.Tool, want, ext)
		}
		f.Tool, f.Answers = s.Tool, s.Answers
		return f, nil
	}
	if !executable {
		return f, malformed(0, "it is neither .json nor .yaml nor executable")
	}
	f.Tool, f.Executable = strings.TrimSuffix(name, path.Ext(name)), true
	return f, nil
}
