package regcase

import (
	"errors"
	"strings"
	"testing"
)

// What YAML offers for showing one thing and meaning another is refused by name, whatever document it stands in.
func TestPlainYAMLAlone(t *testing.T) {
	good := string(new(example()).yaml(t))
	change := func(from, to string) string {
		t.Helper()
		bad := strings.Replace(good, from, to, 1)
		if bad == good {
			t.Fatalf("%q is not in the example", from)
		}
		return bad
	}
	deep := strings.Repeat("[", 1<<14)
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                     {"", "it is empty"},
		"a comment alone":             {"# nothing\n", "it is empty"},
		"a text":                      {"hello\n", "malformed"},
		"a list":                      {"- a\n", "malformed"},
		"a byte order mark":           {"\xef\xbb\xbf" + good, "byte order mark"},
		"UTF-16":                      {"\xff\xfea\x00p\x00", "not UTF-8"},
		"CRLF":                        {strings.ReplaceAll(good, "\n", "\r\n"), "carriage return"},
		"a lone CR":                   {change("kind: Case\n", "kind: Case\r"), "carriage return"},
		"a NUL":                       {change("owner: null", "owner: \"a\x00b\""), "U+0000"},
		"an escape character":         {change("owner: null", "owner: \"a\x1b[2Jb\""), "U+001B"},
		"invalid UTF-8":               {change("owner: null", "owner: \"a\xffb\""), "not UTF-8"},
		"an overlong slash":           {change("owner: null", "owner: \"a\xc0\xafb\""), "not UTF-8"},
		"a surrogate":                 {change("owner: null", "owner: \"a\xed\xa0\x80b\""), "not UTF-8"},
		"a line separator":            {change("owner: null", "owner: a # \u2028runs: {n: 1}"), "U+2028"},
		"a next line":                 {change("owner: null", "owner: a # \u0085runs: {n: 1}"), "U+0085"},
		"a tab as indentation":        {change("runs:\n  \"n\": 5", "runs:\n\t\"n\": 5"), "malformed"},
		"an anchor":                   {change("owner: null", "owner: &a ana"), "anchors are not used here"},
		"an alias":                    {change("owner: null", "owner: *a"), "aliases are not used here"},
		"a merge key":                 {change("runs:\n", "runs:\n  <<: {n: 1}\n"), "merge keys are not used here"},
		"a merge key in quotes":       {change("runs:\n", "runs:\n  \"<<\": {n: 1}\n"), "unknown key"},
		"a billion laughs":            {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", "anchors are not used here"},
		"a tag":                       {change("owner: null", "owner: !!str null"), "tags are not used here"},
		"a binary tag":                {change("owner: null", "owner: !!binary YW5h"), "tags are not used here"},
		"a tag of a language":         {change("owner: null", "owner: !ruby/object:Gem {}"), "tags are not used here"},
		"a directive":                 {"%YAML 1.1\n---\n" + good, "directives are not used here"},
		"a document start":            {"---\n" + good, "without ---"},
		"a second document":           {good + "---\n" + good, "without ---"},
		"a document end":              {good + "...\n", "without ..."},
		"a second document after end": {good + "...\n" + good, "without ..."},
		"an explicit key":             {change("owner: null", "? owner\n: null"), "keys with ? are not used here"},
		"a mapping as key":            {change("owner: null", "{a: b}: null"), "malformed"},
		"a key twice":                 {good + "owner: eva\n", "owner"},
		"a key twice, once in quotes": {good + "\"owner\": eva\n", "owner"},
		"a key twice, once escaped":   {good + "\"\\x6fwner\": eva\n", "owner"},
		"a key twice in flow":         {change(`{"match": 5}`, `{"match": 5, "match": 9}`), "match"},
		"a key in other case":         {change("owner: null", "Owner: null"), "unknown key"},
		"an unknown key":              {change("reply: true", "reply: true\n    repyl: true"), "repyl"},
		"a text for a number":         {change("\"n\": 5", "\"n\": \"5\""), "/runs/n"},
		"a fraction for a count":      {change("\"n\": 5", "\"n\": 5.5"), "/runs/n"},
		"a number in hex":             {change("\"n\": 5", "\"n\": 0x5"), "write null, true, false and numbers as JSON does"},
		"a number in octal":           {change("\"n\": 5", "\"n\": 05"), "write null, true, false and numbers as JSON does"},
		"a number with underscores":   {change("\"n\": 5", "\"n\": 1_0"), "write null, true, false and numbers as JSON does"},
		"a number for a text":         {change("owner: null", "owner: 12"), "/owner"},
		"not a number":                {change("rate: 0.8", "rate: .nan"), "write null, true, false and numbers as JSON does"},
		"infinity":                    {change("rate: 0.8", "rate: .inf"), "write null, true, false and numbers as JSON does"},
		"beyond all numbers":          {change("rate: 0.8", "rate: 1e999"), "/runs/rate"},
		"yes for true":                {change("reply: true", "reply: yes"), "write null, true, false and numbers as JSON does"},
		"True for true":               {change("reply: true", "reply: True"), "write null, true, false and numbers as JSON does"},
		"a tilde for null":            {change("owner: null", "owner: ~"), "write null, true, false and numbers as JSON does"},
		"nesting in flow":             {"a: " + deep, "nested more than"},
		"nesting of dashes":           {strings.Repeat("- ", 1<<14), "nested more than"},
		"nesting by indentation":      {staircase(400), "nested more than"},
		"nesting in JSON":             {change(`{"match": 5}`, strings.Repeat(`{"a": `, 100)+"1"+strings.Repeat("}", 100)), "nested more than"},
		"more than any case":          {good + strings.Repeat("#", MaxDocument), "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ... %s", err, c.want)
			}
			if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooLarge) && !strings.Contains(err.Error(), "case "+example().ID) {
				t.Errorf("%v is neither malformed nor a value out of range", err)
			}
			if _, err := DecodeWaivers([]byte(c.text)); err == nil {
				t.Error("the reader of waivers takes it")
			}
		})
	}
}

func staircase(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// A person may write what a case says in other ways that mean the same; it comes out canonical.
func TestOtherSpellings(t *testing.T) {
	c := example()
	good := string(c.yaml(t))
	for from, to := range map[string]string{
		"owner: null": "owner: null # nobody yet", "owner: null\n": "owner:\n", "state: pending": "state: 'pending'", "  - loop\n": "  [loop]\n",
		`params: {"match": 5}`: "params:\n        match: 5", "kind: Case\n": "\n# a case\nkind:   \"Case\"\n", "    cost_usd: null\n": "", `"n": 5`: "n: 5",
	} {
		text := strings.Replace(good, from, to, 1)
		if text == good {
			t.Fatalf("%q is not in the example:\n%s", from, good)
		}
		got, err := Decode([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", to, err)
			continue
		}
		if again := string(got.yaml(t)); again != good {
			t.Errorf("%q comes out otherwise:\n%s", to, again)
		}
	}
}

// The error names the line and the field.
func TestErrorsNameTheLine(t *testing.T) {
	good := string(new(example()).yaml(t))
	lines := strings.Split(good, "\n")
	for i, l := range lines {
		if !strings.Contains(l, "confidence:") {
			continue
		}
		lines[i] = "  confidence: sure"
		_, err := Decode([]byte(strings.Join(lines, "\n")))
		if err == nil || !strings.Contains(err.Error(), "/provenance/confidence") || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%v", err)
		}
		return
	}
	t.Fatal("no such line")
}

const oldCase = `apiVersion: pawl/v1alpha1
kind: Case
id: loop-5b844c8180
title: get_order called 6 times
form: never
state: pending
owner: null
labels: [loop]
fingerprint: {id: loop-5b844c8180, version: 1, label: loop, service: shop, agent: support, parts: {period: 1, result: same, tools: [get_order]}, aliases: []}
provenance: {source: rule, rule: loop@1, confidence: 0.98, count: 7, first_seen: 2026-11-30T10:00:00Z, last_seen: 2026-11-30T11:00:00Z, traces: [], redactor: "1", redactions: {}, kills: [], control: null}
context: {service: shop, service_version: null, system_prompt: null, tools: null, model: null}
input:
  turns:
    - user: where is it?
tools: []
fixtures: [{tool: get_order, arguments: {n: 12345678901234567890}, result: 1.50, fault: null, from: recording}]
expect:
  never: [{label: loop, rule: loop@1, params: {match: 5}, policy: null}]
  liveness: {reply: true, no_error: true}
  trajectory: null
  state: null
  response: null
  criteria: [it asks for the number]
  budget: null
runs: {n: 5, mode: soft, rate: 0.8}
live: null
weak: true
trace: {file: trace.json, sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855}
`

// A case of the version before comes back as one of today, with its numbers as they were.
func TestUpgrade(t *testing.T) {
	c, err := Decode([]byte(oldCase))
	if err != nil {
		t.Fatal(err)
	}
	if c.APIVersion != APIVersion || c.Input.Mode != "recorded" || c.Expect.Criteria[0] != (Criterion{Text: "it asks for the number"}) || c.Input.Turns[0].Reply != nil {
		t.Errorf("%+v", c)
	}
	if f := c.Fixtures[0]; string(f.Arguments) != `{"n":12345678901234567890}` || string(f.Result) != "1.50" {
		t.Errorf("%s %s", f.Arguments, f.Result)
	}
	again, err := Decode(c.yaml(t))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := c.Digest()
	if after, _ := again.Digest(); before != after {
		t.Errorf("digest %s became %s", before, after)
	}
	for from, want := range map[string]string{
		"  state: null\n":                               "a free value has no meaning",
		"  trajectory: null\n":                          "held no values",
		"liveness: {reply: true, no_error: true}\n":     "surprise",
		"apiVersion: pawl/v1alpha1\n":                   "unknown apiVersion",
		"fingerprint: {id: loop-5b844c8180, version: 1": "does not fit",
	} {
		to := map[string]string{"  state: null\n": "  state: {a: b}\n", "  trajectory: null\n": "  trajectory: {mode: exact, calls: []}\n", "liveness: {reply: true, no_error: true}\n": "liveness: {reply: true, no_error: true, surprise: 1}\n",
			"apiVersion: pawl/v1alpha1\n": "apiVersion: pawl/v0\n", "fingerprint: {id: loop-5b844c8180, version: 1": "fingerprint: {id: loop-5b844c8180, version: 2"}[from]
		if _, err := Decode([]byte(strings.Replace(oldCase, from, to, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", to, err)
		}
	}
}
