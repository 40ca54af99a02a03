package turn

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/regcase/casetest"
)

var now = time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)

func arbitrary(seed uint64, state regcase.State) regcase.Case {
	c := casetest.Case(rand.New(rand.NewPCG(seed, 9)))
	c.State = state
	return c
}

func TestQuarantine(t *testing.T) {
	enforced := arbitrary(1, regcase.State{Name: regcase.Enforced})
	got, err := Quarantine(enforced, "ana", "flaky", "2026-12-14", now)
	if err != nil || got.State != (regcase.State{Name: regcase.Quarantined, Owner: "ana", Reason: "flaky", Review: "2026-12-14"}) {
		t.Errorf("%+v %v", got.State, err)
	}
	if got.State.Overdue(now) || got.State.Overdue(now.AddDate(0, 0, 14)) || !got.State.Overdue(now.AddDate(0, 0, 15)) {
		t.Error("it is overdue from the day after its review date on")
	}
	pending := arbitrary(1, regcase.State{Name: regcase.Pending})
	for want, do := range map[string]func() (regcase.Case, error){
		"only an enforced case": func() (regcase.Case, error) { return Quarantine(pending, "ana", "flaky", "2026-12-14", now) },
		"not between":           func() (regcase.Case, error) { return Quarantine(enforced, "ana", "flaky", "2026-12-15", now) },
		"2026-11-29":            func() (regcase.Case, error) { return Quarantine(enforced, "ana", "flaky", "2026-11-29", now) },
		"not yyyy-mm-dd":        func() (regcase.Case, error) { return Quarantine(enforced, "ana", "flaky", "14.12.2026", now) },
		"needs owner":           func() (regcase.Case, error) { return Quarantine(enforced, " ", "flaky", "2026-12-14", now) },
		"retired already": func() (regcase.Case, error) {
			return Retire(arbitrary(1, regcase.State{Name: regcase.Retired, Reason: "x"}), "y")
		},
		"needs a reason": func() (regcase.Case, error) { return Retire(pending, "") },
	} {
		if _, err := do(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ... %s", err, want)
		}
	}
}

func TestWaive(t *testing.T) {
	base := arbitrary(2, regcase.State{Name: regcase.Enforced})
	base.Runs = regcase.Runs{N: 5, Mode: "soft", Rate: 0.8}
	head := base
	head.Runs.N = 3
	w, err := Waive(&base, &head, "/runs/n", "five runs cost too much", "#12", now)
	if err != nil || string(w.Base) != "5" || string(w.Head) != "3" {
		t.Errorf("%+v %v", w, err)
	}
	long := base
	long.Input.Turns = []regcase.Turn{{User: strings.Repeat("x", 2*maxValue)}}
	fields := Looser(&base, &long, now)
	if w, err := Waive(&base, &long, fields[0].Field, "the customer asked for it", "https://example.com/1", now); err != nil || !strings.HasPrefix(string(w.Head), `"sha256:`) {
		t.Errorf("%+v %v", w, err)
	}
	for want, do := range map[string]func() (regcase.Waiver, error){
		"looser are /runs/n": func() (regcase.Waiver, error) {
			return Waive(&base, &head, "/runs/rate", "five runs cost too much", "#12", now)
		},
		"is no looser": func() (regcase.Waiver, error) {
			return Waive(&base, &base, "/runs/n", "five runs cost too much", "#12", now)
		},
		"no reason": func() (regcase.Waiver, error) { return Waive(&base, &head, "/runs/n", "x", "#12", now) },
		"no issue": func() (regcase.Waiver, error) {
			return Waive(&base, &head, "/runs/n", "five runs cost too much", "later", now)
		},
	} {
		if _, err := do(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ... %s", err, want)
		}
	}
}

const trace = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"execute_tool get_order","attributes":[{"key":"gen_ai.tool.name","value":{"stringValue":"get_order"}}]}]}]}]}`

// setOf is a set of arbitrary cases, as files.
func setOf(t *testing.T, n uint64) fstest.MapFS {
	t.Helper()
	src := fstest.MapFS{}
	for seed := range n {
		c := arbitrary(seed, regcase.State{Name: regcase.Pending})
		c.Trace.SHA256 = regcase.SHA256([]byte(trace))
		b, err := regcase.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		src[path.Join(c.Dir(), regcase.CaseFile)] = &fstest.MapFile{Data: b}
		src[path.Join(c.Dir(), regcase.JSONFile)] = &fstest.MapFile{Data: []byte(trace)}
	}
	return src
}

func read(t *testing.T, src fstest.MapFS) regcase.Set {
	t.Helper()
	set, problems := regcase.ReadSet(src)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

func apply(src fstest.MapFS, changes []Change) {
	for _, c := range changes {
		src[c.Path] = &fstest.MapFile{Data: c.Data}
		if c.Old != "" {
			delete(src, c.Old)
		}
	}
}

func TestRename(t *testing.T) {
	src := setOf(t, 20)
	src[regcase.StubsDir+"/get_order.json"] = &fstest.MapFile{Data: []byte(`{"apiVersion":"pawl/v1","kind":"Fixtures","tool":"get_order","answers":[{"arguments":{"order_id":"X"},"result":1}]}`)}
	n := regcase.Rename{Tool: "get_order", To: "fetch_order", Reason: "one name in all services", Issue: "#3"}
	changes, err := Rename(src, read(t, src), n)
	if err != nil {
		t.Fatal(err)
	}
	apply(src, changes)
	set := read(t, src)
	for name, f := range src {
		if strings.HasSuffix(name, regcase.JSONFile) && strings.Contains(string(f.Data), "get_order") {
			t.Errorf("%s still says get_order", name)
		}
	}
	for _, e := range set.All() {
		if slices.ContainsFunc(e.Case.Tools, func(t regcase.Tool) bool { return t.Name == "get_order" }) || !e.Canonical {
			t.Errorf("%s was not renamed", e.Dir)
		}
	}
	if set.Stubs["fetch_order"].Path != regcase.StubsDir+"/fetch_order.yaml" || len(set.Stubs) != 1 || len(set.Renames) != 1 {
		t.Errorf("%+v %+v", set.Stubs, set.Renames)
	}
	for want, n := range map[string]regcase.Rename{
		"used already":            {Tool: "fetch_order", To: "refund", Reason: "x", Issue: "#1"},
		"knows nobody":            {Tool: "nobody", To: "anybody", Reason: "x", Issue: "#1"},
		"more than their last":    {Tool: "refund", Field: "/a/b", To: "/b", Reason: "x", Issue: "#1"},
		"there is no reason":      {Tool: "refund", To: "b", Issue: "#1"},
		"new name is the old one": {Tool: "refund", To: "refund", Reason: "x", Issue: "#1"},
	} {
		if _, err := Rename(src, set, n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ... %s", err, want)
		}
	}
}

func TestFormat(t *testing.T) {
	src := setOf(t, 3)
	for name, f := range src {
		if strings.HasSuffix(name, regcase.CaseFile) {
			f.Data = append([]byte("# by hand\n"), f.Data...)
		}
	}
	before := read(t, src)
	changes, err := Format(before)
	if err != nil || len(changes) != len(before.Cases) {
		t.Fatal(len(changes), err)
	}
	apply(src, changes)
	after := read(t, src)
	for id, e := range after.Cases {
		if !e.Canonical || e.Digest != before.Cases[id].Digest {
			t.Errorf("%s: canonical %t, digest %s was %s", id, e.Canonical, e.Digest, before.Cases[id].Digest)
		}
	}
	if again, err := Format(after); err != nil || len(again) != 0 {
		t.Error(again, err)
	}
}

func TestHealth(t *testing.T) {
	set := regcase.Set{Cases: map[string]*regcase.Entry{}}
	put := func(seed uint64, id string, s regcase.State, change func(*regcase.Case)) {
		c := arbitrary(seed, s)
		c.ID, c.Live, c.Provenance.FirstSeen = id, nil, now.AddDate(0, 0, -int(seed))
		change(&c)
		set.Cases[id] = &regcase.Entry{Case: c, Canonical: seed != 3}
	}
	keep := func(*regcase.Case) {}
	pending := regcase.State{Name: regcase.Pending}
	put(3, "a-0", pending, keep)
	put(9, "a-1", pending, keep)
	put(4, "a-2", pending, func(c *regcase.Case) { c.Live = &regcase.Live{Commit: "abcdef0", Red: 2, Of: 5} })
	put(5, "a-2.2", pending, keep)
	put(6, "a-3", regcase.State{Name: regcase.Quarantined, Owner: "ana", Reason: "flaky", Review: "2026-11-29"}, keep)
	put(7, "a-4", regcase.State{Name: regcase.Quarantined, Owner: "eva", Reason: "slow", Review: "2026-12-09"}, keep)
	put(8, "a-5", regcase.State{Name: regcase.Retired, Reason: "gone"}, keep)
	h := HealthOf(set, now)
	if h.Cases != 6 || h.States["pending"] != 3 || h.Overdue != 1 || len(h.Quarantines) != 2 || h.Quarantines[0].ID != "a-3" || len(h.Retired) != 1 || len(h.Old) != 1 {
		t.Errorf("%+v", h)
	}
	if len(h.NotReproduced) != 2 || h.NotReproduced[0].ID != "a-1" || h.NotReproduced[0].Days != 9 || len(h.Ready) != 1 || h.Ready[0].ID != "a-2" {
		t.Errorf("%+v %+v", h.NotReproduced, h.Ready)
	}
	if len(h.Escapes) != 1 || h.Escapes[0].ID != "a-2" || h.Escapes[0].Specimens[0] != "a-2.2" {
		t.Errorf("%+v", h.Escapes)
	}
}
