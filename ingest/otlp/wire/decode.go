package wire

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Data is decoded telemetry of one signal: Traces where Signal is Traces, Logs where it is Logs; the other is unusable. Untraced holds the
// log records that carry no trace id, which are not in Logs; it is nil where there are none.
type Data struct {
	Signal   Signal
	Traces   ptrace.Traces
	Logs     plog.Logs
	Untraced *plog.Logs
}

// AllLogs returns the log records, whether or not they carry a trace id.
func (d Data) AllLogs() []plog.Logs {
	switch {
	case d.Signal != Logs:
		return nil
	case d.Untraced == nil:
		return []plog.Logs{d.Logs}
	}
	return []plog.Logs{d.Logs, *d.Untraced}
}

// Decode reads the protobuf encoding of an export request, or of several concatenated ones, and mends what a [Filter]
// would, secrets and sizes excepted. An error means a malformed body; it names message, field and offset.
func Decode(s Signal, body []byte) (Data, Report, error) {
	kept, report, err := apply(s, body, nil, 0)
	if err != nil {
		return Data{}, Report{}, fmt.Errorf("decode %s: %w", s, err)
	}
	data, err := unmarshal(s, kept)
	if err == nil && report.Untraced > 0 {
		var untraced plog.Logs
		untraced, err = loose(body, nil)
		data.Untraced = &untraced
	}
	if err != nil {
		return Data{}, Report{}, fmt.Errorf("decode %s: %w", s, err)
	}
	return data, report, nil
}

func unmarshal(s Signal, body []byte) (Data, error) {
	data := Data{Signal: s}
	var err error
	if s == Logs {
		data.Logs, err = (&plog.ProtoUnmarshaler{}).UnmarshalLogs(body)
	} else {
		data.Traces, err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
	}
	return data, err
}

// Marshal is the inverse of [Decode]: the protobuf encoding of one export request.
func Marshal(d Data) ([]byte, error) {
	if d.Signal == Logs {
		return (&plog.ProtoMarshaler{}).MarshalLogs(d.Logs)
	}
	return (&ptrace.ProtoMarshaler{}).MarshalTraces(d.Traces)
}

// DecodeJSON reads one OTLP JSON object of the signal, as leniently as [Transcode], and mends it as [Decode] does.
func DecodeJSON(s Signal, text []byte) (Data, Report, error) {
	body, report, err := Transcode(s, text)
	if err != nil {
		return Data{}, Report{}, err
	}
	data, mended, err := Decode(s, body)
	if err != nil {
		return Data{}, Report{}, err
	}
	report.Merge(mended)
	return data, report, nil
}
