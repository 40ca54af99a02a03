package regcase

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
)

// The bytes of a file are this package's own, not a library's: an upgrade of a library must not rewrite every set.

// encodeYAML gives the canonical YAML of a struct or a list of structs: block style in the order of the fields, maps by key, foreign JSON in
// flow style on one line, and quotes round every text that some reader might take for something else.
func encodeYAML(v any) ([]byte, error) {
	w := &yamlWriter{}
	if err := w.value(reflect.ValueOf(v), 0, false); err != nil {
		return nil, err
	}
	return append(bytes.TrimLeft(w.b.Bytes(), "\n "), '\n'), nil
}

type yamlWriter struct{ b bytes.Buffer }

// yamlField is one pair of a mapping.
type yamlField struct {
	name  string
	value reflect.Value
}

// value writes what comes after a key or a dash: a blank and a scalar, or lines that are indented by indent. inItem says that the first pair
// of a mapping goes on the line of a dash.
func (w *yamlWriter) value(v reflect.Value, indent int, inItem bool) error {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			w.b.WriteString(" null")
			return nil
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case JSON:
		return w.flow(x)
	case time.Time:
		w.b.WriteString(" " + quoteYAML(x.UTC().Format(time.RFC3339Nano)))
		return nil
	case State:
		if x.Name == Pending || x.Name == Enforced {
			w.b.WriteString(" " + string(x.Name))
			return nil
		}
		return w.mapping([]yamlField{{string(x.Name), reflect.ValueOf(x.detail())}}, indent, inItem)
	case classify.Fingerprint:
		return w.fingerprint(x, indent, inItem)
	case encoding.TextMarshaler:
		return fmt.Errorf("cannot write a %s", v.Type())
	}
	switch v.Kind() {
	case reflect.Struct:
		return w.mapping(fieldsOf(v), indent, inItem)
	case reflect.Map:
		return w.mapping(pairsOf(v), indent, inItem)
	case reflect.Slice:
		return w.sequence(v, indent)
	case reflect.String:
		w.text(v.String(), indent)
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		b, err := json.Marshal(v.Interface())
		if err != nil {
			return err
		}
		w.b.WriteString(" " + string(b))
	default:
		return fmt.Errorf("cannot write a %s", v.Type())
	}
	return nil
}

func fieldsOf(v reflect.Value) []yamlField {
	var out []yamlField
	for sf := range v.Type().Fields() {
		name, opts, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if strings.Contains(opts, "omitzero") && v.FieldByIndex(sf.Index).IsZero() {
			continue
		}
		out = append(out, yamlField{name, v.FieldByIndex(sf.Index)})
	}
	return out
}

func pairsOf(v reflect.Value) []yamlField {
	var out []yamlField
	for _, k := range v.MapKeys() {
		out = append(out, yamlField{k.String(), v.MapIndex(k)})
	}
	slices.SortFunc(out, func(a, b yamlField) int { return strings.Compare(a.name, b.name) })
	return out
}

func (w *yamlWriter) mapping(pairs []yamlField, indent int, inItem bool) error {
	if len(pairs) == 0 {
		w.b.WriteString(" {}")
		return nil
	}
	for i, p := range pairs {
		if i == 0 && inItem {
			w.b.WriteByte(' ')
		} else {
			w.line(indent)
		}
		w.b.WriteString(scalar(p.name) + ":")
		if err := w.value(p.value, indent+2, false); err != nil {
			return err
		}
	}
	return nil
}

func (w *yamlWriter) sequence(v reflect.Value, indent int) error {
	if v.Len() == 0 {
		w.b.WriteString(" []")
		return nil
	}
	for i := range v.Len() {
		w.line(indent)
		w.b.WriteByte('-')
		if err := w.value(v.Index(i), indent+2, true); err != nil {
			return err
		}
	}
	return nil
}

func (w *yamlWriter) line(indent int) {
	w.b.WriteByte('\n')
	w.b.WriteString(strings.Repeat(" ", indent))
}

// flow writes JSON as it reads best on one line, with every character that does not show as an escape.
func (w *yamlWriter) flow(j JSON) error {
	if j == nil {
		w.b.WriteString(" null")
		return nil
	}
	v := jsontext.Value(j).Clone()
	if err := v.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true), jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return err
	}
	w.b.WriteString(" " + escapeHidden(string(v)))
	return nil
}

func (w *yamlWriter) fingerprint(f classify.Fingerprint, indent int, inItem bool) error {
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	var raw struct {
		ID      string   `json:"id"`
		Version int      `json:"version"`
		Label   string   `json:"label"`
		Service string   `json:"service"`
		Agent   string   `json:"agent"`
		Parts   JSON     `json:"parts"`
		Aliases []string `json:"aliases"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	return w.mapping(fieldsOf(reflect.ValueOf(raw)), indent, inItem)
}

// text writes a text of several lines as a literal block where that shows it as it is, and any other on its line.
func (w *yamlWriter) text(s string, indent int) {
	if !literal.MatchString(s) || hidden(s) {
		w.b.WriteString(" " + scalar(s))
		return
	}
	body, ended := strings.CutSuffix(s, "\n")
	w.b.WriteString(" |")
	if !ended {
		w.b.WriteByte('-')
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line == "" {
			w.b.WriteByte('\n')
			continue
		}
		w.line(indent)
		w.b.WriteString(line)
	}
}

var (
	// plain is a text that no reader of YAML 1.1 or 1.2 takes for a number, a date, a special value or syntax.
	plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_ ./@,()=+:<>-]*[A-Za-z0-9_./)]$|^[A-Za-z_]$`)
	words = regexp.MustCompile(`(?i)^(null|true|false|yes|no|on|off|y|n)$`)
	// literal is a text of at least two lines, none of which begins or ends in a blank, and with at most one line feed at its end.
	literal = regexp.MustCompile(`^[^\s](?:[^\n]*[^\s])?(?:\n+[^\s](?:[^\n]*[^\s])?)+\n?$|^[^\s](?:[^\n]*[^\s])?\n$`)
)

func scalar(s string) string {
	if plain.MatchString(s) && !words.MatchString(s) && !strings.Contains(s, ": ") && !strings.Contains(s, "  ") {
		return s
	}
	return quoteYAML(s)
}

// quoteYAML is the text in double quotes with JSON's escapes, which are YAML's too.
func quoteYAML(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return `""` // refused by check before: the text is not UTF-8
	}
	return escapeHidden(string(b))
}

// hidden says whether a text holds characters that do not show as themselves.
func hidden(s string) bool { return strings.IndexFunc(s, isHidden) >= 0 }

func isHidden(r rune) bool {
	return r != '\n' && r != ' ' && (!unicode.IsPrint(r) || r == unicode.ReplacementChar)
}

func escapeHidden(s string) string {
	if !hidden(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !isHidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteString(`\U` + hexRune(r, 8))
		default:
			b.WriteString(`\u` + hexRune(r, 4))
		}
	}
	return b.String()
}

func hexRune(r rune, width int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", width-len(s)) + s
}
