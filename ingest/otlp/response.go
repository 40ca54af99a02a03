package otlp

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// response is the protobuf of an export response: empty on plain success; else partial_success (1) with the rejected count
// (1) and a message (2). Traces and logs agree in the numbers.
func response(report wire.Report) []byte {
	message := partial(report)
	if report.Rejected.Count == 0 && message == "" {
		return nil
	}
	var inner []byte
	if n := report.Rejected.Count; n > 0 {
		inner = protowire.AppendTag(inner, 1, protowire.VarintType)
		inner = protowire.AppendVarint(inner, uint64(n))
	}
	inner = protowire.AppendTag(inner, 2, protowire.BytesType)
	inner = protowire.AppendString(inner, message)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner)
}

// responseJSON is the same in JSON; 64-bit numbers are strings there.
func responseJSON(s wire.Signal, report wire.Report) []byte {
	message := partial(report)
	if report.Rejected.Count == 0 && message == "" {
		return []byte("{}")
	}
	count := "rejectedSpans"
	if s == wire.Logs {
		count = "rejectedLogRecords"
	}
	out := []byte(`{"partialSuccess":{"` + count + `":"` + strconv.Itoa(report.Rejected.Count) + `","errorMessage":`)
	return append(appendQuoted(out, message), "}}"...)
}

// statusProto is a google.rpc.Status: code (1), message (2).
func statusProto(code codes.Code, message string) []byte {
	out := protowire.AppendTag(nil, 1, protowire.VarintType)
	out = protowire.AppendVarint(out, uint64(code))
	out = protowire.AppendTag(out, 2, protowire.BytesType)
	return protowire.AppendString(out, message)
}

func statusJSON(code codes.Code, message string) []byte {
	out := []byte(`{"code":` + strconv.Itoa(int(code)) + `,"message":`)
	return append(appendQuoted(out, message), '}')
}

func appendQuoted(out []byte, text string) []byte {
	out, _ = jsontext.AppendQuote(out, text) // its only complaint is invalid UTF-8, which it replaces
	return out
}
