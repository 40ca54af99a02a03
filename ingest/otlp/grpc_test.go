package otlp

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

func dial(t *testing.T, r *Receiver, config *tls.Config) *grpc.ClientConn {
	t.Helper()
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(r.grpcAt.Addr().String(), grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func traceRequest(t *testing.T, first, last int) *coltrace.ExportTraceServiceRequest {
	t.Helper()
	var req coltrace.ExportTraceServiceRequest
	if err := proto.Unmarshal(requestProto(t, requestJSON(first, last), wire.Traces), &req); err != nil {
		t.Fatal(err)
	}
	return &req
}

// sendRaw exports bytes as they are, with the given grpc-encoding.
func sendRaw(ctx context.Context, conn *grpc.ClientConn, body []byte, opts ...grpc.CallOption) error {
	var answer raw
	opts = append(opts, grpc.ForceCodecV2(codec{}))
	return conn.Invoke(ctx, "/"+services[0].name+"/Export", &raw{body}, &answer, opts...)
}

func TestGRPCAcceptsEveryCompression(t *testing.T) {
	r, s := start(t, Options{Partitions: 4})
	client := coltrace.NewTraceServiceClient(dial(t, r, nil))
	for _, name := range []string{"identity", "gzip", "zstd", "deflate"} {
		answer, err := client.Export(t.Context(), traceRequest(t, 1, 20), grpc.UseCompressor(name))
		if err != nil || answer.PartialSuccess != nil {
			t.Errorf("%s: %v %v", name, answer, err)
		}
	}
	if got := s.spans(t); len(got) != 80 {
		t.Errorf("%d spans", len(got))
	}
	seen := map[int]bool{}
	for _, b := range s.batches {
		seen[b.Partition] = true
	}
	if len(seen) != 4 {
		t.Errorf("partitions %v", seen)
	}
}

func TestGRPCSniffsCompressedBodies(t *testing.T) {
	r, s := start(t, Options{})
	body := compress(t, "gzip", requestProto(t, requestJSON(1, 3), wire.Traces))
	if err := sendRaw(t.Context(), dial(t, r, nil), body); err != nil || len(s.spans(t)) != 3 {
		t.Errorf("%v, %d spans", err, len(s.batches))
	}
}

func TestGRPCLogsAndEmpty(t *testing.T) {
	r, s := start(t, Options{})
	conn := dial(t, r, nil)
	var req collogs.ExportLogsServiceRequest
	if err := proto.Unmarshal(requestProto(t, logJSON, wire.Logs), &req); err != nil {
		t.Fatal(err)
	}
	if _, err := collogs.NewLogsServiceClient(conn).Export(t.Context(), &req); err != nil {
		t.Error(err)
	}
	if _, err := coltrace.NewTraceServiceClient(conn).Export(t.Context(), &coltrace.ExportTraceServiceRequest{}); err != nil {
		t.Error(err)
	}
	if len(s.batches) != 1 || s.batches[0].Signal != wire.Logs {
		t.Errorf("%+v", s.batches)
	}
}

func TestGRPCPartialSuccess(t *testing.T) {
	r, _ := start(t, Options{})
	req := traceRequest(t, 1, 3)
	req.ResourceSpans[0].ScopeSpans[0].Spans[1].TraceId = make([]byte, 16)
	answer, err := coltrace.NewTraceServiceClient(dial(t, r, nil)).Export(t.Context(), req)
	if err != nil || answer.GetPartialSuccess().GetRejectedSpans() != 1 || !strings.Contains(answer.PartialSuccess.ErrorMessage, "all-zero") {
		t.Errorf("%v %v", answer, err)
	}
}

func TestGRPCRefusals(t *testing.T) {
	r, s := start(t, Options{MaxWire: 20_000, MaxInflated: 60_000})
	conn := dial(t, r, nil)
	for _, tc := range []struct {
		name string
		body []byte
		opts []grpc.CallOption
		want codes.Code
	}{
		{"malformed", []byte{0x0a, 5, 1}, nil, codes.InvalidArgument},
		{"too large as sent", make([]byte, 30_000), nil, codes.ResourceExhausted},
		{"larger than anything", make([]byte, 100_000), nil, codes.ResourceExhausted},
		{"gzip bomb", make([]byte, 10<<20), []grpc.CallOption{grpc.UseCompressor("gzip")}, codes.ResourceExhausted},
		{"zstd bomb", make([]byte, 10<<20), []grpc.CallOption{grpc.UseCompressor("zstd")}, codes.ResourceExhausted},
		{"gzip bomb unannounced", compress(t, "gzip", make([]byte, 10<<20)), nil, codes.ResourceExhausted},
	} {
		err := sendRaw(t.Context(), conn, tc.body, tc.opts...)
		if status.Code(err) != tc.want || len(status.Convert(err).Details()) > 0 {
			t.Errorf("%s: %v, want a final %s", tc.name, err, tc.want)
		}
	}
	if len(s.batches) > 0 {
		t.Error("something refused was stored")
	}
}

func TestGRPCBackPressure(t *testing.T) {
	r, s := start(t, Options{})
	client := coltrace.NewTraceServiceClient(dial(t, r, nil))
	for _, tc := range []struct {
		err   error
		code  codes.Code
		after time.Duration
	}{
		{&FullError{RetryAfter: 7 * time.Second}, codes.Unavailable, 7 * time.Second},
		{errors.New("disk on fire"), codes.Unavailable, time.Second},
		{ErrTooLarge, codes.ResourceExhausted, 0},
	} {
		s.refuse = tc.err
		_, err := client.Export(t.Context(), traceRequest(t, 1, 1))
		got := status.Convert(err)
		if got.Code() != tc.code {
			t.Errorf("%v: %v", tc.err, err)
		}
		var after time.Duration
		for _, d := range got.Details() {
			if info, ok := d.(*errdetails.RetryInfo); ok {
				after = info.RetryDelay.AsDuration()
			}
		}
		if after != tc.after {
			t.Errorf("%v: retry after %s, want %s", tc.err, after, tc.after)
		}
	}
}

func TestGRPCTokensAndHealth(t *testing.T) {
	r, s := start(t, Options{Tokens: []string{"one"}})
	conn := dial(t, r, nil)
	client := coltrace.NewTraceServiceClient(conn)
	if _, err := client.Export(t.Context(), traceRequest(t, 1, 1)); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without token: %v", err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer one")
	if _, err := client.Export(ctx, traceRequest(t, 1, 1)); err != nil || len(s.batches) != 1 {
		t.Errorf("with token: %v", err)
	}
	for _, service := range []string{"", services[0].name, services[1].name} {
		answer, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil || answer.Status != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v %v", service, answer, err)
		}
	}
}
