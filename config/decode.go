package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// decoder lays YAML nodes over Go values and goes on after a mistake, so that one run reports them all.
type decoder struct {
	name     string
	dir      string
	resolve  bool
	lines    []string
	places   map[string]*token.Token // by dotted key, for checks between fields
	texts    map[string]ast.Node     // values that are texts, by dotted key, for what others find in them
	literals []string                // secrets that stand in the file, not to be shown
	problems Problems
}

// field is what the decoder knows of the value it fills: its dotted key and the tags of its struct field.
type field struct {
	key string
	tag reflect.StructTag
	at  *token.Token // of the key, where it has one
}

type defaulter interface{ setDefaults() }

var (
	secretType = reflect.TypeFor[Secret]()
	schemaType = reflect.TypeFor[JSONSchema]()
	textType   = reflect.TypeFor[encoding.TextUnmarshaler]()
	enumType   = reflect.TypeFor[enum]()
)

func (d *decoder) value(n ast.Node, v reflect.Value, f field) {
	if f.at != nil {
		d.places[f.key] = f.at
	}
	if n == nil || n.Type() == ast.NullType {
		d.null(n, v, f)
		return
	}
	switch t := v.Type(); {
	case t == secretType:
		d.secret(n, v, f)
	case t == schemaType:
		d.schema(n, v, f)
	case t.Implements(textType) || reflect.PointerTo(t).Implements(textType):
		d.text(n, v, f)
	case t.Kind() == reflect.Pointer:
		fresh := reflect.New(t.Elem())
		d.value(n, fresh.Elem(), field{key: f.key, tag: f.tag})
		v.Set(fresh)
	case t.Kind() == reflect.Struct:
		d.structure(n, v, f)
	case t.Kind() == reflect.Map:
		d.mapping(n, v, f)
	case t.Kind() == reflect.Slice:
		d.sequence(n, v, f)
	default:
		d.scalar(n, v, f)
	}
}

// null keeps the defaults of a section whose lines are all commented out; a single value must say what null means.
func (d *decoder) null(n ast.Node, v reflect.Value, f field) {
	if _, ok := f.tag.Lookup("null"); ok {
		v.SetZero()
		return
	}
	switch {
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Map:
		v.SetZero()
	case v.Kind() == reflect.Struct && v.Type() != secretType && f.at != nil:
	default:
		d.report(f.key, tokenOf(n, f), "`"+f.key+"` has no value", "give it one, or leave the line out")
	}
}

func (d *decoder) structure(n ast.Node, v reflect.Value, f field) {
	t := v.Type()
	seen := map[string]bool{}
	for _, kv := range d.entries(n, f) {
		i := slices.IndexFunc(reflect.VisibleFields(t), func(sf reflect.StructField) bool { return sf.Tag.Get("yaml") == kv.name })
		if i < 0 {
			d.unknown(kv, t, f)
			continue
		}
		seen[kv.name] = true
		d.value(kv.value, v.Field(i), field{join(f.key, kv.name), t.Field(i).Tag, kv.at})
	}
	for sf := range t.Fields() {
		name := sf.Tag.Get("yaml")
		if sf.Tag.Get("required") == "true" && !seen[name] && v.FieldByIndex(sf.Index).IsZero() {
			d.report(join(f.key, name), tokenOf(n, f), "`"+join(f.key, name)+"` is missing", "")
		}
	}
}

func (d *decoder) unknown(kv entry, t reflect.Type, f field) {
	advice := advise(kv.name, keys(t))
	if home := homes(reflect.TypeFor[Config](), "", kv.name); len(home) > 0 && Nearest(kv.name, keys(t)) == "" {
		advice = "`" + kv.name + "` belongs under `" + home[0] + "`"
	}
	d.report(join(f.key, kv.name), kv.at, "unknown key `"+oneLine(kv.name)+"`", advice)
}

// keys lists the keys that a struct takes, in its order.
func keys(t reflect.Type) []string {
	var names []string
	for sf := range t.Fields() {
		names = append(names, sf.Tag.Get("yaml"))
	}
	return names
}

// homes lists the sections that take the key name.
func homes(t reflect.Type, at, name string) []string {
	var found []string
	for sf := range t.Fields() {
		key := sf.Tag.Get("yaml")
		if key == name && at != "" {
			found = append(found, at)
		}
		if sf.Type.Kind() == reflect.Struct && sf.Type != secretType {
			found = append(found, homes(sf.Type, join(at, key), name)...)
		}
	}
	return found
}

type entry struct {
	name  string
	at    *token.Token
	value ast.Node
}

// entries returns the pairs of a mapping, without those that repeat a key.
func (d *decoder) entries(n ast.Node, f field) []entry {
	var pairs []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		pairs = m.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{m}
	default:
		d.wrong(n, f, "a section of keys")
		return nil
	}
	var all []entry
	first := map[string]*token.Token{}
	for _, p := range pairs {
		at := p.Key.GetToken()
		if before, ok := first[at.Value]; ok {
			d.report(join(f.key, at.Value), at, "duplicate key `"+oneLine(at.Value)+"`", fmt.Sprintf("the first is at line %d", before.Position.Line))
			continue
		}
		first[at.Value] = at
		all = append(all, entry{at.Value, at, p.Value})
	}
	return all
}

func (d *decoder) mapping(n ast.Node, v reflect.Value, f field) {
	t := v.Type()
	v.Set(reflect.MakeMap(t))
	for _, kv := range d.entries(n, f) {
		if e, ok := reflect.Zero(t.Key()).Interface().(enum); ok && !slices.Contains(e.Values(), kv.name) {
			d.report(join(f.key, kv.name), kv.at, "unknown key `"+oneLine(kv.name)+"`", advise(kv.name, e.Values()))
			continue
		}
		fresh := reflect.New(t.Elem()).Elem()
		d.value(kv.value, fresh, field{join(f.key, kv.name), f.tag, kv.at})
		v.SetMapIndex(reflect.ValueOf(kv.name).Convert(t.Key()), fresh)
	}
}

func (d *decoder) sequence(n ast.Node, v reflect.Value, f field) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.wrong(n, f, "a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	for i, item := range seq.Values {
		element := v.Index(i)
		if e, ok := element.Addr().Interface().(defaulter); ok {
			e.setDefaults()
		}
		key := fmt.Sprintf("%s[%d]", f.key, i)
		d.places[key] = tokenOf(item, f)
		d.value(item, element, field{key: key})
	}
}

func (d *decoder) secret(n ast.Node, v reflect.Value, f field) {
	text, ok := d.scalarText(n, f)
	if !ok {
		return
	}
	if len(text) > 3 && !reference.MatchString(text) {
		d.literals = append(d.literals, text)
	}
	s, err := secretFrom(text, d.dir, d.resolve)
	if err != nil {
		d.report(f.key, n.GetToken(), "`"+f.key+"`: "+err.Error(), "")
		return
	}
	v.Set(reflect.ValueOf(s))
}

func (d *decoder) text(n ast.Node, v reflect.Value, f field) {
	text, ok := d.scalarText(n, f)
	if !ok || !d.literal(n, text, f) {
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
	} else {
		v = v.Addr()
	}
	if err := v.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		d.report(f.key, n.GetToken(), "`"+f.key+"`: "+oneLine(err.Error()), "")
		return
	}
	if v.Elem().CanInt() {
		d.bounds(n, float64(v.Elem().Int()), f)
	}
}

// literal refuses ${...} outside of secrets: nothing else is read from the environment.
func (d *decoder) literal(n ast.Node, text string, f field) bool {
	if !reference.MatchString(text) {
		return true
	}
	d.report(f.key, n.GetToken(), "`"+f.key+"` takes no "+text, "only secrets are read from the environment or a file")
	return false
}

func (d *decoder) scalar(n ast.Node, v reflect.Value, f field) {
	text, ok := d.scalarText(n, f)
	if !ok || !d.literal(n, text, f) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		d.word(n, text, v, f)
	case reflect.Bool:
		if n.Type() != ast.BoolType {
			d.wrong(n, f, "true or false")
			return
		}
		v.SetBool(text == "true")
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || n.Type() == ast.StringType {
			d.wrong(n, f, "a number")
			return
		}
		v.SetFloat(x)
		d.bounds(n, x, f)
	default:
		x, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n.Type() != ast.IntegerType {
			d.wrong(n, f, "a whole number")
			return
		}
		v.SetInt(x)
		d.bounds(n, float64(x), f)
	}
}

func (d *decoder) word(n ast.Node, text string, v reflect.Value, f field) {
	if e, ok := v.Interface().(enum); ok && !slices.Contains(e.Values(), text) {
		d.report(f.key, n.GetToken(), "`"+f.key+"` cannot be `"+oneLine(text)+"`", advise(text, e.Values()))
		return
	}
	if n.Type() != ast.StringType && n.Type() != ast.LiteralType {
		d.wrong(n, f, "text, so put it in quotes")
		return
	}
	if text == "" {
		d.report(f.key, n.GetToken(), "`"+f.key+"` is empty", "give it a value, or leave the line out")
		return
	}
	v.SetString(text)
	d.texts[f.key] = n
}

func (d *decoder) bounds(n ast.Node, x float64, f field) {
	if lo, ok := bound(f.tag.Get("min")); ok && x < lo {
		d.report(f.key, n.GetToken(), "`"+f.key+"` is less than "+f.tag.Get("min"), "")
	}
	if hi, ok := bound(f.tag.Get("max")); ok && x > hi {
		d.report(f.key, n.GetToken(), "`"+f.key+"` is more than "+f.tag.Get("max"), "")
	}
}

// bound reads a min or max tag, which is a number or a size.
func bound(tag string) (float64, bool) {
	if x, err := strconv.ParseFloat(tag, 64); err == nil {
		return x, true
	}
	var size Bytes
	err := size.UnmarshalText([]byte(tag))
	return float64(size), err == nil
}

// scalarText returns the text of a single value as it is written, without quotes.
func (d *decoder) scalarText(n ast.Node, f field) (string, bool) {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, true
	case *ast.LiteralNode:
		return s.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NanNode, *ast.InfinityNode:
		return n.GetToken().Value, true
	}
	d.wrong(n, f, "a single value")
	return "", false
}

func (d *decoder) schema(n ast.Node, v reflect.Value, f field) {
	if n.Type() != ast.MappingType && n.Type() != ast.MappingValueType {
		d.wrong(n, f, "a JSON Schema, which is a section of keys")
		return
	}
	before := len(d.problems)
	plain := d.plain(n, f)
	if len(d.problems) > before {
		return
	}
	data, err := json.Marshal(plain)
	if err != nil {
		d.report(f.key, n.GetToken(), "`"+f.key+"`: "+err.Error(), "")
		return
	}
	v.SetBytes(data)
}

// plain turns a node into the values that encoding/json writes.
func (d *decoder) plain(n ast.Node, f field) any {
	switch s := n.(type) {
	case nil, *ast.NullNode:
		return nil
	case *ast.MappingNode, *ast.MappingValueNode:
		m := map[string]any{}
		for _, kv := range d.entries(n, f) {
			m[kv.name] = d.plain(kv.value, field{key: join(f.key, kv.name), at: kv.at})
		}
		return m
	case *ast.SequenceNode:
		list := make([]any, len(s.Values))
		for i, item := range s.Values {
			list[i] = d.plain(item, f)
		}
		return list
	case *ast.BoolNode:
		return s.Value
	case *ast.IntegerNode:
		return s.Value
	case *ast.FloatNode:
		return s.Value
	}
	text, _ := d.scalarText(n, f)
	return text
}

func (d *decoder) wrong(n ast.Node, f field, want string) {
	name := "`" + f.key + "`"
	if f.key == "" {
		name = d.name
	}
	d.report(f.key, tokenOf(n, f), name+" wants "+want, "")
}

// place returns the token of key, or of the nearest section around it.
func (d *decoder) place(key string) *token.Token {
	for key != "" {
		if at, ok := d.places[key]; ok {
			return at
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return nil
}

func tokenOf(n ast.Node, f field) *token.Token {
	if f.at != nil && (n == nil || n.Type() == ast.MappingType || n.Type() == ast.NullType) {
		return f.at
	}
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	if n == nil {
		return nil
	}
	return n.GetToken()
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}
