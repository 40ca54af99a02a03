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
	"encoding/json"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
)

// rare are encodings that the redactor leaves to the second look.
var rare = map[string]func(string) string{
	"gzip in base64": func(s string) string {
		return "x " + b64(squash(s, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })) + " y"
	},
	"zlib in base64": func(s string) string {
		return b64(squash(s, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }))
	},
	"deflate in base64": func(s string) string {
		return b64(squash(s, func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 9); return f }))
	},
	"zstd in base64": func(s string) string {
		return b64(squash(s, func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z }))
	},
	"gzip in hex": func(s string) string {
		return hex.EncodeToString(squash(s, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }))
	},
	"hex bytes amid words":     func(s string) string { return fmt.Sprintf("sent as % x before noon", s) },
	"decimal bytes amid words": func(s string) string { return "sent as " + strings.Trim(fmt.Sprint([]byte(s)), "[]") + " before noon" },
	"utf-16le":                 func(s string) string { return b64(utf16Bytes(s, false)) },
	"utf-16be":                 func(s string) string { return b64(append([]byte{0xfe, 0xff}, utf16Bytes(s, true)...)) },
	"quoted-printable": func(s string) string {
		var b strings.Builder
		for _, c := range []byte("Name: " + s + " -- " + strings.Repeat("and more ", 9)) {
			fmt.Fprintf(&b, "=%02X", c)
		}
		return b.String()
	},
	"soft breaks": func(s string) string {
		var b bytes.Buffer
		w := quotedprintable.NewWriter(&b)
		fmt.Fprintf(w, "%s %s = it", strings.Repeat("a", 66), s)
		w.Close()
		return b.String()
	},
	"base32": func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) },
	"ascii85": func(s string) string {
		d := make([]byte, 8*len(s)+8)
		n := ascii85.Encode(d, []byte(s))
		return "<~" + string(d[:n]) + "~>"
	},
	"hex dump":  func(s string) string { return strings.TrimSpace(fmt.Sprintf("% x", s)) },
	"hex colon": func(s string) string { return strings.ReplaceAll(fmt.Sprintf("% X", s), " ", ":") },
	"c array":   func(s string) string { return strings.Join(strings.Fields(fmt.Sprintf("% #x", s)), ", ") },
	"decimal": func(s string) string {
		return strings.Join(strings.Fields(strings.Trim(fmt.Sprint([]byte(s)), "[]")), ",")
	},
	"octal": func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, `\%03o`, c)
		}
		return b.String()
	},
	"hex escapes": func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
		return b.String()
	},
	"percent of all": func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, "%%%02x", c)
		}
		return b.String()
	},
	"html of all": func(s string) string {
		var b strings.Builder
		for _, c := range s {
			fmt.Fprintf(&b, "&#x%x;", c)
		}
		return b.String()
	},
	"tags":        func(s string) string { return "<p><b>" + s[:len(s)/2] + "</b><i>" + s[len(s)/2:] + "</i></p>" },
	"zero width":  func(s string) string { return strings.Join(strings.Split(s, ""), "\u200b") },
	"soft hyphen": func(s string) string { return s[:3] + "\u00ad" + s[3:] },
	"full width": func(s string) string {
		return strings.Map(func(c rune) rune {
			if c > 0x20 && c < 0x7f {
				return c + 0xfee0
			}
			return c
		}, s)
	},
	"base64 in lines": func(s string) string {
		return wrap(b64([]byte("Some words before it, so that it is long enough: "+s+", and after it.")), 40)
	},
	"base64 in deltas": func(s string) string {
		e := b64([]byte("it is " + s))
		return deltas(e[:7], e[7:])
	},
	"twice compressed": func(s string) string {
		z := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
		return b64(squash(b64(squash(s, z)), z))
	},
	"form in base64 in json in url": func(s string) string {
		j, _ := json.Marshal(map[string]string{"q": b64([]byte("v=" + url.QueryEscape(s)))})
		return "https://x.test/?s=" + url.QueryEscape(string(j))
	},
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func squash(s string, open func(io.Writer) io.WriteCloser) []byte {
	var b bytes.Buffer
	w := open(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.Bytes()
}

func utf16Bytes(s string, big bool) (out []byte) {
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}

func wrap(s string, width int) string {
	var lines []string
	for ; len(s) > width; s = s[width:] {
		lines = append(lines, s[:width])
	}
	return strings.Join(append(lines, s), "\n")
}

func deltas(parts ...string) string {
	var b strings.Builder
	for i, p := range parts {
		d, _ := json.Marshal(map[string]any{"type": "delta", "i": i, "delta": p})
		fmt.Fprintf(&b, "data: %s\n\n", d)
	}
	return b.String()
}

// TestSecondLookDecodes: what the redactor cannot read, the second look refuses, by its own knowledge alone.
func TestSecondLookDecodes(t *testing.T) {
	r := newRedactor(t, Options{})
	for _, canary := range []string{"maya.lind@acme.org", "4111 1111 1111 1111", "DE89370400440532013000", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "+49 30 901820"} {
		for _, name := range sortedKeys(rare) {
			in := rare[name](canary)
			s := r.Session()
			out := s.Text(in)
			if err := s.Verify([]byte(out)); err == nil && len(s.Replaced()) == 0 {
				t.Errorf("%s: %q passed as %q", name, canary, in)
			}
			doc, _ := json.Marshal(map[string]string{"text": in})
			s = r.Session()
			if red, err := s.JSON(doc); err == nil && len(s.Replaced()) == 0 && s.Verify(red) == nil {
				t.Errorf("%s in JSON: %q passed as %q", name, canary, in)
			}
		}
	}
}

// TestSecondLookPutsTogether: values in pieces that the redactor never saw whole.
func TestSecondLookPutsTogether(t *testing.T) {
	r := newRedactor(t, Options{})
	for _, v := range []string{"maya.lind@acme.org", "DE89370400440532013000", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "4111 1111 1111 1111"} {
		a, b, c := v[:4], v[4:11], v[11:]
		list, _ := json.Marshal([]string{a, b, c})
		for _, in := range []string{deltas(a, b, c), string(list), fmt.Sprintf("x = %q + %q + %q", a, b, c), fmt.Sprintf("x = '%s' + '%s' +\n '%s'", a, b, c)} {
			if r.Verify([]byte(in)) == nil {
				t.Errorf("passed: %s", in)
			}
		}
	}
	for _, in := range []string{"maya.lind@\n  acme.org", "> DE8937040044\n> 0532013000", "ghp_0123456789abcdefghij\\\nABCDEFGHIJ012345"} {
		if r.Verify([]byte(in)) == nil {
			t.Errorf("passed: %q", in)
		}
	}
	s := r.Session()
	s.Learn(`{"full_name":"Maya Lindqvist"}`)
	s.Text("Maya Lindqvist")
	for _, in := range []string{deltas("Maya ", "Lind", "qvist"), "it was Maya\nLindqvist who called"} {
		if s.Verify([]byte(in)) == nil {
			t.Errorf("passed: %q", in)
		}
	}
	for _, in := range []string{deltas("Hello", "email-1@example.com", "!"), `["a@","b"]`, "Call\n1234\n5678\n9012\n3456\n", `{"a":["4000","0000","0000","0010"]}`, "see\n@acme/tool for it", `{"n":"Maya","m":"Lindqvistholm"}`} {
		if err := s.Verify([]byte(in)); err != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// TestCanaries: a canary is nothing that any rule knows, and does not get out in any encoding.
func TestCanaries(t *testing.T) {
	r := newRedactor(t, Options{Canaries: []string{"Heron-Quill-Seven", "tangerine lamppost"}})
	if err := r.Verify([]byte("a heron and a quill, seven of them, and a tangerine beside the lamppost")); err != nil {
		t.Error(err)
	}
	for _, forms := range []map[string]func(string) string{rare, encoders} {
		for _, name := range sortedKeys(forms) {
			for _, c := range []string{"heron-quill-seven", "Tangerine Lamppost"} {
				err := r.Verify([]byte(forms[name](c)))
				if err == nil {
					t.Errorf("%s: %q passed", name, c)
				} else if strings.Contains(strings.ToLower(err.Error()), "heron") {
					t.Errorf("the error quotes the canary: %v", err)
				}
			}
		}
	}
	if r.Verify([]byte(deltas("Heron-", "Quill-", "Seven"))) == nil || r.Verify([]byte("heron_quill\n> seven")) == nil {
		t.Error("a canary in pieces passed")
	}
	if _, err := New(nil, Options{Canaries: []string{"short"}}); err == nil {
		t.Error("a canary that stands in everything was taken")
	}
}

// TestBombs: what unpacks to far more than it is, or nests without end, is refused in bounded time.
func TestBombs(t *testing.T) {
	r := newRedactor(t, Options{})
	z := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	bomb := b64(squash(strings.Repeat("nothing to see here, ", 1<<20), z))
	if err := r.Verify([]byte(bomb)); err != nil {
		t.Logf("refused: %v", err)
	}
	many := strings.Repeat(bomb[:2000]+" ", 40)
	_ = r.Verify([]byte(many))
	deep := "maya.lind@acme.org"
	for range 30 {
		deep = url.QueryEscape(deep + "%")
	}
	if r.Verify([]byte(deep)) == nil {
		t.Error("passed")
	}
}

func FuzzScan(f *testing.F) {
	for _, forms := range []map[string]func(string) string{rare, encoders} {
		for _, name := range sortedKeys(forms) {
			f.Add([]byte(forms[name]("maya.lind@acme.org")))
		}
	}
	r := newRedactor(f, Options{Canaries: []string{"heron-quill-seven"}})
	f.Fuzz(func(t *testing.T, in []byte) {
		if same := fmt.Sprint(r.Session().Scan(in)); same != fmt.Sprint(r.Session().Scan(in)) {
			t.Fatalf("not the same twice: %q", in)
		}
	})
}
