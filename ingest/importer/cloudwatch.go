package importer

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// CloudWatch, where AWS's distribution and Bedrock AgentCore send spans and log records: rows that hold one OpenTelemetry
// span or record each, as an object in raw_otel_json or as text in @message or message, or the span or record by itself. The
// content of a span comes in log records of its id, which may be in another file.

func isCloudWatch(o object) bool {
	return o.has("raw_otel_json") || o.has("@message") && o.has("@timestamp", "@ptr", "@log") ||
		o.all("events", "searchedLogStreams") || o.all("events", "nextForwardToken") ||
		o.all("results", "statistics") || isOTelRow(o)
}

// isOTelRow tells a span or log record that stands by itself with its resource and scope.
func isOTelRow(o object) bool {
	return o.all("resource", "scope") && o.has("attributes") && (o.has("startTimeUnixNano") && o.all("traceId", "spanId") || o.has("observedTimeUnixNano", "timeUnixNano"))
}

func readCloudWatch(x *export, o object) error {
	switch {
	case o.has("events"):
		return each(o["events"], "events", func(e object) error { return readOTelRow(x, e["message"]) })
	case o.has("results"):
		return readInsights(x, o["results"])
	case isOTelRow(o):
		return readOTelObject(x, o)
	case o.has("raw_otel_json"):
		return readOTelRow(x, o["raw_otel_json"])
	}
	return readOTelRow(x, o["@message"])
}

// readInsights reads the answer to a query of Logs Insights, whose rows are lists of fields.
func readInsights(x *export, results jsontext.Value) error {
	return elements(results, func(row jsontext.Value) error {
		return each(row, "results", func(field object) error {
			if field.text("field") != "@message" {
				return nil
			}
			return readOTelRow(x, field["value"])
		})
	})
}

// readOTelRow reads what a row holds: an object, or its text. Lines that the runtime or the application wrote are counted.
func readOTelRow(x *export, v jsontext.Value) error {
	if !absent(v) && v[0] == '"' {
		v = jsontext.Value(textOf(v))
		if len(v) == 0 || v[0] != '{' {
			x.untraced++
			return nil
		}
	}
	o, err := objectOf(v)
	if err != nil {
		return fmt.Errorf("the row's OpenTelemetry part: %w", err)
	}
	return readOTelObject(x, o)
}

func readOTelObject(x *export, o object) error {
	f := o.fold()
	switch {
	case f.has("starttimeunixnano") || f.has("endtimeunixnano", "durationnano") && f.has("name"):
		x.spanObject(f, origin{})
	case f.has("body", "timeunixnano", "observedtimeunixnano") && f.has("traceid"):
		x.logObject(f, origin{})
	default:
		x.untraced++
	}
	return nil
}
