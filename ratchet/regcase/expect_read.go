package regcase

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
)

// DecodeExpect reads what a case asserts, alone, as YAML or JSON and as strictly as Decode: an unknown key, one that is there twice, or a value out of its
// range is an error that names it. What is left out is not asserted.
func DecodeExpect(b []byte) (Expect, error) {
	var e Expect
	if text := bytes.TrimSpace(b); len(text) > 0 && text[0] == '{' {
		if len(b) > MaxDocument {
			return e, fmt.Errorf("%w: more than %d MiB", ErrTooLarge, MaxDocument>>20)
		}
		if err := json.Unmarshal(text, &e, json.RejectUnknownMembers(true)); err != nil {
			return Expect{}, malformed(0, "%v", err)
		}
	} else if err := decodeExpectYAML(b, &e); err != nil {
		return Expect{}, err
	}
	e.fill()
	if err := (&Case{Expect: e}).checkExpect(); err != nil {
		return Expect{}, err
	}
	return e, nil
}

func decodeExpectYAML(b []byte, e *Expect) error {
	doc, err := document(b)
	if err != nil {
		return err
	}
	text, err := toJSON(nil, doc, 0)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, e, json.RejectUnknownMembers(true)); err != nil {
		return explain(doc, err)
	}
	return nil
}

// fill has lists that are left out be empty, as cases have them.
func (e *Expect) fill() {
	e.Never, e.Criteria, e.Liveness.Calls = append([]Never{}, e.Never...), append([]Criterion{}, e.Criteria...), append([]string{}, e.Liveness.Calls...)
	if t := e.Trajectory; t != nil {
		t.Calls = append([]ExpectedCall{}, t.Calls...)
		for i := range t.Calls {
			if t.Calls[i].Arguments == nil {
				t.Calls[i].Arguments = map[string]Field{}
			}
		}
	}
	if s := e.State; s != nil {
		s.Nodes, s.Memory = append([]string{}, s.Nodes...), append([]Memory{}, s.Memory...)
	}
}

// EncodeExpect gives what a case asserts as YAML, as it stands in case.yaml.
func EncodeExpect(e Expect) ([]byte, error) { return encodeYAML(e) }
