package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/go-json-experiment/json"
)

// talk is a process that answers all turns of a run. Each turn is a line on its standard input: the [Input], and the traceparent that its spans may go on
// with. Once it has answered and its spans are sent it says so by a line on its standard output, {"turn": N}; its other lines are its own. When its input
// ends it is to end too.
type talk struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *tail
	said   chan int
	exited chan struct{} // closed when it has ended
	end    ended         // then
}

// spoken is a turn as the process reads it.
type spoken struct {
	Input
	Traceparent string `json:"traceparent"`
}

// start begins a conversation. A context that ends kills the process, and whatever it started.
func (a Agent) start(ctx context.Context, env []string) (*talk, error) {
	t := &talk{out: &tail{}, said: make(chan int, 64), exited: make(chan struct{})}
	t.cmd = exec.CommandContext(ctx, "sh", "-c", a.Command)
	t.cmd.Dir, t.cmd.Env = a.Dir, env
	t.cmd.Stdout, t.cmd.Stderr = &turnLines{out: t.out, said: t.said}, t.out
	t.cmd.WaitDelay = 2 * time.Second
	ownGroup(t.cmd)
	var err error
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %q: %w", a.Command, err)
	}
	if err := t.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %q: %w", a.Command, err)
	}
	go func() {
		t.end = endOf(t.cmd, t.cmd.Wait(), t.out)
		close(t.exited)
	}()
	return t, nil
}

// say gives the process a turn and waits until it has answered. An error says that it did not.
func (t *talk) say(ctx context.Context, in Input, traceparent string) error {
	line, err := json.Marshal(spoken{in, traceparent}, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("input of %s: %w", in.Case, err)
	}
	wrote := make(chan error, 1)
	go func() { // a process that does not read holds up this write, until it is killed
		_, err := t.in.Write(append(line, '\n'))
		wrote <- err
	}()
	for {
		select {
		case n := <-t.said:
			if n >= in.Turn {
				return nil
			}
		case <-t.exited:
			if len(t.said) > 0 {
				continue
			}
			how := fmt.Sprintf("the process ended with exit code %d before it had answered turn %d", t.end.code, in.Turn)
			if t.end.code == 0 {
				how += ": it is to read a line for each turn until its input ends (--conversation)"
			}
			if t.end.tail != "" {
				how += "; its last words: " + t.end.tail
			}
			return errors.New(how)
		case <-wrote: // what went wrong shows in how it ends
		case <-ctx.Done():
			_ = t.cmd.Cancel() // it may have ended by itself
			<-t.exited
			return nil // the caller knows that the time is up
		}
	}
}

// hangUp ends its input and waits for its end, for as long as ctx allows.
func (t *talk) hangUp(ctx context.Context) ended {
	_ = t.in.Close() // a process that has ended has closed it
	select {
	case <-t.exited:
	case <-ctx.Done():
		_ = t.cmd.Cancel()
		<-t.exited
	}
	return t.end
}

// turnLines keeps what a process prints and finds the lines that say that a turn is answered.
type turnLines struct {
	out  *tail
	line []byte
	said chan int
}

// maxTurnLine bounds a line that may say that a turn is answered, in bytes.
const maxTurnLine = 4 << 10

func (w *turnLines) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if len(w.line) <= maxTurnLine {
			w.line = append(w.line, line[:min(len(line), maxTurnLine)]...)
		}
		if rest = after; !ended {
			break
		}
		w.tell()
		w.line = w.line[:0]
	}
	return w.out.Write(b)
}

func (w *turnLines) tell() {
	var answered struct {
		Turn int `json:"turn"`
	}
	if !bytes.HasPrefix(bytes.TrimSpace(w.line), []byte(`{"turn"`)) || json.Unmarshal(w.line, &answered) != nil {
		return
	}
	select {
	case w.said <- answered.Turn:
	default: // somebody who says it that often is not counted
	}
}
