package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rogpeppe/go-internal/txtar"

	pawlflag "github.com/pawl-dev/pawl/ingest/flag"
	"github.com/pawl-dev/pawl/ingest/webhook"
)

var update = flag.Bool("update", false, "write what the sources make of the deliveries of testdata")

// inbox keeps flags in memory.
type inbox struct {
	mu    sync.Mutex
	known map[string]bool
	flags []pawlflag.Flag
	err   error // of Put
	puts  int
}

func (i *inbox) inbox() webhook.Inbox {
	return webhook.Inbox{
		Known: func(_ context.Context, key string) (bool, error) {
			i.mu.Lock()
			defer i.mu.Unlock()
			return i.known[key], nil
		},
		Put: func(_ context.Context, _ string, fs []pawlflag.Flag) error {
			i.mu.Lock()
			defer i.mu.Unlock()
			if i.err != nil {
				return i.err
			}
			i.puts++
			i.flags = append(i.flags, fs...)
			return nil
		},
		Remember: func(_ context.Context, key string) error {
			i.mu.Lock()
			defer i.mu.Unlock()
			if i.known == nil {
				i.known = map[string]bool{}
			}
			i.known[key] = true
			return nil
		},
	}
}

// secrets are what a source and its sender share; the second is what it will be next.
func secrets(source string) []string {
	switch source {
	case "standard":
		enc := base64.StdEncoding.EncodeToString
		return []string{"whsec_" + enc([]byte("one")), "whsec_" + enc([]byte("two"))}
	case "elastic":
		return []string{"pawl:one", "pawl:two"}
	}
	return []string{"one", "two"}
}

func handler(t *testing.T, in *inbox, source string, secrets ...string) http.Handler {
	t.Helper()
	s, err := webhook.NewSource(source, webhook.SourceOptions{Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	h, err := webhook.New(slog.New(slog.DiscardHandler), in.inbox(), []*webhook.Source{s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/webhooks/{source}", h)
	return mux
}

// prove adds to a request what its sender proves itself with.
func prove(r *http.Request, source, secret string, body []byte) {
	at, hexed := strconv.FormatInt(time.Now().Unix(), 10), func(s string) string { return hexMAC(secret, s) }
	b64 := func(key, s string) string { return "v1," + base64.StdEncoding.EncodeToString(mac(key, s)) }
	h := r.Header
	switch source {
	case "langfuse":
		h.Set("x-langfuse-signature", "t="+at+",v1="+hexed(at+"."+string(body)))
	case "sentry":
		h.Set("Sentry-Hook-Signature", hexed(string(body)))
	case "pagerduty":
		h.Set("X-PagerDuty-Signature", "v1="+hexed(string(body)))
	case "grafana":
		h.Set("X-Grafana-Alerting-Signature", hexed(string(body)))
	case "mlflow":
		h.Set("X-MLflow-Timestamp", at)
		h.Set("X-MLflow-Signature", b64(secret, h.Get("X-MLflow-Delivery-Id")+"."+at+"."+string(body)))
	case "standard":
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if h.Get("webhook-id") == "" {
			h.Set("webhook-id", "msg_1")
		}
		h.Set("webhook-timestamp", at)
		h.Set("webhook-signature", b64(string(key), h.Get("webhook-id")+"."+at+"."+string(body)))
	case "langsmith":
		q := r.URL.Query()
		q.Set("token", secret)
		r.URL.RawQuery = q.Encode()
	case "honeycomb":
		h.Set("X-Honeycomb-Webhook-Token", secret)
	case "elastic":
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(secret)))
	case "datadog":
		h.Set("X-Pawl-Token", secret)
	default:
		h.Set("Authorization", "Bearer "+secret)
	}
}

func request(source string, headers, body []byte) *http.Request {
	r := httptest.NewRequest("POST", "/webhooks/"+source, bytes.NewReader(body))
	h, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(headers, '\n')))).ReadMIMEHeader()
	if err != nil {
		panic(err)
	}
	r.Header = http.Header(h)
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func send(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// example is a delivery of testdata.
type example struct {
	source, file  string
	headers, body []byte
	want          string
}

func examples(t testing.TB) (out []example) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no deliveries")
	}
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		e := example{source: filepath.Base(filepath.Dir(f)), file: f}
		for _, s := range a.Files {
			switch s.Name {
			case "headers":
				e.headers = s.Data
			case "body":
				e.body = bytes.TrimSuffix(s.Data, []byte("\n"))
			case "want":
				e.want = string(s.Data)
			}
		}
		out = append(out, e)
	}
	return out
}

// atNoon sets the bubble's clock to noon of the day after the deliveries.
func atNoon() { time.Sleep(time.Until(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))) }

// Every sender's documented payload, proven as it proves itself, and what becomes of it.
func TestDeliveries(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range examples(t) {
		seen[e.source] = true
		t.Run(e.source+"/"+filepath.Base(e.file), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				atNoon()
				in, both := &inbox{}, secrets(e.source)
				h := handler(t, in, e.source, both...)
				r := request(e.source, e.headers, e.body)
				prove(r, e.source, both[0], e.body)
				w := send(h, r)
				got := fmt.Sprintf("%d %s", w.Code, w.Body)
				for _, f := range in.flags {
					f.ID = ""
					doc, err := json.Marshal(f)
					if err != nil {
						t.Fatal(err)
					}
					got += string(doc) + "\n"
				}
				if *update {
					a := &txtar.Archive{Files: []txtar.File{{Name: "headers", Data: e.headers}, {Name: "body", Data: append(e.body, '\n')}, {Name: "want", Data: []byte(got)}}}
					if err := os.WriteFile(e.file, txtar.Format(a), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				if got != e.want {
					t.Errorf("got\n%s\nwant\n%s", got, e.want)
				}
				again(t, h, in, e, both)
			})
		})
	}
	for _, n := range webhook.Names() {
		if !seen[n] {
			t.Errorf("%s has no delivery in testdata", n)
		}
	}
}

// again sends a delivery a second time, signed with the other secret: it is known by what it is, not by its signature.
func again(t *testing.T, h http.Handler, in *inbox, e example, both []string) {
	t.Helper()
	stored := in.puts
	r := request(e.source, e.headers, e.body)
	prove(r, e.source, both[1], e.body)
	w := send(h, r)
	if stored > 0 && w.Code != http.StatusOK || in.puts != stored {
		t.Errorf("again: %d %s, stored %d times", w.Code, w.Body, in.puts)
	}
}

// What is not proven is answered with 401 and leaves nothing, whatever is wrong with it.
func TestUnproven(t *testing.T) {
	for _, e := range examples(t) {
		synctest.Test(t, func(t *testing.T) {
			atNoon()
			in := &inbox{}
			h := handler(t, in, e.source, secrets(e.source)[0])
			wrong := request(e.source, e.headers, e.body)
			prove(wrong, e.source, secrets(e.source)[1], e.body)
			bare := request(e.source, e.headers, e.body)
			for name, r := range map[string]*http.Request{"another secret": wrong, "no proof": bare} {
				if w := send(h, r); w.Code != http.StatusUnauthorized {
					t.Errorf("%s: %s: %d %s", e.file, name, w.Code, w.Body)
				}
			}
			if signs := []string{"langfuse", "sentry", "pagerduty", "grafana", "mlflow", "standard"}; slices.Contains(signs, e.source) {
				flipped := bytes.Clone(e.body)
				flipped[len(flipped)/2] ^= 1
				r := request(e.source, e.headers, flipped)
				prove(r, e.source, secrets(e.source)[0], e.body)
				if w := send(h, r); w.Code != http.StatusUnauthorized {
					t.Errorf("%s: a flipped bit: %d %s", e.file, w.Code, w.Body)
				}
			}
			if signs := []string{"langfuse", "mlflow", "standard"}; slices.Contains(signs, e.source) {
				r := request(e.source, e.headers, e.body)
				prove(r, e.source, secrets(e.source)[0], e.body)
				time.Sleep(2 * time.Hour)
				if w := send(h, r); w.Code != http.StatusUnauthorized {
					t.Errorf("%s: two hours late: %d %s", e.file, w.Code, w.Body)
				}
			}
			if len(in.flags) > 0 || len(in.known) > 0 {
				t.Errorf("%s: it left %v", e.file, in.flags)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	in := &inbox{}
	h := handler(t, in, "generic", "one")
	post := func(body, kind string) *httptest.ResponseRecorder {
		r := request("generic", []byte("Content-Type: "+kind+"\nAuthorization: Bearer one\n"), []byte(body))
		return send(h, r)
	}
	good := `{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","reason":"x"}`
	for _, c := range []struct {
		name, body, kind string
		want             int
	}{
		{"20 MB", strings.Repeat(" ", 20<<20), "application/json", http.StatusRequestEntityTooLarge},
		{"no JSON", `{"trace_id":`, "application/json", http.StatusBadRequest},
		{"plain text", good, "text/plain", http.StatusUnsupportedMediaType},
		{"an id that is none", `{"trace_id":"run-7","from":"x","reason":"y"}`, "application/json", http.StatusAccepted},
		{"good", good, "application/json", http.StatusAccepted},
	} {
		if w := post(c.body, c.kind); w.Code != c.want {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
	if w := send(h, httptest.NewRequest("POST", "/webhooks/langfuse", nil)); w.Code != http.StatusNotFound {
		t.Errorf("a source that is not configured: %d", w.Code)
	}
	if w := send(h, httptest.NewRequest("GET", "/webhooks/generic", nil)); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
}

// A full stream is said with 503 and when to come again, and what was refused is not taken for known.
func TestFull(t *testing.T) {
	in := &inbox{err: &webhook.FullError{RetryAfter: 1500 * time.Millisecond}}
	h := handler(t, in, "generic", "one")
	r := func() *http.Request {
		return request("generic", []byte("Authorization: Bearer one\n"), []byte(`{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`))
	}
	w := send(h, r())
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "2" {
		t.Errorf("%d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	in.err = nil
	if w := send(h, r()); w.Code != http.StatusAccepted || len(in.flags) != 1 {
		t.Errorf("the second time: %d %s", w.Code, w.Body)
	}
}

func TestHandshake(t *testing.T) {
	h := handler(t, &inbox{}, "cloudevents", "one")
	r := httptest.NewRequest("OPTIONS", "/webhooks/cloudevents", nil)
	r.Header.Set("WebHook-Request-Origin", "monitor.example.com")
	w := send(h, r)
	if w.Code != http.StatusOK || w.Header().Get("WebHook-Allowed-Origin") != "monitor.example.com" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := send(h, httptest.NewRequest("OPTIONS", "/webhooks/cloudevents", nil)); w.Code != http.StatusBadRequest {
		t.Errorf("without an origin: %d", w.Code)
	}
}

func TestNewSourceSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		o      webhook.SourceOptions
	}{
		"no secret":      {"generic", webhook.SourceOptions{}},
		"empty secret":   {"sentry", webhook.SourceOptions{Secrets: []string{""}}},
		"no such source": {"nagios", webhook.SourceOptions{Secrets: []string{"x"}}},
		"no such proof":  {"generic", webhook.SourceOptions{Secrets: []string{"x"}, Proof: "none"}},
		"signs itself":   {"langfuse", webhook.SourceOptions{Secrets: []string{"x"}, Proof: "bearer"}},
		"bad pointer":    {"generic", webhook.SourceOptions{Secrets: []string{"x"}, Fields: webhook.Fields{Trace: "/a~2"}}},
		"bad condition":  {"generic", webhook.SourceOptions{Secrets: []string{"x"}, Fields: webhook.Fields{Firing: "/a"}}},
	} {
		if _, err := webhook.NewSource(c.source, c.o); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// Whatever an authentic sender writes, it gets an answer, and what is stored is a flag.
func FuzzDeliveries(f *testing.F) {
	for _, e := range examples(f) {
		f.Add(e.source, string(e.headers), e.body)
	}
	f.Fuzz(func(t *testing.T, source, headers string, body []byte) {
		if !slices.Contains(webhook.Names(), source) {
			return
		}
		h, err := textproto.NewReader(bufio.NewReader(strings.NewReader(headers + "\n"))).ReadMIMEHeader()
		if err != nil {
			return
		}
		in := &inbox{}
		r := httptest.NewRequest("POST", "/webhooks/"+source, bytes.NewReader(body))
		r.Header = http.Header(h)
		prove(r, source, secrets(source)[0], body)
		w := send(handler(t, in, source, secrets(source)...), r)
		if ok := []int{200, 202, 400, 401, 413, 415}; !slices.Contains(ok, w.Code) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		doc, err := pawlflag.Encode(in.flags)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.SplitSeq(doc, []byte("\n")) {
			if _, err := pawlflag.Decode(line); err != nil && len(in.flags) > 0 {
				t.Fatalf("%v: %s", err, line)
			}
		}
	})
}
