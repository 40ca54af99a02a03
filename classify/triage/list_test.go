package triage

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/sight"
	"github.com/pawl-dev/pawl/ingest/flag"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
)

// manyGroups makes n groups of some services and labels, by digest.
func manyGroups(n int, now time.Time) []ratchet.Group {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	labels := []classify.Label{"loop", "cost_spike", classify.NoLabel, "fabricated_success"}
	var out []ratchet.Group
	for i := range n {
		service := fmt.Sprintf("svc-%d", i%7)
		fp := classify.NewFingerprint(labels[i%len(labels)], service, "desk", classify.Names("tools", fmt.Sprintf("tool_%c%c", 'a'+i%26, 'a'+i/26%26), fmt.Sprint("x", 'a'+rune(i/676))), classify.Number("period", i))
		last := now.Add(-time.Duration(r.IntN(20*24)) * time.Hour).Truncate(time.Second)
		g := ratchet.Group{Fingerprint: fp, Service: service, Rule: "loop@1", Form: classify.FormNever, Severity: classify.Blocking, Confidence: 1, Count: 1 + r.IntN(50),
			Title: fmt.Sprintf("tool %d called 6 times", i), Why: strings.Repeat("because it did. ", 10), FirstSeen: last.Add(-time.Duration(r.IntN(20*24)) * time.Hour), LastSeen: last}
		for d := range 12 {
			g.Days = append(g.Days, ratchet.Day{Day: ratchet.DayOf(last) - 11 + d, N: 1 + r.IntN(4)})
		}
		for s := range 5 {
			g.Specimens = append(g.Specimens, ratchet.Specimen{TraceID: fmt.Sprintf("%032x", i*8+s+1), Seen: last, Why: g.Why, Version: "1.0"})
		}
		out = append(out, g)
	}
	return out
}

func sourceOf(gs []ratchet.Group) Source {
	src := testSource()
	src.Groups = func(context.Context) ([]ratchet.Group, error) { return slices.Clone(gs), nil }
	src.Status = func(gs []ratchet.Group, bs map[string]*ratchet.Batch) func(*ratchet.Group) string {
		p := ratchet.Policy{Own: ratchet.Own(gs, bs)}
		return func(g *ratchet.Group) string { return p.Status(g, nil, bs) }
	}
	return src
}

// TestPagesHoldEachGroupOnce walks each order by pages of odd sizes, with filters, and finds the whole list in its order.
func TestPagesHoldEachGroupOnce(t *testing.T) {
	now := time.Now()
	h := &handler{lg: slog.New(slog.DiscardHandler), src: sourceOf(manyGroups(500, now))}
	r := rand.New(rand.NewPCG(3, 4))
	for _, q := range []Query{{}, {Label: "loop"}, {Service: "svc-3"}, {Verdict: classify.Unclassified}, {Verdict: classify.Failing}, {Life: ratchet.LifeNew}, {Life: ratchet.LifeResolved},
		{Text: "TOOL 1"}, {Status: "waits"}, {Text: "no such thing"}} {
		for _, sort := range sorts {
			q.Sort, q.Limit, q.Cursor = sort, 0, ""
			all, err := h.listing(t.Context(), q, now)
			if err != nil || all.Next != "" || all.Total != len(all.Groups) {
				t.Fatal(err, all.Next, all.Total, len(all.Groups))
			}
			var walked []string
			for q.Cursor = ""; ; {
				q.Limit = 1 + r.IntN(90)
				page, err := h.listing(t.Context(), q, now)
				if err != nil || page.Total != all.Total {
					t.Fatal(err, page.Total, all.Total)
				}
				for _, g := range page.Groups {
					walked = append(walked, g.ID)
				}
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
			}
			var whole []string
			for _, g := range all.Groups {
				whole = append(whole, g.ID)
				if q.Life != "" && g.Life != q.Life || q.Label != "" && g.Label != q.Label || q.Service != "" && g.Services[0] != q.Service {
					t.Errorf("%+v lets %s through", q, g.ID)
				}
			}
			if !slices.Equal(walked, whole) {
				t.Errorf("%+v: %d by pages, %d at once", q, len(walked), len(whole))
			}
		}
	}
	if _, err := h.listing(t.Context(), Query{Sort: "new", Limit: 1, Cursor: "bm90IG9uZQ"}, now); err == nil {
		t.Error("a cursor that no list gave is taken")
	}
}

func TestPagesOverHTTP(t *testing.T) {
	src := sourceOf(manyGroups(30, time.Now()))
	srv := httptest.NewServer(New(slog.New(slog.DiscardHandler), src, Options{}))
	defer srv.Close()
	seen := map[string]bool{}
	next := "/v1/groups?sort=count&limit=7"
	for next != "" {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+next, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var page []struct {
			ID string `json:"id"`
		}
		err = json.NewDecoder(res.Body).Decode(&page)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Pawl-Total") != "30" {
			t.Fatal(err, res.StatusCode, res.Header)
		}
		for _, g := range page {
			if seen[g.ID] {
				t.Errorf("%s comes twice", g.ID)
			}
			seen[g.ID] = true
		}
		link := res.Header.Get("Link")
		next = strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
	}
	if len(seen) != 30 {
		t.Errorf("%d groups by pages, want 30", len(seen))
	}
	for _, bad := range []string{"?limit=0", "?limit=x", "?life=old", "?sort=best", "?verdict=passing", "?colour=red", "?limit=5&cursor=%21", "?limit=1001"} {
		if code, body := get(t, src, Options{}, "/v1/groups"+bad); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, code, body)
		}
	}
}

// TestLimitedTokenSeesItsServicesAlone asks everything that a token can ask, and finds nothing of another service.
func TestLimitedTokenSeesItsServicesAlone(t *testing.T) {
	gs := manyGroups(21, time.Now())
	src := sourceOf(gs)
	src.Services = func(context.Context) ([]ratchet.Service, error) {
		return []ratchet.Service{{Service: sight.Service{Name: "svc-1"}}, {Service: sight.Service{Name: "svc-2"}}}, nil
	}
	src.Batches = func(context.Context) ([]ratchet.Batch, error) {
		return []ratchet.Batch{{Repo: "acme/one", Service: "svc-1", Number: 1}, {Repo: "acme/two", Service: "svc-2", Number: 1}}, nil
	}
	src.Flags = func(int) []ratchet.Flagged {
		return []ratchet.Flagged{{TraceID: "cd", Flags: []flag.Flag{{ID: "1", TraceID: "cd", Source: "spy", Reason: "svc-2 is bad"}}}}
	}
	decided := 0
	src.Decide = func(_ context.Context, id, who string, _ ratchet.Ask) (ratchet.Group, error) {
		decided++
		i := slices.IndexFunc(gs, func(g ratchet.Group) bool { return g.ID() == id })
		return gs[i], nil
	}
	src.Audit = func(_ context.Context, f ratchet.AuditFilter, _ uint64, _ int) (out []ratchet.Told, next uint64, err error) {
		for i := range gs {
			if e := (ratchet.Told{Kind: "decision", Group: gs[i].ID(), Decision: ratchet.Decision{Who: "bo", Reason: gs[i].Service}}); f.Allow == nil || f.Allow(e) {
				out = append(out, e)
			}
		}
		return out, 0, nil
	}
	src.Trace = func(context.Context, string) (trajectory.Trace, error) { return trajectory.Trace{ID: "ab"}, nil } // of no service
	o := Options{Tokens: []Token{{Name: "ana", Token: "one", Decides: true, Services: []string{"svc-1"}}, {Name: "root", Token: "all", Decides: true, Admin: true}}}
	for _, path := range []string{"/v1/groups", "/v1/services", "/v1/batches", "/v1/audit", "/v1/rules", "/v1/judgements", "/v1/flags", "/ingest", "/rules", "/pulls", "/audit"} {
		code, body := get(t, src, o, path, "Authorization", "Bearer one")
		if code != http.StatusOK || strings.Contains(body, "svc-2") || strings.Contains(body, "acme/two") {
			t.Errorf("%s: %d shows another service's: %.300s", path, code, body)
		}
		if _, all := get(t, src, o, path, "Authorization", "Bearer all"); len(all) < len(body) {
			t.Errorf("%s: who may see all sees less", path)
		}
	}
	if _, body := get(t, src, o, "/v1/groups", "Authorization", "Bearer one"); strings.Count(body, `"kind":"group"`) != 3 {
		t.Errorf("its own three groups are not there: %.300s", body)
	}
	other := gs[2].ID()
	for _, path := range []string{"/v1/groups/" + other, "/v1/audit?group=" + other, "/v1/traces/ab", "/v1/batches/1/plan"} {
		if code, body := get(t, src, o, path, "Authorization", "Bearer one"); code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for _, c := range []struct {
		id, body string
		want     int
	}{
		{gs[1].ID(), `{"choice":"wake"}`, http.StatusOK},
		{other, `{"choice":"wake"}`, http.StatusNotFound},
		{gs[1].ID(), `{"choice":"merge","into":"` + other + `","reason":"x"}`, http.StatusNotFound},
	} {
		before := decided
		if code, body := postAs(t, src, o, "/v1/groups/"+c.id+"/decisions", c.body, "one"); code != c.want || (code == http.StatusOK) != (decided > before) {
			t.Errorf("%s on %s: %d %s", c.body, c.id, code, body)
		}
	}
	for path, body := range map[string]string{"/v1/open": `{"repo":"acme/two"}`, "/v1/groups/" + other + "/merge": `{"into":"` + gs[1].ID() + `","reason":"x"}`} {
		if code, text := postAs(t, src, o, path, body, "one"); code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
}

// postAs sends a body by a token's holder.
func postAs(t *testing.T, src Source, o Options, path, body, token string) (int, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	req.Host = "localhost"
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	New(slog.New(slog.DiscardHandler), src, o).ServeHTTP(w, req)
	described(t, req, w.Result(), w.Body.Bytes())
	return w.Code, w.Body.String()
}

func TestDecisionsOverHTTP(t *testing.T) {
	gs := manyGroups(3, time.Now())
	src := sourceOf(gs)
	src.Decide = func(_ context.Context, id, who string, ask ratchet.Ask) (ratchet.Group, error) {
		if ask.Digest == "stale" {
			return ratchet.Group{}, &ratchet.Refused{Reason: "the case changed since you looked"}
		}
		if id != gs[0].ID() {
			return ratchet.Group{}, ErrNotFound
		}
		g := gs[0]
		g.Decide(ratchet.Decision{Who: who, When: time.Unix(9, 0), Choice: ask.Choice, As: ask.As, Reason: ask.Reason})
		return g, nil
	}
	o := Options{Tokens: []Token{{Name: "ana", Token: "one", Decides: true}}}
	path := "/v1/groups/" + gs[0].ID() + "/decisions"
	for _, c := range []struct {
		path, body string
		code       int
		want       string
	}{
		{path, `{"choice":"dismiss","as":"intended","reason":"so"}`, 200, `"who":"ana"`},
		{path, `{"choice":"approve","digest":"stale"}`, 409, "changed since you looked"},
		{path, `{"choice":"dismiss","colour":"red"}`, 400, "colour"},
		{path, `nonsense`, 400, "send"},
		{path, `{"choice":"` + strings.Repeat("x", maxBody) + `"}`, 413, "at most 16384 bytes"},
		{"/v1/groups/loop-0/decisions", `{"choice":"wake"}`, 404, "no such thing"},
	} {
		if code, body := postAs(t, src, o, c.path, c.body, "one"); code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%.60s: %d %s, want %d %q", c.body, code, body, c.code, c.want)
		}
	}
	if code, body := postAs(t, src, Options{}, path, `{"choice":"wake"}`, ""); code != http.StatusForbidden || !strings.Contains(body, PersonHeader) {
		t.Errorf("nobody decides: %d %s", code, body)
	}
}

func TestRulesTellWhatTheyRestOn(t *testing.T) {
	g := manyGroups(1, time.Now())[0]
	services := []ratchet.Service{{Service: sight.Service{Name: "shop", Examined: 9, Unjudged: map[string]int{"loop@1": 4}, Blind: []sight.Blind{{Missing: trajectory.FactUsage, Remedy: "send usage", Rules: []string{"loop@1"}, Count: 4}}}}}
	got := rulesOf([]Rule{{ID: "loop@2", Label: "loop", Doc: "the same again"}}, []ratchet.Group{g, g}, services,
		func(string) ratchet.Trust {
			return ratchet.Trust{Own: ratchet.Precision{Judged: 10, Right: 8}, Why: "so"}
		})
	if len(got) != 2 || got[0].Rule != "loop@1" || got[0].Current || got[0].Groups != 2 || got[0].Count != 2*g.Count || got[0].Days[0].N != 2*g.Days[0].N || !got[1].Current {
		t.Errorf("%+v", got)
	}
	if b := got[0].Blind; len(b) != 1 || b[0].Traces != 4 || b[0].Of != 9 || len(got[1].Blind) != 0 {
		t.Errorf("blind spots %+v", b)
	}
	if p := got[0].Own; p.Low < 0.48 || p.Low > 0.5 || p.High < 0.94 || p.High > 0.95 {
		t.Errorf("8 of 10 is %.3f to %.3f, want 0.490 to 0.943", p.Low, p.High)
	}
}

// BenchmarkGroups lists one page of 10,000 groups, filtered by what is dearest.
func BenchmarkGroups(b *testing.B) {
	src := sourceOf(manyGroups(10_000, time.Now()))
	h := New(slog.New(slog.DiscardHandler), src, Options{})
	for _, q := range []string{"sort=growing&limit=100", "life=new&sort=new&limit=100", "status=waits&limit=100", "q=tool+99&limit=100"} {
		b.Run(q, func(b *testing.B) {
			for b.Loop() {
				w := httptest.NewRecorder()
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/v1/groups?"+q, nil)
				r.Host = "localhost"
				if h.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
