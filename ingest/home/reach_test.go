package home

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/ingest/importer"
)

func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false, "224.0.0.1": false,
		"255.255.255.255": false, "198.18.0.1": false, "::1": false, "fe80::1": false, "fd00:ec2::254": false, "::": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestLinks: content elsewhere is read only from a host that is named, over TLS, at a public address, and without our credential.
func TestLinks(t *testing.T) {
	var header http.Header
	store := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		_, _ = w.Write([]byte(`{"a":1}`))
	}))
	defer store.Close()
	base, _ := url.Parse("https://smith.example.com")
	named := newClient(Options{Kind: LangSmith, Key: "the key", Links: []string{"127.0.0.1"}, Transport: store.Client().Transport}, base)
	if got, err := named.linked(t.Context(), store.URL); err != nil || string(got) != `{"a":1}` {
		t.Errorf("%s, %v", got, err)
	}
	for _, values := range header {
		for _, v := range values {
			if strings.Contains(v, "the key") {
				t.Errorf("the key went along: %v", header)
			}
		}
	}
	header = nil
	unnamed := newClient(Options{Kind: LangSmith, Transport: store.Client().Transport}, base)
	direct := newClient(Options{Kind: LangSmith, Links: []string{"127.0.0.1", "localhost"}}, base)
	for name, ask := range map[string]func() ([]byte, error){
		"host not named": func() ([]byte, error) { return unnamed.linked(t.Context(), store.URL) },
		"plain text": func() ([]byte, error) {
			return named.linked(t.Context(), strings.Replace(store.URL, "https", "http", 1))
		},
		"private address": func() ([]byte, error) { return direct.linked(t.Context(), store.URL) },
		"by a name": func() ([]byte, error) {
			return direct.linked(t.Context(), strings.Replace(store.URL, "127.0.0.1", "localhost", 1))
		},
		"a file": func() ([]byte, error) { return named.linked(t.Context(), "file:///etc/passwd") },
	} {
		if got, err := ask(); err == nil || name != "a file" && !errors.Is(err, errUnreachable) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if header != nil {
		t.Error("a request got through")
	}
}

func TestLinkLocalAddressesAreNoHomes(t *testing.T) {
	base, _ := url.Parse("http://tempo.example.com")
	got := toHome(base).(*http.Transport)
	if _, err := got.DialContext(t.Context(), "tcp", "169.254.169.254:80"); !errors.Is(err, errUnreachable) {
		t.Error(err)
	}
}

// byHand answers without a network.
type byHand func(*http.Request) *http.Response

func (f byHand) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

func replied(status int, header http.Header, body string) *http.Response {
	rec := httptest.NewRecorder()
	for k, v := range header {
		rec.Header()[k] = v
	}
	rec.WriteHeader(status)
	_, _ = rec.WriteString(body)
	return rec.Result()
}

// TestPatience: a window is read on when a busy home is free again, at the time that it named, and given up when it stays broken or asks for too much.
func TestPatience(t *testing.T) {
	page := `{"data":[{"context":{"trace_id":"5b8efff798038103d269b633813fc60c","span_id":"00000000000000c1"},"name":"x","span_kind":"LLM","parent_id":null,"start_time":"2026-11-30T09:00:00Z","end_time":"2026-11-30T09:00:01Z","status_code":"OK"}],"next_cursor":null}`
	for _, tc := range []struct {
		name    string
		replies []*http.Response
		took    time.Duration
		spans   int
	}{
		{"seconds", []*http.Response{replied(429, http.Header{"Retry-After": {"20"}}, ""), replied(200, nil, page)}, 20 * time.Second, 1},
		{"a fraction", []*http.Response{replied(429, http.Header{"Retry-After": {"0.2"}}, ""), replied(200, nil, page)}, time.Second, 1},
		{"a date", []*http.Response{replied(503, http.Header{"Retry-After": {"Sat, 01 Jan 2000 00:01:00 GMT"}}, ""), replied(200, nil, page)}, time.Minute, 1},
		{"no time", []*http.Response{replied(503, nil, ""), replied(200, nil, page)}, 30 * time.Second, 1},
		{"broken for a while", []*http.Response{replied(502, nil, ""), replied(500, nil, ""), replied(200, nil, page)}, 6 * time.Second, 1},
		{"broken", []*http.Response{replied(500, nil, "")}, 30 * time.Second, 0},
		{"an hour", []*http.Response{replied(429, http.Header{"Retry-After": {"3600"}}, "")}, 0, 0},
		{"refused", []*http.Response{replied(403, nil, "")}, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				h, err := New(slog.New(slog.DiscardHandler), Options{Kind: Phoenix, URL: "http://phoenix.example.com", Transport: byHand(func(*http.Request) *http.Response {
					r := tc.replies[min(n, len(tc.replies)-1)]
					n++
					return r
				})})
				if err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				items, err := gathered(h, t)
				if took := time.Since(begin); took != tc.took || len(items) != tc.spans || (err == nil) != (tc.spans > 0) {
					t.Errorf("took %s, %d items, %v", took, len(items), err)
				}
			})
		})
	}
}

func gathered(h *Home, t *testing.T) (items []importer.Item, last error) {
	for item, err := range h.Window(t.Context(), Window{From: time.Now().Add(-time.Hour), To: time.Now()}) {
		if err != nil {
			last = err
			continue
		}
		items = append(items, item)
	}
	return items, last
}

func TestHalves(t *testing.T) {
	from := time.Unix(1_000_000, 0)
	to := from.Add(time.Hour)
	at := []time.Time{from, from.Add(time.Second), from.Add(30 * time.Minute), to.Add(-time.Millisecond)}
	for range 50 { // all at one moment: they cannot be told apart
		at = append(at, from.Add(10*time.Minute))
	}
	got, asked := map[time.Time]int{}, 0
	_, err := halves(from, to, 10, func(a, b time.Time, last bool) (int, bool, error) {
		asked++
		n := 0
		for _, x := range at {
			if !x.Before(a) && x.Before(b) {
				n++
			}
		}
		if n >= 10 && !last {
			return n, true, nil
		}
		for _, x := range at {
			if !x.Before(a) && x.Before(b) {
				got[x]++
			}
		}
		return n, true, nil
	})
	if err != nil || len(got) != 5 || got[from] != 1 || got[from.Add(10*time.Minute)] != 50 || asked > 60 {
		t.Errorf("%v, %v, asked %d times", err, got, asked)
	}
}
