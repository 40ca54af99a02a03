package gate_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/test/sample"
)

var quiet = slog.New(slog.DiscardHandler)

// The test binary is the agent under test as well: `BINARY agent MODE...` reads PAWL_INPUT, calls its tools, sends its spans and ends.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "agent" {
		os.Exit(agent(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// agent is the parcel desk of the sample as a real program. Its modes say how well it works.
func agent(modes []string) int {
	mode, arg := modes[0], ""
	if len(modes) > 1 {
		arg = modes[1]
	}
	var in gate.Input
	text, err := os.ReadFile(os.Getenv("PAWL_INPUT"))
	if err != nil || json.Unmarshal(text, &in) != nil {
		fmt.Fprintln(os.Stderr, "no input:", err)
		return 9
	}
	switch mode {
	case "silent":
		return 0
	case "crash":
		fmt.Fprintln(os.Stderr, "out of memory")
		return 3
	case "hang":
		time.Sleep(time.Minute)
	case "orphan": // leaves a process behind that would write a file
		child := exec.Command("sh", "-c", "sleep 2; echo alive > "+arg)
		if err := child.Start(); err != nil {
			return 9
		}
	case "flaky": // good in the runs that are named
		if mode = "loop"; strings.Contains(","+arg+",", ","+os.Getenv("PAWL_RUN")+",") {
			mode = "good"
		}
	case "file": // as a file in the work tree says
		b, err := os.ReadFile(arg)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 9
		}
		mode = strings.TrimSpace(string(b))
	}
	run := converse(mode, in)
	if err := export(mode, run); err != nil {
		fmt.Fprintln(os.Stderr, "export:", err)
		return 9
	}
	return 0
}

// converse is what the agent does: a call of a tool, more of them where it loops, an answer.
func converse(mode string, in gate.Input) sample.Run {
	user := in.Messages[len(in.Messages)-1].Content
	run := sample.Run{Name: mode, User: user, Session: in.Session}
	tool := "find_parcel"
	number := "PX-00000000"
	for _, w := range strings.Fields(user) {
		if w = strings.Trim(w, ".?!"); strings.HasPrefix(w, "PX-") {
			number = w
		}
	}
	times := 1
	switch mode {
	case "loop":
		times = 6
	case "other":
		number = "PX-11112222"
	case "unknown":
		tool = "track_parcel"
	}
	for range times {
		c := sample.Call{Tool: tool, Arguments: `{"tracking_number":"` + number + `"}`}
		c.Result, c.Failed = call(mode, c.Tool, c.Arguments)
		run.Turns = append(run.Turns, sample.Turn{Calls: []sample.Call{c}, Input: 200, Output: 20})
	}
	run.Turns = append(run.Turns, sample.Turn{Text: "I could not find it: its status is unknown.", Input: 270, Output: 14})
	return run
}

// call asks for a tool's answer where the contract says.
func call(mode, tool, arguments string) (string, bool) {
	switch mode {
	case "live":
		return `{"status":"unknown","from":"the real thing"}`, false
	case "mcp":
		return callMCP(tool, arguments)
	}
	res, err := http.Post(os.Getenv("PAWL_TOOLS_URL"), "application/json", strings.NewReader(`{"tool":"`+tool+`","arguments":`+arguments+`}`))
	if err != nil {
		return err.Error(), true
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	var answer struct{ Result, Error json.RawMessage }
	if json.Unmarshal(b, &answer) != nil || res.StatusCode != http.StatusOK {
		return string(b), true
	}
	return string(answer.Result), false
}

func callMCP(tool, arguments string) (string, bool) {
	ctx := context.Background()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Getenv("PAWL_MCP_URL"), DisableStandaloneSSE: true}, nil)
	if err != nil {
		return err.Error(), true
	}
	defer s.Close()
	list, err := s.ListTools(ctx, nil)
	if err != nil || len(list.Tools) == 0 {
		return fmt.Sprint("no tools: ", err), true
	}
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return err.Error(), true
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

// export sends the spans of a run in some of the ways that exporters do.
func export(mode string, run sample.Run) error {
	rng := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	td := sample.Trace(sample.Dialects[0], run, time.Now(), rng)
	base := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	root := base[:strings.Index(base, "/run/")]
	switch mode {
	case "grpc":
		return exportGRPC(strings.TrimPrefix(root, "http://"), td)
	case "langfuse":
		return send(base+"/api/public/otel/v1/traces", "application/json", td)
	case "langsmith":
		return send(root+"/otel/v1/traces", "application/x-protobuf", td)
	case "resource": // an exporter with an address of its own, whose resource names the run
		attrs := td.ResourceSpans().At(0).Resource().Attributes()
		for kv := range strings.SplitSeq(os.Getenv("OTEL_RESOURCE_ATTRIBUTES"), ",") {
			k, v, _ := strings.Cut(kv, "=")
			attrs.PutStr(k, v)
		}
		return send(root+"/v1/traces", "application/json", td)
	}
	return send(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), "application/x-protobuf", td)
}

func exportGRPC(addr string, td ptrace.Traces) error {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = ptraceotlp.NewGRPCClient(conn).Export(context.Background(), ptraceotlp.NewExportRequestFromTraces(td))
	return err
}

func send(url, kind string, td ptrace.Traces) error {
	req := ptraceotlp.NewExportRequestFromTraces(td)
	body, err := req.MarshalProto()
	if kind == "application/json" {
		body, err = req.MarshalJSON()
	}
	if err != nil {
		return err
	}
	res, err := http.Post(url, kind, bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the receiver answered %s", res.Status)
	}
	return nil
}

// loopCase is the case that pawl makes of the sample's loop, whole.
func loopCase(t testing.TB) *gate.Case { return made(t, "loop") }

func made(t testing.TB, scenario string) *gate.Case {
	t.Helper()
	engine, err := classify.New(quiet, rule.All(), classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	redactor, err := redact.New(quiet, redact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &ratchet.Maker{Engine: engine, Oracle: oracle.New(quiet, rule.All()), Redactor: redactor}
	s := sample.Named(scenario)
	rng := rand.New(rand.NewPCG(1, 2))
	td := sample.Trace(sample.Dialects[0], s.Make(rng), time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rng)
	tr := trajectory.FromOTLP([]ptrace.Traces{td}, nil)[0]
	for _, f := range engine.Classify(trajectory.Build(tr), nil).Findings {
		if string(f.Label) != s.Label {
			continue
		}
		made, err := m.Make([]trajectory.Trace{tr}, f, ratchet.Sightings{Count: 1, First: time.Now(), Last: time.Now()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := gate.NewCase(&made.Case, made.Trace)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	t.Fatalf("the sample's %s shows no %s", scenario, s.Label)
	return nil
}

func agentCommand(modes ...string) gate.Agent {
	words := []string{strconv.Quote(os.Args[0]), "agent"}
	return gate.Agent{Command: strings.Join(append(words, modes...), " ")}
}

func newGate(t testing.TB, o gate.Options) *gate.Gate {
	t.Helper()
	o.Settle = cmp.Or(o.Settle, 30*time.Millisecond) // the agents here send before they end
	g, err := gate.New(quiet, gate.ByOracle(oracle.New(quiet, rule.All())), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// below is the trace of a run as a service writes it that goes on with the caller's.
func below(run sample.Run, trace, parent string) ptrace.Traces {
	td := sample.Trace(sample.Dialects[0], run, time.Now(), rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	var tid pcommon.TraceID
	var pid pcommon.SpanID
	hex.Decode(tid[:], []byte(trace))
	hex.Decode(pid[:], []byte(parent))
	for _, s := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		s.SetTraceID(tid)
		if s.ParentSpanID().IsEmpty() {
			s.SetParentSpanID(pid)
		}
	}
	return td
}
