package otlp

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// event is a log record as coding agents send them: no trace id, all in attributes.
func event(name, body, at string, attrs ...string) string {
	var b strings.Builder
	b.WriteString(`{"timeUnixNano":"` + at + `","body":{"stringValue":"` + body + `"},"attributes":[{"key":"event.name","value":{"stringValue":"` + name + `"}}`)
	for i := 0; i < len(attrs); i += 2 {
		b.WriteString(`,{"key":"` + attrs[i] + `","value":{"stringValue":"` + attrs[i+1] + `"}}`)
	}
	return b.String() + `]}`
}

func logsOf(service string, records ...string) []byte {
	return []byte(`{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"` + service + `"}}]},"scopeLogs":[{"logRecords":[` +
		strings.Join(records, ",") + `]}]}]}`)
}

var (
	claudeTurn = []string{"session.id", "s-1", "prompt.id", "p-1"}
	claudeLogs = logsOf("claude-code",
		event("user_prompt", "claude_code.user_prompt", "1780000000000000000", append(claudeTurn, "prompt", "Fix it.")...),
		event("api_request", "claude_code.api_request", "1780000001000000000", append(claudeTurn, "model", "claude-x", "request_id", "r1", "input_tokens", "40", "output_tokens", "6")...),
		event("tool_result", "claude_code.tool_result", "1780000002000000000", append(claudeTurn, "tool_name", "Bash", "tool_use_id", "t1", "success", "true", "duration_ms", "20")...),
		event("startup", "claude_code.startup", "1780000003000000000", claudeTurn...))
	codexLogs = logsOf("codex_cli_rs",
		event("codex.user_prompt", "", "1780000010000000000", "conversation.id", "c-1", "prompt", "Fix it."),
		event("codex.sse_event", "", "1780000011000000000", "conversation.id", "c-1", "event.kind", "response.output_item.done"),
		event("codex.sse_event", "", "1780000012000000000", "conversation.id", "c-1", "event.kind", "response.completed", "model", "gpt-x", "input_token_count", "90", "output_token_count", "7"),
		event("codex.tool_result", "", "1780000013000000000", "conversation.id", "c-1", "tool_name", "shell", "call_id", "k1", "arguments", "{}", "success", "false", "output", "no"))
)

// stored decodes what was published: the traces, and how many log records.
func (s *store) stored(t *testing.T) (tds []ptrace.Traces, logs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.batches {
		d, _, err := wire.Decode(b.Signal, b.Body)
		if err != nil {
			t.Fatal(err)
		}
		if b.Signal == wire.Logs {
			logs += d.Logs.LogRecordCount()
			continue
		}
		tds = append(tds, d.Traces)
	}
	return tds, logs
}

// Coding agents send log records without trace ids: what they did arrives as traces, the rest stays counted as untraced.
func TestAdoptsAgentEvents(t *testing.T) {
	registry := prometheus.NewRegistry()
	r, s := start(t, Options{Registerer: registry, Adopt: trajectory.AgentEvents, Partitions: 4})
	for range 2 { // exporters send again
		for _, body := range [][]byte{claudeLogs, codexLogs} {
			if res, answer := post(t, r, "/v1/logs", body, "Content-Type", "application/json"); res.StatusCode != 200 || string(answer) != "{}" {
				t.Fatalf("%d %s", res.StatusCode, answer)
			}
			if res, answer := post(t, r, "/v1/logs", requestProto(t, string(body), wire.Logs), "Content-Type", protobufType); res.StatusCode != 200 || len(answer) != 0 {
				t.Fatalf("%d %q", res.StatusCode, answer)
			}
		}
	}
	tds, logs := s.stored(t)
	traces := trajectory.FromOTLP(tds, nil)
	if len(traces) != 2 || logs != 0 {
		t.Fatalf("%d traces, %d log records", len(traces), logs)
	}
	for i, want := range []struct {
		session, user, tool string
		outcome             trajectory.Outcome
		input               int64
	}{{"s-1", "Fix it.", "Bash", trajectory.OutcomeOK, 40}, {"c-1", "Fix it.", "shell", trajectory.OutcomeError, 90}} {
		x := trajectory.Build(traces[i])
		if x.SessionID != want.session || len(x.UserMessages) != 1 || x.UserMessages[0] != want.user || len(x.ModelCalls) != 1 || *x.ModelCalls[0].Usage.Input != want.input ||
			len(x.ToolCalls) != 1 || x.ToolCalls[0].Name != want.tool || x.ToolCalls[0].Outcome != want.outcome {
			t.Errorf("%+v", x)
		}
	}
	got := gather(t, registry)
	for name, want := range map[string]float64{
		"pawl_otlp_items_total adopted logs": 4 * (3 + 3), "pawl_otlp_items_total untraced logs": 4 * (1 + 1), "pawl_otlp_requests_total ok logs http": 8,
	} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
}

// Records of a trace go the way of logs beside those that are adopted; a refusal of either refuses the request.
func TestAdoptsBesideTracedRecords(t *testing.T) {
	r, s := start(t, Options{Adopt: trajectory.AgentEvents})
	body := []byte(strings.Replace(string(claudeLogs), `"logRecords":[`, `"logRecords":[{"traceId":"00000000000000000000000000000009","body":{"stringValue":"b"}},`, 1))
	s.refuse = &FullError{}
	if res, _ := post(t, r, "/v1/logs", body, "Content-Type", "application/json"); res.StatusCode != 503 {
		t.Fatalf("%d", res.StatusCode)
	}
	s.mu.Lock()
	s.refuse = nil
	s.mu.Unlock()
	if res, _ := post(t, r, "/v1/logs", body, "Content-Type", "application/json"); res.StatusCode != 200 {
		t.Fatalf("%d", res.StatusCode)
	}
	tds, logs := s.stored(t)
	if logs != 1 || len(trajectory.FromOTLP(tds, nil)) != 1 {
		t.Errorf("%d log records, %d requests of spans", logs, len(tds))
	}
}

// What Adopt makes is scrubbed like all that is stored.
func TestAdoptedIsScrubbed(t *testing.T) {
	filter, err := wire.NewFilter(wire.Scrub{Drop: []string{"prompt"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	r, s := start(t, Options{Filter: filter, Adopt: func(ld plog.Logs) ptrace.Traces {
		seen += ld.LogRecordCount()
		return trajectory.AgentEvents(ld)
	}})
	post(t, r, "/v1/logs", claudeLogs, "Content-Type", "application/json")
	tds, _ := s.stored(t)
	if x := trajectory.Build(trajectory.FromOTLP(tds, nil)[0]); seen != 4 || len(x.UserMessages) != 0 {
		t.Errorf("%d records; %q", seen, x.UserMessages)
	}
}
