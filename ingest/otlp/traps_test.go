package otlp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// What senders do on the way, by the numbers of the traps in ingest/trajectory: a body, and the answer that makes the sender do the right
// thing with it.
func TestTraps(t *testing.T) {
	text := []byte(requestJSON(1, 2))
	large := []byte(strings.Replace(requestJSON(1, 2), `"name":"s"`, `"name":"s","attributes":[{"key":"k","value":{"stringValue":"`+strings.Repeat("x", 6<<20)+`"}}]`, 1))
	bad := []byte(strings.Replace(requestJSON(1, 3), fmt.Sprintf("%032x", 2), strings.Repeat("0", 32), 1))
	asProto := func(body []byte) []byte { return requestProto(t, string(body), wire.Traces) }
	for _, tc := range []struct {
		trap           int
		name           string
		body           []byte
		kind, encoding string
		chunked        bool
		refuse         error
		status, stored int
		answer         string // the type of it
		rejected       int64
		retry          string
	}{
		{trap: 40, name: "JSON", body: text, kind: "application/json; charset=utf-8", status: 200, stored: 2, answer: "application/json"},
		{trap: 40, name: "protobuf", body: asProto(text), kind: protobufType, status: 200, stored: 2, answer: protobufType},
		{trap: 40, name: "protobuf by its other name", body: asProto(text), kind: "application/protobuf", status: 200, stored: 2, answer: protobufType},
		{trap: 40, name: "a refusal", body: []byte{0x0a, 5, 1}, kind: protobufType, status: 400, answer: protobufType},
		{trap: 41, name: "beyond 4 MiB", body: large, kind: "application/json", status: 200, stored: 2, answer: "application/json"},
		{trap: 41, name: "beyond 4 MiB inflated", body: compress(t, "gzip", asProto(large)), kind: protobufType, encoding: "gzip", status: 200, stored: 2, answer: protobufType},
		{trap: 42, name: "zstd", body: compress(t, "zstd", text), kind: "application/json", encoding: "zstd", status: 200, stored: 2, answer: "application/json"},
		{trap: 42, name: "deflate", body: compress(t, "zlib", text), kind: "application/json", encoding: "deflate", status: 200, stored: 2, answer: "application/json"},
		{trap: 42, name: "gzip without a word", body: compress(t, "gzip", text), kind: "application/json", status: 200, stored: 2, answer: "application/json"},
		{trap: 42, name: "the word without gzip", body: text, kind: "application/json", encoding: "gzip", status: 200, stored: 2, answer: "application/json"},
		{trap: 42, name: "what is not understood", body: text, kind: "application/json", encoding: "br", status: 415, answer: "application/json"},
		{trap: 43, name: "in chunks", body: text, kind: "application/json", chunked: true, status: 200, stored: 2, answer: "application/json"},
		{trap: 43, name: "compressed, in chunks", body: compress(t, "gzip", asProto(text)), kind: protobufType, encoding: "gzip", chunked: true, status: 200, stored: 2, answer: protobufType},
		{trap: 44, name: "all can be stored", body: asProto(text), kind: protobufType, status: 200, stored: 2, answer: protobufType},
		{trap: 44, name: "one cannot ever", body: asProto(bad), kind: protobufType, status: 200, stored: 2, answer: protobufType, rejected: 1},
		{trap: 45, name: "the stream is full", body: asProto(text), kind: protobufType, refuse: &FullError{RetryAfter: 2 * time.Second}, status: 503, answer: protobufType, retry: "2"},
		{trap: 45, name: "it can never be stored", body: asProto(text), kind: protobufType, refuse: ErrTooLarge, status: 413, answer: protobufType},
	} {
		t.Run(fmt.Sprintf("%02d %s", tc.trap, tc.name), func(t *testing.T) {
			r, s := start(t, Options{})
			s.refuse = tc.refuse
			res, out := sendTrap(t, r, tc.body, tc.kind, tc.encoding, tc.chunked)
			if res.StatusCode != tc.status || res.Header.Get("Content-Type") != tc.answer || res.Header.Get("Retry-After") != tc.retry {
				t.Errorf("%d %s, retry %q: %q", res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("Retry-After"), out)
			}
			if n := len(s.spans(t)); n != tc.stored {
				t.Errorf("stored %d, want %d", n, tc.stored)
			}
			if tc.status == 200 && tc.answer == protobufType {
				var answer coltrace.ExportTraceServiceResponse
				if err := proto.Unmarshal(out, &answer); err != nil || answer.GetPartialSuccess().GetRejectedSpans() != tc.rejected || (answer.PartialSuccess == nil) != (tc.rejected == 0) {
					t.Errorf("%v %v", &answer, err)
				}
			}
		})
	}
}

// sendTrap posts a body; in chunks, its length is not told.
func sendTrap(t *testing.T, r *Receiver, body []byte, kind, encoding string, chunked bool) (*http.Response, []byte) {
	t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	var from io.Reader = bytes.NewReader(body)
	if chunked {
		from = io.MultiReader(from)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.httpAt.Addr().String()+"/v1/traces", from)
	if err != nil {
		t.Fatal(err)
	}
	if chunked != (req.ContentLength <= 0) {
		t.Fatalf("length %d", req.ContentLength)
	}
	req.Header.Set("Content-Type", kind)
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, out
}

// Traps 41 and 44 over gRPC, whose servers mostly refuse what is beyond 4 MiB.
func TestTrapOfLargeMessages(t *testing.T) {
	r, s := start(t, Options{})
	req := traceRequest(t, 1, 2)
	req.ResourceSpans[0].ScopeSpans[0].Spans[0].Name = strings.Repeat("x", 6<<20)
	answer, err := coltrace.NewTraceServiceClient(dial(t, r, nil)).Export(t.Context(), req)
	if err != nil || answer.PartialSuccess != nil || len(s.spans(t)) != 2 {
		t.Errorf("%v %v, stored %v", answer, err, s.spans(t))
	}
}
