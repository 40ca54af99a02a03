package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pawl-dev/pawl/test/fakegithub"
	"github.com/pawl-dev/pawl/test/fakegithub/openapi"
)

// githubKey is where a script's stand-in for GitHub lies.
type githubKey struct{}

type githubBox struct {
	t    *testing.T // of all scripts: a fault of what is sent or answered fails it
	fake *fakegithub.Fake
}

// fakeGitHub starts a stand-in for GitHub that ends with the script, with one private repository and a token that may write there; $GITHUB is its base URL.
func fakeGitHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: github OWNER NAME TOKEN")
	}
	fake, err := fakegithub.New(slog.New(slog.DiscardHandler), ts.MkAbs("github"), fakegithub.Options{RateLimit: 100_000})
	ts.Check(err)
	box := ts.Value(githubKey{}).(*githubBox)
	openapi.Watch(box.t, fake)
	ts.Check(fake.AddUser(fakegithub.User{Login: "pawl-bot", Token: args[2], Right: "write"}))
	ts.Check(fake.AddRepo(args[0], args[1], ""))
	srv, err := fakegithub.Serve(fake, "")
	ts.Check(err)
	ts.Defer(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = srv.Close(ctx)
	})
	ts.Setenv("GITHUB", srv.URL+"/")
	box.fake = fake
}

// human does on the stand-in what a person does on GitHub.
func human(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: human LOGIN close|reopen|merge REPO NUMBER, or human LOGIN rename REPO FROM TO")
	}
	h := ts.Value(githubKey{}).(*githubBox).fake.Human(args[0])
	if args[1] == "rename" && len(args) == 5 {
		ts.Check(h.RenameBranch(args[2], args[3], args[4]))
		return
	}
	deed := map[string]func(string, int) error{"close": h.Close, "reopen": h.Reopen, "merge": h.Merge}[args[1]]
	if deed == nil || len(args) != 4 {
		ts.Fatalf("a person cannot %v", args[1:])
	}
	n, err := strconv.Atoi(args[3])
	ts.Check(err)
	ts.Check(deed(args[2], n))
}

// knock sends a delivery of GitHub's webhook, signed with a secret; the status must be N (202).
func knock(ts *testscript.TestScript, neg bool, args []string) {
	want := http.StatusAccepted
	if len(args) == 5 {
		n, err := strconv.Atoi(args[0][1:])
		ts.Check(err)
		want, args = n, args[1:]
	}
	if neg || len(args) != 4 {
		ts.Fatalf("usage: knock [-N] SECRET EVENT URL FILE")
	}
	body := []byte(ts.ReadFile(args[3]))
	mac := hmac.New(sha256.New, []byte(args[0]))
	mac.Write(body)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, args[2], bytes.NewReader(body))
	ts.Check(err)
	req.Header.Set("X-GitHub-Event", args[1])
	req.Header.Set("X-GitHub-Delivery", fmt.Sprint(time.Now().UnixNano()))
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != want {
		ts.Fatalf("status %d, not %d: %s", resp.StatusCode, want, text)
	}
}
