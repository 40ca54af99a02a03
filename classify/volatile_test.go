package classify

import "testing"

// The cheap test must let through everything that the pattern takes.
func TestVolatileEnd(t *testing.T) {
	for _, key := range []string{"request_id", "requestId", "x-request-id", "traceparent", "idempotency_key", "nonce", "ts", "timestamp", "server_time", "fetched_at",
		"elapsed", "elapsed_ms", "took", "took_s", "tooks", "durations", "latencys", "duration_seconds", "latency", "latency_millis", "latency_sec", "etag", "_ts", "tool_call_id"} {
		if !volatileField.MatchString(key) {
			t.Errorf("%s is not volatile", key)
		}
		if !volatileEnd([]byte(key)) {
			t.Errorf("%s never gets to the pattern", key)
		}
	}
	for _, key := range []string{"id", "order_id", "query", "status", "date", "page_token", "cursor", "price"} {
		if volatileField.MatchString(key) {
			t.Errorf("%s is volatile", key)
		}
	}
}

func TestSteady(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"request_id":"x"}`:      `{"a":1,"request_id":"#"}`,
		`{"a":{"took_ms":3},"b":[1,2]}`: `{"a":{"took_ms":"#"},"b":[1,2]}`,
		`{"order_id":"ORD-1"}`:          `{"order_id":"ORD-1"}`,
		`{"ts":{"deep":1}}`:             `{"ts":{"deep":1}}`,
	} {
		if got := Steady([]byte(in), false); got != want {
			t.Errorf("steady(%s) = %s, want %s", in, got, want)
		}
	}
	if got := Steady([]byte(`["at 2026-01-02T03:04:05Z"]`), true); got != `["at #"]` {
		t.Errorf("steady in values = %s", got)
	}
}

// FuzzClock: the cheap test lets through everything that the pattern takes.
func FuzzClock(f *testing.F) {
	for _, s := range []string{"2026-01-02T03:04:05Z", "at 2026-01-02 03:04", "2026-01-02T03:04:05.678+02:00!", "12:30", "", "2026-01-02T3:04", "x2026-01-02T03:04x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if clock.MatchString(s) && (!hasClock(s) || !hasClock([]byte(s))) {
			t.Errorf("%q holds a time and never gets to the pattern", s)
		}
		if got, want := withoutClocks(s), clock.ReplaceAllString(s, "#"); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	})
}
