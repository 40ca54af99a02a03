// Package desk is the parcel desk of package sample as a real program that a gate can run: it reads PAWL_INPUT, asks for its tools' answers where the
// contract says, sends its spans and ends. How well it does that its mode says. It is small, so that many of it can be started.
package desk

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pawl-dev/pawl/test/sample"
)

// Message is one message of the conversation so far.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Input is what of PAWL_INPUT the desk reads.
type Input struct {
	Messages []Message `json:"messages"`
	Session  string    `json:"session"`
	ToolsURL string    `json:"tools_url"`
}

// Main runs the desk in a mode, which may take an argument, and gives its exit code.
func Main(modes []string) int {
	mode, arg := modes[0], ""
	if len(modes) > 1 {
		arg = modes[1]
	}
	if mode == "serve" {
		return Serve(arg, os.Stdout)
	}
	if os.Getenv("PAWL_INPUT") == "-" {
		return Talk(mode, arg, os.Stdin)
	}
	var in Input
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
	run := Converse(mode, in)
	if err := export(mode, run); err != nil {
		fmt.Fprintln(os.Stderr, "export:", err)
		return 9
	}
	return 0
}

// Talk is the desk as one process for a whole conversation: a line of JSON for each turn, answered by a line on its standard output. The mode "quits" ends
// after as many turns as arg says; "lingers" does not end when its input does.
func Talk(mode, arg string, lines io.Reader) int {
	in := bufio.NewScanner(lines)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		var turn Input
		if json.Unmarshal(in.Bytes(), &turn) != nil {
			return 9
		}
		if mode == "quits" && arg < strconv.Itoa(n) {
			fmt.Fprintln(os.Stderr, "enough")
			return 0
		}
		fmt.Println("the desk was asked", n, "things by now")
		if err := export(mode, Converse(mode, turn)); err != nil {
			fmt.Fprintln(os.Stderr, "export:", err)
			return 9
		}
		fmt.Printf("{\"turn\": %d}\n", n)
	}
	if mode == "lingers" {
		time.Sleep(time.Minute)
	}
	return 0
}

// Serve is the desk as a service in a mode, until it is killed. It says where it answers.
func Serve(mode string, says io.Writer) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	fmt.Fprintf(says, "http://%s\n", l.Addr())
	err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var in Input
		parent := strings.Split(req.Header.Get("traceparent"), "-")
		if err := json.NewDecoder(req.Body).Decode(&in); err != nil || len(parent) != 4 {
			http.Error(w, "no input, or no traceparent", http.StatusBadRequest)
			return
		}
		at, _, _ := strings.Cut(in.ToolsURL, "/run/")
		if err := Send(at+"/v1/traces", "application/json", Below(Converse(mode, in), parent[1], parent[2])); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	fmt.Fprintln(os.Stderr, err)
	return 9
}

// Converse is what the agent does: a call of a tool, more of them where it loops, an answer.
func Converse(mode string, in Input) sample.Run {
	user := in.Messages[len(in.Messages)-1].Content
	run := sample.Run{Name: mode, User: user, Session: in.Session}
	tool := cmp.Or(os.Getenv("DESK_TOOL"), "find_parcel") // which the team may have given another name
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
		c.Result, c.Failed = call(mode, in.ToolsURL, c.Tool, c.Arguments)
		run.Turns = append(run.Turns, sample.Turn{Calls: []sample.Call{c}, Input: 200, Output: 20})
	}
	run.Turns = append(run.Turns, sample.Turn{Text: "I could not find it: its status is unknown.", Input: 270, Output: 14})
	return run
}

// call asks for a tool's answer where the contract says.
func call(mode, url, tool, arguments string) (string, bool) {
	switch mode {
	case "live":
		return `{"status":"unknown","from":"the real thing"}`, false
	case "mcp":
		return callMCP(&mcp.StreamableClientTransport{Endpoint: os.Getenv("PAWL_MCP_URL"), DisableStandaloneSSE: true}, tool, arguments)
	case "stdio": // its MCP server is a command
		return callMCP(&mcp.CommandTransport{Command: exec.Command("pawl", "mcp", "replay")}, tool, arguments)
	}
	res, err := http.Post(url, "application/json", strings.NewReader(`{"tool":"`+tool+`","arguments":`+arguments+`}`))
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

func callMCP(server mcp.Transport, tool, arguments string) (string, bool) {
	ctx := context.Background()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx, server, nil)
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
		return Send(base+"/api/public/otel/v1/traces", "application/json", td)
	case "langsmith":
		return Send(root+"/otel/v1/traces", "application/x-protobuf", td)
	case "resource": // an exporter with an address of its own, whose resource names the run
		attrs := td.ResourceSpans().At(0).Resource().Attributes()
		for kv := range strings.SplitSeq(os.Getenv("OTEL_RESOURCE_ATTRIBUTES"), ",") {
			k, v, _ := strings.Cut(kv, "=")
			attrs.PutStr(k, v)
		}
		return Send(root+"/v1/traces", "application/json", td)
	}
	return Send(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), "application/x-protobuf", td)
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

// Send posts spans, as protobuf or JSON by their content type.
func Send(url, kind string, td ptrace.Traces) error {
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

// Below is the trace of a run as a service writes it that goes on with the caller's.
func Below(run sample.Run, trace, parent string) ptrace.Traces {
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
