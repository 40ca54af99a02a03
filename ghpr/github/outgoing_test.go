package github

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// poison is what a last look of these tests refuses.
const poison = "heron-quill"

func refusesPoison(final []byte) error {
	if bytes.Contains(bytes.ToLower(final), []byte(poison)) {
		return errors.New("a canary")
	}
	return nil
}

// exits are all calls that carry something of ours, each with the poison where a caller's text goes.
var exits = map[string]func(context.Context, *Client) error{
	"create ref": func(ctx context.Context, c *Client) error { return c.CreateRef(ctx, "a/b", "pawl/"+poison, sha) },
	"update ref": func(ctx context.Context, c *Client) error { return c.UpdateRef(ctx, "a/b", "pawl/"+poison, sha) },
	"tree path": func(ctx context.Context, c *Client) error {
		return errOf(c.CreateTree(ctx, "a/b", sha, []File{{Path: "x/" + poison, Content: "y"}}))
	},
	"tree content": func(ctx context.Context, c *Client) error {
		return errOf(c.CreateTree(ctx, "a/b", sha, []File{{Path: "x", Content: "y " + poison}}))
	},
	"commit message": func(ctx context.Context, c *Client) error {
		return errOf(c.CreateCommit(ctx, "a/b", Commit{Message: poison, Tree: sha, Parents: []string{sha}}))
	},
	"title": func(ctx context.Context, c *Client) error {
		return errOf(c.CreatePull(ctx, "a/b", NewPull{Head: "h", Base: "m", Title: poison, Body: "b"}))
	},
	"body": func(ctx context.Context, c *Client) error {
		return errOf(c.CreatePull(ctx, "a/b", NewPull{Head: "h", Base: "m", Title: "t", Body: poison}))
	},
	"edit": func(ctx context.Context, c *Client) error {
		return c.EditPull(ctx, "a/b", 1, func(Pull) (string, string, bool) { return "t", poison, true })
	},
	"new label": func(ctx context.Context, c *Client) error { return c.EnsureLabel(ctx, "a/b", poison) },
	"label":     func(ctx context.Context, c *Client) error { return c.AddLabel(ctx, "a/b", 1, poison) },
}

// TestNothingRefusedLeaves: no call sends what the last look refuses, in its address or its body.
func TestNothingRefusedLeaves(t *testing.T) {
	for name, call := range exits {
		t.Run(name, func(t *testing.T) {
			pull := `{"number":1,"state":"open","title":"t","body":"b","head":{"ref":"h","sha":"` + sha + `","repo":{"id":1}},"base":{"ref":"m"},"user":{"login":"u"}}`
			reads := func(req *http.Request) (*http.Response, error) {
				if isWrite(req) {
					t.Errorf("sent: %s %s", req.Method, req.URL)
				}
				if strings.Contains(req.URL.Path, "/labels") {
					return answer(404, `{"message":"Not Found"}`)(req)
				}
				return answer(200, pull)(req)
			}
			c, _ := client(t, Options{Outgoing: refusesPoison}, reads, reads, reads)
			err := call(t.Context(), c)
			if e := kindOf(t, err); e.Kind != Invalid || !strings.Contains(e.Message, "not sent: a canary") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestEveryWriteIsAnExit holds the list above to the code: who adds a call that writes adds it there.
func TestEveryWriteIsAnExit(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	method := regexp.MustCompile(`(?m)^func \(c \*Client\) (\w+)\(`)
	source, err := os.ReadFile("outgoing_test.go")
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		names := method.FindAllSubmatchIndex(b, -1)
		for i, m := range names {
			end := len(b)
			if i+1 < len(names) {
				end = names[i+1][0]
			}
			name := string(b[m[2]:m[3]])
			if !bytes.Contains(b[m[0]:end], []byte("c.write(")) {
				continue
			}
			writes++
			if !bytes.Contains(source, []byte("c."+name+"(ctx")) {
				t.Errorf("%s writes and is none of the exits of this test", name)
			}
		}
	}
	if writes < 8 {
		t.Errorf("only %d calls that write were found", writes)
	}
}

// TestLookedAtIsSentWhole: what passes arrives as it was.
func TestLookedAtIsSentWhole(t *testing.T) {
	looked := 0
	var got string
	c, _ := client(t, Options{Outgoing: func([]byte) error { looked++; return nil }, Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(req.Body)
		got = b.String()
		return answer(201, `{"sha":"`+sha+`"}`)(req)
	})})
	if _, err := c.CreateTree(t.Context(), "a/b", sha, []File{{Path: "x", Content: "plain words"}}); err != nil {
		t.Fatal(err)
	}
	if looked != 2 || !strings.Contains(got, "plain words") {
		t.Errorf("%d looks; sent %q", looked, got)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
