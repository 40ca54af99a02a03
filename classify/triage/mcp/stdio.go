package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client over in and out, a message a line, until in ends or ctx does. A line that is no message is answered with an error and goes no further.
func ServeStdio(ctx context.Context, s *sdk.Server, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	passed, passing := io.Pipe()
	w := &lines{out: out}
	go func() { passing.CloseWithError(screenLines(in, passing, w)) }() // ends with in: a read of a terminal ends by no signal, and is left behind
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

// lines writes whole lines; several may write at once.
type lines struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

// Close leaves the process's own output open.
func (*lines) Close() error { return nil }

// screenLines passes on the lines that are messages and answers the others.
func screenLines(in io.Reader, pass, answer io.Writer) error {
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
