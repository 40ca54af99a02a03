// Package otlp receives traces and logs over OTLP: gRPC and HTTP, protobuf and JSON.
//
// Both transports end in [Receiver.Export]: check and mend the body, cut it by the partition of its traces, publish each
// part, and only then answer. The package stores nothing; what it publishes is clean in the sense of package wire.
//
// Invariants:
//   - Success is answered only after [Publish] returned nil for every part of the request.
//   - Nothing is dropped in silence: what is left out is in the answer's partial success and in a counter.
//   - What may be sent again is refused so that exporters do send it again (HTTP 503 with Retry-After, gRPC UNAVAILABLE with
//     RetryInfo); what can never be stored is refused for good.
//   - An answer has the content type of its request.
//   - A listener off loopback asks for a token or a client certificate, unless told not to.
package otlp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// Publish stores one batch and returns once it is stored. It may be called by many goroutines, and several times for one
// request. A [*FullError] says that nothing was stored and when to come back; an error that wraps [ErrTooLarge] that the
// batch can never be stored; any other that the outcome is unknown, and the sender is asked to send again.
type Publish func(ctx context.Context, b wire.Batch) error

// FullError is the back-pressure of a [Publish]: send again after RetryAfter.
type FullError struct{ RetryAfter time.Duration }

// Error says when to send again.
func (e *FullError) Error() string {
	return fmt.Sprintf("full for the moment, send again after %s", e.RetryAfter)
}

// ErrTooLarge is wrapped by the error of a [Publish] for a batch that exceeds what its storage takes.
var ErrTooLarge = errors.New("too large to be stored")

// Options says where to listen and what to accept. Zero values mean the defaults given.
type Options struct {
	GRPC string // address, such as 127.0.0.1:4317; port 0 is any free one; empty: no gRPC
	HTTP string // address, such as 127.0.0.1:4318; likewise

	Tokens   []string    // bearer tokens, one of which a sender must show; none: not asked for
	TLS      *tls.Config // see LoadTLS; nil: plain text
	Insecure bool        // listen off loopback with neither tokens nor client certificates

	Partitions  int          // streams to divide traces over: 1
	Filter      *wire.Filter // what is scrubbed and how large a batch may be: wire.NewFilter of nothing
	MaxWire     int          // bytes of a request as sent: 32 MiB
	MaxInflated int          // bytes of a request inflated: 64 MiB

	// Adopt makes spans of the log records without a trace id that tell of an agent, one a record with ids that follow from the record, and
	// leaves out the others: nil adopts none. It may be called by many goroutines.
	Adopt func(plog.Logs) ptrace.Traces

	Registerer prometheus.Registerer // of the counters pawl_otlp_*: none
}

func (o Options) withDefaults() (Options, error) {
	o.Partitions = max(o.Partitions, 1)
	o.MaxWire = cmp.Or(o.MaxWire, 32<<20)
	o.MaxInflated = max(cmp.Or(o.MaxInflated, 64<<20), o.MaxWire)
	if o.Filter != nil {
		return o, nil
	}
	var err error
	o.Filter, err = wire.NewFilter(wire.Scrub{}, 0)
	return o, err
}

// Receiver listens on up to two addresses. Make it with [New].
type Receiver struct {
	lg      *slog.Logger
	publish Publish
	opt     Options
	tokens  tokens
	counts  *counters
	room    *room

	grpcAt, httpAt net.Listener
	grpc           *grpc.Server
	health         *health.Server
	http           *http.Server
	serving        sync.WaitGroup
}

// New binds the addresses, so that a port in use or an open one without protection is an error here; nothing is answered
// before [Receiver.Start].
func New(lg *slog.Logger, publish Publish, opt Options) (*Receiver, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	counts, err := newCounters(opt.Registerer)
	if err != nil {
		return nil, fmt.Errorf("otlp: register counters: %w", err)
	}
	r := &Receiver{lg: lg, publish: publish, opt: opt, tokens: newTokens(opt.Tokens), counts: counts, room: newRoom(2 * int64(opt.MaxInflated))}
	if r.grpcAt, err = r.listen("gRPC", opt.GRPC); err != nil {
		return nil, err
	}
	if r.httpAt, err = r.listen("HTTP", opt.HTTP); err != nil {
		if r.grpcAt != nil {
			_ = r.grpcAt.Close() // nothing was accepted on it
		}
		return nil, err
	}
	r.grpc, r.health = r.newGRPC()
	r.http = r.newHTTP()
	return r, nil
}

func (r *Receiver) listen(what, addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	if err := r.opt.guarded(addr); err != nil {
		return nil, fmt.Errorf("otlp %s: %w", what, err)
	}
	at, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("otlp %s: %w (is another Collector or pawl running there? port 0 takes any free one)", what, err)
	}
	return at, nil
}

// guarded refuses an address that others than this machine can reach and that asks nobody who they are.
func (o Options) guarded(addr string) error {
	if o.Insecure || len(o.Tokens) > 0 || o.TLS != nil && o.TLS.ClientAuth == tls.RequireAndVerifyClientCert {
		return nil
	}
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", addr, err)
	}
	if at.IP.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s is reachable from other machines and nothing protects it: set bearer tokens, or TLS with a client CA, or listen on 127.0.0.1; "+
		"to let anybody in, say so explicitly", addr)
}

// Addr returns the bound addresses as host:port; empty for one that is off.
func (r *Receiver) Addr() (grpc, http string) {
	if r.grpcAt != nil {
		grpc = r.grpcAt.Addr().String()
	}
	if r.httpAt != nil {
		http = r.httpAt.Addr().String()
	}
	return grpc, http
}

// Start begins to answer and returns. It must be called once.
func (r *Receiver) Start() {
	if r.grpcAt != nil {
		r.serving.Go(func() {
			if err := r.grpc.Serve(r.grpcAt); err != nil {
				r.lg.Error("otlp gRPC receiver stopped", "err", err)
			}
		})
	}
	if r.httpAt != nil {
		r.serving.Go(func() {
			serve := r.http.Serve
			if r.opt.TLS != nil {
				serve = func(at net.Listener) error { return r.http.ServeTLS(at, "", "") }
			}
			if err := serve(r.httpAt); !errors.Is(err, http.ErrServerClosed) {
				r.lg.Error("otlp HTTP receiver stopped", "err", err)
			}
		})
	}
}

// Stop takes no new requests and waits for those under way, until ctx ends; then it cuts them off and returns ctx's error.
// Senders of requests cut off send them again. It also closes the listeners of a receiver that was never started.
func (r *Receiver) Stop(ctx context.Context) error {
	r.health.Shutdown()
	var group sync.WaitGroup
	group.Go(func() { r.stopGRPC(ctx) })
	group.Go(func() {
		if r.http.Shutdown(ctx) != nil {
			_ = r.http.Close() // what is left is cut off; the error is ctx's
		}
	})
	group.Wait()
	for _, at := range []net.Listener{r.grpcAt, r.httpAt} {
		if at != nil {
			_ = at.Close() // closed already where it was served
		}
	}
	r.serving.Wait()
	return ctx.Err()
}

func (r *Receiver) stopGRPC(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		r.grpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		r.grpc.Stop()
		<-done
	}
}
