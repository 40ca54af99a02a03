package main

import (
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/config"
)

// TestGuessableTokens: a token that can be guessed is told at the start, by whose it is and never by what it is.
func TestGuessableTokens(t *testing.T) {
	t.Setenv("PAWL_TEST_SHORT", "sesame")
	t.Setenv("PAWL_TEST_LONG", strings.Repeat("0123456789abcdef", 3))
	cfg, err := config.Parse("pawl.yaml", []byte(`auth: {tokens: [{name: ana, role: viewer, token: "${env:PAWL_TEST_LONG}"}, {name: bo, role: admin, token: "${env:PAWL_TEST_SHORT}"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	notes := tooOpen(cfg)
	if len(notes) != 1 || !strings.Contains(notes[0], "auth.tokens[1] has 6 characters, that of bo") || strings.Contains(notes[0], "sesame") {
		t.Errorf("%q", notes)
	}
}
