package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client over in and out, a message a line, until in ends or ctx does. A line that is no message is answered with an error and goes no further.
func ServeStdio(ctx context.Context, s *sdk.Server, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	passed, passing := io.Pipe()
	w := &lines{out: out, due: map[string]bool{}, none: make(chan struct{}, 1)}
	go func() { // ends with in: a read of a terminal ends by no signal, and is left behind
		err := screenLines(in, passing, w)
		w.await(ctx)
		passing.CloseWithError(err)
	}()
	go func() {
		<-ctx.Done()
		passing.CloseWithError(io.EOF)
	}()
	err := s.Run(ctx, &sdk.IOTransport{Reader: passed, Writer: w, MaxLineLength: maxMessage + 1})
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, sdk.ErrConnectionClosed) {
		return nil
	}
	return fmt.Errorf("serve MCP: %w", err)
}

// lines writes whole lines, several of them at once, and knows which requests are still to be answered: a client that says all and closes hears all.
type lines struct {
	mu   sync.Mutex
	out  io.Writer
	due  map[string]bool // ids
	none chan struct{}   // gets one when the last one was answered
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id := idOf(b); id != nil && l.due[string(id)] {
		if delete(l.due, string(id)); len(l.due) == 0 {
			select {
			case l.none <- struct{}{}:
			default:
			}
		}
	}
	return l.out.Write(b)
}

func (l *lines) expect(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due[id] = true
}

func (l *lines) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.due)
}

// lastWords is how long a client that said all is still answered: one that was cancelled never is.
const lastWords = 10 * time.Second

// await waits until all is answered.
func (l *lines) await(ctx context.Context) {
	late := time.NewTimer(lastWords)
	defer late.Stop()
	for l.left() > 0 {
		select {
		case <-l.none:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Close leaves the process's own output open.
func (*lines) Close() error { return nil }

// screenLines passes on the lines that are messages and answers the others.
func screenLines(in io.Reader, pass io.Writer, answer *lines) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, long, err := readLine(r)
		line = bytes.TrimSpace(line)
		f := &fault{Code: codeRequest, Message: fmt.Sprintf("a message has at most %d bytes", maxMessage)}
		if !long && len(line) > 0 {
			_, bad := screen(line)
			f, long = errors.AsType[*fault](bad)
		}
		switch {
		case long:
			if _, err := answer.Write(append(f.encode(), '\n')); err != nil {
				return err
			}
		case len(line) > 0:
			if id := idOf(line); id != nil {
				answer.expect(string(id))
			}
			if _, err := pass.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line, or reports that it is too long, and leaves that out.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxMessage; !long {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}
