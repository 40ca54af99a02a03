// Package leaks holds pawl to its word that nothing personal and no secret leaves: values of many kinds are planted in many encodings in traces that fail, and
// every byte that leaves is searched for them, with knowledge of its own.
package leaks

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/ascii85"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"mime/quotedprintable"
	"net/url"
	"strings"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
)

// Form writes a text so that a reader, or a program, still reads it.
type Form struct {
	Name  string
	Write func(string) string
}

// Forms are the encodings, 48 of them.
var Forms = []Form{
	{"plain", func(s string) string { return s }},
	{"in a sentence", func(s string) string { return "He wrote: " + s + ", and left." }},
	{"json string", quote},
	{"json in json", func(s string) string { return quote(quote(s)) }},
	{"json thrice", func(s string) string { return quote(`{"a":` + quote(`{"b":`+quote(s)+`}`) + `}`) }},
	{"json cut off", func(s string) string { return `{"a":{"text":` + quote(s) + `,"more":"and th` }},
	{"event stream", func(s string) string { return "data: {\"text\":" + quote(s) + "}\n\ndata: [DONE]" }},
	{"\\u escapes", func(s string) string { return each(utf16.Encode([]rune(s)), `\u%04x`) }},
	{"\\x escapes", func(s string) string { return each([]byte(s), `\x%02x`) }},
	{"octal escapes", func(s string) string { return each([]byte(s), `\%03o`) }},
	{"url", func(s string) string { return "https://x.test/?q=" + url.QueryEscape(s) + "&n=1" }},
	{"url path", func(s string) string { return "https://x.test/" + url.PathEscape(s) }},
	{"url twice", func(s string) string { return "https://x.test/?q=" + url.QueryEscape(url.QueryEscape(s)) }},
	{"percent of all", func(s string) string { return each([]byte(s), `%%%02X`) }},
	{"form", func(s string) string { return "a=1&text=" + url.QueryEscape(s) + "&b=2" }},
	{"base64", func(s string) string { return b64([]byte(s)) }},
	{"base64 raw", func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) }},
	{"base64 url", func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) }},
	{"base64 url raw", func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }},
	{"base64 twice", func(s string) string { return b64([]byte(b64([]byte(s)))) }},
	{"base64 in lines", func(s string) string {
		return lines(b64([]byte("Before it some words, to be long: "+s+" (so it was)")), 60)
	}},
	{"data url", func(s string) string { return "data:text/plain;base64," + b64([]byte(s)) }},
	{"hex", func(s string) string { return hex.EncodeToString([]byte(s)) }},
	{"hex upper", func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }},
	{"hex dump", func(s string) string { return fmt.Sprintf("% x", s) }},
	{"hex colons", func(s string) string { return strings.ReplaceAll(fmt.Sprintf("% X", s), " ", ":") }},
	{"c array", func(s string) string { return "{" + strings.ReplaceAll(fmt.Sprintf("% #x", s), " ", ", ") + "}" }},
	{"decimal bytes", func(s string) string { return strings.ReplaceAll(fmt.Sprint([]byte(s)), " ", ",") }},
	{"html", func(s string) string {
		return "<p>" + strings.ReplaceAll(html.EscapeString(s), "@", "&commat;") + "</p>"
	}},
	{"html decimal", func(s string) string { return each([]rune(s), "&#%d;") }},
	{"html hex", func(s string) string { return each([]rune(s), "&#x%x;") }},
	{"tags", func(s string) string { return "<b>" + s[:len(s)/2] + "</b><i>" + s[len(s)/2:] + "</i>" }},
	{"quoted-printable", func(s string) string {
		var b bytes.Buffer
		w := quotedprintable.NewWriter(&b)
		_, _ = io.WriteString(w, strings.Repeat("x", 70)+" = "+s)
		_ = w.Close()
		return b.String()
	}},
	{"quoted-printable of all", func(s string) string { return each([]byte(s), "=%02X") }},
	{"gzip", func(s string) string {
		return b64(squash(s, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }))
	}},
	{"zlib", func(s string) string {
		return b64(squash(s, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }))
	}},
	{"deflate", func(s string) string {
		return b64(squash(s, func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, flate.BestCompression); return f }))
	}},
	{"zstd", func(s string) string {
		return b64(squash(s, func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z }))
	}},
	{"gzip in hex", func(s string) string {
		return hex.EncodeToString(squash(s, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }))
	}},
	{"utf-16le", func(s string) string { return b64(wide(s, false)) }},
	{"utf-16be", func(s string) string { return b64(append([]byte{0xfe, 0xff}, wide(s, true)...)) }},
	{"base32", func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) }},
	{"ascii85", func(s string) string {
		d := make([]byte, 8*len(s)+8)
		return "<~" + string(d[:ascii85.Encode(d, []byte(s))]) + "~>"
	}},
	{"zero width", func(s string) string { return strings.Join(strings.Split(s, ""), "\u200b") }},
	{"full width", func(s string) string {
		return strings.Map(func(c rune) rune {
			if c > 0x20 && c < 0x7f {
				return c + 0xfee0
			}
			return c
		}, s)
	}},
	{"escaped base64 in json in url", func(s string) string {
		return "https://x.test/?j=" + url.QueryEscape(`{"v":`+quote(b64([]byte(s)))+`}`)
	}},
	{"gzip of json of base64", func(s string) string {
		return b64(squash(`{"v":`+quote(b64([]byte(s)))+`}`, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }))
	}},
	{"go syntax", func(s string) string { return fmt.Sprintf("%+q", s) }},
}

// Read are the forms in which a value is searched for in what left. They are the forms of a value alone, whatever stands around it.
func Read(value string) []string {
	out := []string{strings.ToLower(value)}
	for _, f := range Forms {
		switch f.Name {
		case "\\u escapes", "\\x escapes", "octal escapes", "percent of all", "hex", "hex dump", "hex colons", "html decimal", "html hex", "quoted-printable of all", "zero width", "full width":
			out = append(out, strings.ToLower(f.Write(value)))
		}
	}
	return append(out, url.QueryEscape(value), strings.Trim(strings.ReplaceAll(fmt.Sprint([]byte(value)), " ", ","), "[]"))
}

// Base64 are what of a value's base64 does not depend on what stands around it, at each alignment.
func Base64(value string) (out []string) {
	for shift := range 3 {
		e := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + value))
		if from, to := []int{0, 2, 3}[shift], len(e)-3; to-from >= 8 {
			out = append(out, e[from:to])
		}
	}
	return out
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(b)
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func each[T any](list []T, format string) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func lines(s string, width int) string {
	var out []string
	for ; len(s) > width; s = s[width:] {
		out = append(out, s[:width])
	}
	return strings.Join(append(out, s), "\n")
}

func squash(s string, open func(io.Writer) io.WriteCloser) []byte {
	var b bytes.Buffer
	w := open(&b)
	_, _ = io.WriteString(w, s) // to a buffer
	_ = w.Close()
	return b.Bytes()
}

func wide(s string, big bool) (out []byte) {
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}
