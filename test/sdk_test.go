package test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// TestSDK runs an agent that is instrumented with the OpenTelemetry SDK for Go after the GenAI conventions, once with the gRPC exporter and once with
// the HTTP one and gzip, against `pawl serve`: the failures are found and their cases are in pull requests.
func TestSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir, gh := t.TempDir(), newGitHub(t)
	svc := newService(t, buildPawl(t), dir, serveYAML(dir, gh))
	if err := svc.start(); err != nil {
		t.Fatal(err)
	}
	byGRPC, err := otlptracegrpc.New(ctx, otlptracegrpc.WithInsecure(), otlptracegrpc.WithEndpoint(svc.address().GRPC))
	if err != nil {
		t.Fatal(err)
	}
	byHTTP, err := otlptracehttp.New(ctx, otlptracehttp.WithInsecure(), otlptracehttp.WithEndpoint(svc.address().HTTP), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	if err != nil {
		t.Fatal(err)
	}
	instrumented(t, "lamps-grpc", byGRPC, func(a agent) {
		a.run(ctx, "Is lamp L-7 in stock?", call{"stock", `{"lamp":"L-7"}`, `{"lamp":"L-7","pieces":4}`, false})
		again := call{"stock", `{"lamp":"L-9"}`, `{"pieces":null}`, false}
		a.run(ctx, "Is lamp L-9 in stock?", again, again, again, again, again, again)
	})
	instrumented(t, "lamps-http", byHTTP, func(a agent) {
		a.run(ctx, "Is lamp L-7 in stock?", call{"stock", `{"lamp":"L-7"}`, `{"lamp":"L-7","pieces":4}`, false})
		a.run(ctx, "Is lamp seven in stock?", call{"stock", `{"lamp":7}`, "invalid arguments: lamp: expected a string", true})
	})
	want := map[string]string{"loop lamps-grpc": "open", "tool_args_schema_violation lamps-http": "open"}
	until(t, ctx, fmt.Sprintf("pull requests for %v", want), func() error {
		var groups []apiGroup
		var batches []apiBatch
		if err := errors.Join(svc.get(ctx, "/v1/groups", &groups), svc.get(ctx, "/v1/batches", &batches)); err != nil {
			return err
		}
		got := map[string]string{}
		for _, g := range groups {
			if i := slices.IndexFunc(batches, func(b apiBatch) bool { return b.Key == g.Batch }); i >= 0 && g.Count == 1 {
				got[string(g.Label)+" "+g.Services[0]] = batches[i].State
			}
		}
		if len(groups) != len(want) || !maps.Equal(got, want) {
			return fmt.Errorf("groups %+v, batches %+v", groups, batches)
		}
		return nil
	})
	labels := []string{}
	for _, p := range gh.Pulls(ghOwner, ghRepo) {
		for dir := range gh.cases(t, p, "regressions") {
			labels = append(labels, path.Dir(dir))
		}
	}
	slices.Sort(labels)
	if !slices.Equal(labels, []string{"loop", "tool_args_schema_violation"}) {
		t.Errorf("the pull requests have cases of %v", labels)
	}
	gh.checkLedger(t)
}

// instrumented runs an agent whose spans go to the exporter, and holds that all were delivered.
func instrumented(t *testing.T, service string, to trace.SpanExporter, work func(agent)) {
	t.Helper()
	p := trace.NewTracerProvider(trace.WithBatcher(to), trace.WithResource(resource.NewSchemaless(attribute.String("service.name", service))))
	work(agent{p.Tracer("lamp-desk", api.WithInstrumentationVersion("1.0.0"))})
	if err := errors.Join(p.ForceFlush(t.Context()), p.Shutdown(t.Context())); err != nil {
		t.Fatalf("%s: %v", service, err)
	}
}

// agent calls one tool after the other and then answers, and says so in spans.
type agent struct{ tracer api.Tracer }

// call is one tool call; failed says that result is the tool's error.
type call struct {
	tool, arguments, result string
	failed                  bool
}

const stockTool = `[{"type":"function","name":"stock","parameters":{"type":"object","properties":{"lamp":{"type":"string"}},"required":["lamp"]}}]`

func (a agent) run(ctx context.Context, question string, calls ...call) {
	ctx, root := a.tracer.Start(ctx, "invoke_agent lamp_desk", api.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("gen_ai.agent.name", "lamp_desk")))
	defer root.End()
	history := []message{{"user", []part{{"type": "text", "content": question}}}}
	for i, c := range calls {
		id := fmt.Sprintf("call_%d", i)
		ask := message{"assistant", []part{{"type": "tool_call", "id": id, "name": c.tool, "arguments": json.RawMessage(c.arguments)}}}
		a.chat(ctx, history, ask, "tool_call")
		a.execute(ctx, id, c)
		history = append(history, ask, message{"tool", []part{{"type": "tool_call_response", "id": id, "response": c.result}}})
	}
	a.chat(ctx, history, message{"assistant", []part{{"type": "text", "content": "That is all I know."}}}, "stop")
}

type part map[string]any

type message struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

func (a agent) chat(ctx context.Context, in []message, out message, finish string) {
	_, span := a.tracer.Start(ctx, "chat small-model", api.WithSpanKind(api.SpanKindClient), api.WithAttributes(
		attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", "example"),
		attribute.String("gen_ai.request.model", "small-model"), attribute.String("gen_ai.response.model", "small-model"),
		attribute.String("gen_ai.tool.definitions", stockTool), attribute.String("gen_ai.input.messages", text(in)),
		attribute.String("gen_ai.output.messages", text([]any{map[string]any{"role": out.Role, "parts": out.Parts, "finish_reason": finish}})),
		attribute.StringSlice("gen_ai.response.finish_reasons", []string{finish}),
		attribute.Int("gen_ai.usage.input_tokens", 200+20*len(in)), attribute.Int("gen_ai.usage.output_tokens", 12)))
	span.End()
}

func (a agent) execute(ctx context.Context, id string, c call) {
	_, span := a.tracer.Start(ctx, "execute_tool "+c.tool, api.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", c.tool),
		attribute.String("gen_ai.tool.call.id", id), attribute.String("gen_ai.tool.call.arguments", c.arguments)))
	defer span.End()
	if c.failed {
		span.RecordError(errors.New(c.result))
		span.SetStatus(codes.Error, c.result)
		return
	}
	span.SetAttributes(attribute.String("gen_ai.tool.call.result", c.result))
}

// text is v as JSON; what the agent says always is.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
