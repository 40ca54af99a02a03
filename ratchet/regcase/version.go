package regcase

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// OldVersion is the version of the case format before APIVersion. It is read, and never written.
const OldVersion = "pawl/v1alpha1"

var newer = regexp.MustCompile(`^pawl/v([2-9]|[1-9][0-9]+)([a-z]+[0-9]+)?$`)

type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// decodeVersioned reads a document of one kind into v, an older one by way of upgrade, and returns the version that it
// was written in.
func decodeVersioned(b []byte, v any, kind string, upgrade func(jsontext.Value) (jsontext.Value, error)) (string, error) {
	doc, err := document(b)
	if err != nil {
		return "", err
	}
	text, err := toJSON(nil, doc, 0)
	if err != nil {
		return "", err
	}
	var head header
	if err := json.Unmarshal(text, &head); err != nil {
		return "", explain(doc, err)
	}
	if err := checkHeader(head, kind); err != nil {
		return "", err
	}
	if head.APIVersion != APIVersion {
		if text, err = upgrade(text); err != nil {
			return "", err
		}
	}
	if err := json.Unmarshal(text, v, json.RejectUnknownMembers(true)); err != nil {
		return "", explain(doc, err)
	}
	return head.APIVersion, nil
}

func checkHeader(head header, kind string) error {
	switch {
	case newer.MatchString(head.APIVersion):
		return fmt.Errorf("%w %q: a newer pawl wrote it and reads it; this one reads %s and %s: install the pawl that your set was written with",
			ErrVersion, head.APIVersion, APIVersion, OldVersion)
	case head.APIVersion != APIVersion && (head.APIVersion != OldVersion || kind != Kind):
		return fmt.Errorf("%w %q: this pawl reads %s, and cases of %s too; no pawl is known that reads it", ErrVersion, head.APIVersion, APIVersion, OldVersion)
	case head.Kind != kind:
		return malformed(0, "the document is of kind %q, not %s", head.Kind, kind)
	}
	return nil
}

// upgradeCase turns the tree of an old case into that of today: a sentence that was a criterion becomes one that no model judges, the input
// is recorded, and what could not be said takes its zero value. What has no meaning today is refused: it was never written by pawl.
func upgradeCase(text jsontext.Value) (jsontext.Value, error) {
	var tree map[string]any
	if err := json.Unmarshal(text, &tree, json.WithUnmarshalers(json.UnmarshalFromFunc(numberAsWritten))); err != nil {
		return nil, err
	}
	if input, ok := tree["input"].(map[string]any); ok && input["mode"] == nil {
		input["mode"] = "recorded"
	}
	if expect, ok := tree["expect"].(map[string]any); ok {
		if err := upgradeExpect(expect); err != nil {
			return nil, err
		}
	}
	tree["apiVersion"] = APIVersion
	return json.Marshal(tree, json.Deterministic(true))
}

// numberAsWritten keeps the spelling of a number: an id beyond 2^53 must survive.
func numberAsWritten(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := dec.ReadValue()
	*v = raw.Clone()
	return err
}

func upgradeExpect(expect map[string]any) error {
	for _, name := range []string{"state", "response"} {
		if expect[name] != nil {
			return malformed(0, "/expect/%s: a free value has no meaning in %s: take it out, or write it anew", name, APIVersion)
		}
	}
	if list, ok := expect["criteria"].([]any); ok {
		for i, c := range list {
			if sentence, ok := c.(string); ok {
				list[i] = map[string]any{"text": sentence, "judge": false}
			}
		}
	}
	calls, _ := expect["trajectory"].(map[string]any)
	if calls == nil {
		return nil
	}
	return malformed(0, "/expect/trajectory: its matchers held no values in %s: take it out, or write it anew in %s", OldVersion, APIVersion)
}
