package match

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// nearNumber is the share by which a number may differ from the expected one.
const nearNumber = 0.01

// wanted is one expected field, ready to be compared.
type wanted struct {
	pointer string
	tokens  []string
	match   string
	value   jsontext.Value // canonical and steady; nil for an empty one
	said    regcase.JSON   // as the case has it
	pattern *regexp.Regexp
	number  float64
	broken  string // why it cannot be compared
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func wantedOf(fields map[string]regcase.Field) []wanted {
	out := make([]wanted, 0, len(fields))
	for _, p := range sortedKeys(fields) {
		f := fields[p]
		w := wanted{pointer: p, tokens: tokensOf(p), match: cmp.Or(f.Match, "exact"), said: f.Value, value: steadyValue(jsontext.Value(f.Value))}
		w.prepare()
		out = append(out, w)
	}
	return out
}

// prepare reads the expected value as its match wants it.
func (w *wanted) prepare() {
	switch w.match {
	case "exact", "ignore", "semantic":
	case "number":
		n, err := strconv.ParseFloat(strings.TrimSpace(textOf(jsontext.Value(w.said))), 64)
		if w.number = n; err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			w.broken = w.shown() + " is not a number"
		}
	case "pattern":
		var err error
		if w.pattern, err = regexp.Compile(textOf(jsontext.Value(w.said))); err != nil {
			w.broken = "the pattern of " + w.pointer + " does not compile: " + err.Error()
		}
	default:
		w.broken = fmt.Sprintf("match %q is none of exact, ignore, number, pattern, semantic", w.match)
	}
}

func (w *wanted) shown() string { return short(string(w.said)) }

// tokensOf are the names that a JSON pointer leads through.
func tokensOf(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, p := range parts {
		parts[i] = unescape.Replace(p)
	}
	return parts
}

var escape, unescape = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// canonical writes equal values equally: sorted members, numbers in one spelling. Whole numbers keep all their digits.
func canonical(v jsontext.Value) jsontext.Value {
	if k := v.Kind(); k != '{' && k != '[' && k != '0' || k == '0' && strings.Trim(string(v), "0123456789") == "" {
		return v // what a case holds is in canonical form but for the spelling of its numbers
	}
	c := v.Clone()
	if c.Format(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.CanonicalizeRawFloats(true), jsontext.ReorderRawObjects(true)) != nil {
		return v
	}
	return c
}

// steadyValue is a value without what varies at random in it; nil for one that says no more than leaving it out.
func steadyValue(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return nil
	}
	v = canonical(v)
	switch k := v.Kind(); {
	case k == 'n' || string(v) == `""`:
		return nil
	case k != '{' && k != '[':
		return v
	}
	wrapped := append(append([]byte(`{"value":`), v...), '}')
	steady := classify.Steady(wrapped, false)
	if steady == string(wrapped) {
		return v
	}
	in, ok := member(jsontext.Value(steady), "value")
	if !ok {
		return nil
	}
	return in
}

// member is a member of an object, or an element of an array by its number.
func member(v jsontext.Value, name string) (jsontext.Value, bool) {
	for _, p := range partsOf(v) {
		if p.name == name {
			return p.value, true
		}
	}
	return nil, false
}

func at(v jsontext.Value, tokens []string) (jsontext.Value, bool) {
	for _, t := range tokens {
		next, ok := member(v, t)
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, len(v) > 0
}

// textOf is a string's text, and any other value as JSON.
func textOf(v jsontext.Value) string {
	if v.Kind() == '"' {
		if b, err := jsontext.AppendUnquote(nil, v); err == nil {
			return string(b)
		}
	}
	return string(v)
}

// arguments are those of a made call.
type arguments struct {
	plain, steady jsontext.Value
	parts         []part // of steady
	random        bool   // something in it differs from call to call without meaning another call
}

type leaf struct {
	pointer string
	value   jsontext.Value
}

func argumentsOf(v trajectory.Value) *arguments {
	if v.JSON == nil {
		return &arguments{plain: jsontext.Value("{}"), steady: jsontext.Value("{}")}
	}
	a := &arguments{plain: v.JSON, steady: jsontext.Value(classify.Steady(v.JSON, false))}
	a.parts = partsOf(a.steady)
	a.random = string(a.plain) != string(a.steady)
	return a
}

func appendLeaves(out []leaf, pointer string, v jsontext.Value) []leaf {
	if k := v.Kind(); k != '{' && k != '[' {
		return append(out, leaf{pointer, v})
	}
	for _, p := range partsOf(v) {
		out = appendLeaves(out, pointer+"/"+escape.Replace(p.name), p.value)
	}
	return out
}

// at is the value at a place.
func (a *arguments) at(tokens []string) (jsontext.Value, bool) {
	if len(tokens) == 0 {
		return a.steady, len(a.steady) > 0
	}
	for _, p := range a.parts {
		if p.name == tokens[0] {
			return at(p.value, tokens[1:])
		}
	}
	return nil, false
}

// volatile says that the value at a place is one that differs from call to call without meaning another call.
func (a *arguments) volatile(tokens []string) bool {
	if v, ok := a.at(tokens); !a.random || !ok || string(v) != `"#"` {
		return false
	}
	v, ok := at(a.plain, tokens)
	return ok && string(v) != `"#"`
}

// arguments compares the arguments of a made call with those of an expected one of the same tool. into collects why not, if it is there.
func (c *comparison) arguments(w, g int, into *Answer) truth {
	e, call := &c.want[w], &c.got[g]
	if e.Mode == "ignore" && len(e.fields) == 0 {
		return yes
	}
	cannot := func(what string) truth {
		if into != nil {
			into.Undecided = append(into.Undecided, fmt.Sprintf("the arguments of %s %s", short(e.Tool), what))
		}
		return unknown
	}
	switch v := call.Arguments; {
	case v.Truncated:
		return cannot("were cut or withheld: raise the exporter's limits, and let it record the content")
	case v.JSON == nil && strings.TrimSpace(v.Raw) != "":
		if into != nil {
			into.Mismatches = append(into.Mismatches, Mismatch{call.Step, "arguments", e.String(), short(v.Raw)})
		}
		return no
	case v.JSON == nil && len(e.fields) > 0:
		return cannot("are not in the data: have the instrumentation record the arguments of tool calls")
	}
	if call.args == nil {
		call.args = argumentsOf(call.Arguments)
	}
	all := yes
	for i := range e.fields {
		t := c.field(&e.fields[i], e.Mode, call, into)
		if all = min(all, t); all == no && into == nil {
			return no
		}
	}
	if e.Mode == "superset" || e.Mode == "ignore" {
		return all
	}
	for _, l := range e.unnamed(call.args) {
		all = no
		if into == nil {
			return no
		}
		into.Mismatches = append(into.Mismatches, Mismatch{call.Step, "arguments" + l.pointer, "absent", short(string(l.value))})
	}
	return all
}

// unnamed are the values of a call that no expected field names, those aside that differ at random.
func (e *expected) unnamed(a *arguments) (out []leaf) {
	if k := a.steady.Kind(); k != '{' && k != '[' && !e.names("") {
		return []leaf{{"", a.steady}}
	}
	for _, p := range a.parts {
		pointer := "/" + escape.Replace(p.name)
		if e.names(pointer) {
			continue
		}
		for _, l := range appendLeaves(nil, pointer, p.value) {
			if !e.names(l.pointer) && !a.volatile(tokensOf(l.pointer)) {
				out = append(out, l)
			}
		}
	}
	return out
}

// names says that an expected field is the place, or lies above it.
func (e *expected) names(pointer string) bool {
	return slices.ContainsFunc(e.fields, func(w wanted) bool {
		return w.pointer == pointer || strings.HasPrefix(pointer, w.pointer+"/")
	})
}

// field compares one field.
func (c *comparison) field(w *wanted, mode string, call *made, into *Answer) truth {
	if w.match == "ignore" {
		return yes
	}
	got, has := call.args.at(w.tokens)
	switch {
	case w.broken != "":
		if into != nil {
			into.Undecided = append(into.Undecided, w.broken)
		}
		return unknown
	case !has && (mode == "subset" || w.match == "exact" && w.value == nil):
		return yes
	case has && call.args.volatile(w.tokens):
		return yes
	}
	t, why := no, ""
	if has {
		t, why = c.value(w, got)
	}
	if into == nil || t == yes {
		return t
	}
	if t == unknown {
		into.Undecided = append(into.Undecided, fmt.Sprintf("%s%s: %s", short(call.Tool), w.pointer, why))
		return t
	}
	shown := "absent"
	if has {
		shown = short(string(got))
	}
	into.Mismatches = append(into.Mismatches, Mismatch{call.Step, "arguments" + w.pointer, w.expects(), shown})
	return t
}

func (w *wanted) expects() string {
	switch w.match {
	case "number":
		return w.shown() + " within 1 %"
	case "pattern":
		return "text like " + w.shown()
	case "semantic":
		return "the meaning of " + w.shown()
	}
	if w.value == nil {
		return "absent or empty"
	}
	return w.shown()
}

func (c *comparison) value(w *wanted, got jsontext.Value) (truth, string) {
	switch w.match {
	case "number":
		n, err := strconv.ParseFloat(strings.TrimSpace(textOf(got)), 64)
		return truthOf(err == nil && math.Abs(n-w.number) <= nearNumber*math.Abs(w.number)*(1+1e-12)), ""
	case "pattern":
		return truthOf(w.pattern.MatchString(textOf(got))), ""
	case "semantic":
		return c.m.meaning(textOf(w.value), textOf(got), DefaultThreshold)
	}
	return truthOf(string(w.value) == string(got)), ""
}

// SameValue says whether a value, as encoding/json decodes it, is the expected one, after what varies at random in both is taken off.
func SameValue(want regcase.JSON, got any) bool {
	b, err := json.Marshal(got, json.Deterministic(true))
	return err == nil && string(steadyValue(jsontext.Value(want))) == string(steadyValue(b))
}
