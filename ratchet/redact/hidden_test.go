package redact

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func packedWith(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// TestErasesWhatIsEncoded: a person's value is found and blanked however it is written, what stands beside it stays, and nothing of it can be decoded any more.
func TestErasesWhatIsEncoded(t *testing.T) {
	for _, value := range []string{"Maya Lindqvist", "maya.lind@acme-mail.org", "+49 170 1234567", "Zoë Ångström"} {
		s, err := NewSubject(value)
		if err != nil {
			t.Fatal(err)
		}
		long := "The customer is " + value + ", and she waits."
		quoted, _ := json.Marshal(long)
		twice, _ := json.Marshal(string(quoted))
		for name, form := range map[string]string{
			"plain": long, "base64": base64.StdEncoding.EncodeToString([]byte(long)), "raw url base64": base64.RawURLEncoding.EncodeToString([]byte(long)),
			"base64 twice": base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(long)))),
			"query":        "https://x.test/?q=" + url.QueryEscape(long) + "&n=1", "query twice": "https://x.test/?q=" + url.QueryEscape(url.QueryEscape(long)),
			"hex": hex.EncodeToString([]byte(long)), "bytes": fmt.Sprintf("% x", long), "decimal bytes": strings.Trim(fmt.Sprint([]byte(long)), "[]"),
			"gzip": packedWith(long), "json": string(quoted), "json twice": string(twice), "gzip of json": packedWith(string(twice)),
			"base64 of json in json": `{"blob":"` + base64.StdEncoding.EncodeToString(quoted) + `"}`, "entities": strings.ReplaceAll(long, "a", "&#97;"),
			"data url": "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(long)),
		} {
			doc, _ := json.Marshal(map[string]any{"note": "before " + form + " after", "order": "4711", "other": "Frida Kallberg"})
			if !s.In(string(doc)) {
				t.Errorf("%s of %s: not found", name, value)
				continue
			}
			clean := s.Blank(string(doc))
			var got map[string]string
			if err := json.Unmarshal([]byte(clean), &got); err != nil || got["order"] != "4711" || got["other"] != "Frida Kallberg" {
				t.Errorf("%s of %s: %v %s", name, value, err, clean)
			}
			if s.In(clean) || !strings.Contains(got["note"], Erased) || name == "base64" && got["note"] != "before [erased] after" {
				t.Errorf("%s of %s: left %s", name, value, clean)
			}
			if again := s.Blank(clean); again != clean {
				t.Errorf("%s of %s: not settled: %s", name, value, again)
			}
		}
	}
}

// TestErasesNothingElse: what does not hold the value stays byte for byte, encoded or not.
func TestErasesNothingElse(t *testing.T) {
	s, err := NewSubject("Maya Lindqvist")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "x", "\"", `\`, `a \" b "c\\"d`, "Frida Kallberg \n\n\" \\u0041", packedWith("Frida Kallberg"), strings.Repeat("QUJD", 50000), string([]byte{0xff, 0xfe, 0, 1, 2}),
		strings.Repeat(`{"a":"b\"c"}`+"\n", 9000), "% x %41 &#97; <b>"} {
		if s.In(text) || s.Blank(text) != text {
			t.Errorf("%.60q becomes %.60q", text, s.Blank(text))
		}
	}
}

func FuzzBlank(f *testing.F) {
	f.Add("see TWF5YSBMaW5kcXZpc3Q= there")
	f.Add(`{"a":"\u004daya Lindqvist"}`)
	s, err := NewSubject("Maya Lindqvist")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := s.Blank(text)
		if s.In(clean) || !s.In(text) && clean != text {
			t.Errorf("%q becomes %q", text, clean)
		}
	})
}

func BenchmarkBlank(b *testing.B) {
	s, err := NewSubject("Maya Lindqvist")
	if err != nil {
		b.Fatal(err)
	}
	doc := strings.Repeat(`{"role":"user","content":"Where is my order 4711? It was sent to <b>Hamburg</b>\nlast week, see https://shop.example/orders/4711?from=mail%20box."},`, 400)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		s.Blank(doc)
	}
}
