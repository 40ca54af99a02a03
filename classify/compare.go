package classify

import "slices"

// Difference is one part in which two fingerprints differ, each as JSON; "" where one has no such part.
type Difference struct {
	Key string `json:"key"`
	A   string `json:"a"`
	B   string `json:"b"`
}

// Differences returns why two fingerprints are not the same failure, in the order in which they are written; none when they are Equal.
func Differences(a, b Fingerprint) []Difference {
	out := []Difference{}
	add := func(key, x, y string) {
		if x != y {
			out = append(out, Difference{key, x, y})
		}
	}
	add("version", string(marshal(a.Version)), string(marshal(b.Version)))
	add("label", string(a.Label), string(b.Label))
	add("service", a.Service, b.Service)
	add("agent", a.Agent, b.Agent)
	var keys []string
	for _, p := range append(slices.Clone(a.Parts), b.Parts...) {
		keys = append(keys, p.Key)
	}
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		add(k, a.raw(k), b.raw(k))
	}
	return out
}

// raw is a part as it counts: its JSON, so that the number 1 is not the text "1".
func (f Fingerprint) raw(key string) string {
	for _, p := range f.Parts {
		if p.Key == key {
			return string(p.Value)
		}
	}
	return ""
}

// Knows says whether f is known to be the failure that the digest names: it is its own, or among its aliases.
func (f Fingerprint) Knows(digest string) bool {
	return f.Digest() == digest || slices.Contains(f.Aliases, digest)
}
