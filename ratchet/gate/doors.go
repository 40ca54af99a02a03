package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ingest/otlp"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// doors is the one address that agents under test speak to:
//
//	/run/NAME/tools          POST {"tool", "arguments"} -> {"result"}, or the recorded fault
//	/run/NAME/mcp            the same as an MCP server, streamable HTTP
//	/run/NAME/.../v1/traces  OTLP over HTTP, with whatever path a vendor's exporter puts before it; /v1/logs likewise
//	.../v1/traces            the same, for exporters that forget the path of the endpoint
//
// and OTLP over gRPC on the same port.
type doors struct {
	lg       *slog.Logger
	collect  *collector
	receiver *otlp.Receiver
	server   *http.Server
	at       net.Listener
	serving  sync.WaitGroup

	mu   sync.Mutex
	runs map[string]*door
}

// door is what a run sees of it.
type door struct {
	replay *Replay
	mcp    http.Handler
	shut   context.Context // ends with the run: what hangs is let go
}

func openDoors(lg *slog.Logger, addr string) (*doors, error) {
	d := &doors{lg: lg, collect: newCollector(), runs: map[string]*door{}}
	var err error
	if d.receiver, err = otlp.New(lg, d.collect.publish, otlp.Options{Adopt: trajectory.AgentEvents}); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	if d.at, err = net.Listen("tcp", addr); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	d.server = &http.Server{Handler: d, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(lg.Handler(), slog.LevelDebug), Protocols: new(http.Protocols)}
	d.server.Protocols.SetHTTP1(true)
	d.server.Protocols.SetUnencryptedHTTP2(true) // gRPC
	d.serving.Go(func() {
		if err := d.server.Serve(d.at); !errors.Is(err, http.ErrServerClosed) {
			lg.Error("the gate's own server stopped", "err", err)
		}
	})
	return d, nil
}

func (d *doors) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if d.server.Shutdown(ctx) != nil {
		_ = d.server.Close() // a call that hangs by order
	}
	_ = d.receiver.Stop(ctx) // it has no listeners of its own
	d.serving.Wait()
}

// url is the address of a run.
func (d *doors) url(name string) string { return "http://" + d.at.Addr().String() + "/run/" + name }

func (d *doors) open(name string, r *Replay, shut context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs[name] = &door{replay: r, mcp: mcpHandler(r, shut), shut: shut}
}

func (d *doors) shut(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.runs, name)
}

// RunHeader is the header by which exporters name their run.
const RunHeader = "Pawl-Run"

func (d *doors) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name := req.Header.Get(RunHeader)
	path, below := strings.CutPrefix(req.URL.Path, "/run/")
	if below {
		name, path, _ = strings.Cut(path, "/")
		d.mu.Lock()
		run := d.runs[name]
		d.mu.Unlock()
		switch path = strings.TrimRight(path, "/"); {
		case path != "tools" && path != "mcp":
		case run == nil:
			http.Error(w, "this run is over", http.StatusGone)
			return
		case path == "tools":
			run.serveTool(w, req)
			return
		default:
			run.mcp.ServeHTTP(w, req)
			return
		}
	}
	d.receiver.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), runKey{}, name)))
}

// maxCall bounds the arguments of one call, in bytes.
const maxCall = 8 << 20

func (run *door) serveTool(w http.ResponseWriter, req *http.Request) {
	var call struct {
		Tool      string         `json:"tool"`
		Arguments jsontext.Value `json:"arguments"`
	}
	if req.Method != http.MethodPost {
		reply(w, http.StatusMethodNotAllowed, "error", regcase.NewJSON([]byte(`"POST {\"tool\": NAME, \"arguments\": {...}}"`)))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxCall))
	if err == nil {
		err = json.Unmarshal(body, &call)
	}
	if err != nil || call.Tool == "" {
		reply(w, http.StatusBadRequest, "error", regcase.NewJSON([]byte(`want {"tool": NAME, "arguments": {...}}`)))
		return
	}
	a := run.replay.Answer(req.Context(), call.Tool, call.Arguments)
	switch a.Fault {
	case "":
		reply(w, http.StatusOK, "result", a.Result)
	case "denied":
		reply(w, http.StatusForbidden, "error", a.text("permission denied"))
	case "timeout":
		select { // until the caller, or the run, gives up
		case <-req.Context().Done():
		case <-run.shut.Done():
		}
		panic(http.ErrAbortHandler)
	case "missing":
		panic(http.ErrAbortHandler) // closes the connection without an answer
	default:
		reply(w, faultStatus(a.Source), "error", a.text(wordOf(a.Source, call.Tool)))
	}
}

func faultStatus(s Source) int {
	switch s {
	case SourceUnknown:
		return http.StatusNotFound
	case SourceNone:
		return http.StatusNotImplemented
	}
	return http.StatusInternalServerError
}

func wordOf(s Source, tool string) string {
	switch s {
	case SourceUnknown:
		return "unknown tool: " + tool
	case SourceNone:
		return NoFixture(tool)
	}
	return "internal server error"
}

// text is the recorded words of a fault, else these.
func (a Answer) text(otherwise string) regcase.JSON {
	if a.Result != nil {
		return a.Result
	}
	return regcase.NewJSON([]byte(otherwise))
}

func reply(w http.ResponseWriter, status int, key string, value regcase.JSON) {
	b, err := json.Marshal(map[string]regcase.JSON{key: value})
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"the fixture is not JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the agent may have gone
}
