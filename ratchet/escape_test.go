package ratchet

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/test/fakegithub"
)

// TestEscape: a failure that comes back although its case is enforced is proposed again, below the first; one whose case is pending is not, and neither
// is one that came back too soon.
func TestEscape(t *testing.T) {
	green := strings.Repeat("b", 40)
	for name, c := range map[string]struct {
		enforced bool
		after    time.Duration
		before   string // service.version of what showed it first
		version  string // and of what showed it again; HEAD and ROOT stand for the commits of main after the merge, and before
		pulls    int
	}{"enforced": {true, 72 * time.Hour, "", "", 2}, "pending": {false, 72 * time.Hour, "", "", 1}, "too soon": {true, time.Hour, "", "", 1},
		"another version": {true, 72 * time.Hour, "1.4", "1.5", 2}, "the version from before": {true, 72 * time.Hour, "1.4", "1.4", 1},
		"the green commit, soon": {true, time.Hour, "", "1.5+" + green[:9], 2}, "a commit that nobody knows": {true, time.Hour, "", "1.5+cafe123", 1},
		"an older commit": {true, 72 * time.Hour, "", "ROOT", 1}, "a later commit, soon": {true, time.Hour, "", "HEAD", 2}} {
		t.Run(name, func(t *testing.T) {
			green := green
			a, f, rounds := paced(t, Options{CoolDown: 48 * time.Hour})
			v := variant(t, a, a.q, 1, "one")
			v.Context.Version = c.before
			say(t, a.q, v)
			rounds(2, time.Minute)
			root := headOf(t, f)
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
				if c.version == "HEAD" || c.version == "ROOT" {
					green = headOf(t, f)
				}
				one.State = regcase.State{Name: regcase.Enforced}
				one.Live, one.Green = &regcase.Live{Commit: strings.Repeat("a", 40), Red: 5, Of: 5}, &regcase.Green{Commit: green, Passed: 9, Of: 9}
				if text, err = regcase.Encode(one); err != nil {
					t.Fatal(err)
				}
				if _, err := f.Human("ana").Push("acme/parcels", "main", path, string(text)); err != nil {
					t.Fatal(err)
				}
			}
			rounds(3, time.Minute)
			v = variant(t, a, a.q, 2, "one") // notes when it was mended
			v.Context.Version = c.before
			say(t, a.q, v)
			rounds(1, time.Minute)
			v = variant(t, a, a.q, 3, "one")
			if v.Context.Version = c.version; c.version == "HEAD" {
				v.Context.Version = "2.0-" + headOf(t, f)
			} else if c.version == "ROOT" {
				v.Context.Version = "sha-" + root
			}
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

// headOf is where main stands.
func headOf(t *testing.T, f *fakegithub.Fake) string {
	t.Helper()
	all, err := f.Branches("acme", "parcels")
	if err != nil {
		t.Fatal(err)
	}
	return all["main"]
}

func TestCommitOf(t *testing.T) {
	for version, want := range map[string]string{"": "", "1.4.2": "", "20261130": "", "1.4.2+9f31c0a": "9f31c0a", "v1.4.2-12-g9f31c0a": "9f31c0a", "9f31c0a": "9f31c0a", "facade": "", "sha-9f31c0abc1": "9f31c0abc1",
		"release/decaffeinated": "", "12345678": "", strings.Repeat("1", 40): strings.Repeat("1", 40), strings.Repeat("a", 41): ""} {
		if got := commitOf(version); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}
