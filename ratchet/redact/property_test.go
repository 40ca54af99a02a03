package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// canaries are values of each kind; none may survive in any encoding.
var canaries = []string{
	"maya.lind@acme.org", "+49 30 901820", "4111 1111 1111 1111", "DE89370400440532013000", "8.8.4.4", "536-90-4399", "RSSMRA85T10A562S",
	"sk_live_4eC39HqLyjWDarjtT1zdp7dc", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "jörg@bücher.de", "2a00:1450:4001:82b::200e",
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
}

var encoders = map[string]func(string) string{
	"plain": func(s string) string { return s },
	"prose": func(s string) string { return "Hello, it is " + s + ", thanks." },
	"json":  func(s string) string { b, _ := json.Marshal(map[string]any{"note": s, "n": 1}); return string(b) },
	"escape": func(s string) string {
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		return `["` + b.String() + `"]`
	},
	"embedded":  func(s string) string { b, _ := json.Marshal([]string{s}); return "Result: " + string(b) + " done" },
	"percent":   func(s string) string { return "https://shop.test/a?q=" + url.QueryEscape(s) + "&page=2" },
	"base64":    func(s string) string { return "x " + base64.StdEncoding.EncodeToString([]byte(s)) + " y" },
	"base64url": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("to " + s)) },
	"hex":       func(s string) string { return hex.EncodeToString([]byte(s)) },
}

// TestCanariesInEncodings plants every canary in every pair of encodings.
func TestCanariesInEncodings(t *testing.T) {
	r := newRedactor(t, Options{})
	for _, canary := range canaries {
		for _, outer := range sortedKeys(encoders) {
			for _, inner := range sortedKeys(encoders) {
				in := encoders[outer](encoders[inner](canary))
				s := r.Session()
				out := s.Text(in)
				if len(s.Replaced()) == 0 {
					t.Errorf("%s in %s: %q survived: %s", inner, outer, canary, out)
					continue
				}
				if err := s.Verify([]byte(out)); err != nil {
					t.Errorf("%s in %s: %q: %v: %s", inner, outer, canary, err, out)
				}
				if again := r.Session().Text(out); again != out {
					t.Errorf("%s in %s: %q: again: %s -> %s", inner, outer, canary, out, again)
				}
			}
		}
	}
}

// TestVerifyFindsCanaries holds the second look against the first: what the session knows, Verify sees in every pair of
// encodings, though the redactor never touched that text.
func TestVerifyFindsCanaries(t *testing.T) {
	r := newRedactor(t, Options{})
	for _, canary := range canaries {
		s := r.Session()
		s.Text(canary)
		for _, outer := range sortedKeys(encoders) {
			for _, inner := range sortedKeys(encoders) {
				if s.Verify([]byte(encoders[outer](encoders[inner](canary)))) == nil {
					t.Errorf("%s in %s: %q passed", inner, outer, canary)
				}
			}
		}
		half := len(canary) / 2
		split, _ := json.Marshal([]string{canary[:half], canary[half:]})
		if s.Verify(split) == nil && !strings.Contains(canary, "ö") {
			t.Errorf("%q split over two strings passed", canary)
		}
		deltas, _ := json.Marshal([]map[string]string{{"d": canary[:half]}, {"d": canary[half:]}})
		if s.Verify(deltas) == nil && !strings.Contains(canary, "ö") {
			t.Errorf("%q split over two deltas passed", canary)
		}
		if err := s.Verify([]byte(canary)); err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("the error quotes the value: %v", err)
		}
	}
}

// random builds JSON values of everything that traces hold, canaries among it.
func random(rng *rand.Rand, depth int) any {
	switch n := rng.IntN(10); {
	case n < 3 && depth > 0:
		m := map[string]any{}
		for range rng.IntN(5) {
			m[[]string{"a", "note", "email", "password", "user.id", "full_name", "phone", "arguments", "order_id"}[rng.IntN(9)]] = random(rng, depth-1)
		}
		return m
	case n < 5 && depth > 0:
		list := []any{}
		for range rng.IntN(4) {
			list = append(list, random(rng, depth-1))
		}
		return list
	case n == 5:
		return json.Number([]string{"1", "-2.50", "1e9", "1796048633353000000", "4111111111111111"}[rng.IntN(5)])
	case n == 6:
		b, _ := json.Marshal(random(rng, depth-1))
		return string(b)
	case n == 7:
		name := sortedKeys(encoders)[rng.IntN(len(encoders))]
		return encoders[name](canaries[rng.IntN(len(canaries))])
	case n == 8:
		return fmt.Sprintf("customer%d@acme.org", rng.IntN(4))
	}
	return []any{"ORD-10231", "plain words", "", true, nil, "cust-118", "Maya Lind", "b80ae436f7c3aaa28cacf386500fc056"}[rng.IntN(8)]
}

// skeleton is a value's structure without its strings.
func skeleton(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, e := range v {
			m[k] = skeleton(e)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = skeleton(e)
		}
		return list
	case string:
		return ""
	case json.Number:
		return json.Number(strings.Repeat("9", len(v)))
	}
	return v
}

func decodeJSON(t *testing.T, b []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return v
}

func TestProperties(t *testing.T) {
	r := newRedactor(t, Options{})
	for seed := range uint64(1000) {
		in, _ := json.Marshal(random(rand.New(rand.NewPCG(seed, 1)), 4))
		s := r.Session()
		out, err := s.JSON(in)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(skeleton(decodeJSON(t, in)), skeleton(decodeJSON(t, out))) {
			t.Fatalf("seed %d: structure changed:\n%s\n%s", seed, in, out)
		}
		if same, _ := r.Session().JSON(in); !bytes.Equal(out, same) {
			t.Fatalf("seed %d: not deterministic:\n%s\n%s", seed, out, same)
		}
		if again, _ := r.Session().JSON(out); !bytes.Equal(out, again) {
			t.Fatalf("seed %d: not idempotent:\n%s\n%s\n%s", seed, in, out, again)
		}
		if err := s.Verify(out); err != nil {
			t.Fatalf("seed %d: %v:\n%s\n%s", seed, err, in, out)
		}
		distinct(t, s)
	}
}

// distinct: one pseudonym per value, one value per pseudonym (spellings of one value aside).
func distinct(t *testing.T, s *Session) {
	t.Helper()
	owner := map[string]string{}
	for v, rep := range s.names {
		if strings.HasPrefix(v, numeralMark) {
			continue
		}
		id := s.r.identity(rep.Kind, v)
		if other, used := owner[rep.Pseudonym]; used && other != id {
			t.Fatalf("%q stands for %q and %q", rep.Pseudonym, id, other)
		}
		owner[rep.Pseudonym] = id
	}
}

// TestManyValues: hundreds of values of one kind stay apart, and so do kinds whose pseudonyms are digits.
func TestManyValues(t *testing.T) {
	r := newRedactor(t, Options{})
	s := r.Session()
	var in []string
	for i := range 1200 {
		in = append(in, fmt.Sprintf("p%d@acme.org", i), fmt.Sprintf("9.%d.%d.7", i/200, i%200+1), fmt.Sprintf("+1212555%04d", 2000+i), fmt.Sprintf("536-90-%04d", 1000+i))
	}
	doc, _ := json.Marshal(in)
	out, err := s.JSON(doc)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for i, p := range got {
		if p == in[i] {
			t.Fatalf("%s survived", p)
		}
		if other, used := seen[p]; used {
			t.Fatalf("%s stands for %s and %s", p, other, in[i])
		}
		seen[p] = in[i]
	}
	if again, _ := r.Session().JSON(out); !bytes.Equal(again, out) {
		t.Error("not idempotent")
	}
}

// TestPseudonymsInInput: a pseudonym in the input keeps its meaning and no other value gets it.
func TestPseudonymsInInput(t *testing.T) {
	s := newRedactor(t, Options{}).Session()
	if got := s.Text("email-1@example.com wrote to bob@acme.org"); got != "email-1@example.com wrote to email-2@example.com" {
		t.Error(got)
	}
}

// TestDeepEncodings: what is encoded more often than the redactor decodes is refused, and depth costs no time.
func TestDeepEncodings(t *testing.T) {
	r := newRedactor(t, Options{})
	in := canaries[0]
	for depth := range 20 {
		in = base64.StdEncoding.EncodeToString([]byte(in))
		s := r.Session()
		out := s.Text(in)
		if err := s.Verify([]byte(out)); (err == nil) != (depth < maxDepth) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
	in = "nothing to be found here"
	for range 20 {
		in = base64.StdEncoding.EncodeToString([]byte(in))
	}
	if r.Session().Text(in) != in {
		t.Error("changed")
	}
}

func FuzzText(f *testing.F) {
	for _, c := range canaries {
		for _, name := range sortedKeys(encoders) {
			f.Add(encoders[name](c))
		}
	}
	f.Add(`{"a":"{\"b`)
	f.Add("%%4%41\\u00\\ud800==")
	r := newRedactor(f, Options{})
	f.Fuzz(func(t *testing.T, in string) {
		s := r.Session()
		out := s.Text(in)
		if same := r.Session().Text(in); same != out {
			t.Fatalf("not deterministic: %q: %q, %q", in, out, same)
		}
		s.Scan([]byte(out))
	})
}

func FuzzJSON(f *testing.F) {
	for seed := range uint64(30) {
		b, _ := json.Marshal(random(rand.New(rand.NewPCG(seed, 2)), 4))
		f.Add(b)
	}
	r := newRedactor(f, Options{})
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := r.Session().JSON(in)
		if err == nil && json.Valid(in) && !json.Valid(out) {
			t.Fatalf("JSON became none: %q -> %q", in, out)
		}
	})
}
