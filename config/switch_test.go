package config

import "testing"

func TestSwitch(t *testing.T) {
	for text, want := range map[string]bool{"": true, "enabled: true\n": true, "enabled: false\n": false, "targets: []\nenabled: false # for now\n": false, "a_key_of_tomorrow: {x: 1}\n": true, "enabled: null\n": true} {
		if got, err := Switch(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"enabled: \"no\"\n", "enabled: 0\n", "- a\n", "a: [\n"} {
		if _, err := Switch(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func FuzzSwitch(f *testing.F) {
	f.Add("enabled: false\n")
	f.Add("a: &a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) { _, _ = Switch(text) })
}
