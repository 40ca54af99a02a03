package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ratchet"
)

// room is the other end: it keeps what it heard, and answers as it is told to.
type room struct {
	heard  []string
	answer []int // one after the other, then 200; 0: does not answer
	asked  int
}

func (r *room) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	code := http.StatusOK
	if r.asked < len(r.answer) {
		code = r.answer[r.asked]
	}
	r.asked++
	if code == 0 {
		return nil, errors.New("connection refused")
	}
	if code == http.StatusOK {
		var m struct{ Text string }
		if err := json.Unmarshal(body, &m); err != nil {
			return nil, err
		}
		r.heard = append(r.heard, m.Text)
	}
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Body: io.NopCloser(bytes.NewReader(nil)), Request: req}, nil
}

func group(tool string, life ratchet.Life, s classify.Severity) Seen {
	return Seen{&ratchet.Group{Fingerprint: classify.NewFingerprint("loop", "shop", "desk", classify.Names("tools", tool)), Count: 3, Severity: s, Title: tool + " called 6 times"}, life}
}

func testNotifier(t *testing.T, r *room, gs *[]Seen, o Options) *Notifier {
	t.Helper()
	q, err := queue.Open(t.Context(), slog.New(slog.DiscardHandler), queue.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	o.URL, o.Transport = "https://hooks.example/secret", r
	return New(slog.New(slog.DiscardHandler), q.Cursors, func(context.Context) ([]Seen, error) { return *gs, nil }, o)
}

func TestToldOnceAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &room{}
		gs := []Seen{group("a", ratchet.LifeNew, classify.Blocking), group("b", ratchet.LifeOngoing, classify.Blocking), group("c", ratchet.LifeNew, classify.Warning)}
		n := testNotifier(t, r, &gs, Options{Link: "https://pawl.example/"})
		now := time.Now()
		tell := func(after time.Duration, want int) {
			t.Helper()
			if err := n.Tell(t.Context(), now.Add(after)); err != nil || len(r.heard) != want {
				t.Fatalf("after %s %v, heard %q", after, err, r.heard)
			}
		}
		tell(0, 1)
		if want := "<https://pawl.example/groups/" + gs[0].ID() + "|" + gs[0].ID() + ">: new, seen 3 times in shop: a called 6 times"; !strings.Contains(r.heard[0], want) || strings.Count(r.heard[0], "\n") != 1 {
			t.Errorf("heard %q, want %q", r.heard[0], want)
		}
		gs = append(gs, group("d", ratchet.LifeRegressed, classify.Blocking))
		tell(time.Minute, 1)
		gs[1].Life = ratchet.LifeEscalating
		tell(59*time.Minute, 1)
		tell(time.Hour, 2) // both in one message
		if !strings.HasPrefix(r.heard[1], "pawl: 1 escalating, 1 regressed\n") {
			t.Errorf("heard %q", r.heard[1])
		}
		tell(3*time.Hour, 2) // nothing happened
		gs[1].Life = ratchet.LifeOngoing
		gs[0].Life = ratchet.LifeEscalating
		tell(4*time.Hour, 3) // the next turn of its life
		gs[1].Life = ratchet.LifeEscalating
		tell(6*time.Hour, 4) // and once more, after it was over
	})
}

func TestWhoDoesNotAnswerIsAskedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gs := []Seen{group("a", ratchet.LifeNew, classify.Blocking)}
		r := &room{answer: []int{500, 0, 429, 404, 429, 200}}
		n := testNotifier(t, r, &gs, Options{})
		now := time.Now()
		if err := n.Tell(t.Context(), now); err == nil || strings.Contains(err.Error(), "hooks.example") || r.asked != tries {
			t.Errorf("%v after %d tries", err, r.asked)
		}
		if err := n.Tell(t.Context(), now.Add(time.Minute)); err != nil || r.asked != tries {
			t.Errorf("asked every minute: %v", err)
		}
		if err := n.Tell(t.Context(), now.Add(2*time.Hour)); err == nil || r.asked != tries+1 {
			t.Errorf("a wrong address is tried again: %v", err)
		}
		if err := n.Tell(t.Context(), now.Add(4*time.Hour)); err != nil || len(r.heard) != 1 {
			t.Errorf("not told in the end: %v", err)
		}
	})
}

func TestWhatIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gs []Seen
		for i := range 14 {
			gs = append(gs, group(fmt.Sprint("tool", i), ratchet.LifeNew, classify.Warning))
		}
		bad := group("x", ratchet.LifeNew, classify.Blocking)
		bad.Title = "<!channel> & *bold* `code` \u202e\nsecond line"
		secret := group("y", ratchet.LifeNew, classify.Blocking)
		secret.Title = "call of ada@corp.example"
		gs = append(gs, bad, secret)
		r := &room{}
		n := testNotifier(t, r, &gs, Options{Min: classify.Warning, Verify: func(b []byte) error {
			if bytes.Contains(b, []byte("ada@corp")) {
				return errors.New("an address")
			}
			return nil
		}})
		if err := n.Tell(t.Context(), time.Now()); err != nil || len(r.heard) != 1 {
			t.Fatal(err, r.heard)
		}
		text := r.heard[0]
		if strings.Count(text, "\n") != maxLines+1 || !strings.HasSuffix(text, "\nand 6 more") || strings.Contains(text, "<!") || strings.Contains(text, "ada@") || strings.Contains(text, "\u202e") {
			t.Errorf("heard %q", text)
		}
		if !strings.Contains(text, "&lt;!channel&gt; &amp; 'bold' 'code' second line") || !strings.Contains(text, secret.ID()+": new, seen 3 times in shop\n") {
			t.Errorf("heard %q", text)
		}
	})
}
