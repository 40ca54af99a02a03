package wire

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
)

// Transcode turns one OTLP JSON object of the signal into the protobuf encoding of the same request, without a tree in
// between. It reads what senders really send: ids as hex, UUID or base64; enums by number or name; 64-bit numbers as
// number, string or {high, low}; camelCase and snake_case names; the old instrumentationLibrary names; `batches`;
// attributes as a list or a plain object; NaN, Infinity and control characters that JSON does not allow. Unknown fields
// are ignored. A value that cannot be read is kept as text or left empty and counted in a warning.
//
// The body is well formed, but it may hold unusable ids or text that a [Filter] or [Decode] still has to mend; the report
// counts only what was left out here. An error means that the text is not JSON or not an export request: it names the byte
// offset or the field.
func Transcode(s Signal, src []byte) ([]byte, Report, error) {
	body, report, err := transcode(s, src)
	if err == nil || !isSyntax(err) {
		return body, report, err
	}
	mended, changed := mendJSON(src)
	if !changed {
		return nil, Report{}, err
	}
	if body, report, again := transcode(s, mended); again == nil {
		report.Warnings = append(report.Warnings, "the JSON held NaN, Infinity or raw control characters; read as null or escaped")
		return body, report, nil
	}
	return nil, Report{}, err
}

func isSyntax(err error) bool {
	_, ok := errors.AsType[*jsontext.SyntacticError](err)
	return ok
}

func transcode(s Signal, src []byte) ([]byte, Report, error) {
	t := transcoder{
		dec: jsontext.NewDecoder(bytes.NewBuffer(src), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		out: make([]byte, 0, len(src)/2+64),
	}
	if err := t.request(s); err != nil {
		return nil, Report{}, fmt.Errorf("%s JSON: %w", s, err)
	}
	t.report.reject("bad_shape", s.item(t.shapeless)+" that are not JSON objects", t.shapeless)
	t.faults.render(&t.report)
	return t.out, t.report, nil
}

// transcoder reads tokens and writes wire fields. Each method consumes exactly the value that comes next.
type transcoder struct {
	dec       *jsontext.Decoder
	out       []byte
	faults    faults
	report    Report
	shapeless int
	folded    [48]byte
	scratch   []byte
}

func (t *transcoder) request(s Signal) error {
	if k := t.dec.PeekKind(); k != '{' {
		if _, err := t.dec.ReadValue(); err != nil {
			return err
		}
		return errors.New("want an object with resourceSpans or resourceLogs")
	}
	own, other := false, ""
	err := t.members(func(raw jsontext.Value) error {
		switch name := string(t.fold(raw)); {
		case s == Traces && (name == "resourcespans" || name == "batches"):
			own = true
			return t.groups(kindResourceSpans)
		case s == Logs && name == "resourcelogs":
			own = true
			return t.groups(kindResourceLogs)
		}
		other = cmp.Or(other, fmt.Sprintf("%.40s", raw))
		return t.dec.SkipValue()
	})
	if err != nil {
		return err
	}
	if !own && other != "" { // as an empty request it would be lost in silence
		return fmt.Errorf("want %s, got %s: is this another signal or another format?", s.member(), other)
	}
	if rest := bytes.TrimLeft(t.dec.UnreadBuffer(), " \t\r\n"); len(rest) > 0 {
		return fmt.Errorf("text after the object at byte %d", t.dec.InputOffset())
	}
	return nil
}

// object calls each with the folded name of every member; each must consume the value. Null is an object without members.
func (t *transcoder) object(each func(name []byte) error) error {
	return t.members(func(raw jsontext.Value) error { return each(t.fold(raw)) })
}

// members is object with the raw, quoted name.
func (t *transcoder) members(each func(raw jsontext.Value) error) error {
	if t.dec.PeekKind() != '{' {
		return t.misfit()
	}
	if _, err := t.dec.ReadToken(); err != nil {
		return err
	}
	for t.dec.PeekKind() != '}' {
		raw, err := t.dec.ReadValue()
		if err != nil {
			return err
		}
		if err := each(raw); err != nil {
			return err
		}
	}
	_, err := t.dec.ReadToken()
	return err
}

// misfit skips a value that is not of the shape wanted; null is no fault.
func (t *transcoder) misfit() error {
	if t.dec.PeekKind() != 'n' {
		t.faults.value++
	}
	return t.dec.SkipValue()
}

// fold brings a name to lower case without underscores, so that snake_case and camelCase are one. A long name is unknown
// anyway and folds to nothing.
func (t *transcoder) fold(raw []byte) []byte {
	n := 0
	for _, c := range raw[1 : len(raw)-1] {
		if c == '_' {
			continue
		}
		if n == len(t.folded) {
			return nil
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		t.folded[n] = c
		n++
	}
	return t.folded[:n]
}

// array calls each for every element; each must consume it.
func (t *transcoder) array(each func() error) error {
	if t.dec.PeekKind() != '[' {
		return t.misfit()
	}
	if _, err := t.dec.ReadToken(); err != nil {
		return err
	}
	for t.dec.PeekKind() != ']' {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := t.dec.ReadToken()
	return err
}

// required is array for the lists without which there is no request: another shape is an error that names the field.
func (t *transcoder) required(each func() error) error {
	if k := t.dec.PeekKind(); k != '[' && k != 'n' {
		if err := t.dec.SkipValue(); err != nil {
			return err
		}
		return fmt.Errorf("%s: want an array, got %s (byte %d)", t.dec.StackPointer(), k, t.dec.InputOffset())
	}
	return t.array(each)
}

// embed writes an embedded message whose content write adds.
func (t *transcoder) embed(num int32, guess int, write func() error) error {
	var f frame
	t.out, f = openFrame(t.out, num, guess)
	err := write()
	t.out = closeFrame(t.out, f)
	return err
}

func (t *transcoder) groups(k kind) error {
	return t.required(func() error {
		return t.embed(1, 1<<15, func() error { return t.object(func(name []byte) error { return t.group(k, name) }) })
	})
}

func (t *transcoder) group(k kind, name []byte) error {
	switch string(name) {
	case "resource":
		return t.embed(1, 1<<8, func() error { return t.object(t.resource) })
	case "scopespans", "instrumentationlibraryspans":
		if k == kindResourceSpans {
			return t.scopes(kindSpan)
		}
	case "scopelogs", "instrumentationlibrarylogs":
		if k == kindResourceLogs {
			return t.scopes(kindLog)
		}
	case "schemaurl":
		return t.text(3)
	}
	return t.dec.SkipValue()
}

func (t *transcoder) scopes(k kind) error {
	return t.required(func() error {
		return t.embed(2, 1<<15, func() error { return t.object(func(name []byte) error { return t.scopeGroup(k, name) }) })
	})
}

func (t *transcoder) scopeGroup(k kind, name []byte) error {
	switch string(name) {
	case "scope", "instrumentationlibrary":
		return t.embed(1, 32, func() error { return t.object(t.scope) })
	case "spans":
		if k == kindSpan {
			return t.records(t.span)
		}
	case "logrecords", "logs":
		if k == kindLog {
			return t.records(t.log)
		}
	case "schemaurl":
		return t.text(3)
	}
	return t.dec.SkipValue()
}

func (t *transcoder) records(one func(name []byte) error) error {
	return t.required(func() error {
		if t.dec.PeekKind() != '{' {
			t.shapeless++
			return t.dec.SkipValue()
		}
		return t.embed(2, 1<<10, func() error { return t.object(one) })
	})
}

func (t *transcoder) resource(name []byte) error {
	switch string(name) {
	case "attributes":
		return t.attributes(1)
	case "droppedattributescount":
		return t.count(2)
	}
	return t.dec.SkipValue()
}

func (t *transcoder) scope(name []byte) error {
	switch string(name) {
	case "name":
		return t.text(1)
	case "version":
		return t.text(2)
	case "attributes":
		return t.attributes(3)
	case "droppedattributescount":
		return t.count(4)
	}
	return t.dec.SkipValue()
}

func (t *transcoder) span(name []byte) error {
	switch string(name) {
	case "traceid":
		return t.id(1, 16)
	case "spanid":
		return t.id(2, 8)
	case "tracestate":
		return t.text(3)
	case "parentspanid":
		return t.id(4, 8)
	case "name":
		return t.text(5)
	case "kind":
		return t.enum(6, spanKinds, "SPAN_KIND_")
	case "starttimeunixnano":
		return t.time(7)
	case "endtimeunixnano":
		return t.time(8)
	case "attributes":
		return t.attributes(9)
	case "droppedattributescount":
		return t.count(10)
	case "events":
		return t.array(func() error { return t.embed(11, 256, func() error { return t.object(t.event) }) })
	case "droppedeventscount":
		return t.count(12)
	case "links":
		return t.array(func() error { return t.embed(13, 32, func() error { return t.object(t.link) }) })
	case "droppedlinkscount":
		return t.count(14)
	case "status":
		return t.embed(15, 8, t.status)
	case "flags":
		return t.flags(16)
	}
	return t.dec.SkipValue()
}

func (t *transcoder) status() error {
	switch t.dec.PeekKind() {
	case '"', '0':
		return t.enum(3, statusCodes, "STATUS_CODE_")
	}
	return t.object(func(name []byte) error {
		switch string(name) {
		case "message":
			return t.text(2)
		case "code":
			return t.enum(3, statusCodes, "STATUS_CODE_")
		}
		return t.dec.SkipValue()
	})
}

func (t *transcoder) event(name []byte) error {
	switch string(name) {
	case "timeunixnano":
		return t.time(1)
	case "name":
		return t.text(2)
	case "attributes":
		return t.attributes(3)
	case "droppedattributescount":
		return t.count(4)
	}
	return t.dec.SkipValue()
}

func (t *transcoder) link(name []byte) error {
	switch string(name) {
	case "traceid":
		return t.id(1, 16)
	case "spanid":
		return t.id(2, 8)
	case "tracestate":
		return t.text(3)
	case "attributes":
		return t.attributes(4)
	case "droppedattributescount":
		return t.count(5)
	case "flags":
		return t.flags(6)
	}
	return t.dec.SkipValue()
}

func (t *transcoder) log(name []byte) error {
	switch string(name) {
	case "timeunixnano":
		return t.time(1)
	case "severitynumber":
		return t.enum(2, severities, "SEVERITY_NUMBER_")
	case "severitytext":
		return t.text(3)
	case "body":
		return t.embed(5, 64, func() error { return t.anyValue(0, false) })
	case "attributes":
		return t.attributes(6)
	case "droppedattributescount":
		return t.count(7)
	case "flags":
		return t.flags(8)
	case "traceid":
		return t.id(9, 16)
	case "spanid":
		return t.id(10, 8)
	case "observedtimeunixnano":
		return t.time(11)
	case "eventname":
		return t.text(12)
	}
	return t.dec.SkipValue()
}

func (t *transcoder) bytes(num int32, b []byte) {
	t.out = protowire.AppendTag(t.out, protowire.Number(num), protowire.BytesType)
	t.out = protowire.AppendBytes(t.out, b)
}

// mendJSON makes standard JSON of two things that real senders write: NaN and Infinity as bare words become null, raw
// control characters within strings are escaped.
func mendJSON(src []byte) ([]byte, bool) {
	out := make([]byte, 0, len(src)+64)
	changed, inString := false, false
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case inString && c == '\\' && i+1 < len(src):
			out = append(out, c, src[i+1])
			i++
			continue
		case c == '"':
			inString = !inString
		case inString && c < 0x20:
			out = fmt.Appendf(out, `\u%04x`, c)
			changed = true
			continue
		case !inString:
			if n := notANumber(src[i:]); n > 0 {
				out = append(out, "null"...)
				changed = true
				i += n - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out, changed
}

func notANumber(b []byte) int {
	for _, word := range []string{"NaN", "Infinity", "-Infinity", "-NaN"} {
		if b[0] == word[0] && bytes.HasPrefix(b, []byte(word)) {
			return len(word)
		}
	}
	return 0
}
