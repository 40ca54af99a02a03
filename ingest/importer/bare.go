package importer

import (
	"crypto/sha256"
	"encoding/hex"
)

// The attributes of one span without its identity, as fixtures and bug reports quote them: by themselves, or beside the
// span's name and scope ({"spanName", "scopeName", "attributes"}). Ids are derived of the content; times stay absent.

func isBare(o object) bool {
	if o.has("attributes") && o.has("spanName", "span_name", "scopeName", "scope_name") {
		in, err := objectOf(o["attributes"])
		return err == nil && len(in) > 0
	}
	return o.has("gen_ai.operation.name", "gen_ai.request.model", "openinference.span.kind", "traceloop.span.kind", "ai.operationId",
		"langfuse.observation.type", "langsmith.span.kind", "mlflow.spanType", "gen_ai.tool.name")
}

func readBare(x *export, o object) error {
	f, wrapped := o.fold(), o.has("attributes")
	if !wrapped {
		f = object{}
	}
	s := x.spanObject(f, origin{})
	sum := sha256.New()
	for _, name := range sortedNames(o) {
		sum.Write([]byte(name))
		sum.Write(o[name])
		if !wrapped {
			x.attribute(name, o[name], s.Attributes())
		}
	}
	id := hex.EncodeToString(sum.Sum(nil))
	s.SetTraceID(x.traceID(id[:32]))
	s.SetSpanID(x.spanID(id[32:48]))
	x.note("a span without ids or times: its ids are a hash of its content, its times are left out")
	return nil
}
