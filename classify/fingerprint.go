package classify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// FingerprintVersion is the version of the parts that rules put into fingerprints today.
const FingerprintVersion = 1

// Fingerprint says which failure a finding is: two findings with equal fingerprints are the same failure. It is made of names, keys, codes and
// small numbers only, never of argument or message values, since it names files and reaches pull requests. A change of what the parts mean
// changes Version, and the old digest goes into Aliases.
//
// As JSON and YAML it is {id, version, label, service, agent, parts, aliases}; id is derived and is not read back.
type Fingerprint struct {
	Version int
	Label   Label
	Service string
	Agent   string
	Parts   []Part   // by key, sorted
	Aliases []string // digests under which the same failure was known, sorted
}

// Part is one named part of a fingerprint: a name, a list of names, or a number. Make it with Name, Names, Number, Pointer, Route or Word.
type Part struct {
	Key   string
	Value jsontext.Value // canonical JSON: a string, a list of strings, or a number
}

// NewFingerprint returns a fingerprint of the current version; service and agent are made safe as names are, parts are sorted by key.
func NewFingerprint(label Label, service, agent string, parts ...Part) Fingerprint {
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Compare(a.Key, b.Key) })
	return Fingerprint{Version: FingerprintVersion, Label: label, Service: SafeName(service), Agent: SafeName(agent), Parts: parts}
}

// Name is a part that holds one name out of the trace, made safe by SafeName.
func Name(key, name string) Part { return Part{key, quote(SafeName(name))} }

// Names is a part that holds a set of names, made safe, sorted, without doubles.
func Names(key string, names ...string) Part {
	safe := make([]string, 0, len(names))
	for _, n := range names {
		safe = append(safe, SafeName(n))
	}
	slices.Sort(safe)
	return Part{key, marshal(slices.Compact(safe))}
}

// Number is a part that holds a number which the rule itself counted, such as the period of a loop.
func Number(key string, n int) Part { return Part{key, marshal(n)} }

// Word is a part that holds one of the rule's own words.
func Word(key, word string) Part { return Part{key, quote(word)} }

// Pointer is a part that holds a JSON pointer: indices become *, every other segment is made safe as a name.
func Pointer(key string, segments []string) Part { return Part{key, quote(SafePointer(segments))} }

// Route is a part that holds a route: the segments between slashes and blanks are scrubbed and made safe one by one.
func Route(key, route string) Part { return Part{key, quote(SafeRoute(route))} }

// SafePointer renders a JSON pointer with indices as * and unsafe segments hashed. The root is "".
func SafePointer(segments []string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		if isDigits(s) {
			b.WriteByte('*')
			continue
		}
		b.WriteString(SafeName(s))
	}
	return b.String()
}

// SafeRoute renders a route with numbers and ids as #, the placeholders of path templates ({id}, :id) as * and unsafe segments hashed.
func SafeRoute(route string) string {
	words := strings.Fields(Scrub(route))
	for i, w := range words {
		segments := strings.Split(w, "/")
		for j, s := range segments {
			segments[j] = safeSegment(s)
		}
		words[i] = strings.Join(segments, "/")
	}
	return strings.Join(words, " ")
}

func safeSegment(s string) string {
	if len(s) > 1 && (s[0] == ':' || s[0] == '{' && s[len(s)-1] == '}' || s[0] == '<' && s[len(s)-1] == '>') || s == "*" {
		return "*"
	}
	return SafeName(s)
}

// SafeName returns a name as it may appear in ids, titles and pull requests: ids inside it become #, and what is not made of 1 to 64
// characters of [A-Za-z0-9_.-] and # after that is replaced by "h." and twelve letters of its hash. "" stays "". It is idempotent.
func SafeName(name string) string {
	s := ScrubIDs(name)
	if s == "" || len(s) <= maxName && strings.IndexFunc(s, unsafeRune) < 0 {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "h." + letters(sum[:6])
}

const maxName = 64

// letters spells bytes in the letters a to p, one per four bits: no digits, so that scrubbing leaves the hash alone.
func letters(b []byte) string {
	out := make([]byte, 0, 2*len(b))
	for _, c := range b {
		out = append(out, 'a'+c>>4, 'a'+c&15)
	}
	return string(out)
}

func unsafeRune(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("_.-#", r)
}

// Part returns a part's value, a text without its quotes and anything else as JSON; "" when there is no such part.
func (f Fingerprint) Part(key string) string {
	for _, p := range f.Parts {
		if p.Key != key {
			continue
		}
		if b, err := jsontext.AppendUnquote(nil, p.Value); err == nil {
			return string(b)
		}
		return string(p.Value)
	}
	return ""
}

// Digest is the sha256, in hex, over the canonical JSON of everything but the aliases.
func (f Fingerprint) Digest() string {
	b, err := json.Marshal(f.fields(), json.Deterministic(true))
	if err != nil {
		return "" // cannot happen: the fields are strings, a number and valid JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ID is the name under which the failure is kept: the label and the first ten hex digits of the digest, e.g. loop-3f9a1c02d4.
func (f Fingerprint) ID() string { return string(f.Label) + "-" + f.Digest()[:10] }

// Equal says whether both are the same failure by the same version of the parts. Aliases do not count.
func (f Fingerprint) Equal(g Fingerprint) bool { return f.Digest() == g.Digest() }

// IsZero says whether the fingerprint was never made.
func (f Fingerprint) IsZero() bool { return f.Label == "" && f.Version == 0 }

type fingerprintFields struct {
	ID      string   `json:"id,omitzero"`
	Version int      `json:"version"`
	Label   Label    `json:"label"`
	Service string   `json:"service"`
	Agent   string   `json:"agent"`
	Parts   parts    `json:"parts"`
	Aliases []string `json:"aliases,omitzero"`
}

func (f Fingerprint) fields() fingerprintFields {
	return fingerprintFields{Version: f.Version, Label: f.Label, Service: f.Service, Agent: f.Agent, Parts: f.Parts}
}

// MarshalJSON writes the object named in the type's comment; equal fingerprints give equal bytes.
func (f Fingerprint) MarshalJSON() ([]byte, error) {
	v := f.fields()
	v.ID = f.ID()
	v.Aliases = append([]string{}, f.Aliases...)
	return json.Marshal(v)
}

// UnmarshalJSON reads what MarshalJSON wrote. A stated id that does not fit the parts is an error: somebody edited one of the two.
func (f *Fingerprint) UnmarshalJSON(b []byte) error {
	var v fingerprintFields
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("read fingerprint: %w", err)
	}
	return f.set(v)
}

// MarshalYAML gives the same object as JSON, with its keys in the same order.
func (f Fingerprint) MarshalYAML() ([]byte, error) {
	var b strings.Builder
	b.WriteString("id: " + f.ID() + "\n")
	fmt.Fprintf(&b, "version: %d\nlabel: %s\nservice: %s\nagent: %s\n", f.Version, quote(string(f.Label)), quote(f.Service), quote(f.Agent))
	p, err := parts(f.Parts).MarshalJSON()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "parts: %s\naliases: %s\n", spaced(p), spaced(marshal(append([]string{}, f.Aliases...))))
	return []byte(b.String()), nil
}

// UnmarshalYAML reads what MarshalYAML wrote, under the same check as UnmarshalJSON.
func (f *Fingerprint) UnmarshalYAML(unmarshal func(any) error) error {
	var raw struct {
		ID      string         `yaml:"id"`
		Version int            `yaml:"version"`
		Label   Label          `yaml:"label"`
		Service string         `yaml:"service"`
		Agent   string         `yaml:"agent"`
		Parts   map[string]any `yaml:"parts"`
		Aliases []string       `yaml:"aliases"`
	}
	if err := unmarshal(&raw); err != nil {
		return err
	}
	p, err := json.Marshal(raw.Parts, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("read fingerprint: parts: %w", err)
	}
	v := fingerprintFields{ID: raw.ID, Version: raw.Version, Label: raw.Label, Service: raw.Service, Agent: raw.Agent, Aliases: raw.Aliases}
	if err := v.Parts.UnmarshalJSON(p); err != nil {
		return err
	}
	return f.set(v)
}

func (f *Fingerprint) set(v fingerprintFields) error {
	got := Fingerprint{Version: v.Version, Label: v.Label, Service: v.Service, Agent: v.Agent, Parts: v.Parts, Aliases: v.Aliases}
	if v.ID != "" && v.ID != got.ID() {
		return fmt.Errorf("read fingerprint: id %q does not fit its parts, which give %q", v.ID, got.ID())
	}
	*f = got
	return nil
}

// parts is the JSON object form of a list of parts.
type parts []Part

// MarshalJSON writes one object, keys in the list's order.
func (p parts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, x := range p {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quote(x.Key)...)
		b = append(b, ':')
		b = append(b, x.Value...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads one object and sorts its keys.
func (p *parts) UnmarshalJSON(b []byte) error {
	var m map[string]jsontext.Value
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("read fingerprint: parts: %w", err)
	}
	*p = make(parts, 0, len(m))
	for k, v := range m {
		if err := v.Canonicalize(); err != nil {
			return fmt.Errorf("read fingerprint: part %s: %w", k, err)
		}
		*p = append(*p, Part{k, v})
	}
	slices.SortFunc(*p, func(a, b Part) int { return cmp.Compare(a.Key, b.Key) })
	return nil
}

func marshal[T int | []string](v T) jsontext.Value {
	b, err := json.Marshal(v)
	if err != nil {
		return jsontext.Value("null") // only text that is not UTF-8 gets here; SafeName has hashed it before
	}
	return b
}

func quote(s string) jsontext.Value {
	b, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "?"))
	if err != nil {
		return jsontext.Value(`"?"`)
	}
	return b
}

// spaced writes JSON as the YAML flow form reads best: a blank after each comma and colon.
func spaced(v jsontext.Value) string {
	c := slices.Clone(v)
	if err := c.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true)); err != nil {
		return string(v)
	}
	return string(c)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
