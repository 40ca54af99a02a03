package record

import (
	"encoding/hex"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

func ids(trace, span string, setTrace func(pcommon.TraceID), setSpan func(pcommon.SpanID)) error {
	var t pcommon.TraceID
	if len(trace) != hex.EncodedLen(len(t)) || !decodes(t[:], trace) {
		return fmt.Errorf("recorded trace: trace id %q is not 32 hex digits", trace)
	}
	s, err := spanID(span)
	if err != nil {
		return err
	}
	setTrace(t)
	setSpan(s)
	return nil
}

// spanID reads an id; "" is the zero id.
func spanID(text string) (id pcommon.SpanID, err error) {
	if text == "" {
		return id, nil
	}
	if len(text) != hex.EncodedLen(len(id)) || !decodes(id[:], text) {
		return id, fmt.Errorf("recorded trace: span id %q is not 16 hex digits", text)
	}
	return id, nil
}

func decodes(into []byte, text string) bool {
	_, err := hex.Decode(into, []byte(text))
	return err == nil
}
