package trajectory

import "testing"

func TestToolHints(t *testing.T) {
	for raw, want := range map[string][2]Hint{
		`[{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"idempotentHint":false}}]`: {HintYes, HintNo},
		`[{"type":"function","function":{"name":"a","annotations":{"idempotentHint":true}}}]`:                       {"", HintYes},
		`[{"name":"a","annotations":{"readOnlyHint":"perhaps"}}]`:                                                   {"", ""},
		`[{"name":"a","annotations":null}]`:                                                                         {"", ""},
		`[{"name":"a"}]`:                                                                                            {"", ""},
	} {
		defs, ok := toolDefsIn(raw, 0)
		if !ok || len(defs) != 1 || defs[0].ReadOnly != want[0] || defs[0].Idempotent != want[1] {
			t.Errorf("%s: %+v", raw, defs)
		}
	}
}
