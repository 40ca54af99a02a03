package wire

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
)

// The enum names without their prefixes, by number.
var (
	spanKinds   = []string{"UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"}
	statusCodes = []string{"UNSET", "OK", "ERROR"}
	severities  = []string{
		"UNSPECIFIED", "TRACE", "TRACE2", "TRACE3", "TRACE4", "DEBUG", "DEBUG2", "DEBUG3", "DEBUG4", "INFO", "INFO2", "INFO3", "INFO4",
		"WARN", "WARN2", "WARN3", "WARN4", "ERROR", "ERROR2", "ERROR3", "ERROR4", "FATAL", "FATAL2", "FATAL3", "FATAL4",
	}
)

// plain returns the text of a value: a string unquoted, anything else as it stands. It is valid until the next read.
func (t *transcoder) plain(raw jsontext.Value) []byte {
	if raw.Kind() != '"' {
		return raw
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	t.scratch, _ = jsontext.AppendUnquote(t.scratch[:0], raw) // its only complaint is invalid UTF-8, which is replaced
	return t.scratch
}

// text writes a string field; another scalar or shape is kept as its JSON text.
func (t *transcoder) text(num int32) error {
	raw, err := t.dec.ReadValue()
	if err != nil || raw.Kind() == 'n' {
		return err
	}
	if raw.Kind() != '"' {
		t.faults.value++
	}
	if b := t.plain(raw); len(b) > 0 {
		t.bytes(num, b)
	}
	return nil
}

// unusableID stands for an id whose text is not one: no reader takes one byte for an id.
var unusableID = []byte{0xff}

func (t *transcoder) id(num int32, size int) error {
	raw, err := t.dec.ReadValue()
	if err != nil || raw.Kind() == 'n' {
		return err
	}
	var id [16]byte
	switch b := t.plain(raw); {
	case len(b) == 0:
	case raw.Kind() == '"' && parseID(id[:size], b):
		t.bytes(num, id[:size])
	default:
		t.bytes(num, unusableID)
	}
	return nil
}

func (t *transcoder) varint(num int32, v uint64) {
	t.out = protowire.AppendTag(t.out, protowire.Number(num), protowire.VarintType)
	t.out = protowire.AppendVarint(t.out, v)
}

func (t *transcoder) fixed64(num int32, v uint64) {
	t.out = protowire.AppendTag(t.out, protowire.Number(num), protowire.Fixed64Type)
	t.out = protowire.AppendFixed64(t.out, v)
}

// enum writes a number given as such, as digits in a string, or by name with or without its prefix, in any case.
func (t *transcoder) enum(num int32, known []string, prefix string) error {
	raw, err := t.dec.ReadValue()
	if err != nil || raw.Kind() == 'n' {
		return err
	}
	word := string(t.plain(raw))
	if n, ok := integer(word); ok {
		if n < 0 || n > math.MaxInt32 {
			t.faults.enum++
			return nil
		}
		t.varint(num, uint64(n))
		return nil
	}
	word = strings.ToUpper(word)
	word = strings.TrimPrefix(word, prefix)
	for i, name := range known {
		if name == word {
			t.varint(num, uint64(i))
			return nil
		}
	}
	if word != "" {
		t.faults.enum++
	}
	return nil
}

func (t *transcoder) count(num int32) error {
	n, ok, err := t.integer()
	if err == nil && ok && n > 0 {
		t.varint(num, uint64(min(n, math.MaxUint32)))
	}
	return err
}

func (t *transcoder) flags(num int32) error {
	n, ok, err := t.integer()
	if err == nil && ok && n > 0 {
		t.out = protowire.AppendTag(t.out, protowire.Number(num), protowire.Fixed32Type)
		t.out = protowire.AppendFixed32(t.out, uint32(n))
	}
	return err
}

// time writes nanoseconds since 1970, given as an integer in any spelling or as an RFC 3339 time.
func (t *transcoder) time(num int32) error {
	if t.dec.PeekKind() == '"' {
		raw, err := t.dec.ReadValue()
		if err != nil {
			return err
		}
		word := string(t.plain(raw))
		n, ok := nanos(word)
		if !ok && word != "" {
			t.faults.number++
		}
		if n != 0 {
			t.fixed64(num, n)
		}
		return nil
	}
	n, ok, err := t.integer()
	if err == nil && ok && n > 0 {
		t.fixed64(num, uint64(n))
	}
	return err
}

func nanos(word string) (uint64, bool) {
	if n, err := strconv.ParseUint(word, 10, 64); err == nil {
		return n, true
	}
	if n, ok := integer(word); ok {
		return uint64(max(n, 0)), n >= 0
	}
	at, err := time.Parse(time.RFC3339Nano, word)
	if err != nil || at.UnixNano() < 0 {
		return 0, false
	}
	return uint64(at.UnixNano()), true
}

// integer reads a 64-bit integer: a number, digits in a string, or {high, low} as some JavaScript writers split it. Not ok
// is counted, null excepted.
func (t *transcoder) integer() (n int64, ok bool, err error) {
	switch t.dec.PeekKind() {
	case 'n':
		return 0, false, t.dec.SkipValue()
	case '{':
		return t.halves()
	}
	raw, err := t.dec.ReadValue()
	if err != nil {
		return 0, false, err
	}
	if n, ok = integer(string(t.plain(raw))); !ok {
		t.faults.number++
	}
	return n, ok, nil
}

func (t *transcoder) halves() (n int64, ok bool, err error) {
	var high, low int64
	seen := 0
	err = t.object(func(name []byte) error {
		half := &low
		switch string(name) {
		case "high":
			half = &high
		case "low":
		default:
			return t.dec.SkipValue()
		}
		v, is, err := t.integer()
		if is {
			*half = v
			seen++
		}
		return err
	})
	if seen != 2 {
		t.faults.number++
		return 0, false, err
	}
	return high<<32 | int64(uint32(low)), true, err
}

// integer reads an integer literal exactly; a literal with fraction or exponent counts if it is whole.
func integer(word string) (int64, bool) {
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return n, true
	}
	if n, err := strconv.ParseUint(word, 10, 64); err == nil {
		return int64(n), true
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// attributes writes KeyValues: from the list of {key, value} that OTLP prescribes, or from a plain object.
func (t *transcoder) attributes(num int32) error {
	if t.dec.PeekKind() == '{' {
		return t.plainMap(num, 0)
	}
	return t.array(func() error { return t.keyValue(num, 0) })
}

// keyValue writes one {key, value}. Without a key there is nothing to keep it under: it is counted and left out.
func (t *transcoder) keyValue(num int32, depth int) error {
	start := len(t.out)
	hasKey := false
	if t.dec.PeekKind() != '{' {
		return t.misfit()
	}
	err := t.embed(num, 64, func() error {
		return t.object(func(name []byte) error {
			switch string(name) {
			case "key":
				hasKey = t.dec.PeekKind() != 'n'
				return t.text(1)
			case "value":
				return t.embed(2, 32, func() error { return t.anyValue(depth+1, false) })
			}
			return t.dec.SkipValue()
		})
	})
	if !hasKey {
		t.faults.value++
		t.out = t.out[:start]
	}
	return err
}

func (t *transcoder) plainMap(num int32, depth int) error {
	return t.members(func(raw jsontext.Value) error {
		return t.embed(num, 64, func() error { return t.entry(raw, depth) })
	})
}

func (t *transcoder) entry(raw jsontext.Value, depth int) error {
	t.bytes(1, t.plain(raw))
	return t.embed(2, 32, func() error { return t.anyValue(depth+1, true) })
}

// anyValue writes the content of an AnyValue. Natural tells that a JSON object without the name of an OTLP case is a map,
// as in attributes given as a plain object; else it is an unknown case, kept as null. Depth counts as the decoder does.
func (t *transcoder) anyValue(depth int, natural bool) error {
	switch t.dec.PeekKind() {
	case '[':
		return t.deep(depth, func() error { return t.list(depth+1, natural) })
	case '{':
		return t.deep(depth, func() error { return t.caseOrMap(depth, natural) })
	}
	raw, err := t.dec.ReadValue()
	if err != nil {
		return err
	}
	switch raw.Kind() {
	case '"':
		t.bytes(1, t.plain(raw))
	case 't':
		t.varint(2, 1)
	case 'f':
		t.varint(2, 0)
	case '0':
		t.number(string(raw))
	}
	return nil
}

// deep keeps as text what the decoder would not follow.
func (t *transcoder) deep(depth int, write func() error) error {
	if depth < maxDepth-4 {
		return write()
	}
	raw, err := t.dec.ReadValue()
	if err == nil {
		t.faults.deep++
		t.bytes(1, raw)
	}
	return err
}

func (t *transcoder) number(word string) {
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		t.varint(3, uint64(n))
		return
	}
	f, _ := strconv.ParseFloat(word, 64) // out of range is ±Inf, which is what the sender's number is to a float
	t.fixed64(4, math.Float64bits(f))
}

func (t *transcoder) list(depth int, natural bool) error {
	return t.embed(5, 64, func() error {
		return t.array(func() error {
			return t.embed(1, 32, func() error { return t.anyValue(depth+1, natural) })
		})
	})
}

// caseOrMap reads an object: {"stringValue": ...} and its like, or a plain map.
func (t *transcoder) caseOrMap(depth int, natural bool) error {
	start := len(t.out)
	members, known := 0, 0
	var f frame
	asMap := false
	err := t.members(func(raw jsontext.Value) error {
		members++
		if asMap {
			return t.embed(1, 64, func() error { return t.entry(raw, depth+2) })
		}
		name := t.fold(raw)
		if isCase(name) {
			known++
			return t.valueCase(string(name), depth)
		}
		if natural && known == 0 {
			asMap = true
			t.out, f = openFrame(t.out[:start], 6, 64)
			return t.embed(1, 64, func() error { return t.entry(raw, depth+2) })
		}
		return t.dec.SkipValue()
	})
	if asMap {
		t.out = closeFrame(t.out, f)
	} else if members > 0 && known == 0 {
		t.faults.unknown++
	} else if members == 0 && natural {
		t.out, f = openFrame(t.out, 6, 0)
		t.out = closeFrame(t.out, f)
	}
	return err
}

func isCase(name []byte) bool {
	switch string(name) {
	case "stringvalue", "boolvalue", "intvalue", "doublevalue", "arrayvalue", "kvlistvalue", "bytesvalue":
		return true
	}
	return false
}

func (t *transcoder) valueCase(name string, depth int) error {
	switch name {
	case "arrayvalue":
		return t.arrayCase(depth + 1)
	case "kvlistvalue":
		return t.kvlistCase(depth + 1)
	}
	raw, err := t.dec.ReadValue()
	if err != nil || raw.Kind() == 'n' {
		return err
	}
	word := t.plain(raw)
	scalar := raw.Kind() != '{' && raw.Kind() != '['
	switch {
	case name == "stringvalue":
		if raw.Kind() != '"' {
			t.faults.value++
		}
		t.bytes(1, word)
		return nil
	case name == "intvalue" && raw.Kind() == '{':
		return t.intHalves(raw)
	case scalar && t.scalarCase(name, string(word)):
		return nil
	}
	t.faults.value++
	t.bytes(1, word)
	return nil
}

// scalarCase writes a bool, int, double or bytes value and tells whether the word was one.
func (t *transcoder) scalarCase(name, word string) bool {
	switch name {
	case "boolvalue":
		b, err := strconv.ParseBool(word)
		if err == nil {
			t.varint(2, protowire.EncodeBool(b))
		}
		return err == nil
	case "intvalue":
		if n, ok := integer(word); ok {
			t.varint(3, uint64(n))
			return true
		}
	case "bytesvalue":
		if b, err := decodeBase64(word); err == nil {
			t.bytes(7, b)
			return true
		}
		return false
	}
	f, err := strconv.ParseFloat(word, 64)
	if err == nil {
		t.fixed64(4, math.Float64bits(f))
	}
	return err == nil
}

func (t *transcoder) intHalves(raw jsontext.Value) error {
	inner := transcoder{dec: jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	n, ok, err := inner.integer()
	if err != nil || !ok {
		t.faults.value++
		t.bytes(1, raw)
		return nil
	}
	t.varint(3, uint64(n))
	return nil
}

func decodeBase64(word string) ([]byte, error) {
	word = strings.TrimRight(word, "=")
	if b, err := base64.RawStdEncoding.DecodeString(word); err == nil {
		return b, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(word)
	if err != nil {
		return nil, fmt.Errorf("bytes value: %w", err)
	}
	return b, nil
}

// arrayCase reads {"values": [...]}, or a bare list.
func (t *transcoder) arrayCase(depth int) error {
	if t.dec.PeekKind() == '[' {
		return t.list(depth, false)
	}
	return t.embed(5, 64, func() error {
		return t.object(func(name []byte) error {
			if string(name) != "values" {
				return t.dec.SkipValue()
			}
			return t.array(func() error {
				return t.embed(1, 32, func() error { return t.anyValue(depth+1, false) })
			})
		})
	})
}

// kvlistCase reads {"values": [{key, value}]}; the list alone and the list as a plain object are taken too.
func (t *transcoder) kvlistCase(depth int) error {
	return t.embed(6, 64, func() error {
		if t.dec.PeekKind() == '[' {
			return t.array(func() error { return t.keyValue(1, depth+1) })
		}
		return t.members(func(raw jsontext.Value) error {
			if string(t.fold(raw)) != "values" {
				return t.embed(1, 64, func() error { return t.entry(raw, depth+1) })
			}
			if t.dec.PeekKind() == '{' {
				return t.plainMap(1, depth+1)
			}
			return t.array(func() error { return t.keyValue(1, depth+1) })
		})
	})
}
