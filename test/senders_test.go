package test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pawl-dev/pawl/test/sample"
)

// load is one trace to be sent, as its SDK would: spans in the order in which they end, the root last, in one request or several.
type load struct {
	id       string // hex
	dialect  string
	scenario sample.Scenario
	parts    []ptrace.Traces
	spans    []string // ids, sorted
	late     bool     // part of a trace that was sent before
}

func newLoad(d sample.Dialect, sc sample.Scenario, rng *rand.Rand) load {
	td := sample.Trace(d, sc.Make(rng), time.Now().Add(-time.Minute), rng)
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	l := load{id: spans.At(0).TraceID().String(), dialect: d.Name, scenario: sc}
	cuts := 1 + rng.IntN(min(3, spans.Len()))
	for i := range spans.Len() {
		s := spans.At((i + 1) % spans.Len()) // the root was begun first
		if i*cuts/spans.Len() == len(l.parts) {
			l.parts = append(l.parts, emptyLike(td))
		}
		s.CopyTo(spansOf(l.parts[len(l.parts)-1]).AppendEmpty())
		l.spans = append(l.spans, s.SpanID().String())
	}
	slices.Sort(l.spans)
	return l
}

// later is a late version of the load's root: it ends later and knows more. It makes a new revision of a trace that shows the same.
func (l load) later() load {
	last := l.parts[len(l.parts)-1]
	td := emptyLike(last)
	root := spansOf(td).AppendEmpty()
	spansOf(last).At(spansOf(last).Len() - 1).CopyTo(root)
	root.SetEndTimestamp(root.EndTimestamp() + pcommon.Timestamp(time.Millisecond))
	root.Attributes().PutStr("app.exported", "again")
	return load{id: l.id, dialect: l.dialect, scenario: l.scenario, parts: []ptrace.Traces{td}, late: true}
}

func emptyLike(td ptrace.Traces) ptrace.Traces {
	out := ptrace.NewTraces()
	rs := out.ResourceSpans().AppendEmpty()
	td.ResourceSpans().At(0).Resource().CopyTo(rs.Resource())
	td.ResourceSpans().At(0).ScopeSpans().At(0).Scope().CopyTo(rs.ScopeSpans().AppendEmpty().Scope())
	return out
}

func spansOf(td ptrace.Traces) ptrace.SpanSlice {
	return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
}

// senders send loads over OTLP, half of them by gRPC, and send again what was not acknowledged, wherever the service listens by then.
type senders struct {
	svc     *service
	acked   atomic.Int64 // spans
	retries atomic.Int64
	mu      sync.Mutex
	known   map[string]map[string]bool // acknowledged span ids by trace id
}

const connections = 8

// send returns when every span of every load is acknowledged.
func (s *senders) send(ctx context.Context, t *testing.T, loads []load, rng *rand.Rand) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for c := range connections {
		own := rand.New(rand.NewPCG(rng.Uint64(), uint64(c)))
		wg.Go(func() {
			x := &exporter{svc: s.svc, grpc: c%2 == 0, http: &http.Client{Transport: &http.Transport{}}}
			defer x.close()
			for i := next.Add(1) - 1; i < int64(len(loads)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := s.one(ctx, x, loads[i], own); err != nil {
					t.Errorf("send trace %s: %v", loads[i].id, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// one sends a trace's parts in order. One in twenty is sent again although it was acknowledged, as after a lost answer.
func (s *senders) one(ctx context.Context, x *exporter, l load, rng *rand.Rand) error {
	for _, part := range l.parts {
		for {
			err := x.export(ctx, part)
			if err == nil {
				s.note(l.id, part)
				if rng.IntN(20) != 0 {
					break
				}
				continue
			}
			s.retries.Add(1)
			select {
			case <-ctx.Done():
				return err
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

func (s *senders) note(trace string, td ptrace.Traces) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.known[trace]
	if ids == nil {
		ids = map[string]bool{}
		s.known[trace] = ids
	}
	for _, span := range spansOf(td).All() {
		if id := span.SpanID().String(); !ids[id] {
			ids[id] = true
			s.acked.Add(1)
		}
	}
}

// exporter is one connection.
type exporter struct {
	svc  *service
	grpc bool
	http *http.Client
	conn *grpc.ClientConn
	to   string // of conn
}

func (x *exporter) close() {
	if x.conn != nil {
		_ = x.conn.Close()
	}
	x.http.CloseIdleConnections()
}

// export sends one request; no error means that the whole of it was acknowledged.
func (x *exporter) export(ctx context.Context, td ptrace.Traces) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req := ptraceotlp.NewExportRequestFromTraces(td)
	var res ptraceotlp.ExportResponse
	var err error
	if x.grpc {
		res, err = x.byGRPC(ctx, req)
	} else {
		res, err = x.byHTTP(ctx, req)
	}
	if err == nil && res.PartialSuccess().RejectedSpans() > 0 {
		err = fmt.Errorf("%d spans were rejected: %s", res.PartialSuccess().RejectedSpans(), res.PartialSuccess().ErrorMessage())
	}
	return err
}

func (x *exporter) byGRPC(ctx context.Context, req ptraceotlp.ExportRequest) (res ptraceotlp.ExportResponse, err error) {
	if at := x.svc.address().GRPC; at != x.to {
		x.close()
		if x.conn, err = grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
			return res, err
		}
		x.to = at
	}
	return ptraceotlp.NewGRPCClient(x.conn).Export(ctx, req)
}

func (x *exporter) byHTTP(ctx context.Context, req ptraceotlp.ExportRequest) (out ptraceotlp.ExportResponse, err error) {
	out = ptraceotlp.NewExportResponse()
	body, err := req.MarshalProto()
	if err != nil {
		return out, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+x.svc.address().HTTP+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	res, err := x.http.Do(r)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("the receiver answered %s: %s", res.Status, hex.EncodeToString(answer))
	}
	if err != nil {
		return out, err
	}
	return out, out.UnmarshalProto(answer)
}
