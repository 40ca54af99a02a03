package leaks

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"html"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
	"github.com/pawl-dev/pawl/ratchet/export"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/test/fakegithub"
	"github.com/pawl-dev/pawl/test/fakegithub/openapi"
	"github.com/pawl-dev/pawl/test/sample"
)

var planted = flag.Int("planted", 240, "how many values are planted; the whole run has 10000")

const perTrace = 10

var quiet = slog.New(slog.DiscardHandler)

// exits is the network and all else that takes bytes out.
type exits struct {
	next http.RoundTripper
	sent bytes.Buffer
}

func (e *exits) RoundTrip(req *http.Request) (*http.Response, error) {
	e.sent.WriteString(req.Method + " " + req.URL.String() + "\n")
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		e.sent.Write(b)
		e.sent.WriteByte('\n')
		req.Body = io.NopCloser(bytes.NewReader(b))
	}
	return e.next.RoundTrip(req)
}

type desk struct {
	t     *testing.T
	maker *ratchet.Maker
	red   *redact.Redactor
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	engine, err := classify.New(quiet, rule.All(), classify.Options{})
	must(t, err)
	r, err := redact.New(quiet, redact.Options{})
	must(t, err)
	return &desk{t, &ratchet.Maker{Engine: engine, Oracle: oracle.New(quiet, rule.All()), Redactor: r}, r}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fail makes a failing trace that holds the texts: in what the user says, in a tool's results, in the reply and in an attribute.
func fail(seed uint64, texts []string) trajectory.Trace {
	rng := rand.New(rand.NewPCG(seed, 7))
	run := sample.Named("loop").Make(rng)
	for i, text := range texts {
		switch i % 3 {
		case 0:
			run.User += "\n" + text
		case 1:
			run.Turns[len(run.Turns)-1].Text += "\n" + text
		default:
			for j := range run.Turns[:6] {
				run.Turns[j].Calls[0].Result = fmt.Sprintf(`{"status":"unknown","note":%s}`, quote(text))
			}
		}
	}
	td := sample.Trace(sample.Dialects[seed%uint64(len(sample.Dialects))], run, time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rng)
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	for i, text := range texts {
		spans.At(i%spans.Len()).Attributes().PutStr(fmt.Sprintf("app.note.%d", i), text)
	}
	return trajectory.FromOTLP([]ptrace.Traces{td}, nil)[0]
}

// leave makes a case of a failing trace and takes it out by every exit. It gives all bytes that left, or why none did.
func (d *desk) leave(tr trajectory.Trace, e *exits, pr *ghpr.Reconciler, seed uint64) (out []byte, refused string) {
	t := d.t
	t.Helper()
	var f classify.Finding
	for _, g := range d.maker.Engine.Classify(trajectory.Build(tr), nil).Findings {
		if g.Label == "loop" {
			f = g
		}
	}
	if f.Label == "" {
		t.Fatal("the trace does not fail")
	}
	made, err := d.maker.Make([]trajectory.Trace{tr}, f, ratchet.Sightings{Count: 1, Traces: []string{tr.ID}}, nil)
	if reason, no := ratchet.AsRefused(err); no {
		return nil, reason
	}
	must(t, err)
	red, err := ratchet.Reread(made.Trace)
	must(t, err)
	if !slices.ContainsFunc(d.maker.Engine.Classify(red, nil).Findings, func(g classify.Finding) bool { return g.Fingerprint.Equal(f.Fingerprint) }) {
		t.Error("a redacted trace is not red")
	}
	b := ratchet.Batch{Repo: "acme/parcels", Base: "main", Set: "regressions", Label: "loop", Service: f.Fingerprint.Service, Number: int(seed)}
	b.Join(ratchet.NewMember(made, "y", "t"))
	change, err := b.Change(func(ratchet.Member) (string, string, error) { return string(made.YAML), string(made.Trace), nil })
	must(t, err)
	for i := range change.Files { // the fake holds them all at once
		change.Files[i].Path = strings.Replace(change.Files[i].Path, "regressions/loop/", fmt.Sprintf("regressions/loop/s%d-", seed), 1)
	}
	in, err := ghpr.Freeze(change)
	must(t, err)
	e.sent.Reset()
	in, err = pr.Reconcile(t.Context(), time.Now(), in, func(context.Context, ghpr.Intent) error { return nil })
	if err != nil && strings.Contains(err.Error(), "not sent: redact: ") { // at the last moment: what went before it is searched all the same
		return bytes.Clone(e.sent.Bytes()), err.Error()
	}
	must(t, err)
	if in.Parked != nil {
		return nil, in.Parked.Reason + ": " + strings.Join(in.Parked.Evidence, "; ")
	}
	if in.Receipt.Number == 0 {
		t.Fatalf("no pull request: %s", in.Waiting)
	}
	set := regcase.Set{Cases: map[string]*regcase.Entry{made.Case.ID: {Dir: "loop/" + made.Case.ID, Case: made.Case, Digest: made.Digest}}}
	for _, format := range export.Formats() {
		r, err := export.Write(set, format)
		must(t, err)
		e.sent.Write(r.Data)
	}
	e.sent.Write(made.YAML)
	e.sent.Write(made.Trace)
	return bytes.Clone(e.sent.Bytes()), ""
}

func world(t *testing.T, red *redact.Redactor) (*exits, *ghpr.Reconciler) {
	t.Helper()
	fake, err := fakegithub.New(quiet, t.TempDir(), fakegithub.Options{})
	must(t, err)
	openapi.Watch(t, fake)
	must(t, fake.AddUser(fakegithub.User{Login: "pawl-bot", Token: "tok-of-the-bot-1", Right: "write"}))
	must(t, fake.AddRepo("acme", "parcels", ""))
	e := &exits{next: fake.Transport()}
	pr, err := ghpr.New(quiet, ghpr.Options{Mode: ghpr.ModeOpen, BaseURL: "http://127.0.0.1:1/", Token: "tok-of-the-bot-1", Transport: e, Pace: -1, Public: func(string) bool { return true },
		Outgoing: red.Verify, Limits: ghpr.Limits{Open: 1000, PerHour: 1000, PerDay: 1000}})
	must(t, err)
	return e, pr
}

// TestNothingGetsOut plants secrets and personal values in every encoding and searches all that leaves: the calls to GitHub as they are sent, the files of the
// case, the exports. Either the value was replaced, or nothing left.
func TestNothingGetsOut(t *testing.T) {
	d := newDesk(t)
	var all tally
	t.Run("forms", func(t *testing.T) { // returns when all of them are done
		for i, form := range Forms {
			t.Run(form.Name, func(t *testing.T) {
				t.Parallel()
				all.add(form.Name, (&desk{t, d.maker, d.red}).plant(form, rand.New(rand.NewPCG(1, uint64(i)))))
			})
		}
	})
	t.Logf("%d values in %d encodings: %d replaced, %d held back with their cases, %d got out", all.total, len(Forms), all.replaced, all.held, all.out)
	t.Logf("encodings whose cases were held back: %v", all.why)
	if all.replaced < all.total/4 {
		t.Error("almost nothing left: this shows nothing")
	}
}

// plant makes cases of values in one form, takes them out and counts what became of the values.
func (d *desk) plant(form Form, rng *rand.Rand) (n count) {
	e, pr := world(d.t, d.red)
	each := max(1, *planted/len(Forms)) // of this form, some more if they do not fill the last case
	size := min(perTrace, each)
	for round := range (each + size - 1) / size {
		var values []Planted
		var texts []string
		for range size {
			p := Secret(rng)
			values, texts = append(values, p), append(texts, form.Write(p.Text))
		}
		left, refused := d.leave(fail(rng.Uint64(), texts), e, pr, uint64(round))
		out := search(d.t, form, values, texts, left)
		n.total, n.out = n.total+size, n.out+out
		if refused != "" {
			n.held, n.cases = n.held+size, n.cases+1
		} else {
			n.replaced += size - out
		}
	}
	return n
}

// count is of values; cases are those held back.
type count struct{ total, replaced, held, out, cases int }

// tally adds up what became of the values in all forms.
type tally struct {
	sync.Mutex
	count
	why map[string]int // cases held back, by form
}

func (a *tally) add(form string, n count) {
	a.Lock()
	defer a.Unlock()
	a.total, a.replaced, a.held, a.out = a.total+n.total, a.replaced+n.replaced, a.held+n.held, a.out+n.out
	if n.held > 0 {
		if a.why == nil {
			a.why = map[string]int{}
		}
		a.why[form] = n.cases
	}
}

// search counts and names the values that stand in what left.
func search(t *testing.T, form Form, values []Planted, texts []string, left []byte) (n int) {
	t.Helper()
	views := []string{string(left)}
	for range 4 { // what is escaped is read too
		last := views[len(views)-1]
		next := strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\/`, `/`, `\n`, "\n").Replace(last)
		if u, err := url.QueryUnescape(strings.ReplaceAll(next, "+", "%2B")); err == nil {
			next = u
		}
		views = append(views, html.UnescapeString(next))
	}
	for i, v := range views {
		views[i] = v + "\x00" + strings.ToLower(v)
	}
	for i, p := range values {
		needles := append(append(Read(p.Value), Base64(p.Value)...), texts[i])
		for _, view := range views {
			j := slices.IndexFunc(needles, func(needle string) bool { return strings.Contains(view, needle) })
			if j >= 0 {
				n++
				t.Errorf("%s: a %s got out: %q as %q", form.Name, p.Kind, p.Value, needles[j])
				break
			}
		}
	}
	return n
}

// TestSecondLookAlone counts what the second look refuses by itself, of texts that the redactor never saw. Names, addresses and what has no form of its own it
// cannot know in plain text; of everything with a form of its own it has to refuse all.
func TestSecondLookAlone(t *testing.T) {
	d := newDesk(t)
	rng := rand.New(rand.NewPCG(3, 4))
	refused, total := map[string]int{}, map[string]int{}
	for i := range *planted {
		p, form := Secret(rng), Forms[i%len(Forms)]
		total[p.Kind]++
		if d.red.Verify([]byte(form.Write(p.Text))) != nil {
			refused[p.Kind]++
		} else if slices.Contains([]string{"email", "card", "iban", "github token", "api key", "aws key"}, p.Kind) {
			t.Errorf("%s: a %s passed the second look: %q", form.Name, p.Kind, form.Write(p.Text))
		}
	}
	for _, k := range kinds {
		t.Logf("%-14s %d of %d refused", k.name, refused[k.name], total[k.name])
	}
}

// TestCleanStaysWhole counts the innocent values that redaction changes, and those for which a case would be held back.
func TestCleanStaysWhole(t *testing.T) {
	d := newDesk(t)
	rng := rand.New(rand.NewPCG(5, 6))
	changed, held := 0, 0
	for range *planted {
		v := Clean(rng)
		s := d.red.Session()
		got := s.Field("note", v)
		if got != v {
			changed++
			t.Logf("changed: %q to %q", v, got)
		} else if err := s.Verify([]byte(v)); err != nil {
			held++
			t.Logf("held back: %q: %v", v, err)
		}
	}
	t.Logf("%d innocent values: %d changed, %d held back", *planted, changed, held)
	if changed+held > *planted/200 {
		t.Errorf("%d changed and %d held back: more than one in two hundred", changed, held)
	}
}

// TestCleanCasesLeave: failing traces without anybody's data become pull requests, all of them.
func TestCleanCasesLeave(t *testing.T) {
	d := newDesk(t)
	rng := rand.New(rand.NewPCG(8, 9))
	e, pr := world(t, d.red)
	for i := range min(*planted/perTrace/10, 40) {
		var texts []string
		for range perTrace {
			texts = append(texts, Clean(rng))
		}
		if _, refused := d.leave(fail(rng.Uint64(), texts), e, pr, uint64(i)); refused != "" {
			t.Errorf("held back: %s: %q", refused, texts)
		}
	}
}
