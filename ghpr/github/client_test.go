package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const token = "tok-very-secret/123+456"

// script is a network that answers from a list and remembers what it was asked.
type script struct {
	mu      sync.Mutex
	answers []func(*http.Request) (*http.Response, error)
	seen    []*http.Request
	at      []time.Time
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	s.seen, s.at = append(s.seen, req), append(s.at, time.Now())
	if len(s.answers) == 0 {
		return nil, errors.New("no more answers")
	}
	next := s.answers[0]
	s.answers = s.answers[1:]
	return next(req)
}

func answer(code int, body string, headers ...string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		rec := httptest.NewRecorder()
		for i := 0; i+1 < len(headers); i += 2 {
			rec.Header().Set(headers[i], headers[i+1])
		}
		rec.WriteHeader(code)
		_, _ = rec.WriteString(body)
		resp := rec.Result()
		resp.Request = req
		return resp, nil
	}
}

func client(t testing.TB, o Options, answers ...func(*http.Request) (*http.Response, error)) (*Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	if o.BaseURL == "" {
		o.BaseURL = "https://api.github.example/"
	}
	if o.Transport == nil {
		o.Transport = s
	}
	o.Token = token
	c, err := New(slog.New(slog.DiscardHandler), o)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func kindOf(t testing.TB, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("want an *Error, got %v", err)
	}
	if strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "tok-very") {
		t.Errorf("the error shows the token: %v", err)
	}
	return e
}

var sha = strings.Repeat("a", 40)

// The cases in which go-github by itself gives success for nothing, or an error for success.
func TestAnswersThatProveNothing(t *testing.T) {
	pull := NewPull{Head: "pawl/x", Base: "main", Title: "t"}
	for name, a := range map[string]func(*http.Request) (*http.Response, error){
		"empty 201":      answer(201, ""),
		"null":           answer(201, "null"),
		"no number":      answer(201, `{"head":{"ref":"pawl/x"},"base":{"ref":"main"}}`),
		"another head":   answer(201, `{"number":3,"head":{"ref":"pawl/y"},"base":{"ref":"main"}}`),
		"cut 201":        answer(201, `{"number":3,"head":{"re`),
		"html 200":       answer(200, `<html>`),
		"accepted":       answer(202, `{"number":3}`),
		"502":            answer(502, `Bad Gateway`),
		"500":            answer(500, ``),
		"odd 4xx":        answer(418, `{}`),
		"reset":          func(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") },
		"too large":      answer(201, `"`+strings.Repeat("x", maxAnswer)+`"`),
		"error too long": answer(502, strings.Repeat("x", 10*maxErrorAnswer)),
	} {
		c, s := client(t, Options{}, a)
		_, err := c.CreatePull(t.Context(), "acme/shop", pull)
		if e := kindOf(t, err); e.Kind != Unknown || len(err.Error()) > 1500 {
			t.Errorf("%s: %s %.200s", name, e.Kind, err)
		}
		if len(s.seen) != 1 {
			t.Errorf("%s: sent %d times", name, len(s.seen))
		}
	}
	for name, a := range map[string]func(*http.Request) (*http.Response, error){
		"empty list": answer(200, ""), "null in it": answer(200, "[null]"), "no number": answer(200, `[{"state":"open"}]`), "an object": answer(200, `{}`),
	} {
		c, _ := client(t, Options{}, a)
		if got, err := c.Pulls(t.Context(), "acme/shop", PullQuery{State: "all", Head: "pawl/x"}); kindOf(t, err).Kind != Unknown || got != nil {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	c, _ := client(t, Options{}, answer(200, `{"ref":"refs/heads/pawl/x2","object":{"sha":"`+sha+`"}}`))
	if _, err := c.Ref(t.Context(), "acme/shop", "pawl/x"); kindOf(t, err).Kind != Unknown {
		t.Errorf("another ref: %v", err)
	}
}

func TestNothingHostileLeaves(t *testing.T) {
	c, s := client(t, Options{})
	ctx := t.Context()
	for _, repo := range []string{"../../user", "a/../user", "acme/r?x=1#", "acme", "/shop", "acme/", "acme/..", "./x", "acme/sh op", "acme/sho%2Fp", "a/b/c", "acme/\x00"} {
		_, err := c.Repo(ctx, repo)
		_, err2 := c.CreatePull(ctx, repo, NewPull{Head: "pawl/x", Base: "main"})
		if kindOf(t, err).Kind != Invalid || kindOf(t, err2).Kind != Invalid {
			t.Errorf("%q: %v, %v", repo, err, err2)
		}
	}
	for _, b := range []string{"", "a/../b", "a b", "x?y", "/x", "x/", "a//b", "a.lock", "x#", "-x", ".x", "a/.b", "é", "x..y", "a\\b"} {
		_, err := c.Ref(ctx, "acme/shop", b)
		if kindOf(t, err).Kind != Invalid || kindOf(t, c.CreateRef(ctx, "acme/shop", b, sha)).Kind != Invalid {
			t.Errorf("branch %q: %v", b, err)
		}
	}
	for name, err := range map[string]error{
		"tree without base": errOf(c.CreateTree(ctx, "acme/shop", "", []File{{Path: "a", Content: "b"}})),
		"tree of nothing":   errOf(c.CreateTree(ctx, "acme/shop", sha, nil)),
		"tree path":         errOf(c.CreateTree(ctx, "acme/shop", sha, []File{{Path: "../a", Content: "b"}})),
		"commit no parent":  errOf(c.CreateCommit(ctx, "acme/shop", Commit{Tree: sha, Message: "m"})),
		"ref to nothing":    c.CreateRef(ctx, "acme/shop", "pawl/x", ""),
		"label path":        c.EnsureLabel(ctx, "acme/shop", "../../x"),
		"entries path":      errOf(c.Entries(ctx, "acme/shop", "../x", "main")),
		"compare":           errOf(c.Compare(ctx, "acme/shop", "main", "x?y")),
		"pull 0":            errOf(c.Pull(ctx, "acme/shop", 0)),
	} {
		if kindOf(t, err).Kind != Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(s.seen) != 0 {
		t.Errorf("%d requests left, first %s", len(s.seen), s.seen[0].URL)
	}
}

func errOf[T any](_ T, err error) error { return err }

func TestRedirects(t *testing.T) {
	pull := NewPull{Head: "pawl/x", Base: "main", Title: "t"}
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{"https://api.github.example/repositories/1/pulls", "https://evil.example/x", "http://api.github.example/x"} {
			c, s := client(t, Options{}, answer(code, "{}", "Location", to), answer(200, `{"number":1,"state":"open"}`))
			_, err := c.CreatePull(t.Context(), "acme/shop", pull)
			if kindOf(t, err).Kind != Moved || len(s.seen) != 1 {
				t.Errorf("%d to %s: %v after %d requests", code, to, err, len(s.seen))
			}
		}
	}
	repo := `{"id":1,"full_name":"acme/store","owner":{"login":"acme"}}`
	c, s := client(t, Options{}, answer(301, "{}", "Location", "https://api.github.example/repositories/1"), answer(200, repo))
	if r, err := c.Repo(t.Context(), "acme/shop"); err != nil || r.FullName != "acme/store" || s.seen[1].Header.Get("Authorization") == "" {
		t.Errorf("a read on the same host: %v %+v", err, r)
	}
	for _, to := range []string{"https://evil.example/x", "http://api.github.example/x", "https://api.github.example.evil.example/x", "https://api.github.example:444/x"} {
		c, s := client(t, Options{}, answer(302, "{}", "Location", to), answer(200, repo))
		_, err := c.Repo(t.Context(), "acme/shop")
		if kindOf(t, err).Kind != Moved || len(s.seen) != 1 {
			t.Errorf("a read to %s: %v after %d requests", to, err, len(s.seen))
		}
	}
	around := answer(302, "{}", "Location", "https://api.github.example/again")
	c, s = client(t, Options{}, around, around, around, around, around, around)
	if _, err := c.Repo(t.Context(), "acme/shop"); kindOf(t, err).Kind != Moved || len(s.seen) != 4 {
		t.Errorf("in circles: %v after %d", err, len(s.seen))
	}
}

func TestClassify(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	reset := strconv.FormatInt(now.Add(45*time.Minute).Unix(), 10)
	secondary := "You have exceeded a secondary rate limit"
	for _, c := range []struct {
		name    string
		code    int
		header  []string
		text    string
		strikes int
		kind    Kind
		wait    time.Duration
	}{
		{"429 bare", 429, nil, "", 0, Limited, time.Minute},
		{"429 third", 429, nil, "", 2, Limited, 4 * time.Minute},
		{"429 sixth", 429, nil, "", 5, Limited, time.Hour},
		{"429 retry-after", 429, []string{"Retry-After", "7"}, "", 3, Limited, 7 * time.Second},
		{"retry-after as a date, by GitHub's clock", 403, []string{"Retry-After", now.Add(-time.Hour + 90*time.Second).Format(http.TimeFormat),
			"Date", now.Add(-time.Hour).Format(http.TimeFormat)}, secondary, 0, Limited, 90 * time.Second},
		{"403 primary", 403, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset}, "API rate limit exceeded", 0, Limited, 46 * time.Minute},
		{"403 primary, retry-after wins", 403, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset, "Retry-After", "30"}, "", 0, Limited, 30 * time.Second},
		{"403 primary, our clock is an hour late", 403, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset, "Date", now.Add(40 * time.Minute).Format(http.TimeFormat)}, "", 0, Limited, 6 * time.Minute},
		{"reset in the past", 403, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "5"}, "", 0, Limited, time.Minute},
		{"403 secondary, the primary reset does not matter", 403, []string{"X-RateLimit-Remaining", "4000", "X-RateLimit-Reset", reset}, secondary, 0, Limited, time.Minute},
		{"403 abuse", 403, nil, "You have triggered an abuse detection mechanism", 1, Limited, 2 * time.Minute},
		{"422 too quickly", 422, nil, "Validation Failed; was submitted too quickly", 0, Limited, time.Minute},
		{"403 permission", 403, []string{"X-RateLimit-Remaining", "4000", "X-Accepted-GitHub-Permissions", "contents=write"}, "Resource not accessible by integration", 0, Denied, 0},
		{"401", 401, nil, "Bad credentials", 0, Denied, 0},
		{"404", 404, nil, "Not Found", 0, Absent, 0},
		{"422", 422, nil, "Reference already exists", 0, Refused, 0},
		{"409", 409, nil, "Git Repository is empty.", 0, Refused, 0},
		{"410", 410, nil, "", 0, Refused, 0},
		{"451", 451, nil, "", 0, Refused, 0},
		{"408", 408, nil, "", 0, Unknown, 0},
		{"500", 500, nil, "", 0, Unknown, 0},
		{"503", 503, []string{"Retry-After", "5"}, "", 0, Unknown, 0},
	} {
		h := http.Header{}
		for i := 0; i+1 < len(c.header); i += 2 {
			h.Set(c.header[i], c.header[i+1])
		}
		e := refusal(c.code, h, c.text, now, c.strikes)
		var wait time.Duration
		if !e.NotBefore.IsZero() {
			wait = e.NotBefore.Sub(now)
		}
		if e.Kind != c.kind || wait != c.wait {
			t.Errorf("%s: %s %v, want %s %v", c.name, e.Kind, wait, c.kind, c.wait)
		}
	}
	if e := refusal(403, http.Header{"X-Accepted-Github-Permissions": {"contents=write"}}, "no", now, 0); !e.Says("contents=write") {
		t.Errorf("the missing right is not named: %v", e)
	}
}

func TestMessages(t *testing.T) {
	for in, want := range map[string]string{
		`{"message":"Validation Failed","errors":[{"resource":"PullRequest","field":"head","code":"invalid"}]}`: "Validation Failed; PullRequest head invalid",
		`{"message":"Validation Failed","errors":[{"message":"A pull request already exists for a:b."}]}`:       "Validation Failed; A pull request already exists for a:b.",
		`{"message":"no","errors":["one",2]}`:             "no; one; 2",
		"<html>\n<body>Unicorn!":                          "<html> <body>Unicorn!",
		`{"message":"` + strings.Repeat("é", 2000) + `"}`: strings.Repeat("é", 500) + "...",
		"": "",
	} {
		if got := message([]byte(in)); got != want {
			t.Errorf("%.60q: %q", in, got)
		}
	}
}

// One writer, a second between writes; after a limit nothing leaves before its time, and the next limit in a row waits longer.
func TestPaceAndBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := func(req *http.Request) (*http.Response, error) {
			time.Sleep(300 * time.Millisecond)
			return answer(201, `{"ref":"refs/heads/pawl/x","object":{"sha":"`+sha+`"}}`)(req)
		}
		limited := answer(403, `{"message":"You have exceeded a secondary rate limit"}`)
		c, s := client(t, Options{}, done, done, done, limited, limited, done, limited)
		create := func() error { return c.CreateRef(t.Context(), "acme/shop", "pawl/x", sha) }
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := create(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i := range 2 {
			if d := s.at[i+1].Sub(s.at[i]); d != 1300*time.Millisecond {
				t.Errorf("%v from start to start, want a second after the end", d)
			}
		}
		for i, wait := range []time.Duration{time.Minute, 2 * time.Minute} {
			if e := kindOf(t, create()); e.Kind != Limited || time.Until(e.NotBefore) != wait {
				t.Errorf("limit %d: %v, now %v", i, e, time.Now())
			}
			sent := len(s.seen)
			for _, err := range []error{create(), errOf(c.Ref(t.Context(), "acme/shop", "main"))} {
				if kindOf(t, err).Kind != Limited || len(s.seen) != sent {
					t.Errorf("pressed on: %v", err)
				}
			}
			time.Sleep(wait)
		}
		if err := create(); err != nil {
			t.Error(err)
		}
		if e := kindOf(t, create()); time.Until(e.NotBefore) != time.Minute {
			t.Errorf("a success did not clear the strikes: %v", e)
		}
	})
}

// The last requests are kept for reading: an intent in doubt must be able to look.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reset := strconv.FormatInt(time.Now().Add(10*time.Minute).Unix(), 10)
		ref := `{"ref":"refs/heads/pawl/x","object":{"sha":"` + sha + `"}}`
		c, s := client(t, Options{}, answer(200, ref, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "99", "X-RateLimit-Reset", reset),
			answer(200, ref, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset), answer(200, ref))
		for range 3 { // go-github alone would refuse the third by itself
			if _, err := c.Ref(t.Context(), "acme/shop", "pawl/x"); err != nil {
				t.Fatal(err)
			}
			if e := kindOf(t, c.CreateRef(t.Context(), "acme/shop", "pawl/x", sha)); e.Kind != Limited {
				t.Errorf("%v", e)
			}
		}
		if len(s.seen) != 3 {
			t.Errorf("%d requests", len(s.seen))
		}
	})
}

func TestTimeoutAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}
		c, _ := client(t, Options{}, hang, hang)
		start := time.Now()
		err := c.CreateRef(t.Context(), "acme/shop", "pawl/x", sha)
		if kindOf(t, err).Kind != Unknown || time.Since(start) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		if err := c.CreateRef(ctx, "acme/shop", "pawl/x", sha); !errors.Is(err, context.Canceled) || kindOf(t, err).Kind != Unknown {
			t.Errorf("%v", err)
		}
		if err := c.CreateRef(ctx, "acme/shop", "pawl/x", sha); !errors.Is(err, context.Canceled) || kindOf(t, err).Kind != Invalid {
			t.Errorf("not sent: %v", err)
		}
	})
}

// Neither an answer, nor a network error, nor a debug log shows the credential.
func TestTokenStaysHidden(t *testing.T) {
	var log strings.Builder
	for _, a := range []func(*http.Request) (*http.Response, error){
		answer(401, `{"message":"Bad credentials: Bearer `+token+`"}`),
		answer(422, `{"message":"x","errors":[{"message":"`+token+`"}]}`),
		answer(500, "echo "+token),
		func(req *http.Request) (*http.Response, error) { return nil, fmt.Errorf("proxy said: %v", req.Header) },
	} {
		s := &script{answers: []func(*http.Request) (*http.Response, error){a}}
		c, err := New(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), Options{BaseURL: "https://api.github.example", Token: token, Transport: s})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Repo(t.Context(), "acme/shop")
		kindOf(t, err)
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(e.Error(), token) {
				t.Errorf("a cause shows it: %v", e)
			}
		}
		if got := s.seen[0].Header.Get("Authorization"); got != "Bearer "+token {
			t.Errorf("sent %q", got)
		}
	}
	if strings.Contains(log.String(), "tok-very") {
		t.Error(log.String())
	}
}

// net/http sends a POST once on a dead connection, as long as no idempotency key makes it bold.
func TestWriteIsSentOnce(t *testing.T) {
	var mu sync.Mutex
	hits := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Idempotency-Key") != "" || r.Header.Get("X-Idempotency-Key") != "" {
			t.Error("an idempotency key")
		}
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, `{"ref":"refs/heads/main","object":{"sha":%q}}`, sha)
			return
		}
		hits++
		panic(http.ErrAbortHandler)
	}))
	defer srv.Close()
	c, err := New(slog.New(slog.DiscardHandler), Options{BaseURL: srv.URL, Token: token, Pace: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ref(t.Context(), "acme/shop", "main"); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateRef(t.Context(), "acme/shop", "pawl/x", sha); kindOf(t, err).Kind != Unknown {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if hits != 1 {
		t.Errorf("%d times on the wire", hits)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"no credential": {}, "both": {Token: "x", App: App{ID: 1}}, "app without key": {App: App{ID: 1, InstallationID: 2}},
		"app key": {App: App{ID: 1, InstallationID: 2, PrivateKey: []byte("nonsense")}}, "app id": {App: App{PrivateKey: []byte("x")}},
		"http": {Token: "x", BaseURL: "http://ghe.example.com/"}, "user": {Token: "x", BaseURL: "https://u:p@ghe.example.com/"},
		"query": {Token: "x", BaseURL: "https://ghe.example.com/?a"}, "no host": {Token: "x", BaseURL: "https:///x"}, "pace": {Token: "x", Pace: -1},
	} {
		if _, err := New(slog.New(slog.DiscardHandler), o); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, s := client(t, Options{BaseURL: "https://ghe.example.com/api/v3"}, answer(404, "{}"))
	_, _ = c.Repo(t.Context(), "acme/shop")
	if got := s.seen[0].URL.String(); got != "https://ghe.example.com/api/v3/repos/acme/shop" {
		t.Error(got)
	}
}
