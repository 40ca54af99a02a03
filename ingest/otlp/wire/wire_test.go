package wire

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"google.golang.org/protobuf/encoding/protowire"
)

func lenField(num protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), content)
}

// rawRequest wraps the fields of one span.
func rawRequest(span []byte) []byte {
	return lenField(1, lenField(2, lenField(2, span)))
}

func join2(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func goodIDs() []byte {
	trace, span := traceOf(9), spanOf(9)
	return join2(lenField(1, trace[:]), lenField(2, span[:]))
}

func TestWalkCountsAndAcceptsEmpty(t *testing.T) {
	body := tracesBody(t, sampleTraces(seeded(1), 23))
	for _, tc := range []struct {
		body []byte
		want int
	}{{nil, 0}, {body, 23}, {join2(body, body), 46}} {
		survey, err := Walk(Traces, tc.body)
		if err != nil || survey.Spans != tc.want || survey.Dirty || survey.ZeroIDs != 0 {
			t.Errorf("%d bytes: %+v, %v", len(tc.body), survey, err)
		}
	}
}

func TestWalkDoesNotAllocate(t *testing.T) {
	body := tracesBody(t, sampleTraces(seeded(1), 23))
	if n := testing.AllocsPerRun(20, func() { _, _ = Walk(Traces, body) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWalkRejectsEveryTruncationThatDecodingWould(t *testing.T) {
	body := tracesBody(t, sampleTraces(seeded(2), 6))
	for n := range body {
		_, walked := Walk(Traces, body[:n])
		_, decoded := unmarshal(Traces, body[:n])
		if (walked == nil) != (decoded == nil) {
			t.Fatalf("first %d of %d bytes: walk %v, decode %v", n, len(body), walked, decoded)
		}
	}
}

func TestWalkNamesThePlace(t *testing.T) {
	for _, tc := range []struct {
		body []byte
		want string
	}{
		{[]byte{0x0a, 5, 1}, "TracesData, field 1, at byte 1"},
		{rawRequest(join2(goodIDs(), []byte{5 << 3, 1})), "Span, field 5"},
		{[]byte{0}, "bad field tag"},
		{[]byte("hello, this is text"), "malformed"},
	} {
		_, err := Walk(Traces, tc.body)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%x: error %v, want %q", tc.body, err, tc.want)
		}
	}
}

func TestDecodeMendsProtobuf(t *testing.T) {
	trace, span := traceOf(9), spanOf(9)
	attr := func(value []byte) []byte { return lenField(9, join2(lenField(1, []byte("k")), lenField(2, value))) }
	nested := []byte{}
	for range 200 {
		nested = lenField(5, lenField(1, nested))
	}
	for _, tc := range []struct {
		name    string
		span    []byte
		warning string
	}{
		{"hex text as id bytes", join2(lenField(1, []byte(hex.EncodeToString(trace[:]))), lenField(2, []byte(hex.EncodeToString(span[:])))), "ids came as text"},
		{"invalid UTF-8", join2(goodIDs(), lenField(5, []byte("a\xffb"))), "invalid UTF-8"},
		{"NUL", join2(goodIDs(), lenField(5, []byte("a\x00b"))), "NUL"},
		{"value nested too deeply", join2(goodIDs(), attr(nested)), "nested too deeply"},
		{"value of an index kind", join2(goodIDs(), attr([]byte{8 << 3, 1})), "unknown kind"},
		{"parent of a wrong length", join2(goodIDs(), lenField(4, []byte("xyz"))), "ids came as text"},
		{"link of a wrong length", join2(goodIDs(), lenField(13, lenField(1, []byte("xyz")))), "links"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, report := decoded(t, Traces, rawRequest(tc.span))
			spans := spansOf(d)
			if len(spans) != 1 || report.Spans != 1 || spans[0].TraceID() != traceOf(9) || spans[0].SpanID() != spanOf(9) {
				t.Fatalf("%d spans, %+v", len(spans), report)
			}
			if !strings.Contains(strings.Join(report.Warnings, "\n"), tc.warning) {
				t.Errorf("warnings %q, want %q", report.Warnings, tc.warning)
			}
			for _, text := range []string{spans[0].Name()} {
				if !cleanText([]byte(text)) {
					t.Errorf("name %q is not clean", text)
				}
			}
		})
	}
}

func TestDecodeRejectsOneSpanNotTheRequest(t *testing.T) {
	trace := traceOf(9)
	for _, tc := range []struct {
		span []byte
		code string
	}{
		{lenField(1, trace[:]), "zero_id"},
		{join2(lenField(1, make([]byte, 16)), lenField(2, []byte("12345678"))), "zero_id"},
		{join2(lenField(1, []byte("short")), lenField(2, []byte("12345678"))), "bad_id"},
		{join2(lenField(1, trace[:]), lenField(2, []byte("???"))), "bad_id"},
	} {
		d, report := decoded(t, Traces, join2(rawRequest(tc.span), rawRequest(goodIDs())))
		if len(spansOf(d)) != 1 || report.Spans != 1 || report.Rejected.Count != 1 || report.Rejected.Reasons[0].Code != tc.code {
			t.Errorf("%x: %+v", tc.span, report)
		}
	}
}

func TestDecodeReadsTheDeprecatedScopes(t *testing.T) {
	body := lenField(1, join2(lenField(deprecatedScopes, lenField(2, goodIDs())), lenField(2, lenField(2, goodIDs()))))
	d, report := decoded(t, Traces, body)
	if len(spansOf(d)) != 2 || report.Spans != 2 {
		t.Errorf("%d spans, %+v", len(spansOf(d)), report)
	}
}

func TestUnknownFieldsSurvive(t *testing.T) {
	extra := join2(protowire.AppendVarint(protowire.AppendTag(nil, 77, protowire.VarintType), 5),
		protowire.AppendTag(nil, 78, protowire.StartGroupType), protowire.AppendTag(nil, 78, protowire.EndGroupType))
	body := rawRequest(join2(goodIDs(), lenField(5, []byte("\xff")), extra))
	out, _, err := apply(Traces, body, nil, 0)
	if err != nil || !bytes.Contains(out, extra) {
		t.Errorf("unknown fields lost: %x, %v", out, err)
	}
}

func TestPartitionIsForEver(t *testing.T) {
	for _, tc := range []struct{ n, p, want int }{{1, 64, 53}, {2, 64, 16}, {3, 64, 48}, {1, 4, 1}, {7, 1, 0}, {7, 0, 0}} {
		if got := Partition(traceOf(uint64(tc.n)), tc.p); got != tc.want {
			t.Errorf("Partition(%d, %d) = %d, want %d", tc.n, tc.p, got, tc.want)
		}
	}
}

func TestCutKeepsEverySpanOnce(t *testing.T) {
	for seed := range uint64(20) {
		for _, partitions := range []int{1, 2, 4, 64} {
			for _, limit := range []int{0, 6000} {
				checkCut(t, Data{Signal: Traces, Traces: sampleTraces(seeded(seed), int(seed)*2)}, partitions, limit)
				checkCut(t, Data{Signal: Logs, Logs: sampleLogs(seeded(seed), int(seed)*2)}, partitions, limit)
			}
		}
	}
}

func checkCut(t *testing.T, d Data, partitions, limit int) {
	t.Helper()
	body := marshal(t, d)
	parts, err := Cut(d.Signal, body, partitions, limit)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	last := -1
	for _, p := range parts {
		got, report := decoded(t, d.Signal, p.Body)
		if report.Spans != p.Spans || p.Spans == 0 || p.Partition < last || limit > 0 && len(p.Body) > limit && p.Spans > 1 {
			t.Fatalf("part %d: %d spans said, %d found, %d bytes", p.Partition, p.Spans, report.Spans, len(p.Body))
		}
		last = p.Partition
		for _, s := range spansOf2(got) {
			if Partition(s, partitions) != p.Partition {
				t.Fatalf("trace %x in partition %d", s, p.Partition)
			}
		}
		all = append(all, itemKeys(got)...)
	}
	slices.Sort(all)
	if !slices.Equal(all, itemKeys(d)) {
		t.Fatalf("%d items in, %d out", len(itemKeys(d)), len(all))
	}
	if len(parts) == 1 && (limit == 0 || len(body) <= limit) && &parts[0].Body[0] != &body[0] {
		t.Error("one part, yet copied")
	}
}

func spansOf2(d Data) (out []pcommon.TraceID) {
	if d.Signal == Traces {
		for _, s := range spansOf(d) {
			out = append(out, s.TraceID())
		}
		return out
	}
	for _, rl := range d.Logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, l := range sl.LogRecords().All() {
				out = append(out, l.TraceID())
			}
		}
	}
	return out
}

func TestCutKeepsResourceAndScope(t *testing.T) {
	td := sampleTraces(seeded(3), 10)
	parts, err := Cut(Traces, tracesBody(t, td), 64, 0)
	if err != nil || len(parts) < 2 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	for _, p := range parts {
		d, _ := decoded(t, Traces, p.Body)
		for _, rs := range d.Traces.ResourceSpans().All() {
			if v, ok := rs.Resource().Attributes().Get("service.name"); !ok || !strings.HasPrefix(v.Str(), "shop-") || rs.SchemaUrl() == "" {
				t.Error("a part lost its resource")
			}
			for _, ss := range rs.ScopeSpans().All() {
				if ss.Scope().Name() != "agent" {
					t.Error("a part lost its scope")
				}
			}
		}
	}
}

func mustFilter(t testing.TB, s Scrub, limit int) *Filter {
	t.Helper()
	f, err := NewFilter(s, limit)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFilterReturnsACleanBodyItself(t *testing.T) {
	body := tracesBody(t, sampleTraces(seeded(1), 9))
	out, report, err := mustFilter(t, Scrub{}, 0).Apply(Traces, body)
	if err != nil || report.Spans != 9 || &out[0] != &body[0] {
		t.Errorf("copied or changed: %+v %v", report, err)
	}
}

func TestShrinkKeepsTheSpan(t *testing.T) {
	const limit = 64 << 10
	td := sampleTraces(seeded(1), 3)
	span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(1)
	span.Attributes().PutStr("big", strings.Repeat("é", 150_000))
	span.Attributes().PutStr("bigger", strings.Repeat("x", 400_000))
	td.ResourceSpans().At(0).Resource().Attributes().PutStr("env", strings.Repeat("y", 300_000))
	f := mustFilter(t, Scrub{}, limit)
	body, report, err := f.Apply(Traces, tracesBody(t, td))
	if err != nil || report.Spans != 3 || report.Truncated != 1 || report.Rejected.Count != 0 {
		t.Fatalf("%+v %v", report, err)
	}
	if w := strings.Join(report.Warnings, "\n"); !strings.Contains(w, span.SpanID().String()) || !strings.Contains(w, TruncatedKey) {
		t.Errorf("the warning does not name the span: %s", w)
	}
	parts, err := f.Cut(Traces, body, 1)
	if err != nil {
		t.Fatal(err)
	}
	marked := 0
	for _, p := range parts {
		if len(p.Body) > limit {
			t.Errorf("a part of %d bytes", len(p.Body))
		}
		d, again := decoded(t, Traces, p.Body)
		if len(again.Warnings) > 0 {
			t.Errorf("not clean: %v", again.Warnings)
		}
		for _, s := range spansOf(d) {
			if v, ok := s.Attributes().Get(TruncatedKey); ok && v.Bool() {
				marked++
				big, _ := s.Attributes().Get("big")
				small, _ := s.Attributes().Get("gen_ai.usage.input_tokens")
				if len(big.Str()) < 10_000 || small.Type() != pcommon.ValueTypeInt {
					t.Errorf("cut too much: %d bytes left of the big value", len(big.Str()))
				}
			}
		}
	}
	if marked != 1 {
		t.Errorf("%d spans marked", marked)
	}
}

func TestShrinkGivesUpOnCountlessAttributes(t *testing.T) {
	var attrs []byte
	for i := range 8000 {
		attrs = append(attrs, lenField(9, join2(lenField(1, fmt.Appendf(nil, "key.%d", i)), lenField(2, lenField(1, []byte("v")))))...)
	}
	body := join2(rawRequest(join2(goodIDs(), attrs)), rawRequest(goodIDs()))
	out, report, err := mustFilter(t, Scrub{}, 64<<10).Apply(Traces, body)
	if err != nil || report.Spans != 1 || report.Rejected.Count != 1 || report.Rejected.Reasons[0].Code != "too_large" {
		t.Fatalf("%+v %v", report, err)
	}
	if d, _ := decoded(t, Traces, out); len(spansOf(d)) != 1 {
		t.Error("the small span is lost")
	}
}

func TestScrub(t *testing.T) {
	td := sampleTraces(seeded(1), 1)
	rs := td.ResourceSpans().At(0)
	rs.Resource().Attributes().PutStr("host.ip", "10.0.0.1")
	attrs := rs.ScopeSpans().At(0).Spans().At(0).Attributes()
	attrs.PutStr("ai.request.headers.authorization", "Bearer abc")
	attrs.PutStr("AI.Request.Headers.X-API-Key", "abc")
	attrs.PutEmptySlice("http.request.header.set-cookie").AppendEmpty().SetStr("abc")
	attrs.PutStr("ai.request.headers.user-agent", "keep me")
	attrs.PutStr("user.email", "ana@example.com")
	attrs.PutStr("prompt", "my key sk-abc123 is here")
	attrs.PutEmptyMap("http.headers").PutStr("Cookie", "abc")
	inner, _ := attrs.Get("http.headers")
	inner.Map().PutEmptyMap("user").PutStr("email", "ana@example.com")
	rs.ScopeSpans().At(0).Spans().At(0).Events().At(0).Attributes().PutStr("user.email", "ana@example.com")
	f := mustFilter(t, Scrub{Drop: []string{"host.*"}, Mask: []string{"*user.email", `/sk-[a-z0-9]+/`}}, 0)
	body, report, err := f.Apply(Traces, tracesBody(t, td))
	if err != nil || report.Spans != 1 {
		t.Fatalf("%+v %v", report, err)
	}
	for _, secret := range []string{"10.0.0.1", "abc", "ana@"} {
		if bytes.Contains(body, []byte(secret)) {
			t.Errorf("%q is still there", secret)
		}
	}
	d, _ := decoded(t, Traces, body)
	got := spansOf(d)[0].Attributes().AsRaw()
	for key, want := range map[string]any{"prompt": "my key " + Masked + " is here", "user.email": Masked,
		"ai.request.headers.user-agent": "keep me", "http.headers": map[string]any{"user": map[string]any{"email": Masked}}} {
		if fmt.Sprint(got[key]) != fmt.Sprint(want) {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
	if len(report.Warnings) == 0 {
		t.Error("nothing said of what was dropped")
	}
}

func TestScrubLogBody(t *testing.T) {
	ld := sampleLogs(seeded(1), 1)
	record := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
	record.Body().Map().PutStr("password", "hunter2")
	record.Body().Map().PutEmptySlice("list").AppendEmpty().SetStr("token hunter2")
	f := mustFilter(t, Scrub{Drop: []string{"pass*"}, Mask: []string{"/hunter./"}}, 0)
	body, _, err := f.Apply(Logs, marshal(t, Data{Signal: Logs, Logs: ld}))
	if err != nil || bytes.Contains(body, []byte("hunter2")) || !bytes.Contains(body, []byte("token "+Masked)) {
		t.Errorf("%v %q", err, body)
	}
}

func TestScrubNamesTheBadPattern(t *testing.T) {
	for _, s := range []Scrub{{Mask: []string{"a", "/(/"}}, {Drop: []string{"a", ""}}} {
		if _, err := s.Compile(); err == nil || !strings.Contains(err.Error(), "[1]") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, tc := range []struct {
		pattern, key string
		want         bool
	}{
		{"a.b", "A.B", true}, {"a.b", "a.bc", false}, {"a*", "a", true}, {"*b", "ab", true}, {"*b", "ba", false},
		{"a*b*c", "a1b2c", true}, {"a*b*c", "ac", false}, {"a*ba", "aba", true}, {"ab*ba", "aba", false},
		{"?.x", "1.x", true}, {"*", "", true}, {"a**b", "ab", true},
	} {
		if got := newGlob(tc.pattern).match([]byte(tc.key)); got != tc.want {
			t.Errorf("%s on %s: %v", tc.pattern, tc.key, got)
		}
	}
}

func TestConcatenatedRequestsDecodeAsOne(t *testing.T) {
	a, b := tracesBody(t, sampleTraces(seeded(1), 7)), tracesBody(t, sampleTraces(seeded(2), 5))
	d, report := decoded(t, Traces, join2(a, b))
	if len(spansOf(d)) != 12 || report.Spans != 12 {
		t.Errorf("%d spans, %+v", len(spansOf(d)), report)
	}
}

func TestReportMerge(t *testing.T) {
	var a, b Report
	a.reject("zero_id", "z", 1)
	b.reject("bad_id", "b", 2)
	b.reject("zero_id", "z", 1)
	b.Warnings = []string{"w"}
	a.Merge(b)
	a.Merge(Report{Warnings: []string{"w"}})
	if a.Rejected.Count != 4 || len(a.Rejected.Reasons) != 2 || a.Rejected.Reasons[0].Code != "bad_id" || len(a.Warnings) != 1 {
		t.Errorf("%+v", a)
	}
}
