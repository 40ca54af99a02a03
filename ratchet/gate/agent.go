package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Agent is how the agent under test is run: a command for the shell (sh -c) in a directory, or the URL of a service. Just one of them is set.
type Agent struct {
	Command string
	Dir     string // "" is the current one
	URL     string
	Talks   bool // the command is started once for all turns of a run, and reads them from its standard input: see talk
}

// Way tells agents apart by how they are reached, wherever they are checked out.
func (a Agent) Way() string {
	return regcase.SHA256(fmt.Appendf(nil, "%s\x00%s\x00%t", a.Command, a.URL, a.Talks))[:16]
}

// ended is how one turn of an agent ended.
type ended struct {
	err  error  // it could not be started, or the service did not answer
	code int    // exit code, or HTTP status of 400 and above
	tail string // the last of what it printed or answered
}

// execute runs the command to its end. A context that ends kills it, and whatever it started.
func (a Agent) execute(ctx context.Context, env []string) ended {
	var out tail
	cmd := exec.CommandContext(ctx, "sh", "-c", a.Command)
	cmd.Dir, cmd.Env = a.Dir, env
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 2 * time.Second // for what it started and left behind with our pipes open
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return ended{err: fmt.Errorf("start %q: %w", a.Command, err)}
	}
	return endOf(cmd, cmd.Wait(), &out)
}

// endOf is how a process ended, by what Wait said. What it left behind is killed.
func endOf(cmd *exec.Cmd, err error, out *tail) ended {
	endGroup(cmd)
	e := ended{tail: out.String()}
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		if e.code = failed.ExitCode(); e.code < 0 {
			e.code = 128 // killed
		}
	} else if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		e.err = fmt.Errorf("wait for %q: %w", cmd.Args[len(cmd.Args)-1], err)
	}
	return e
}

// post gives the turn to a service and waits for its answer, whose body is not read into the verdict: its spans are.
func (a Agent) post(ctx context.Context, input []byte, headers map[string]string) ended {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, bytes.NewReader(input))
	if err != nil {
		return ended{err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return ended{err: err}
	}
	defer res.Body.Close()
	var out tail
	if _, err := io.Copy(&out, res.Body); err != nil {
		return ended{err: fmt.Errorf("read the answer of %s: %w", a.URL, err)}
	}
	e := ended{tail: out.String()}
	if res.StatusCode >= 400 {
		e.code = res.StatusCode
	}
	return e
}

// maxTail is how much of an agent's output is kept, in bytes.
const maxTail = 16 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b[max(0, len(b)-maxTail):]...)
	if extra := len(t.kept) - maxTail; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(b), nil
}

// String is the last few lines that say something, fit for one sentence: those from the last that names an error, where one does. The frames of
// a stack say nothing to who does not know the code.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := slices.DeleteFunc(strings.Split(strings.ToValidUTF8(string(t.kept), ""), "\n"), frame.MatchString)
	from := max(0, len(lines)-5)
	for i, line := range lines {
		if namesError.MatchString(line) {
			from = i
		}
	}
	return strings.TrimSpace(strings.Join(lines[from:min(len(lines), from+5)], "\n"))
}

// The lines of a stack as Node, Python, Java and Go print them, blank ones, and those that name what went wrong, which are not indented.
var (
	frame      = regexp.MustCompile(`^\s*$|^\s+at |^\s+File "|^\s*[\^~{}\[\]]+,?\s*$|^Node\.js v|^goroutine \d|^\t.*\.go:\d`)
	namesError = regexp.MustCompile(`^(Uncaught )?[\w.$]*(Error|Exception)\b|^(panic|fatal|FATAL|error|ERROR)\b`)
)

// shell runs a set-up command, as an agent is run, and says how it failed.
func shell(ctx context.Context, command, dir string) error {
	e := Agent{Command: command, Dir: dir}.execute(ctx, os.Environ())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case e.err != nil:
		return e.err
	case e.code != 0:
		return fmt.Errorf("%q ended with exit code %d: %s", command, e.code, e.tail)
	}
	return nil
}
