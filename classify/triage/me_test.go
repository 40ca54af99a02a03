package triage

import (
	"net/http"
	"strings"
	"testing"
)

func TestMe(t *testing.T) {
	o := Options{Tokens: []Token{{Name: "ana", Token: "one", Decides: true, Services: []string{"shop-*"}}, {Name: "bo", Token: "two"}}}
	for token, want := range map[string]string{"one": `{"kind":"me","name":"ana","role":"triager","services":["shop-*"]}`, "two": `{"kind":"me","name":"bo","role":"viewer","services":[]}`} {
		if code, body := get(t, testSource(), o, "/v1/me", "Authorization", "Bearer "+token); code != http.StatusOK || strings.TrimSpace(body) != want {
			t.Errorf("%d %s", code, body)
		}
	}
}
