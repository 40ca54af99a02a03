package importer

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// traceID reads a trace id of any spelling. What is no OpenTelemetry id gets one derived of its text, always the same, so
// that references to it hold; the report says so.
func (x *export) traceID(text string) pcommon.TraceID {
	var id pcommon.TraceID
	x.id(id[:], text, "trace")
	return id
}

// spanID reads a span id as traceID does.
func (x *export) spanID(text string) pcommon.SpanID {
	var id pcommon.SpanID
	x.id(id[:], text, "span")
	return id
}

func (x *export) id(dst []byte, text, what string) {
	text = strings.TrimSpace(text)
	if text == "" || parseID(dst, text) {
		return
	}
	sum := sha256.Sum256([]byte(what + " " + text))
	copy(dst, sum[:])
	x.note("%s ids of the source are not OpenTelemetry's: each was replaced by a hash of its text", what)
}

// parseID reads hex, with 0x or the dashes of a UUID or without its leading zeros, and padded base64.
func parseID(dst []byte, text string) bool {
	digits := strings.ReplaceAll(strings.TrimPrefix(text, "0x"), "-", "")
	if width := 2 * len(dst); digits != "" && len(digits) <= width {
		if raw, err := hex.DecodeString(strings.Repeat("0", width-len(digits)) + digits); err == nil {
			copy(dst, raw)
			return true
		}
	}
	if !strings.HasSuffix(text, "=") {
		return false
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		if raw, err := enc.DecodeString(text); err == nil && len(raw) == len(dst) {
			copy(dst, raw)
			return true
		}
	}
	return false
}
