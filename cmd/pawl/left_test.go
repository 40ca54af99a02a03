package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// oneTurn is a line of OTLP JSON: a turn of a conversation that long after the first.
func oneTurn(n int, session, user string, after time.Duration) string {
	messages := func(role, text string) string {
		doc, _ := json.Marshal([]any{map[string]any{"role": role, "parts": []any{map[string]any{"type": "text", "content": text}}}})
		quoted, _ := json.Marshal(string(doc))
		return string(quoted)
	}
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).Add(after).UnixNano()
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"spans":[{"traceId":"%032x","spanId":"%016x","name":"chat m","startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[`+
		`{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.request.model","value":{"stringValue":"m"}},{"key":"gen_ai.conversation.id","value":{"stringValue":%q}},`+
		`{"key":"gen_ai.input.messages","value":{"stringValue":%s}},{"key":"gen_ai.output.messages","value":{"stringValue":%s}}]}]}]}]}`, n, n, at, at+int64(time.Second), session, messages("user", user), messages("assistant", "I am sorry.")) + "\n"
}

// TestClassifyTellsAbandonedConversations that nothing came after for as long as the setting says, and no others.
func TestClassifyTellsAbandonedConversations(t *testing.T) {
	t.Chdir(t.TempDir())
	other := oneTurn(9, "other", "Where are you?", time.Hour)
	for name, tc := range map[string]struct {
		lines, yaml string
		left        bool
	}{
		"left":               {oneTurn(1, "a", "Where is it?", 0) + oneTurn(2, "a", "Forget it.", time.Minute) + other, "", true},
		"came back":          {oneTurn(1, "a", "Forget it.", 0) + oneTurn(2, "a", "Where is it?", time.Minute) + other, "", false},
		"may still go on":    {oneTurn(1, "a", "Where is it?", 0) + oneTurn(2, "a", "Forget it.", time.Minute), "", false},
		"nobody is to look":  {oneTurn(1, "a", "Forget it.", 0) + other, "absorb: {abandoned: false}\n", false},
		"a longer time than": {oneTurn(1, "a", "Forget it.", 0) + other, "absorb: {session_quiet: 2h}\n", false},
	} {
		if err := os.WriteFile("pawl.yaml", []byte(tc.yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("t.jsonl", []byte(tc.lines), 0o600); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := pawl(t, "classify", "t.jsonl")
		if got := strings.Contains(stdout, `the user gave up: "Forget it.", and did not come back`); got != tc.left || (code == exitFinding) != tc.left {
			t.Errorf("%s: exit code %d\n%s\n%s", name, code, stdout, stderr)
		}
	}
}
