package gate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Source says where the answer of a tool came from.
type Source string

// The sources, in the order in which they are asked. SourceUnknown: the agent called a tool that there is not; SourceNone: there is no answer.
const (
	SourceRecorded Source = "recorded" // equal arguments, as recorded
	SourceFault    Source = "fault"    // the recorded outside error of that tool, for other arguments
	SourceStub     Source = "stub"     // the team's
	SourceHealthy  Source = "healthy"  // a healthy run's result
	SourceUnknown  Source = "unknown"
	SourceNone     Source = "none"
)

// Entry is one line of the ledger: what the agent asked for and how it was answered.
type Entry struct {
	Tool      string       `json:"tool"`
	Arguments regcase.JSON `json:"arguments"`
	Source    Source       `json:"source"`
	Fault     string       `json:"fault"` // error | denied | timeout | missing, "" for a result
}

// Answer is what a tool answers: Result, or Fault and perhaps its text in Result.
type Answer struct {
	Source Source
	Result regcase.JSON
	Fault  string

	program string // that the team answers with
}

// Stubs are the team's answers for tools: those of the set in Dir, by tool.
type Stubs struct {
	Dir   string
	Files map[string]regcase.StubFile
}

// Replay answers for the tools of a case during one run, and keeps the ledger. It is safe for concurrent use.
type Replay struct {
	kase  *Case
	stubs Stubs

	mu     sync.Mutex
	served map[int]int // by group of equal fixtures (the index of its first): how many were given
	ledger []Entry
}

// NewReplay starts the replay for one run.
func NewReplay(c *Case, stubs Stubs) *Replay {
	return &Replay{kase: c, stubs: stubs, served: map[int]int{}}
}

// Ledger is what was asked for so far, in order.
func (r *Replay) Ledger() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ledger)
}

// Answer answers one call and notes it in the ledger.
func (r *Replay) Answer(ctx context.Context, tool string, arguments []byte) Answer {
	args := regcase.NewJSON(arguments)
	r.mu.Lock()
	a := r.find(catalog.Normalise(tool), args)
	at := len(r.ledger)
	r.ledger = append(r.ledger, Entry{tool, args, a.Source, a.Fault})
	r.mu.Unlock()
	if a.program == "" {
		return a
	}
	a = a.ask(ctx, tool, args)
	r.mu.Lock()
	r.ledger[at].Source, r.ledger[at].Fault = a.Source, a.Fault
	r.mu.Unlock()
	return a
}

func (r *Replay) find(tool string, args regcase.JSON) Answer {
	of := func(f regcase.Fixture) bool { return catalog.Normalise(f.Tool) == tool }
	for _, key := range []func(regcase.JSON) string{exactly, steadily} {
		want := key(args)
		if a, ok := r.recorded(func(f regcase.Fixture) bool { return of(f) && key(f.Arguments) == want }); ok {
			return a
		}
	}
	if r.kase.Form == string(classify.FormFault) {
		if a, ok := r.recorded(func(f regcase.Fixture) bool { return of(f) && f.Fault != nil }); ok {
			a.Source = SourceFault
			return a
		}
	}
	if a, ok := r.stub(tool, args); ok {
		return a
	}
	if a, ok := r.healthy(of, args); ok {
		return a
	}
	if len(r.kase.Tools) > 0 && !r.offers(tool) {
		return Answer{Source: SourceUnknown, Fault: "error"}
	}
	return Answer{Source: SourceNone, Fault: "error"}
}

func (r *Replay) offers(tool string) bool {
	return slices.ContainsFunc(r.kase.Tools, func(t regcase.Tool) bool { return catalog.Normalise(t.Name) == tool })
}

// recorded gives the results of equal calls in their order; the last one repeats.
func (r *Replay) recorded(equal func(regcase.Fixture) bool) (Answer, bool) {
	var at []int
	for i, f := range r.kase.Fixtures {
		if equal(f) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return Answer{}, false
	}
	n := r.served[at[0]]
	r.served[at[0]]++
	f := r.kase.Fixtures[at[min(n, len(at)-1)]]
	source := SourceRecorded
	if f.From == "healthy" {
		source = SourceHealthy
	}
	return answerOf(f, source), true
}

// stub is the team's answer. A program's is still to be asked for.
func (r *Replay) stub(tool string, args regcase.JSON) (Answer, bool) {
	f, ok := r.stubs.Files[tool]
	if !ok {
		return Answer{}, false
	}
	if f.Executable {
		return Answer{Source: SourceStub, program: filepath.Join(r.stubs.Dir, filepath.FromSlash(f.Path))}, true
	}
	said, ok := f.Answer(args)
	return answerOf(regcase.Fixture{Result: said.Result, Fault: said.Fault}, SourceStub), ok
}

// stubTime is what a program that answers for a tool may take.
const stubTime = 30 * time.Second

// ask has the team's program answer: it reads {"tool","arguments"} and writes {"result","fault"}. One that fails answers nothing.
func (a Answer) ask(ctx context.Context, tool string, args regcase.JSON) Answer {
	ctx, cancel := context.WithTimeout(ctx, stubTime)
	defer cancel()
	none := Answer{Source: SourceNone, Fault: "error"}
	call, err := json.Marshal(struct {
		Tool      string       `json:"tool"`
		Arguments regcase.JSON `json:"arguments"`
	}{tool, args})
	if err != nil {
		return none
	}
	path, err := filepath.Abs(a.program)
	if err != nil {
		return none
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Stdin, cmd.WaitDelay = bytes.NewReader(call), time.Second
	ownGroup(cmd)
	out, err := cmd.Output()
	if cmd.Process != nil {
		endGroup(cmd)
	}
	var said struct {
		Result regcase.JSON `json:"result"`
		Fault  *string      `json:"fault"`
	}
	if err != nil || json.Unmarshal(out, &said) != nil {
		return none
	}
	return answerOf(regcase.Fixture{Result: said.Result, Fault: said.Fault}, SourceStub)
}

// healthy gives the healthy result of the tool whose arguments are the most alike.
func (r *Replay) healthy(of func(regcase.Fixture) bool, args regcase.JSON) (Answer, bool) {
	best, found := -1, regcase.Fixture{}
	for _, f := range r.kase.Fixtures {
		if f.From != "healthy" || !of(f) {
			continue
		}
		if n := alike(f.Arguments, args); n > best {
			best, found = n, f
		}
	}
	return answerOf(found, SourceHealthy), best >= 0
}

func answerOf(f regcase.Fixture, from Source) Answer {
	a := Answer{Source: from, Result: f.Result}
	if f.Fault != nil {
		a.Fault = *f.Fault
	}
	return a
}

// alike counts the members in which two objects agree.
func alike(a, b regcase.JSON) (n int) {
	var x, y map[string]jsontext.Value
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return 0
	}
	for k, v := range x {
		if w, ok := y[k]; ok && string(v) == string(w) {
			n++
		}
	}
	return n
}

// exactly is the canonical text of arguments; absent ones and an empty object are one.
func exactly(args regcase.JSON) string { return cmp.Or(strings.TrimSpace(string(args)), "{}") }

// steadily leaves out what differs from run to run: request ids, times.
func steadily(args regcase.JSON) string {
	return classify.Steady(jsontext.Value(exactly(args)), false)
}

// Missing names the tools that had no fixture, in order of the calls, each once.
func Missing(ledger []Entry) (tools []string) {
	for _, e := range ledger {
		if e.Source == SourceNone && !slices.Contains(tools, e.Tool) {
			tools = append(tools, e.Tool)
		}
	}
	return tools
}

// NoFixture is the sentence for a call that nothing answers for, with the file to write.
func NoFixture(tool string) string {
	tool = catalog.Normalise(tool)
	return fmt.Sprintf("no fixture for %s: write what it answers to %s/%s.yaml in the set:\napiVersion: %s\nkind: %s\ntool: %q\nanswers:\n  - arguments: null\n    result: {}\n    fault: null",
		tool, regcase.StubsDir, regcase.StubName(tool), regcase.APIVersion, regcase.StubsKind, tool)
}
