package trajectory

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// FuzzProtobuf: whatever bytes come as protobuf, of spans or of records, all that decodes becomes a trajectory, and the same one when it comes
// as JSON.
func FuzzProtobuf(f *testing.F) {
	for _, d := range fixtureData(f) {
		body, err := wire.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, s := range []wire.Signal{wire.Traces, wire.Logs} {
			if d, _, err := wire.Decode(s, body); err == nil {
				sameAsJSON(t, d)
			}
		}
	})
}

// FuzzJSON: whatever text comes as JSON, all that decodes becomes a trajectory, and the same one when it comes as protobuf.
func FuzzJSON(f *testing.F) {
	for _, d := range fixtureData(f) {
		f.Add(jsonOf(f, d))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, s := range []wire.Signal{wire.Traces, wire.Logs} {
			d, _, err := wire.DecodeJSON(s, text)
			if err != nil {
				continue
			}
			body, err := wire.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := wire.Decode(s, body)
			if err != nil {
				t.Fatalf("what was read as JSON does not decode as protobuf: %v", err)
			}
			sameTrajectories(t, d, again)
			sameAsJSON(t, d)
		}
	})
}

// Spans and records together, of known keys and values of every kind, make one trajectory in either encoding.
func TestEncodingDoesNotMatter(t *testing.T) {
	for seed := range uint64(200) {
		tds, lds := wildTraces(rand.New(rand.NewPCG(seed, 7)), "{\"a\":[1e400,\"\\ud800\"]}\x00\xff", "chat")
		var proto, text [2]wire.Data
		for i, d := range []wire.Data{{Signal: wire.Traces, Traces: tds[0]}, {Signal: wire.Logs, Logs: lds[0]}} {
			body, err := wire.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			if proto[i], _, err = wire.Decode(d.Signal, body); err != nil {
				t.Fatal(err)
			}
			if text[i], _, err = wire.DecodeJSON(d.Signal, jsonOf(t, proto[i])); err != nil {
				t.Fatal(err)
			}
		}
		want := render(t, FromOTLP([]ptrace.Traces{proto[0].Traces}, []plog.Logs{proto[1].Logs}))
		if got := render(t, FromOTLP([]ptrace.Traces{text[0].Traces}, []plog.Logs{text[1].Logs})); got != want {
			t.Fatalf("seed %d differs:\n%s\n%s", seed, got, want)
		}
	}
}

// fixtureData are the requests of the builder's fixtures, spans and records apart.
func fixtureData(t testing.TB) (out []wire.Data) {
	for _, file := range append(fixtureFiles(t), trapFiles(t, "*")...) {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tds, ld := fixture(t, ar.Files[0].Data)
		all := ptrace.NewTraces()
		for _, td := range tds {
			td.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
		}
		out = append(out, wire.Data{Signal: wire.Traces, Traces: all})
		if ld.LogRecordCount() > 0 {
			out = append(out, wire.Data{Signal: wire.Logs, Logs: ld})
		}
	}
	return out
}

// jsonOf writes data as the SDKs do.
func jsonOf(t testing.TB, d wire.Data) []byte {
	t.Helper()
	var text []byte
	var err error
	if d.Signal == wire.Logs {
		text, err = (&plog.JSONMarshaler{}).MarshalLogs(d.Logs)
	} else {
		text, err = (&ptrace.JSONMarshaler{}).MarshalTraces(d.Traces)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func sameAsJSON(t *testing.T, d wire.Data) {
	t.Helper()
	text := jsonOf(t, d)
	read, _, err := wire.DecodeJSON(d.Signal, text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	sameTrajectories(t, d, read)
}

func sameTrajectories(t *testing.T, a, b wire.Data) {
	t.Helper()
	if x, y := trajectoriesOf(t, a), trajectoriesOf(t, b); !bytes.Equal(x, y) {
		t.Fatalf("differs:\n%s\n%s", x, y)
	}
}

func trajectoriesOf(t *testing.T, d wire.Data) []byte {
	t.Helper()
	var traces []Trace
	if d.Signal == wire.Logs {
		traces = FromOTLP(nil, []plog.Logs{d.Logs})
	} else {
		traces = FromOTLP([]ptrace.Traces{d.Traces}, nil)
	}
	var out []byte
	for _, tr := range traces {
		text, err := json.Marshal(Build(tr))
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, text...), '\n')
	}
	return out
}
