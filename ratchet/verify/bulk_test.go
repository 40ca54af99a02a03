package verify

import "testing"

// TestBlanked holds an erasure to what it is: pieces of texts that gave way to the mark, and nothing else.
func TestBlanked(t *testing.T) {
	for name, c := range map[string]struct {
		base, head string
		want       bool
	}{
		"the same":               {`{"a":"Ines Falk","b":[1,true,null]}`, `{"a":"Ines Falk","b":[1,true,null]}`, true},
		"a name":                 {`{"a":"mail to Ines Falk today"}`, `{"a":"mail to [erased] today"}`, true},
		"two names":              {`["Ines and Tom went"]`, `["[erased] and [erased] went"]`, true},
		"all of it":              {`["Ines"]`, `["[erased]"]`, true},
		"a number":               {`{"phone":4915112345678}`, `{"phone":"[erased]"}`, true},
		"another word":           {`["mail to Ines"]`, `["post to [erased]"]`, false},
		"a word more":            {`["mail to Ines"]`, `["mail to [erased], or not"]`, false},
		"without the mark":       {`["mail to Ines"]`, `["mail to "]`, false},
		"pieces that overlap":    {`["aXa"]`, `["aX[erased]Xa"]`, false},
		"a member gone":          {`{"a":"x","b":"y"}`, `{"a":"x"}`, false},
		"a member renamed":       {`{"a":"x"}`, `{"b":"x"}`, false},
		"an object for a text":   {`{"a":"x"}`, `{"a":{"x":1}}`, false},
		"a truth for a mark":     {`{"a":true}`, `{"a":"[erased]"}`, false},
		"another number":         {`{"n":5}`, `{"n":1}`, false},
		"fewer in a list":        {`["a","b"]`, `["a"]`, false},
		"nothing that is JSON":   {`x`, `x`, false},
		"out of the given order": {`["one two"]`, `["[erased]two[erased]one[erased]"]`, false},
	} {
		if got := blanked([]byte(c.base), []byte(c.head)); got != c.want {
			t.Errorf("%s: %s to %s: %t", name, c.base, c.head, got)
		}
	}
}
