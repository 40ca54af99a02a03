package gate

import (
	"cmp"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// StubDir is the directory of a set in which the team's stubs lie, one file a tool: <set>/_fixtures/<tool>.json (or <tool>), the JSON that the tool answers.
const StubDir = "_fixtures"

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
}

// Replay answers for the tools of a case during one run, and keeps the ledger. It is safe for concurrent use.
type Replay struct {
	kase  *Case
	stubs map[string]regcase.JSON

	mu     sync.Mutex
	served map[int]int // by group of equal fixtures (the index of its first): how many were given
	ledger []Entry
}

// NewReplay starts the replay for one run.
func NewReplay(c *Case, stubs map[string]regcase.JSON) *Replay {
	return &Replay{kase: c, stubs: stubs, served: map[int]int{}}
}

// Ledger is what was asked for so far, in order.
func (r *Replay) Ledger() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ledger)
}

// Answer answers one call and notes it in the ledger.
func (r *Replay) Answer(tool string, arguments []byte) Answer {
	args := regcase.NewJSON(arguments)
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.find(catalog.Normalise(tool), args)
	r.ledger = append(r.ledger, Entry{tool, args, a.Source, a.Fault})
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
	if v, ok := r.stubs[stubName(tool)]; ok {
		return Answer{Source: SourceStub, Result: v}
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

// NoFixture is the sentence for a call that nothing answers for: it says which file to write.
func NoFixture(tool string) string {
	return fmt.Sprintf("no fixture for %s: write what it answers, as JSON, to %s/%s.json in the set", tool, StubDir, stubName(catalog.Normalise(tool)))
}

var fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// stubName is the file of a tool's stub, without .json: its name, or the hash of one that is no name for a file.
func stubName(tool string) string {
	if fileName.MatchString(tool) {
		return tool
	}
	return classify.SafeName(tool)
}

// maxStub bounds one stub, in bytes.
const maxStub = 4 << 20

// ReadStubs reads the team's stubs of a set. A file that is not JSON stands for its text.
func ReadStubs(set fs.FS) (map[string]regcase.JSON, error) {
	out := map[string]regcase.JSON{}
	files, err := fs.ReadDir(set, StubDir)
	if err != nil {
		return out, nil // there are none
	}
	for _, f := range files {
		if f.IsDir() || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		info, err := f.Info()
		if err != nil || info.Size() > maxStub {
			return nil, fmt.Errorf("%s/%s: larger than %d MiB or unreadable", StubDir, f.Name(), maxStub>>20)
		}
		b, err := fs.ReadFile(set, StubDir+"/"+f.Name())
		if err != nil {
			return nil, fmt.Errorf("stub: %w", err)
		}
		out[strings.TrimSuffix(f.Name(), ".json")] = regcase.NewJSON(b)
	}
	return out, nil
}
