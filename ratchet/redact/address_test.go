package redact

import (
	"encoding/json"
	"testing"
)

// TestAddressInPieces: an address that no piece shows whole is refused; what only the putting together makes look like one is not.
func TestAddressInPieces(t *testing.T) {
	r := newRedactor(t, Options{})
	for _, tt := range []struct {
		pieces []string
		leaks  bool
	}{
		{[]string{"maya.", "lind@", "acme.org"}, true},
		{[]string{"maya@acme", ".org"}, true},
		{[]string{"maya@acme.", "org", "Thank you"}, true}, // glued to what follows
		{[]string{"maya@ac", "me.org", "then"}, true},
		{[]string{"maya@ac", "me.orgThen we left"}, true},
		{[]string{"maya@ac", "me.org.", "Then"}, true},
		{[]string{"maya@ac", "me.org.Then we left"}, true},
		{[]string{"maya@ac", "me.org2024"}, true},
		{[]string{"MAYA@AC", "ME.ORG"}, true},
		{[]string{"maya@1", "63.com"}, true}, // domains that begin with a number
		{[]string{"maya@163", ".com"}, true},
		{[]string{"maya@3.1", "63.com"}, true},
		{[]string{"maya@v4", "tech.de"}, true},
		{[]string{"users/maya@ac", "me.org"}, true},
		{[]string{"mailto://maya@", "mail.acme.co.uk"}, true},
		{[]string{"x@y.z/maya@ac", "me.org"}, true},
		{[]string{"maya@pc.acme.", "internal"}, true},
		{[]string{"почта@при", "мер.рф"}, true},
		{[]string{"maya@xn--e1afmkfd.xn--", "p1ai"}, true},
		{[]string{"@acme/tool@7.10.7", "app.note.3"}, false},
		{[]string{"@acme/tool@7.10.7", "app.run"}, false},
		{[]string{"@acme/tool@7.", "10.7", "app.run"}, false},
		{[]string{"@acme/tool@7.10.7-beta.1", "main.py"}, false},
		{[]string{"tool@v1.2.3", "main.py"}, false},
		{[]string{"use @types/node@latest", "main.py"}, false},
		{[]string{"@types/node@20", "main.py"}, false},
		{[]string{"loop@1", "app.note"}, false},
		{[]string{"root@host", "gen.completion"}, false},
		{[]string{"a@", "b"}, false},
	} {
		list, err := json.Marshal(tt.pieces)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []string{string(list), deltas(tt.pieces...), `{"x":` + string(list) + `,"y":1}`} {
			if err := r.Verify([]byte(in)); (err != nil) != tt.leaks {
				t.Errorf("%s: %v, want a leak: %v", in, err, tt.leaks)
			}
		}
	}
}
