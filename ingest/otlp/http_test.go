package otlp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

const protobufType = "application/x-protobuf"

// post sends a body and returns the answer, its body read.
func post(t *testing.T, r *Receiver, path string, body []byte, headers ...string) (*http.Response, []byte) {
	t.Helper()
	return send(t, http.DefaultClient, http.MethodPost, "http://"+r.httpAt.Addr().String()+path, body, headers...)
}

func send(t *testing.T, client *http.Client, method, url string, body []byte, headers ...string) (*http.Response, []byte) {
	t.Helper()
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
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

func compress(t testing.TB, name string, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch name {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "zlib":
		w = zlib.NewWriter(&out)
	case "flate":
		w, _ = flate.NewWriter(&out, 5)
	case "zstd":
		w, _ = zstd.NewWriter(&out)
	default:
		return content
	}
	if _, err := w.Write(content); err != nil || w.Close() != nil {
		t.Fatal("compress", name, err)
	}
	return out.Bytes()
}

func TestHTTPAcceptsWhatSendersSend(t *testing.T) {
	for _, path := range []string{"/v1/traces", "/api/public/otel/v1/traces", "/v1/traces/"} {
		for _, kind := range []string{"application/json", "application/json; charset=utf-8", protobufType, "application/protobuf", ""} {
			for _, c := range []struct{ with, header string }{
				{"", ""}, {"", "identity"}, {"gzip", "gzip"}, {"gzip", ""}, {"", "gzip"}, {"zstd", "zstd"}, {"zlib", "deflate"}, {"flate", "deflate"},
			} {
				r, s := start(t, Options{})
				for _, asJSON := range []bool{true, false} {
					if strings.Contains(kind, "json") && !asJSON || strings.Contains(kind, "protobuf") && asJSON {
						continue
					}
					body := []byte(requestJSON(1, 2))
					if !asJSON {
						body = requestProto(t, requestJSON(1, 2), wire.Traces)
					}
					headers := []string{"Content-Encoding", c.header}
					if kind != "" {
						headers = append(headers, "Content-Type", kind)
					}
					res, answer := post(t, r, path, compress(t, c.with, body), headers...)
					wantType, wantBody := protobufType, ""
					if asJSON {
						wantType, wantBody = "application/json", "{}"
					}
					if res.StatusCode != 200 || res.Header.Get("Content-Type") != wantType || string(answer) != wantBody {
						t.Errorf("%s %q %+v: %d %s %q", path, kind, c, res.StatusCode, res.Header.Get("Content-Type"), answer)
					}
					if got := s.spans(t); len(got)%2 != 0 || len(got) == 0 {
						t.Errorf("%s %q %+v: stored %v", path, kind, c, got)
					}
				}
			}
		}
	}
}

func TestHTTPLogsAndEmptyRequests(t *testing.T) {
	r, s := start(t, Options{})
	for _, tc := range []struct{ path, kind, body string }{
		{"/v1/traces", protobufType, ""}, {"/v1/logs", protobufType, ""}, {"/v1/traces", "application/json", "{}"},
		{"/v1/traces", "application/json", ""}, {"/v1/logs", "application/json", " \n"},
		{"/v1/traces", "application/json", `{"resourceSpans":[]}`}, {"/v1/logs", "application/json", logJSON},
	} {
		if res, body := post(t, r, tc.path, []byte(tc.body), "Content-Type", tc.kind); res.StatusCode != 200 {
			t.Errorf("%+v: %d %s", tc, res.StatusCode, body)
		}
	}
	if got := s.spans(t); len(got) != 1 || len(s.batches) != 1 {
		t.Errorf("stored %v in %d batches", got, len(s.batches))
	}
}

func TestHTTPRefusals(t *testing.T) {
	r, s := start(t, Options{MaxWire: 2000, MaxInflated: 4000})
	small, large := []byte(requestJSON(1, 1)), []byte(requestJSON(1, 100))
	bomb := compress(t, "gzip", []byte(requestJSON(1, 1)+strings.Repeat(" ", 1<<20)))
	for _, tc := range []struct {
		name, method, path, kind, encoding string
		body                               []byte
		want                               int
	}{
		{"malformed JSON", "POST", "/v1/traces", "application/json", "", []byte(`{"resourceSpans":[}`), 400},
		{"logs sent as traces", "POST", "/v1/traces", "application/json", "", []byte(logJSON), 400},
		{"traces sent as logs, protobuf", "POST", "/v1/logs", protobufType, "", requestProto(t, requestJSON(1, 1), wire.Traces), 400},
		{"another format", "POST", "/v1/traces", "application/json", "", []byte(`{"data":[{"traceID":"a","spans":[]}]}`), 400},
		{"malformed protobuf", "POST", "/v1/traces", protobufType, "", []byte{0x0a, 5, 1}, 400},
		{"truncated gzip", "POST", "/v1/traces", "application/json", "gzip", compress(t, "gzip", small)[:30], 400},
		{"content type", "POST", "/v1/traces", "text/plain", "", small, 415},
		{"content encoding", "POST", "/v1/traces", "application/json", "br", small, 415},
		{"method", "GET", "/v1/traces", "application/json", "", nil, 405},
		{"path", "POST", "/v1/metrics", "application/json", "", small, 404},
		{"too large as sent", "POST", "/v1/traces", "application/json", "", large, 413},
		{"gzip bomb", "POST", "/v1/traces", "application/json", "gzip", bomb, 413},
		{"zstd bomb", "POST", "/v1/traces", protobufType, "zstd", compress(t, "zstd", make([]byte, 1<<20)), 413},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, body := send(t, http.DefaultClient, tc.method, "http://"+r.httpAt.Addr().String()+tc.path, tc.body, "Content-Type", tc.kind, "Content-Encoding", tc.encoding)
			if res.StatusCode != tc.want || res.Header.Get("Retry-After") != "" {
				t.Fatalf("status %d, want %d; Retry-After %q", res.StatusCode, tc.want, res.Header.Get("Retry-After"))
			}
			checkStatus(t, res, body, tc.kind == "application/json")
		})
	}
	if len(s.batches) > 0 {
		t.Error("something refused was stored")
	}
}

// checkStatus holds an error body to be a google.rpc.Status with a message, in the request's type.
func checkStatus(t *testing.T, res *http.Response, body []byte, asJSON bool) {
	t.Helper()
	var s struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	want := protobufType
	if asJSON {
		want = "application/json"
		if err := json.Unmarshal(body, &s); err != nil {
			t.Errorf("%v in %q", err, body)
		}
	} else {
		var p status.Status
		if err := proto.Unmarshal(body, &p); err != nil {
			t.Errorf("%v in %q", err, body)
		}
		s.Code, s.Message = int(p.Code), p.Message
	}
	if res.Header.Get("Content-Type") != want || s.Code == 0 || s.Message == "" || len(s.Message) > 600 {
		t.Errorf("%s %+v", res.Header.Get("Content-Type"), s)
	}
}

func TestHTTPChunkedBodyOverTheLimit(t *testing.T) {
	r, _ := start(t, Options{MaxWire: 1000})
	defer http.DefaultClient.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+r.httpAt.Addr().String()+"/v1/traces", io.MultiReader(strings.NewReader(requestJSON(1, 50))))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 413 {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestHTTPPartialSuccess(t *testing.T) {
	r, s := start(t, Options{})
	text := strings.Replace(requestJSON(1, 3), fmt.Sprintf("%032x", 2), strings.Repeat("0", 32), 1)
	res, body := post(t, r, "/v1/traces", []byte(text), "Content-Type", "application/json")
	if res.StatusCode != 200 || !strings.Contains(string(body), `"rejectedSpans":"1"`) || !strings.Contains(string(body), "all-zero") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	res, body = post(t, r, "/v1/traces", requestProto(t, text, wire.Traces), "Content-Type", protobufType)
	var answer coltrace.ExportTraceServiceResponse
	if err := proto.Unmarshal(body, &answer); err != nil || res.StatusCode != 200 {
		t.Fatalf("%d %v", res.StatusCode, err)
	}
	if p := answer.GetPartialSuccess(); p.GetRejectedSpans() != 1 || !strings.Contains(p.GetErrorMessage(), "all-zero") {
		t.Errorf("%v", p)
	}
	if got := s.spans(t); len(got) != 4 {
		t.Errorf("stored %v", got)
	}
}

func TestHTTPBackPressure(t *testing.T) {
	r, s := start(t, Options{})
	for _, tc := range []struct {
		err        error
		status     int
		retryAfter string
	}{
		{&FullError{RetryAfter: 1500 * time.Millisecond}, 503, "2"},
		{fmt.Errorf("wrapped: %w", &FullError{}), 503, "1"},
		{errors.New("disk on fire"), 503, "1"},
		{fmt.Errorf("no: %w", ErrTooLarge), 413, ""},
	} {
		s.refuse = tc.err
		res, body := post(t, r, "/v1/traces", []byte(requestJSON(1, 1)), "Content-Type", "application/json")
		if res.StatusCode != tc.status || res.Header.Get("Retry-After") != tc.retryAfter {
			t.Errorf("%v: %d, Retry-After %q", tc.err, res.StatusCode, res.Header.Get("Retry-After"))
		}
		checkStatus(t, res, body, true)
	}
}

func TestHTTPFriendlyAnswers(t *testing.T) {
	r, _ := start(t, Options{Tokens: []string{"t"}})
	for path, want := range map[string]string{"/": "OTLP", "/healthz": "ok"} {
		res, body := send(t, http.DefaultClient, "GET", "http://"+r.httpAt.Addr().String()+path, nil)
		if res.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %q", path, res.StatusCode, body)
		}
	}
}

func TestHTTPTokens(t *testing.T) {
	r, s := start(t, Options{Tokens: []string{"one", "two"}})
	for header, want := range map[string]int{"": 401, "Bearer three": 401, "Basic one": 401, "one": 401, "Bearer": 401, "Bearer two": 200, "bearer one": 200} {
		res, _ := post(t, r, "/v1/traces", []byte(requestJSON(1, 1)), "Content-Type", "application/json", "Authorization", header)
		if res.StatusCode != want {
			t.Errorf("%q: %d, want %d", header, res.StatusCode, want)
		}
	}
	if len(s.batches) != 2 {
		t.Errorf("%d batches", len(s.batches))
	}
}

func TestCountersCount(t *testing.T) {
	registry := prometheus.NewRegistry()
	r, s := start(t, Options{Registerer: registry})
	post(t, r, "/v1/traces", []byte(strings.Replace(requestJSON(1, 3), fmt.Sprintf("%032x", 2), strings.Repeat("0", 32), 1)), "Content-Type", "application/json")
	post(t, r, "/v1/logs", []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{}}]}]}]}`), "Content-Type", "application/json")
	s.refuse = &FullError{}
	post(t, r, "/v1/traces", []byte(requestJSON(1, 5)), "Content-Type", "application/json")
	post(t, r, "/v1/traces", []byte("x"), "Content-Type", "text/plain")
	got := gather(t, registry)
	for name, want := range map[string]float64{
		"pawl_otlp_items_total accepted traces":             2,
		"pawl_otlp_items_total zero_id traces":              1,
		"pawl_otlp_items_total full traces":                 5,
		"pawl_otlp_items_total untraced logs":               1,
		"pawl_otlp_requests_total partial traces http":      1,
		"pawl_otlp_requests_total ok logs http":             1,
		"pawl_otlp_requests_total full traces http":         1,
		"pawl_otlp_requests_total content_type traces http": 1,
	} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
	if got["pawl_otlp_bytes_total wire http"] == 0 || got["pawl_otlp_bytes_total body http"] == 0 {
		t.Errorf("no bytes: %v", got)
	}
}

// gather reads all counters as "name label label", labels in the order of their names.
func gather(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			out[name] = m.Counter.GetValue()
		}
	}
	return out
}
