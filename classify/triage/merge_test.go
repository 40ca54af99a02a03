package triage

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ratchet"
)

func TestMergeAsksForARoleAndSaysWhyNot(t *testing.T) {
	tokens := Options{Tokens: []Token{{Name: "ana", Token: "one", Decides: true}, {Name: "bo", Token: "two"}}}
	const ok = `{"into":"loop-0000000001","reason":"same bug"}`
	for _, c := range []struct {
		o           Options
		token, body string
		code        int
		want        string
	}{
		{tokens, "", ok, 401, "token"},
		{tokens, "two", ok, 403, "triager"},
		{tokens, "one", ok, 200, `"kind":"merge"`},
		{Options{}, "", ok, 403, "X-Pawl-Person"},
		{Options{}, "ana", ok, 200, `"kind":"merge"`}, // by name alone
		{tokens, "one", `{"into":"loop-0000000002","reason":"same bug"}`, 409, "ana: same bug"},
		{tokens, "one", `{"into":"loop-0000000001","reason":" "}`, 400, "reason"},
		{tokens, "one", `{"into":`, 400, "reason"},
		{tokens, "one", `{"into":"loop-0000000001","reason":"` + strings.Repeat("x", maxBody) + `"}`, 413, "at most 16384 bytes"},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/groups/loop-0000000000/merge", strings.NewReader(c.body))
		req.Host = "localhost"
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
			req.Header.Set(PersonHeader, c.token)
		}
		w := httptest.NewRecorder()
		New(slog.New(slog.DiscardHandler), testSource(), c.o).ServeHTTP(w, req)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%q %.60s: %d %s, want %d %q", c.token, c.body, w.Code, w.Body, c.code, c.want)
		}
	}
}

func TestAliasPointsToItsGroup(t *testing.T) {
	src := testSource()
	gs, err := src.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	alias := ratchet.Group{Fingerprint: classify.NewFingerprint("loop", "shop", "support", classify.Names("tools", "other")), Count: 2,
		Merged: &ratchet.Merge{Into: gs[0].Fingerprint.Digest(), Who: "ana", When: time.Unix(9, 0), Reason: hostile}}
	gs[0].Fingerprint.Aliases = []string{alias.Fingerprint.Digest()}
	src.Groups = func(context.Context) ([]ratchet.Group, error) { return append(gs, alias), nil }
	_, page := get(t, src, Options{}, "/groups/"+alias.ID())
	if !strings.Contains(page, "merged into "+gs[0].ID()+" by ana at 1970-01-01 00:00:09 because") || strings.Contains(page, hostile) {
		t.Errorf("the alias's page does not lead home, or is not escaped:\n%s", page)
	}
	if _, page := get(t, src, Options{}, "/groups/"+gs[0].ID()); !strings.Contains(page, "Merged into it: ") {
		t.Errorf("the group's page does not tell its aliases:\n%s", page)
	}
	if _, doc := get(t, src, Options{}, "/v1/groups"); strings.Contains(doc, alias.ID()) {
		t.Errorf("an alias is listed beside its group: %s", doc)
	}
}
