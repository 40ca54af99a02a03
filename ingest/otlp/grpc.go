package otlp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

const viaGRPC = "grpc"

// services are the names under which OTLP is exported, and the signal of each.
var services = []struct {
	name   string
	signal wire.Signal
}{
	{"opentelemetry.proto.collector.trace.v1.TraceService", wire.Traces},
	{"opentelemetry.proto.collector.logs.v1.LogsService", wire.Logs},
}

func (r *Receiver) newGRPC() (*grpc.Server, *health.Server) {
	opts := []grpc.ServerOption{
		grpc.ForceServerCodecV2(codec{}),
		grpc.MaxRecvMsgSize(r.opt.MaxInflated),
		grpc.StatsHandler(&sizes{r}),
		grpc.ConnectionTimeout(20 * time.Second),
		grpc.MaxConcurrentStreams(256),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if r.opt.TLS != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(r.opt.TLS.Clone())))
	}
	server := grpc.NewServer(opts...)
	alive := health.NewServer()
	for _, service := range services {
		server.RegisterService(r.describe(service.name, service.signal), r)
		alive.SetServingStatus(service.name, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	grpc_health_v1.RegisterHealthServer(server, alive)
	return server, alive
}

// describe is a service whose one method takes and gives raw bytes: a body is neither decoded nor encoded again.
func (r *Receiver) describe(name string, signal wire.Signal) *grpc.ServiceDesc {
	export := func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		return r.exportGRPC(ctx, signal, decode)
	}
	return &grpc.ServiceDesc{ServiceName: name, HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "Export", Handler: export}}}
}

func (r *Receiver) exportGRPC(ctx context.Context, signal wire.Signal, decode func(any) error) (any, error) {
	headers, _ := metadata.FromIncomingContext(ctx)
	if !r.tokens.admit(first(headers.Get("authorization"))) {
		r.counts.unread(viaGRPC, signal.String(), "unauthorized")
		return nil, status.Error(codes.Unauthenticated, "send the metadata authorization: Bearer with a token that this receiver knows")
	}
	var body raw
	if err := decode(&body); err != nil {
		r.counts.unread(viaGRPC, signal.String(), unreadable(err))
		return nil, err
	}
	if n := wireSize(ctx); n > r.opt.MaxWire {
		r.counts.unread(viaGRPC, signal.String(), "too_large")
		return nil, status.Errorf(codes.ResourceExhausted, "%d bytes are more than a request may have (%d); have the exporter send smaller batches", n, r.opt.MaxWire)
	}
	held := share{of: r.room}
	defer held.keep(0)
	inflated, err := r.inflate(ctx, &held, body.bytes, sniff(body.bytes, plain))
	if _, ok := errors.AsType[*FullError](err); ok {
		r.counts.unread(viaGRPC, signal.String(), "full")
		return nil, refuse(err).status()
	}
	if err != nil {
		return nil, r.damaged(signal, err)
	}
	report, err := r.Export(ctx, Request{Signal: signal, Body: inflated, Via: viaGRPC})
	if err != nil {
		return nil, refuse(err).status()
	}
	return &raw{response(report)}, nil
}

// damaged refuses a body that was compressed without being announced as such and cannot be inflated.
func (r *Receiver) damaged(signal wire.Signal, err error) error {
	if errors.Is(err, errTooMuch) {
		r.counts.unread(viaGRPC, signal.String(), "too_large")
		return status.Errorf(codes.ResourceExhausted, "%v: limit %d bytes", err, r.opt.MaxInflated)
	}
	r.counts.unread(viaGRPC, signal.String(), "damaged")
	return status.Error(codes.InvalidArgument, err.Error())
}

func unreadable(err error) string {
	if status.Code(err) == codes.ResourceExhausted {
		return "too_large"
	}
	return "damaged"
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// status is the refusal in gRPC's words. Without RetryInfo senders give up on RESOURCE_EXHAUSTED and INVALID_ARGUMENT, as
// they should.
func (why refusal) status() error {
	switch {
	case why.again:
		s, err := status.New(codes.Unavailable, why.message).WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(why.after)})
		if err != nil {
			return status.Error(codes.Unavailable, why.message)
		}
		return s.Err()
	case why.outcome == "too_large":
		return status.Error(codes.ResourceExhausted, why.message)
	}
	return status.Error(codes.InvalidArgument, why.message)
}

// raw is a message left as its bytes.
type raw struct{ bytes []byte }

// codec hands export requests through as bytes and leaves all other messages to the protobuf codec.
type codec struct{}

// Marshal gives the bytes of a raw message.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*raw); ok {
		return mem.BufferSlice{mem.SliceBuffer(m.bytes)}, nil
	}
	return encoding.GetCodecV2(proto.Name).Marshal(v)
}

// Unmarshal copies the received buffers into one: the body outlives them, since it may wait for its group.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(*raw); ok {
		m.bytes = data.Materialize()
		return nil
	}
	if err := encoding.GetCodecV2(proto.Name).Unmarshal(data, v); err != nil {
		return fmt.Errorf("unmarshal: %w", err)
	}
	return nil
}

// Name is the content subtype of the protobuf codec, in whose place this one stands.
func (codec) Name() string { return proto.Name }

// sizes notes how large a message was on the wire, which only gRPC's own statistics know.
type sizes struct{ r *Receiver }

type sizeKey struct{}

// TagRPC makes room for the size.
func (*sizes) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, sizeKey{}, new(int))
}

// HandleRPC notes the size of a message before its handler runs on.
func (s *sizes) HandleRPC(ctx context.Context, event stats.RPCStats) {
	in, ok := event.(*stats.InPayload)
	if !ok {
		return
	}
	s.r.counts.wire(viaGRPC, in.CompressedLength)
	if n, ok := ctx.Value(sizeKey{}).(*int); ok {
		*n = in.CompressedLength
	}
}

// TagConn and HandleConn have nothing to note.
func (*sizes) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn has nothing to note.
func (*sizes) HandleConn(context.Context, stats.ConnStats) {}

func wireSize(ctx context.Context) int {
	if n, ok := ctx.Value(sizeKey{}).(*int); ok {
		return *n
	}
	return 0
}
