package browser

import (
	"testing"
	"time"
)

// awaitTraces waits until the traces are judged.
func awaitTraces(t *testing.T, s service) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(200 * time.Millisecond) {
		var kept struct {
			Traces []any `json:"traces"`
		}
		if s.get(t, "/v1/traces?verdict=failing&limit=1", &kept); len(kept.Traces) > 0 {
			return
		}
	}
	t.Fatal("no trace was judged")
}
