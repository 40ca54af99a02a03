package ratchet

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// TestEscape: a failure that comes back although its case is enforced is proposed again, below the first; one whose case is pending is not, and neither
// is one that came back too soon.
func TestEscape(t *testing.T) {
	for name, c := range map[string]struct {
		enforced bool
		after    time.Duration
		pulls    int
	}{"enforced": {true, 72 * time.Hour, 2}, "pending": {false, 72 * time.Hour, 1}, "too soon": {true, time.Hour, 1}} {
		t.Run(name, func(t *testing.T) {
			a, f, rounds := paced(t, Options{CoolDown: 48 * time.Hour})
			say(t, a.q, variant(t, a, a.q, 1, "one"))
			rounds(2, time.Minute)
			p := f.Pulls("acme", "parcels")[0]
			m, _, _ := ghpr.ParseMarker(p.Body)
			path := caseOf(t, f.GitDir("acme", "parcels"), p.Head)
			if err := f.Human("ana").Merge("acme/parcels", 1); err != nil || len(m.Identities) != 1 {
				t.Fatal(err)
			}
			if c.enforced {
				text, err := exec.Command("git", "--git-dir", f.GitDir("acme", "parcels"), "show", "main:"+path).Output()
				if err != nil {
					t.Fatal(err)
				}
				one, err := regcase.Decode(text)
				if err != nil {
					t.Fatal(err)
				}
				one.State = regcase.State{Name: regcase.Enforced}
				one.Live, one.Green = &regcase.Live{Commit: strings.Repeat("a", 40), Red: 5, Of: 5}, &regcase.Green{Commit: strings.Repeat("b", 40), Passed: 9, Of: 9}
				if text, err = regcase.Encode(one); err != nil {
					t.Fatal(err)
				}
				if _, err := f.Human("ana").Push("acme/parcels", "main", path, string(text)); err != nil {
					t.Fatal(err)
				}
			}
			rounds(3, time.Minute)
			say(t, a.q, variant(t, a, a.q, 2, "one")) // notes when it was mended
			rounds(1, time.Minute)
			v := variant(t, a, a.q, 3, "one")
			v.Seen = noon.Add(c.after)
			say(t, a.q, v)
			rounds(1, c.after)
			rounds(8, 8*time.Hour)
			pulls := f.Pulls("acme", "parcels")
			if len(pulls) != c.pulls {
				t.Fatalf("%d pull requests, want %d", len(pulls), c.pulls)
			}
			if c.pulls == 2 {
				if got, want := caseOf(t, f.GitDir("acme", "parcels"), pulls[1].Head), strings.TrimSuffix(path, "case.yaml")+"2/case.yaml"; got != want || !strings.Contains(pulls[1].Body, "**Escaped.**") {
					t.Errorf("%s, want %s\n%s", got, want, pulls[1].Body)
				}
				if g := onlyGroup(t, a); g.Escapes != 1 {
					t.Errorf("%+v", g)
				}
				settle(t, a)
				if n := len(f.Pulls("acme", "parcels")); n != 2 {
					t.Errorf("%d pull requests after a start", n)
				}
			}
		})
	}
}

// caseOf is the one case.yaml that a branch brings.
func caseOf(t *testing.T, dir, branch string) string {
	t.Helper()
	out, err := exec.Command("git", "--git-dir", dir, "diff", "--name-only", "main..."+branch, "--", "*/case.yaml").Output()
	if err != nil || len(strings.Fields(string(out))) != 1 {
		t.Fatalf("%v: %q", err, out)
	}
	return strings.TrimSpace(string(out))
}
