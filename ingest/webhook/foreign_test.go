package webhook_test

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/pawl-dev/pawl/ingest/webhook"
)

// TestForeignIDs: a run's id that is no OpenTelemetry id makes a flag where a home can be asked for it, and is said to be none elsewhere.
func TestForeignIDs(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		s, err := webhook.NewSource("langsmith", webhook.SourceOptions{Secrets: []string{"one"}, Foreign: foreign})
		if err != nil {
			t.Fatal(err)
		}
		in := &inbox{}
		h, err := webhook.New(slog.New(slog.DiscardHandler), in.inbox(), []*webhook.Source{s}, nil)
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.Handle("/webhooks/{source}", h)
		w := send(mux, request("langsmith", []byte("Content-Type: application/json\nAuthorization: Bearer one\n"), []byte(`{"rule_id":"r","runs":[{"id":"run-7","session_id":"p"}]}`)))
		if w.Code != http.StatusAccepted || (len(in.flags) == 1) != foreign {
			t.Errorf("foreign %v: %d %s, flags %+v", foreign, w.Code, w.Body, in.flags)
		}
		if foreign && (!in.flags[0].Foreign() || in.flags[0].RawID != "run-7" || in.flags[0].Project != "p") {
			t.Errorf("%+v", in.flags[0])
		}
	}
}
