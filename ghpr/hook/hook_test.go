package hook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

const pull = `{"action":"closed","number":7,"pull_request":{"head":{"ref":"pawl/loop-1"}},"repository":{"id":12,"full_name":"acme/shop"}}`

func TestNoDoorWithoutSecret(t *testing.T) {
	for _, secrets := range [][]string{nil, {}, {""}, {"a", ""}} {
		if d, err := New(quiet, Options{Secrets: secrets}); err == nil || d != nil {
			t.Errorf("%q: a door", secrets)
		}
	}
}

// GitHub's own example.
func TestVector(t *testing.T) {
	const want = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	if !signed([]string{"It's a Secret to Everybody"}, []byte("Hello, World!"), want) {
		t.Error("GitHub's own example does not fit")
	}
}

func TestDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []Event
		d, err := New(quiet, Options{Secrets: []string{"new secret", "old secret"}, Prefix: "pawl/", Wake: func(e Event) { got = append(got, e) }})
		if err != nil {
			t.Fatal(err)
		}
		knock := func(body, signature, kind, id string) int {
			r := httptest.NewRequest(http.MethodPost, "/webhooks/github", strings.NewReader(body))
			r.Header.Set("X-Hub-Signature-256", signature)
			r.Header.Set("X-GitHub-Event", kind)
			r.Header.Set("X-GitHub-Delivery", id)
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			return w.Code
		}
		flipped := []byte(sign("new secret", pull))
		flipped[len(flipped)-1] ^= 1
		var compact any
		_ = json.Unmarshal([]byte(pull), &compact)
		again, _ := json.Marshal(compact)
		for name, c := range map[string]struct {
			body, signature, kind string
			code                  int
		}{
			"no signature": {pull, "", "pull_request", 401}, "another's": {pull, sign("guess", pull), "pull_request", 401}, "the empty secret": {pull, sign("", pull), "pull_request", 401},
			"a flipped bit": {pull, string(flipped), "pull_request", 401}, "written anew": {string(again), sign("new secret", pull), "pull_request", 401},
			"without its name": {pull, strings.TrimPrefix(sign("new secret", pull), "sha256="), "pull_request", 401}, "sha1": {pull, "sha1=" + strings.Repeat("0", 40), "pull_request", 401},
			"cut": {pull, sign("new secret", pull)[:40], "pull_request", 401}, "no kind": {pull, sign("new secret", pull), "", 400},
			"a form": {"payload=%7B%7D", sign("new secret", "payload=%7B%7D"), "pull_request", 400}, "too long": {strings.Repeat(" ", maxBody+1), "sha256=00", "pull_request", 413},
			"a ping": {`{"zen":"x"}`, sign("new secret", `{"zen":"x"}`), "ping", 202}, "unknown": {`{}`, sign("new secret", `{}`), "star", 202},
			"another form": {`{"repository":7}`, sign("new secret", `{"repository":7}`), "pull_request", 202}, "null": {`null`, sign("new secret", `null`), "delete", 202},
		} {
			if code := knock(c.body, c.signature, c.kind, ""); code != c.code || len(got) != 0 {
				t.Errorf("%s: %d, want %d; woken %v", name, code, c.code, got)
			}
		}
		for _, secret := range []string{"new secret", "old secret"} {
			for range 2 { // the second is a redelivery
				if code := knock(pull, sign(secret, pull), "pull_request", "id of "+secret); code != 202 {
					t.Error(code)
				}
			}
		}
		want := Event{RepoID: 12, Names: []string{"acme/shop"}}
		if !reflect.DeepEqual(got, []Event{want, want}) {
			t.Errorf("%+v", got)
		}
		time.Sleep(knownFor)
		if knock(pull, sign("new secret", pull), "pull_request", "id of new secret"); len(got) != 3 {
			t.Errorf("after a week: %+v", got)
		}
	})
}

func TestRead(t *testing.T) {
	const shop = `"repository":{"id":12,"full_name":"acme/shop"}`
	one := &Event{RepoID: 12, Names: []string{"acme/shop"}}
	for name, c := range map[string]struct {
		kind, body string
		want       *Event
	}{
		"our pull request":      {"pull_request", pull, one},
		"another's":             {"pull_request", `{"pull_request":{"head":{"ref":"feature"}},` + shop + `}`, nil},
		"a review":              {"pull_request_review", `{"pull_request":{"head":{"ref":"pawl/x"}},` + shop + `}`, one},
		"our branch is gone":    {"delete", `{"ref":"pawl/x","ref_type":"branch",` + shop + `}`, one},
		"another branch":        {"delete", `{"ref":"x","ref_type":"branch",` + shop + `}`, nil},
		"a tag":                 {"delete", `{"ref":"pawl/x","ref_type":"tag",` + shop + `}`, nil},
		"renamed":               {"repository", `{"action":"renamed","changes":{"repository":{"name":{"from":"store"}}},` + shop + `}`, &Event{12, []string{"acme/shop", "acme/store"}}},
		"transferred":           {"repository", `{"action":"transferred","changes":{"owner":{"from":{"user":{"login":"ana"}}}},` + shop + `}`, &Event{12, []string{"acme/shop", "ana/shop"}}},
		"from an organisation":  {"repository", `{"action":"transferred","changes":{"owner":{"from":{"organization":{"login":"old"}}}},` + shop + `}`, &Event{12, []string{"acme/shop", "old/shop"}}},
		"installed on two":      {"installation", `{"repositories":[{"full_name":"a/b"},{"full_name":"a/c"}]}`, &Event{Names: []string{"a/b", "a/c"}}},
		"suspended":             {"installation", `{"action":"suspend","repositories":null}`, &Event{}},
		"taken out":             {"installation_repositories", `{"repositories_removed":[{"full_name":"a/b"}]}`, &Event{Names: []string{"a/b"}}},
		"no repository":         {"pull_request", `{"pull_request":{"head":{"ref":"pawl/x"}}}`, nil},
		"a number for a string": {"delete", `{"ref":7}`, nil},
	} {
		e, ok := Read(c.kind, []byte(c.body), "pawl/")
		if ok != (c.want != nil) || ok && !reflect.DeepEqual(e, *c.want) {
			t.Errorf("%s: %+v %v", name, e, ok)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, kind := range []string{"pull_request", "delete", "repository", "installation", "installation_repositories", "ping"} {
		f.Add(kind, []byte(pull))
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		if e, ok := Read(kind, body, "pawl/"); ok && e.RepoID == 0 && !strings.HasPrefix(kind, "installation") {
			t.Errorf("%s wakes every repository: %+v", kind, e)
		}
	})
}
