package trajectory

import (
	"math"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

func TestParseValue(t *testing.T) {
	cut := `{"query":"` + strings.Repeat("long ", 300)
	for _, c := range []struct {
		name, raw, json string
		parsed          Parsed
		truncated       bool
	}{
		{"empty", "", "", ParsedAbsent, false},
		{"object", ` {"b":2, "a":1.0}`, `{"a":1,"b":2}`, ParsedString, false},
		{"big ids stay apart", `{"id":9007199254740993}`, `{"id":9007199254740993}`, ParsedString, false},
		{"repeated name", `{"a":1,"a":2}`, `{"a":1,"a":2}`, ParsedString, false},
		{"scalar", `41.50`, `41.5`, ParsedString, false},
		{"string", `"done"`, `"done"`, ParsedString, false},
		{"encoded twice", `"{\"limit\":5}"`, `{"limit":5}`, ParsedDouble, false},
		{"encoded three times", `"\"{\\\"limit\\\":5}\""`, `{"limit":5}`, ParsedDouble, false},
		{"python", `{'a': True, 'b': [None, (1, 2.5)], 'c': "it's", 3: 'é\x41\n'}`, `{"3":"éA\n","a":true,"b":[null,[1,2.5]],"c":"it's"}`, ParsedRepr, false},
		{"python set and call", `{'s': {1, 2}, 'at': datetime.date(2026, 1, 2), 'n': nan}`, `{"at":"datetime.date(2026, 1, 2)","n":null,"s":[1,2]}`, ParsedRepr, false},
		{"python none", `None`, `null`, ParsedRepr, false},
		{"kwargs", `{"args":[],"kwargs":{"limit":5}}`, `{"limit":5}`, ParsedArgs, false},
		{"one arg", `{"args":["x"],"kwargs":{}}`, `"x"`, ParsedArgs, false},
		{"smolagents", `{"args":[],"sanitize_inputs_outputs":true,"kwargs":{"q":"x"}}`, `{"q":"x"}`, ParsedArgs, false},
		{"args of its own", `{"args":["x"],"kwargs":{},"command":"ls"}`, `{"args":["x"],"command":"ls","kwargs":{}}`, ParsedString, false},
		{"langchain inputs", `{"input_str":"{'q': 1}","tags":[],"inputs":{"q":1}}`, `{"q":1}`, ParsedWrap, false},
		{"langchain input_str", `{"input_str":"{'q': 1}","tags":[]}`, `{"q":1}`, ParsedWrap, false},
		{"langchain result", `{"output":{"lc":1,"type":"constructor","id":["langchain","ToolMessage"],"kwargs":{"content":"{\"ok\":true}","status":"success"}}}`, `{"ok":true}`, ParsedWrap, false},
		{"prose", `Order shipped.`, "", ParsedText, false},
		{"prose in brackets", `[INFO] shipped`, "", ParsedText, false},
		{"cut by a model", `{"query": "kettle", "limit": `, "", ParsedBroken, false},
		{"cut by a limit", cut, "", ParsedBroken, false},
		{"cut at 1024", cut[:1024], "", ParsedBroken, true},
		{"concatenated", `{"a":1}{"b":2}`, "", ParsedBroken, false},
		{"bare names", `{limit: 5}`, "", ParsedBroken, false},
		{"hidden", `__REDACTED__`, "", ParsedText, true},
		{"hidden inside", `{"mail":"[REDACTED]"}`, `{"mail":"[REDACTED]"}`, ParsedString, true},
		{"marked cut", `{"a":"xxx...[TRUNCATED: original length 20000]`, "", ParsedBroken, true},
		{"invalid utf-8", "{\"a\":\"\xff\"}", "{\"a\":\"\uFFFD\"}", ParsedString, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := ParseValue(c.raw)
			if string(v.JSON) != c.json || v.Parsed != c.parsed || v.Truncated != c.truncated || v.Raw != c.raw {
				t.Errorf("got json %s parsed %s truncated %v", v.JSON, v.Parsed, v.Truncated)
			}
		})
	}
}

func TestValueOf(t *testing.T) {
	v := pcommon.NewValueMap()
	v.Map().PutDouble("n", math.NaN())
	v.Map().PutStr("a", "x\x00\xff")
	got := ValueOf(v)
	if string(got.JSON) != "{\"a\":\"x\\u0000\uFFFD\",\"n\":null}" || got.Parsed != ParsedObject {
		t.Errorf("got %s %s", got.JSON, got.Parsed)
	}
	if e := ValueOf(pcommon.NewValueEmpty()); e.Parsed != ParsedAbsent {
		t.Errorf("empty value: %+v", e)
	}
}

func FuzzParseValue(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":{"d":[],"c":[1,-2,true]}, "ab" : "x"}`, `{"a":1,"a":2}`, `[-0, 01, 1.50]`, `{"é":1,"a":2}`, `{"a!":1,"a":2}`, `{"a ":1,"a":2,"a#":3}`, `{"a":1}`, `"{\"a\":1}"`, `{'a': (1, None)}`, `{"args":[],"kwargs":{"a":1}}`, `{"input_str":"x","inputs":{}}`, `[1,`, "{\xff", `{'a': f(x)}`,
		`"a\n\"b\\c"`, `{"a\"":1,"b":"x\u0041\/"}`, `["\b\f\r\t","é\n","\\\\"]`, `{"b":"\\","a":"\\\""}`, `{"a":"x\q"}`, `[1.5,-0.25,0.000001,0.0000001,123456789.123456,1.50,-0.0,-0,1e3,1.]`, `[0.1 0.2]`, `{"a" 1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		v := ParseValue(raw)
		if v.Raw != raw {
			t.Fatalf("raw text changed")
		}
		if quick, slow := canonical(raw), canonicalSlow(raw); string(quick) != string(slow) {
			t.Fatalf("quick %q, slow %q", quick, slow)
		}
		if v.JSON == nil {
			return
		}
		again := canonical(string(v.JSON))
		if string(again) != string(v.JSON) {
			t.Fatalf("not canonical: %q, again %q", v.JSON, again)
		}
	})
}
