package importer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// request is one OTLP JSON request of a span with the number in its ids.
func request(n int) string {
	return fmt.Sprintf(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%032x","spanId":"%016x","name":"s%d"}]}]}]}`, n, n, n)
}

func logRequest(n int) string {
	return fmt.Sprintf(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"%032x","spanId":"%016x","body":{"stringValue":"b"}}]}]}]}`, n, n)
}

func proto(t testing.TB, s wire.Signal, text string) []byte {
	t.Helper()
	body, _, err := wire.Transcode(s, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func zipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zstded(t testing.TB, content []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(content, nil)
}

func prefixed(messages ...[]byte) []byte {
	var out []byte
	for _, m := range messages {
		out = binary.BigEndian.AppendUint32(out, uint32(len(m)))
		out = append(out, m...)
	}
	return out
}

// collect runs a sequence dry: the items as "signal line spans", the problems as text.
func collect(seq iter.Seq2[Item, error]) (items, problems []string, errs []error) {
	for item, err := range seq {
		if err != nil {
			problems = append(problems, err.Error())
			errs = append(errs, err)
			continue
		}
		items = append(items, fmt.Sprintf("%s %d %d", item.Data.Signal, item.Line, item.Report.Spans))
	}
	return items, problems, errs
}

func TestReadForms(t *testing.T) {
	one, two, logs := request(1), request(2), logRequest(1)
	pretty := "{\n  \"resourceSpans\": [\n    {\"scopeSpans\": [{\"spans\": [\n{\"traceId\":\"1\",\"spanId\":\"1\"}\n]}]}\n  ]\n}\n"
	for _, tc := range []struct {
		name string
		in   []byte
		want string
	}{
		{"one object", []byte(one), "traces 1 1"},
		{"lines", []byte(one + "\n\n" + two + "\r\n" + logs), "traces 1 1,traces 3 1,logs 4 1"},
		{"pretty", []byte(pretty + pretty), "traces 1 1,traces 8 1"},
		{"side by side", []byte(one + two), "traces 1 1,traces 1 1"},
		{"a list", []byte("[" + one + ",\n" + two + "]"), "traces 1 1,traces 2 1"},
		{"byte order mark", []byte("\ufeff" + one), "traces 1 1"},
		{"both signals in one", []byte(one[:len(one)-1] + "," + logs[1:]), "traces 1 1,logs 1 1"},
		{"batches", []byte(strings.Replace(one, "resourceSpans", "batches", 1)), "traces 1 1"},
		{"gzip", zipped(t, []byte(one)), "traces 1 1"},
		{"gzip twice, two members", zipped(t, append(zipped(t, []byte(one+"\n")), zipped(t, []byte(two))...)), "traces 1 1,traces 2 1"},
		{"zstd", zstded(t, []byte(one)), "traces 1 1"},
		{"protobuf", proto(t, wire.Traces, one), "traces 0 1"},
		{"protobuf logs, gzip", zipped(t, proto(t, wire.Logs, logs)), "logs 0 1"},
		{"prefixed", prefixed(proto(t, wire.Traces, one), proto(t, wire.Logs, logs), proto(t, wire.Traces, two)), "traces 0 1,logs 0 1,traces 0 1"},
		{"prefixed, each zstd", prefixed(zstded(t, proto(t, wire.Traces, one)), zstded(t, []byte(two))), "traces 0 1,traces 0 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			items, problems, _ := collect(Read("f", bytes.NewReader(tc.in), Options{}))
			if strings.Join(items, ",") != tc.want || len(problems) > 0 {
				t.Errorf("got %q, want %q; problems %q", items, tc.want, problems)
			}
		})
	}
}

func TestABadDocumentLosesItselfAlone(t *testing.T) {
	one, two := request(1), request(2)
	for _, tc := range []struct{ name, in, want, problem string }{
		{"cut within a string", one[:40] + "\n" + two, "traces 2 1", "f:1: the JSON object is cut off"},
		{"cut between members", one[:len(one)-3] + "\n" + two + "\n" + one, "traces 2 1,traces 3 1", "f:1: the JSON object is cut off"},
		{"cut at the end", one + "\n" + two[:60], "traces 1 1", "f:2: the JSON object is not closed"},
		{"not JSON inside", one + "\n{\"resourceSpans\":[1 2]}\n" + two, "traces 1 1,traces 3 1", "f:2: traces JSON"},
		{"a line of text", one + "\noops\n" + two, "traces 1 1,traces 3 1", `f:2: want a JSON object, got "oops`},
		{"first line damaged", "oops " + one + "\n" + two, "traces 2 1", "f:1: want a JSON object"},
		{"wrong type", `{"resourceSpans":5}` + "\n" + two, "traces 2 1", "f:1: traces JSON: /resourceSpans"},
		{"too large", one + "\n{\"resourceSpans\":\"" + strings.Repeat("x", 3000) + "\"}\n" + two, "traces 1 1,traces 3 1", "f:2: too large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			items, problems, _ := collect(Read("f", strings.NewReader(tc.in), Options{MaxDocument: 2000}))
			if strings.Join(items, ",") != tc.want || len(problems) != 1 || !strings.HasPrefix(problems[0], tc.problem) {
				t.Errorf("items %q, want %q; problems %q, want %q", items, tc.want, problems, tc.problem)
			}
		})
	}
}

func TestUnreadShapesAreNamed(t *testing.T) {
	for in, want := range map[string]string{
		`{"resourceMetrics":[]}`:                              "metrics",
		`[{"resourceProfiles":[]},{"resourceProfiles":[]}]`:   "2 documents: this is OTLP profiles",
		`{"traceId":"a","id":"b","localEndpoint":{},"x":"y"}`: "Zipkin",
	} {
		_, problems, errs := collect(Read("f", strings.NewReader(in), Options{}))
		if len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("%s: %q, want %s", in, problems, want)
			continue
		}
		if _, ok := errors.AsType[*Unsupported](errs[0]); !ok {
			t.Errorf("%s: not an Unsupported: %v", in, errs[0])
		}
	}
}

func TestNoTelemetry(t *testing.T) {
	for _, in := range []string{"", "  \n", "# A heading\n\ntext", `{"a":1}`, "\x00\x00\x00\x00", "\nplain", "\x7fELF....", "[]", "a\tb\tc\n1\t2\t3\n"} {
		items, problems, errs := collect(Read("f", strings.NewReader(in), Options{}))
		if in == "[]" || in == "  \n" {
			if len(items) > 0 {
				t.Errorf("%q: items %v", in, items)
			}
			continue
		}
		if len(items) > 0 || len(errs) != 1 || !errors.Is(errs[0], ErrNotTelemetry) {
			t.Errorf("%q: items %q, problems %q", in, items, problems)
		}
	}
}

// bomb is a gzip file of n repeats of the text, in many members: one is compressed and then repeated.
func bomb(t *testing.T, text string, n int) *bytes.Buffer {
	t.Helper()
	block := []byte(strings.Repeat(text, 1<<20/len(text)))
	return bytes.NewBuffer(bytes.Repeat(zipped(t, block), n/len(block)))
}

func TestBombStops(t *testing.T) {
	for name, text := range map[string]string{"white space": " ", "one string": `{"a":"`, "objects": `{"a":"` + strings.Repeat("x", 100_000) + "\"}\n"} {
		t.Run(name, func(t *testing.T) {
			_, problems, errs := collect(Read("bomb", bomb(t, text, 200<<20), Options{}))
			if len(errs) == 0 || !errors.Is(errs[0], ErrTooLarge) && !errors.Is(errs[len(errs)-1], ErrTooLarge) {
				t.Fatalf("problems %q", problems)
			}
		})
	}
}

func TestBrokenGzip(t *testing.T) {
	whole := zipped(t, []byte(request(1)+"\n"+strings.Repeat(request(2)+"\n", 500)))
	items, problems, _ := collect(Read("f", bytes.NewReader(whole[:len(whole)-200]), Options{}))
	if len(items) == 0 || len(problems) != 1 || !strings.Contains(problems[0], "the rest cannot be read") {
		t.Errorf("%d items, %q", len(items), problems)
	}
}

func TestWalk(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a.json": request(1), "sub/b": logRequest(2), "readme.md": "# no", ".hidden": request(3), "sub/.git/x": request(4)} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opt := Options{Stdin: strings.NewReader(request(5) + request(6))}
	items, problems, errs := collect(Walk(opt, dir, filepath.Join(dir, "missing"), "-"))
	if got := strings.Join(items, ","); got != "traces 1 1,logs 1 1,traces 1 1,traces 1 1" {
		t.Errorf("items %q", got)
	}
	if len(problems) != 2 || !errors.Is(errs[1], os.ErrNotExist) {
		t.Fatalf("problems %q", problems)
	}
	if p, ok := errors.AsType[*Problem](errs[0]); !ok || !p.Found || !strings.HasSuffix(p.File, "readme.md") {
		t.Errorf("problem %v", errs[0])
	}
}

func TestReadStopsWithItsConsumer(t *testing.T) {
	n := 0
	for range Read("f", strings.NewReader(request(1)+"\noops\n"+request(2)), Options{}) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d items", n)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(request(1) + "\n" + logRequest(2)))
	f.Add(prefixed(proto(f, wire.Traces, request(1)), proto(f, wire.Logs, logRequest(1))))
	f.Add(zipped(f, []byte("["+request(1)+"]")))
	f.Add([]byte(`{"a":[`))
	f.Fuzz(func(t *testing.T, content []byte) {
		for item, err := range Read("f", bytes.NewReader(content), Options{MaxDocument: 1 << 16, MaxInflated: 1 << 20}) {
			if err == nil && item.Data.Signal == 0 {
				t.Fatal("an item without data")
			}
		}
	})
}
