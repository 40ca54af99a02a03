package regcase_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

const goldenHead = "apiVersion: pawl/v1\nkind: Golden\ncases:\n  - {name: a, user: hello, "

// What a case written by hand cannot mean is refused, with where and why.
func TestGoldensThatMeanNothing(t *testing.T) {
	for body, says := range map[string]string{
		"x: 1}":                                                           "x",
		"no_tool: false}":                                                 "/cases/0: nothing is expected",
		"no_tool: true, expect_tool: b}":                                  "/no_tool: no tool may be called, and one is expected",
		"expect_args: {a: 1}, reply: b}":                                  "/expect_args: say of which tool",
		"turns: [b], no_tool: true}":                                      "/user: say what the user says, by user or by turns",
		"expect_tool: b, state: retired}":                                 "/state",
		"expect_tool: b, runs: -1}":                                       "/runs",
		"expect_tool: b}\n  - {name: a, user: b, no_tool: true}":          "/name: \"a\" is there twice",
		"expect_tool: b, expect_sequence: [c]}":                           "/expect_tool: b is not in expect_sequence",
		"expect_tool: b, answers: [{tool: b, fault: broken}]}":            "fault",
		"expect_tool: b, expect_args: {c: {match: pattern, value: '('}}}": "error parsing regexp",
		"no_tool: true}\n  - {name: 'B c', user: b, no_tool: true}":       "/cases/1/name",
	} {
		_, err := regcase.DecodeGoldens([]byte(goldenHead + body))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestGoldenIsACase(t *testing.T) {
	set, problems := regcase.ReadSet(fstest.MapFS{
		"_golden/a.yaml": {Data: []byte(goldenHead + "expect_tool: b, expect_args: {c: 1, /d/e: {match: ignore}, f: {match: 2}}, answers: [{tool: b, arguments: {c: 1}, result: ok}]}")},
		"_golden/b.json": {Data: []byte(`{"apiVersion":"pawl/v1","kind":"Golden","cases":[{"name":"z","user":"hi","no_tool":true,"hard":true,"state":"pending"}]}`)},
		"_golden/c.yaml": {Data: []byte(goldenHead + "no_tool: true}")},
		"_golden/d.txt":  {Data: []byte("x")},
	})
	if len(problems) != 2 || !strings.Contains(problems[0].Error(), `c.yaml: malformed: the name "a" is taken by _golden/a.yaml`) || problems[1].Path != "_golden/d.txt" {
		t.Error(problems)
	}
	a, z := set.Goldens["golden-a"].Case, set.Goldens["golden-z"].Case
	call := a.Expect.Trajectory.Calls[0]
	if call.Tool != "b" || call.Arguments["/c"].Match != "exact" || call.Arguments["/d/e"].Match != "ignore" || call.Arguments["/f"].Match != "exact" || a.State.Name != regcase.Enforced || a.Runs.N != 5 {
		t.Errorf("%+v", a)
	}
	if z.Runs.Mode != "hard" || z.State.Name != regcase.Pending || z.Expect.Trajectory.Mode != "exact" || z.Title != "hi" {
		t.Errorf("%+v", z)
	}
}

func FuzzGoldens(f *testing.F) {
	f.Add([]byte(goldenHead + "expect_tool: b, expect_args: {c: 1}, answers: [{tool: b, result: ok}]}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := regcase.GoldenCases("x.yaml", b)
		for _, g := range all {
			if _, failed := g.Case.Digest(); err == nil && failed != nil {
				t.Error(failed)
			}
		}
	})
}
