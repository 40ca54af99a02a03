package gate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// RunKind is the kind of a line that holds a run.
const RunKind = "run"

// Run is one run of one case: a line of the results file (JSON Lines). Empty is [] or null, never absent; a number that is not known is null.
type Run struct {
	Kind       string     `json:"kind"` // RunKind
	Case       string     `json:"case"`
	Digest     string     `json:"digest"` // case digest
	Check      string     `json:"check"`  // the check that made it; "" in files of before
	Run        int        `json:"run"`    // counted from 1 within case, side and Again
	N          int        `json:"n"`      // runs of the case that the check asks for
	Side       Side       `json:"side"`
	Again      bool       `json:"again"` // one of the fresh runs that look into a miss
	Verdict    Verdict    `json:"verdict"`
	Reason     string     `json:"reason"`
	Mismatches []Mismatch `json:"mismatches"`
	Notes      []string   `json:"notes"`
	Decided    Decider    `json:"decided"` // what the verdict rests on: deterministic | embedding | judge; "" where there was none

	Commit        string    `json:"commit"` // "" when unknown
	Dirty         bool      `json:"dirty"`  // the work tree differs from Commit
	Branch        string    `json:"branch"`
	DefaultBranch bool      `json:"default_branch"`
	Agent         string    `json:"agent"` // digest of the agent: what --agent-digest says, else of Commit and command; "" when runs cannot be taken over
	Way           string    `json:"way"`   // digest of how the agent was reached: its command, or its URL. A run is taken over by the very same way alone
	Model         string    `json:"model"` // that the agent was told to use (PAWL_MODEL); "" is its own
	At            time.Time `json:"at"`

	MS             int64    `json:"ms"`
	Tokens         *int64   `json:"tokens"`
	CostUSD        *float64 `json:"cost_usd"`
	ToolCalls      *int64   `json:"tool_calls"`
	Replayed       []string `json:"replayed"` // tools that were answered for, and so are not proven
	Aliases        []Alias  `json:"aliases"`  // models that answered as a version of what was asked for
	ResponseSHA256 string   `json:"response_sha256"`
	Calls          []Call   `json:"calls"`

	Votes  []Vote  `json:"votes"`  // of a model on the case's criteria
	Jury   string  `json:"jury"`   // which model, by which rubric; "" where none was asked
	Played *Played `json:"played"` // what a model said as the user; null where the turns are recorded
	Asked  Spent   `json:"asked"`  // what those took: not the agent's
}

// Call is one call of a tool in a run.
type Call struct {
	Tool      string       `json:"tool"`
	Arguments regcase.JSON `json:"arguments"`
}

// Mismatch is one thing that is not as the case wants it. Step is -1 where it is of no one step.
type Mismatch struct {
	Step     int    `json:"step"`
	Field    string `json:"field"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// Read reads a results file. Lines of other kinds are left out. A last line without its end is what a kill leaves: it is passed over; any other that
// cannot be read is an error that names it.
func Read(r io.Reader) ([]Run, error) {
	var out []Run
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) == 0 {
			return out, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("results: line %d: %w", n, err)
		}
		run, ok, bad := readRun(line)
		switch {
		case bad != nil && errors.Is(err, io.EOF):
			return out, nil
		case bad != nil:
			return nil, fmt.Errorf("results: line %d: %w", n, bad)
		case ok:
			out = append(out, run)
		}
		if err != nil {
			return out, nil
		}
	}
}

func readRun(line []byte) (Run, bool, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return Run{}, false, nil
	}
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return Run{}, false, err
	}
	if head.Kind != RunKind {
		return Run{}, false, nil
	}
	var run Run
	if err := json.Unmarshal(line, &run); err != nil {
		return Run{}, false, err
	}
	if run.Side == "" {
		run.Side = Head
	}
	return run, true, nil
}

// ReadFile reads the results in a file; one that is not there holds none.
func ReadFile(path string) ([]Run, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	runs, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return runs, nil
}

// Append adds runs to a results file, which it makes if need be. A line that a kill cut short is ended first.
func Append(path string, runs ...Run) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	defer f.Close()
	var text bytes.Buffer
	if cutShort(f) {
		text.WriteByte('\n')
	}
	for _, r := range runs {
		line, err := r.Line()
		if err != nil {
			return err
		}
		text.Write(line)
	}
	if _, err := f.Write(text.Bytes()); err != nil {
		return fmt.Errorf("results: write %s: %w", path, err)
	}
	return f.Close()
}

// cutShort says that a file does not end with a newline. What a kill left of a line is then a line that Read refuses, so it is removed.
func cutShort(f *os.File) bool {
	at, err := f.Seek(0, io.SeekEnd)
	if err != nil || at == 0 {
		return false
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, at-1); err != nil || last[0] == '\n' {
		return false
	}
	keep := lastLine(f, at)
	return f.Truncate(keep) != nil
}

// lastLine is where the last line of a file of that size begins.
func lastLine(f *os.File, size int64) int64 {
	buf := make([]byte, 4096)
	for end := size; end > 0; {
		from := max(0, end-int64(len(buf)))
		n, err := f.ReadAt(buf[:end-from], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return size
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return from + int64(i) + 1
		}
		end = from
	}
	return 0
}

// Line is the run as a line of a results file.
func (r Run) Line() ([]byte, error) {
	r.Kind = RunKind
	b, err := json.Marshal(r, json.FormatNilSliceAsNull(false), json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("results: run %d of %s: %w", r.Run, r.Case, err)
	}
	return append(b, '\n'), nil
}
