package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// attribute is the request of one span whose attributes are one on either side of k.
func attribute(value string) string {
	return oneSpan(`"attributes":[{"key":"before","value":{"intValue":1}},{"key":"k","value":` + value + `},{"key":"after","value":{"intValue":2}}],`)
}

// A value that cannot be read costs that value and neither its span nor its neighbours; an id is read in any encoding that leaves no doubt.
// The numbers are those of the traps in ingest/trajectory.
func TestTraps(t *testing.T) {
	trace, _ := hex.DecodeString(hexTrace)
	span, _ := hex.DecodeString(hexSpan)
	b64 := base64.StdEncoding.EncodeToString
	named := func(text []byte) []byte {
		return rawRequest(join2(lenField(1, trace), lenField(2, span), lenField(5, text)))
	}
	for _, tc := range []struct {
		trap   int
		name   string
		json   string
		proto  []byte
		key    string // of an attribute; "" is the span's name
		want   any
		reject int
	}{
		{trap: 7, name: "null for a double", json: attribute(`{"doubleValue":null}`), key: "k"},
		{trap: 7, name: "a bare NaN", json: attribute(`{"doubleValue":NaN}`), key: "k"},
		{trap: 7, name: "a double with its sign alone", json: attribute(`{"doubleValue":"-"}`), key: "k", want: "-"},
		{trap: 7, name: "a whole number as text", json: attribute(`{"intValue":"9007199254740993"}`), key: "k", want: int64(9007199254740993)},
		{trap: 7, name: "null for a whole number", json: attribute(`{"intValue":null}`), key: "k"},
		{trap: 27, name: "half of a surrogate pair", json: attribute(`{"stringValue":"<b>half \ud83d</b>"}`), key: "k", want: "<b>half \uFFFD</b>"},
		{trap: 27, name: "NUL in JSON", json: attribute(`{"stringValue":"a\u0000b"}`), key: "k", want: "a\uFFFDb"},
		{trap: 27, name: "bytes that are no UTF-8 in JSON", json: attribute("{\"stringValue\":\"a\xffb\"}"), key: "k", want: "a\uFFFDb"},
		{trap: 27, name: "bytes that are no UTF-8 in protobuf", proto: named([]byte("a\xffb")), want: "a\uFFFDb"},
		{trap: 27, name: "NUL in protobuf", proto: named([]byte("a\x00b")), want: "a\uFFFDb"},
		{trap: 39, name: "base64", json: strings.NewReplacer(hexTrace, b64(trace), hexSpan, b64(span)).Replace(oneSpan("")), want: "n"},
		{trap: 39, name: "upper case", json: strings.Replace(oneSpan(""), hexTrace, strings.ToUpper(hexTrace), 1), want: "n"},
		{trap: 39, name: "hex as bytes in protobuf", proto: rawRequest(join2(lenField(1, []byte(hexTrace)), lenField(2, []byte(hexSpan)), lenField(5, []byte("n")))), want: "n"},
		{trap: 39, name: "an id of no known form", json: strings.Replace(oneSpan(""), hexTrace, "order-17", 1), reject: 1},
	} {
		t.Run(fmt.Sprintf("%02d %s", tc.trap, tc.name), func(t *testing.T) {
			d, report, err := Decode(Traces, tc.proto)
			if tc.json != "" {
				d, report, err = DecodeJSON(Traces, []byte(tc.json))
			}
			if err != nil || report.Rejected.Count != tc.reject || report.Spans != 1-tc.reject {
				t.Fatalf("%v %+v", err, report)
			}
			if tc.reject == 0 {
				checkTrap(t, spansOf(d)[0], tc.key, tc.want)
			} else if report.Rejected.String() == "" {
				t.Error("nothing said of what was rejected")
			}
		})
	}
}

func checkTrap(t *testing.T, s ptrace.Span, key string, want any) {
	t.Helper()
	if s.TraceID().String() != hexTrace || s.SpanID().String() != hexSpan {
		t.Errorf("ids %s %s", s.TraceID(), s.SpanID())
	}
	got := any(s.Name())
	if key != "" {
		if s.Attributes().Len() != 3 {
			t.Errorf("attributes %v", s.Attributes().AsRaw())
		}
		got = s.Attributes().AsRaw()[key]
	}
	if fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", want, want) {
		t.Errorf("got %T %q, want %T %q", got, got, want, want)
	}
}

// Trap 26: headers with credentials never get through, whatever the configuration says; addresses do unless it names them.
func TestTrapOfSecrets(t *testing.T) {
	text := oneSpan(`"attributes":[
		{"key":"ai.request.headers.authorization","value":{"stringValue":"Bearer s3cret"}},
		{"key":"ai.request.headers.x-api-key","value":{"stringValue":"s3cret"}},
		{"key":"http.request.header.cookie","value":{"arrayValue":{"values":[{"stringValue":"s3cret"}]}}},
		{"key":"metadata.user_api_key_hash","value":{"stringValue":"h4sh"}},
		{"key":"ai.prompt","value":{"stringValue":"Two loaves."}}],`)
	body, _, err := Transcode(Traces, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		scrub Scrub
		hash  bool
	}{{Scrub{}, true}, {Scrub{Drop: []string{"metadata.user_api_key_*"}}, false}} {
		clean, _, err := mustFilter(t, tc.scrub, 0).Apply(Traces, body)
		if err != nil || bytes.Contains(clean, []byte("s3cret")) || !bytes.Contains(clean, []byte("Two loaves.")) {
			t.Errorf("%+v: %v %q", tc.scrub, err, clean)
		}
		if bytes.Contains(clean, []byte("h4sh")) != tc.hash {
			t.Errorf("%+v: the hash is there: %v", tc.scrub, !tc.hash)
		}
	}
}
