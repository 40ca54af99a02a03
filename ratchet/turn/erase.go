package turn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/verify"
)

// ErrNothing says that no file of a set holds the value that is to be erased.
var ErrNothing = errors.New("nothing in the set holds that value")

// Erase takes a value, such as a person's name, out of all that a set quotes: titles, inputs, fixtures, expectations and recordings. In its place stands
// verify.Erased, everywhere the same, so that what is equal stays equal; ids, tools, structure and states stay. Each field that changes gets its waiver,
// which names the values by their digests. Where the value is encoded, the word that holds it goes. left are the files that still hold the value in places that are not blanked. Nothing is changed by itself.
func Erase(src fs.FS, set regcase.Set, value, reason, issue string, now time.Time) (changes []Change, left []string, err error) {
	subject, err := redact.NewSubject(value)
	if err != nil {
		return nil, nil, err
	}
	if subject.In(reason + "\n" + issue) {
		return nil, nil, errors.New("the reason holds what is to be erased, and stays")
	}
	for _, e := range set.All() {
		cs, rest, err := erased(src, e, subject, reason, issue, now)
		if err != nil {
			return nil, nil, err
		}
		changes = append(changes, cs...)
		left = append(left, rest...)
	}
	for _, tool := range slices.Sorted(maps.Keys(set.Stubs)) {
		if b, err := fs.ReadFile(src, set.Stubs[tool].Path); err != nil {
			return nil, nil, err
		} else if subject.In(string(b)) {
			left = append(left, set.Stubs[tool].Path)
		}
	}
	if len(changes)+len(left) == 0 {
		return nil, nil, ErrNothing
	}
	return changes, left, nil
}

// erased blanks one case.
func erased(src fs.FS, e *regcase.Entry, subject redact.Subject, reason, issue string, now time.Time) (out []Change, left []string, err error) {
	trace, err := regcase.ReadTrace(src, e)
	if err != nil {
		return nil, nil, err
	}
	clean, err := blank(trace, subject)
	if err != nil {
		return nil, nil, fmt.Errorf("case %s: %s: %w", e.Case.ID, regcase.JSONFile, err)
	}
	c, err := blankCase(e.Case, subject)
	if err != nil {
		return nil, nil, fmt.Errorf("case %s: %w", e.Case.ID, err)
	}
	c.Trace.SHA256 = regcase.SHA256(clean)
	after, err := regcase.Encode(c)
	if err != nil {
		return nil, nil, err
	}
	file := path.Join(e.Dir, regcase.CaseFile)
	if subject.In(string(after)) {
		left = append(left, file)
	}
	before, err := regcase.Encode(e.Case)
	if err != nil || bytes.Equal(before, after) {
		return nil, left, err
	}
	if !bytes.Equal(trace, clean) {
		out = append(out, Change{Path: path.Join(e.Dir, regcase.JSONFile), Data: clean, Case: c.ID})
	}
	out = append(out, Change{Path: file, Data: after, Case: c.ID})
	waivers := slices.Clone(e.Waivers)
	for _, d := range Looser(&e.Case, &c, now) {
		w := regcase.Waiver{Field: d.Field, Base: unnamed(d.Base), Head: unnamed(d.Head), Reason: reason, Issue: issue}
		if why := verify.Unfit(w); why != "" {
			return nil, nil, fmt.Errorf("the waivers would waive nothing: %s", why)
		}
		waivers = append(waivers, w)
	}
	if len(waivers) > len(e.Waivers) {
		b, err := regcase.EncodeWaivers(waivers)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, Change{Path: path.Join(e.Dir, regcase.WaiversFile), Data: b, Case: c.ID})
	}
	return out, left, nil
}

// unnamed is a value by its digest: a waiver must not keep what was erased.
func unnamed(v regcase.JSON) regcase.JSON {
	return regcase.NewJSON([]byte(`"` + verify.DigestOf(v) + `"`))
}

// blankCase blanks the parts of a case that quote somebody.
func blankCase(c regcase.Case, subject redact.Subject) (regcase.Case, error) {
	parts := struct {
		Title    string            `json:"title"`
		Input    regcase.Input     `json:"input"`
		Fixtures []regcase.Fixture `json:"fixtures"`
		Expect   regcase.Expect    `json:"expect"`
	}{c.Title, c.Input, c.Fixtures, c.Expect}
	b, err := json.Marshal(parts, json.Deterministic(true))
	if err != nil {
		return c, err
	}
	if b, err = blank(b, subject); err != nil {
		return c, err
	}
	parts.Input, parts.Fixtures, parts.Expect = regcase.Input{}, nil, regcase.Expect{}
	if err := json.Unmarshal(b, &parts); err != nil {
		return c, err
	}
	c.Title, c.Input, c.Fixtures, c.Expect = parts.Title, parts.Input, parts.Fixtures, parts.Expect
	return c, nil
}

// blank replaces the value in every text of a JSON document, and a number that is the value; everything else stays byte for byte.
func blank(doc []byte, subject redact.Subject) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(doc))
	var out []byte
	at := int64(0)
	for {
		switch dec.PeekKind() {
		case '"', '0', 't', 'f', 'n':
			kind, n := dec.StackIndex(dec.StackDepth())
			v, err := dec.ReadValue()
			if err != nil {
				return nil, err
			}
			next, err := blankScalar(v, subject)
			if err != nil {
				return nil, err
			}
			if kind == '{' && n%2 == 0 && !bytes.Equal(next, v) {
				return nil, fmt.Errorf("a key holds the value at %s: it cannot be blanked", dec.StackPointer())
			}
			end := dec.InputOffset()
			out = append(append(out, doc[at:end-int64(len(v))]...), next...)
			at = end
		default:
			if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
				return append(out, doc[at:]...), nil
			} else if err != nil {
				return nil, err
			}
		}
	}
}

func blankScalar(v jsontext.Value, subject redact.Subject) (jsontext.Value, error) {
	if v.Kind() == '0' && subject.Is(string(v)) {
		return jsontext.Value(`"` + verify.Erased + `"`), nil
	}
	if v.Kind() != '"' {
		return v, nil
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		return nil, err
	}
	to := subject.Blank(s)
	if to == s {
		return v, nil
	}
	if t := strings.TrimSpace(s); t != "" && (t[0] == '{' || t[0] == '[') && jsontext.Value(s).IsValid() && !jsontext.Value(to).IsValid() {
		return nil, errors.New("the value stands as a number in JSON inside of a text: without it that would be no JSON any more")
	}
	b, err := jsontext.AppendQuote(nil, to)
	return b, err
}
