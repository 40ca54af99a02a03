package turn

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/regcase/casetest"
	"github.com/pawl-dev/pawl/ratchet/verify"
)

// What quotes the value is blanked and waived without naming it; everything else is as it was, and doing it again finds nothing.
func TestErase(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	trace := []byte("{\n \"spans\": [{\"user\": \"I am Ines \\\"Falk\\\", 4711.\", \"n\": 4711, \"args\": \"{\\\"name\\\":\\\"Ines \\\\\\\"Falk\\\\\\\"\\\"}\"}]\n}\n")
	for seed := range uint64(200) {
		c := casetest.Case(rand.New(rand.NewPCG(seed, 9)))
		c.Input.Turns[0].User = `Ines "Falk" wants her parcel.`
		c.Trace.SHA256 = regcase.SHA256(trace)
		src := setWith(t, c, trace)
		set, problems := regcase.ReadSet(src)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		changes, left, err := Erase(src, set, `Ines "Falk"`, "a person asked for erasure", "#7", now)
		if err != nil || len(left) > 0 {
			t.Fatalf("seed %d: %v, left %v", seed, err, left)
		}
		for _, ch := range changes {
			if bytes.Contains(ch.Data, []byte("Falk")) {
				t.Fatalf("seed %d: %s still holds it:\n%s", seed, ch.Path, ch.Data)
			}
			src[ch.Path] = &fstest.MapFile{Data: ch.Data, Mode: 0o644}
		}
		after, problems := regcase.ReadSet(src)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		got := after.Cases[c.ID]
		ds := Looser(&c, &got.Case, now)
		if len(ds) == 0 || len(got.Waivers) != len(ds) {
			t.Fatalf("seed %d: %d loosened fields, %d waivers", seed, len(ds), len(got.Waivers))
		}
		for i, d := range ds {
			if w := got.Waivers[i]; w.Field != d.Field || string(w.Base) != `"`+verify.DigestOf(d.Base)+`"` || !(strings.HasPrefix(d.Field, "/input/") || strings.HasPrefix(d.Field, "/trace/")) {
				t.Errorf("seed %d: waiver %+v of %s", seed, w, d.Field)
			}
		}
		if _, _, err := Erase(src, after, `Ines "Falk"`, "a person asked for erasure", "#7", now); err == nil {
			t.Errorf("seed %d: there is still something to erase", seed)
		}
	}
}

func setWith(t *testing.T, c regcase.Case, trace []byte) fstest.MapFS {
	t.Helper()
	b, err := regcase.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{c.Dir() + "/case.yaml": {Data: b, Mode: 0o644}, c.Dir() + "/trace.json": {Data: trace, Mode: 0o644}}
}

func TestBlank(t *testing.T) {
	for _, c := range []struct{ in, value, want string }{
		{"{\"a\" : \"mail ines@x.de\",\n\"b\":[1, 2]}\n", "ines@x.de", "{\"a\" : \"mail [erased]\",\n\"b\":[1, 2]}\n"},
		{`{"phone":4915112345,"other":49151123456}`, "4915112345", `{"phone":"[erased]","other":49151123456}`},
		{`["jürgen", "j\u00fcrgen"]`, "jürgen", `["[erased]", "[erased]"]`},
		{`{"a":1} {"a":"xyz"}`, "xyz", `{"a":1} {"a":"[erased]"}`},
		{`"nothing"`, "xyz", `"nothing"`},
		{`{"a":"see bWFpbCBpbmVzQHguZGUgbm93 there","b":"mail%20ines%40x.de","c":"\\u0069nes@x.de"}`, "ines@x.de", `{"a":"see [erased] there","b":"mail%20[erased]","c":"[erased]"}`},
	} {
		if got, err := blank([]byte(c.in), subject(t, c.value)); err != nil || string(got) != c.want {
			t.Errorf("%s without %s is %s, %v", c.in, c.value, got, err)
		}
	}
	for _, c := range []struct{ in, value string }{{`{"ines":1}`, "ines"}, {`{"a":"{\"n\":4711}"}`, "4711"}, {`{"a":`, "xyz"}} {
		if got, err := blank([]byte(c.in), subject(t, c.value)); err == nil {
			t.Errorf("%s without %s is %s", c.in, c.value, got)
		}
	}
	if _, _, err := Erase(fstest.MapFS{}, regcase.Set{}, "ab", "a person asked", "#7", time.Now()); err == nil {
		t.Error("two letters are erased")
	}
}

func subject(t *testing.T, value string) redact.Subject {
	t.Helper()
	s, err := redact.NewSubject(value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
