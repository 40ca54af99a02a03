package classify

import "testing"

// Two fingerprints are one failure if and only if nothing is named in which they differ.
func TestDifferences(t *testing.T) {
	base := NewFingerprint(Loop, "shop", "support", Names("tools", "get_order"), Number("period", 1), Word("result", "same"))
	for want, other := range map[string]Fingerprint{
		"":        NewFingerprint(Loop, "shop", "support", Word("result", "same"), Number("period", 1), Names("tools", "get_order", "get_order")),
		"label":   NewFingerprint(MissingReadback, "shop", "support", base.Parts...),
		"service": NewFingerprint(Loop, "desk", "support", base.Parts...),
		"agent":   NewFingerprint(Loop, "shop", "sales", base.Parts...),
		"tools":   NewFingerprint(Loop, "shop", "support", Names("tools", "get_orders"), Number("period", 1), Word("result", "same")),
		"period":  NewFingerprint(Loop, "shop", "support", Names("tools", "get_order"), Word("period", "1"), Word("result", "same")),
		"result":  NewFingerprint(Loop, "shop", "support", Names("tools", "get_order"), Number("period", 1)),
		"version": {Version: 2, Label: Loop, Service: "shop", Agent: "support", Parts: base.Parts},
	} {
		got := Differences(base, other)
		if (len(got) == 0) != base.Equal(other) || (len(got) == 0) != (want == "") {
			t.Fatalf("%s: %+v", want, got)
		}
		if want != "" && (len(got) != 1 || got[0].Key != want) {
			t.Errorf("%s: %+v", want, got)
		}
	}
	old := Fingerprint{Version: 2, Label: Loop, Service: "shop", Agent: "support", Parts: base.Parts, Aliases: []string{base.Digest()}}
	if !old.Knows(base.Digest()) || base.Knows(old.Digest()) {
		t.Error("an alias is known by the one that names it")
	}
}
