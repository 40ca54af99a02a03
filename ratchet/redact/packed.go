package redact

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/ascii85"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/unicode/norm"
)

// What is written in another alphabet, and what was compressed before that.

// decoded is a text that a part of another one stands for. foreign says that the redactor does not know the encoding, so that it has not looked inside.
type decoded struct {
	name, text string
	foreign    bool
}

// packed decodes all parts of a text that stand for bytes.
func packed(text string) (out []decoded) {
	if d, ok := unpacked([]byte(text)); ok && len(text) >= 8 {
		out = append(out, d)
	}
	for run := range strings.FieldsFuncSeq(text, func(c rune) bool { return c >= 0x80 || !baseByte(byte(c)) }) {
		if len(run) >= 10 {
			out = append(out, baseOf(run)...)
		}
	}
	for _, list := range byteLists(text) {
		out = append(out, asText("a list of bytes", list, true)...)
	}
	if strings.Contains(text, "<~") {
		for _, m := range ascii85Form.FindAllString(text, -1) {
			dst := make([]byte, 4*len(m))
			if n, _, err := ascii85.Decode(dst, []byte(m[2:len(m)-2]), true); err == nil {
				out = append(out, asText("ascii85", dst[:n], true)...)
			}
		}
	}
	for _, run := range wrapped(text) {
		for _, d := range baseOf(run) {
			d.name, d.foreign = d.name+" over lines", true
			out = append(out, d)
		}
	}
	return out
}

// baseOf decodes a run as base64 at each alignment, since what stands before it may be of its alphabet, as hexadecimal and as base32.
func baseOf(run string) (out []decoded) {
	if len(run)%2 == 0 && allHex(run) {
		if b, err := hex.DecodeString(run); err == nil {
			out = append(out, asText("hex", b, false)...)
		}
	}
	std := strings.NewReplacer("-", "+", "_", "/").Replace(run)
	for skip := range 4 {
		part := std[skip:]
		if len(part)%4 == 1 {
			part = part[:len(part)-1]
		}
		if b, err := base64.RawStdEncoding.DecodeString(part); err == nil {
			out = append(out, asText("base64", b, skip > 0)...)
		}
	}
	if upper := strings.ToUpper(run); len(run) >= 16 && strings.Trim(upper, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == "" {
		if b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(upper); err == nil {
			out = append(out, asText("base32", b, true)...)
		}
	}
	return out
}

// asText gives bytes as the text that they are, unpacked if they are compressed.
func asText(name string, b []byte, foreign bool) []decoded {
	if len(b) < 4 {
		return nil
	}
	if d, ok := unpacked(b); ok {
		d.name = name + " > " + d.name
		return []decoded{d}
	}
	if !mostlyText(b) {
		return nil
	}
	return []decoded{{name, string(b), foreign || !readable(b)}}
}

// maxUnpacked bounds what is taken out of one compressed part, in bytes.
const maxUnpacked = 4 << 20

// inflaters are readers of deflate, of 40 KB each: nearly every run of letters could be some, and is none.
var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

var compressors = []struct {
	name, magic string
	open        func(io.Reader) (io.Reader, error)
}{
	{"gzip", "\x1f\x8b\x08", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"zlib", "\x78", func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }},
	{"zstd", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
	}},
	{"deflate", "", func(r io.Reader) (io.Reader, error) {
		f := inflaters.Get().(io.ReadCloser)
		return f, f.(flate.Resetter).Reset(r, nil)
	}},
}

// unpacked undoes a compression, or a UTF-16.
func unpacked(b []byte) (decoded, bool) {
	if text, ok := wide(b); ok {
		return decoded{"utf-16", text, true}, true
	}
	if mostlyText(b) {
		return decoded{}, false
	}
	for _, c := range compressors {
		if !bytes.HasPrefix(b, []byte(c.magic)) || c.magic == "" && (len(b) < 8 || b[0]&6 == 6) { // there is no block of that kind
			continue
		}
		r, err := c.open(bytes.NewReader(b))
		if err != nil {
			continue
		}
		out, err := io.ReadAll(io.LimitReader(r, maxUnpacked))
		if c.magic == "" {
			inflaters.Put(r)
		}
		if c.magic == "" && (err != nil || len(out) < 6 || !mostlyText(out)) { // without a magic number it has to be right to its end
			continue
		}
		if len(out) > 0 { // what was cut off tells all that came before
			return decoded{c.name, string(out), true}, true
		}
	}
	return decoded{}, false
}

// wide reads UTF-16 with or without its mark, where every second byte or so is zero, or the mark is there.
func wide(b []byte) (string, bool) {
	if len(b) < 8 || len(b)%2 != 0 {
		return "", false
	}
	high := [2]int{}
	for i, c := range b {
		if c == 0 {
			high[i%2]++
		}
	}
	big := bytes.HasPrefix(b, []byte{0xfe, 0xff}) || high[0] > len(b)*3/8
	little := bytes.HasPrefix(b, []byte{0xff, 0xfe}) || high[1] > len(b)*3/8
	if big == little {
		return "", false
	}
	units := make([]uint16, 0, len(b)/2)
	for i := 0; i < len(b); i += 2 {
		if big {
			units = append(units, uint16(b[i])<<8|uint16(b[i+1]))
		} else {
			units = append(units, uint16(b[i+1])<<8|uint16(b[i]))
		}
	}
	text := strings.TrimPrefix(string(utf16.Decode(units)), "\ufeff")
	return text, mostlyText([]byte(text))
}

var ascii85Form = regexp.MustCompile(`<~[!-uz\s]{5,}~>`)

// minBytes is how many numbers in a row count as bytes of a text.
const minBytes = 6

// byteLists are bytes written as numbers one after the other: 6d 61 79, 0x6d, 0x61, 109,97,121.
func byteLists(text string) (out [][]byte) {
	var hexes, decimals []byte
	isHex, isDec, n := true, true, 0
	flush := func() {
		if n >= minBytes && isHex {
			out = append(out, hexes)
		}
		if n >= minBytes && isDec {
			out = append(out, decimals)
		}
		hexes, decimals, isHex, isDec, n = nil, nil, true, true, 0
	}
	gap := 0
	for i := 0; i < len(text); {
		c := text[i]
		if !numeralByte(c) {
			i++
			if gap++; gap > 2 && c != ' ' && c != '\n' && c != '\t' && c != '\r' || strings.IndexByte(" ,:;-[]\n\r\t", c) < 0 {
				flush()
			}
			continue
		}
		end := i
		for end < len(text) && numeralByte(text[end]) {
			end++
		}
		h, hexed, d, dec := byteOf(text[i:end])
		gap, i = 0, end
		if !(isHex && hexed) && !(isDec && dec) { // the list before it is over; it may begin the next one
			flush()
		}
		if isHex, isDec = isHex && hexed, isDec && dec; !isHex && !isDec {
			flush()
			continue
		}
		hexes, decimals, n = append(hexes, h), append(decimals, d), n+1
	}
	flush()
	return out
}

func numeralByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '.' || c >= 0x80
}

// byteOf reads one number as a hexadecimal and as a decimal byte.
func byteOf(s string) (h byte, hexed bool, d byte, dec bool) {
	if n, err := strconv.ParseUint(s, 10, 8); err == nil && len(s) <= 3 {
		d, dec = byte(n), true
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	if len(digits) == 2 {
		n, err := strconv.ParseUint(digits, 16, 8)
		h, hexed = byte(n), err == nil
	}
	return h, hexed, d, dec
}

// wrapped are runs of base64 or hexadecimal that go on over lines of equal length.
func wrapped(text string) (out []string) {
	var run strings.Builder
	width, lines := 0, 0
	flush := func() {
		if lines > 1 {
			out = append(out, run.String())
		}
		run.Reset()
		width, lines = 0, 0
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Trim(line, " \t\r\"'>|,+")
		body := strings.TrimRight(line, "=")
		fits := body != "" && strings.IndexFunc(body, func(c rune) bool { return c >= 0x80 || !baseByte(byte(c)) }) < 0
		if !fits || lines > 0 && len(line) > width {
			flush()
		}
		if !fits || lines == 0 && len(line) < 16 {
			continue
		}
		if lines == 0 {
			width = len(line)
		}
		run.WriteString(body)
		if lines++; len(line) < width {
			flush()
		}
	}
	flush()
	return out
}

func compatible(s string) string { return norm.NFKC.String(s) }
