package wire

// kind names a message of the OTLP schema. The tables below hold just what a walk must know: for each field its wire
// form, and for a message field which message it is.
type kind uint8

const (
	kindTracesData kind = iota
	kindResourceSpans
	kindScopeSpans
	kindSpan
	kindEvent
	kindLink
	kindStatus
	kindLogsData
	kindResourceLogs
	kindScopeLogs
	kindLog
	kindResource
	kindScope
	kindEntityRef
	kindKeyValue
	kindAnyValue
	kindArray
	kindKvlist
)

// form is how a field is encoded and what its bytes mean.
type form uint8

const (
	unknown form = iota // not in the schema: skipped and kept
	varint
	fixed64
	fixed32
	text        // UTF-8
	blob        // bytes
	message     // an embedded message
	traceID     // 16 bytes, of a span or log record
	spanID      // 8 bytes, of a span or log record
	parentID    // 8 bytes or none
	linkTraceID // 16 bytes, of a link
	linkSpanID  // 8 bytes, of a link
)

type field struct {
	form form
	kind kind
}

// maxField is one more than the largest field number in the tables.
const maxField = 17

// deprecatedScopes is the number under which the scope groups travelled before OTLP 0.15.
const deprecatedScopes = 1000

// maxDepth bounds the nesting of attribute values, counted as pdata counts it (each of KeyValue, AnyValue, list and map
// is a level); pdata itself refuses a message at 100.
const maxDepth = 96

func msg(k kind) field { return field{message, k} }

var schema = [...][maxField]field{
	kindTracesData:    {1: msg(kindResourceSpans)},
	kindResourceSpans: {1: msg(kindResource), 2: msg(kindScopeSpans), 3: {form: text}},
	kindScopeSpans:    {1: msg(kindScope), 2: msg(kindSpan), 3: {form: text}},
	kindSpan: {
		1: {form: traceID}, 2: {form: spanID}, 3: {form: text}, 4: {form: parentID}, 5: {form: text}, 6: {form: varint},
		7: {form: fixed64}, 8: {form: fixed64}, 9: msg(kindKeyValue), 10: {form: varint}, 11: msg(kindEvent),
		12: {form: varint}, 13: msg(kindLink), 14: {form: varint}, 15: msg(kindStatus), 16: {form: fixed32},
	},
	kindEvent: {1: {form: fixed64}, 2: {form: text}, 3: msg(kindKeyValue), 4: {form: varint}},
	kindLink: {
		1: {form: linkTraceID}, 2: {form: linkSpanID}, 3: {form: text}, 4: msg(kindKeyValue), 5: {form: varint},
		6: {form: fixed32},
	},
	kindStatus:       {2: {form: text}, 3: {form: varint}},
	kindLogsData:     {1: msg(kindResourceLogs)},
	kindResourceLogs: {1: msg(kindResource), 2: msg(kindScopeLogs), 3: {form: text}},
	kindScopeLogs:    {1: msg(kindScope), 2: msg(kindLog), 3: {form: text}},
	kindLog: {
		1: {form: fixed64}, 2: {form: varint}, 3: {form: text}, 5: msg(kindAnyValue), 6: msg(kindKeyValue), 7: {form: varint},
		8: {form: fixed32}, 9: {form: traceID}, 10: {form: spanID}, 11: {form: fixed64}, 12: {form: text},
	},
	kindResource:  {1: msg(kindKeyValue), 2: {form: varint}, 3: msg(kindEntityRef)},
	kindScope:     {1: {form: text}, 2: {form: text}, 3: msg(kindKeyValue), 4: {form: varint}},
	kindEntityRef: {1: {form: text}, 2: {form: text}, 3: {form: text}, 4: {form: text}},
	kindKeyValue:  {1: {form: text}, 2: msg(kindAnyValue), 3: {form: varint}},
	kindAnyValue: {
		1: {form: text}, 2: {form: varint}, 3: {form: varint}, 4: {form: fixed64}, 5: msg(kindArray), 6: msg(kindKvlist),
		7: {form: blob}, 8: {form: varint},
	},
	kindArray:  {1: msg(kindAnyValue)},
	kindKvlist: {1: msg(kindKeyValue)},
}

// names are the JSON names, for error messages: the message, then its fields.
var names = [...]string{
	kindTracesData: "TracesData", kindResourceSpans: "ResourceSpans", kindScopeSpans: "ScopeSpans", kindSpan: "Span",
	kindEvent: "Event", kindLink: "Link", kindStatus: "Status", kindLogsData: "LogsData", kindResourceLogs: "ResourceLogs",
	kindScopeLogs: "ScopeLogs", kindLog: "LogRecord", kindResource: "Resource", kindScope: "Scope",
	kindEntityRef: "EntityRef", kindKeyValue: "KeyValue", kindAnyValue: "AnyValue", kindArray: "ArrayValue",
	kindKvlist: "KeyValueList",
}

// isValue tells whether messages of the kind count as a level of nesting.
func (k kind) isValue() bool { return k >= kindKeyValue }

// isGroup tells the messages that may hold their scopes under the deprecated number.
func (k kind) isGroup() bool { return k == kindResourceSpans || k == kindResourceLogs }

// lookup returns the field num of the message k; the deprecated scopes read as scopes.
func lookup(k kind, num int32) field {
	if num > 0 && num < maxField {
		return schema[k][num]
	}
	if num == deprecatedScopes && k.isGroup() {
		return schema[k][2]
	}
	return field{}
}

// attributeField is the number of the attributes of a span or log record, where the mark of truncation is put.
const (
	spanAttributes = 9
	logTraceID     = 9
	logSpanID      = 10
	logAttributes  = 6
)
