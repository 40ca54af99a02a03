package mcpcheck

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Wire carries raw messages to a server, whether they are right or not.
type Wire interface {
	// Send sends bytes that ask for an answer, and returns the first message that answers them: one with that id, or an error without an id. Nil: none came within the
	// wire's patience. id is nil where no answer is due. An error: the server is gone.
	Send(ctx context.Context, message []byte, id jsontext.Value) ([]byte, error)
	Close() error
}

const maxAnswer = 16 << 20

// httpWire speaks streamable HTTP.
type httpWire struct {
	url      string
	client   *http.Client
	patience time.Duration
	session  string
	version  string            // for the header, once it is agreed
	extra    map[string]string // further headers
	status   int               // of the last answer
}

// OverHTTP connects to the server at a URL. An answer that takes longer than patience is none.
func OverHTTP(url string, client *http.Client, patience time.Duration) func(context.Context) (Wire, error) {
	return func(context.Context) (Wire, error) {
		return &httpWire{url: url, client: client, patience: patience, extra: map[string]string{}}, nil
	}
}

func (w *httpWire) Send(ctx context.Context, message []byte, id jsontext.Value) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(message))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	w.headers(req, message)
	resp, err := w.client.Do(req)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, nil
		}
		return nil, fmt.Errorf("%w at %s: %w", ErrNoAnswer, w.url, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	w.status = resp.StatusCode
	if s := resp.Header.Get("Mcp-Session-Id"); s != "" {
		w.session = s
	}
	body := io.LimitReader(resp.Body, maxAnswer)
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		return firstEvent(body, id), nil
	}
	b, err := io.ReadAll(body)
	if err != nil {
		return nil, nil
	}
	return bytes.TrimSpace(b), nil
}

func (w *httpWire) headers(req *http.Request, message []byte) {
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": w.session, "Mcp-Protocol-Version": w.version} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	var m struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if w.version >= modern && json.Unmarshal(message, &m) == nil {
		req.Header.Set("Mcp-Method", m.Method)
		if m.Params.Name != "" {
			req.Header.Set("Mcp-Name", m.Params.Name)
		}
	}
	for name, value := range w.extra {
		req.Header.Set(name, value)
	}
}

// firstEvent is the first message of a stream that answers.
func firstEvent(r io.Reader, id jsontext.Value) []byte {
	var data []string
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAnswer)
	for more := true; more; {
		more = lines.Scan()
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "data:"); ok && more {
			data = append(data, strings.TrimPrefix(rest, " "))
		}
		if line == "" || !more {
			if m := []byte(strings.Join(data, "\n")); answers(m, id) {
				return m
			}
			data = nil
		}
	}
	return nil
}

// Close ends the session, where there is one.
func (w *httpWire) Close() error {
	if w.session == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, w.url, nil)
	if err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	w.headers(req, nil)
	resp, err := w.client.Do(req)
	if err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	return resp.Body.Close()
}

// answers says whether a message answers a request: it has its id, or is an error about what had none that could be read.
func answers(message []byte, id jsontext.Value) bool {
	var m struct {
		ID     jsontext.Value `json:"id"`
		Method *string        `json:"method"`
		Error  jsontext.Value `json:"error"`
	}
	if json.Unmarshal(message, &m) != nil || m.Method != nil {
		return false
	}
	same := len(m.ID) > 0 && len(id) > 0 && string(bytes.TrimSpace(m.ID)) == string(id)
	return same || len(m.Error) > 0 && (len(m.ID) == 0 || string(m.ID) == "null")
}

// stdioWire speaks to a process.
type stdioWire struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	patience time.Duration
	lines    chan []byte // closed when the process says no more
	once     sync.Once
}

// OverStdio starts the server by a command, each time anew.
func OverStdio(command func(context.Context) *exec.Cmd, patience time.Duration) func(context.Context) (Wire, error) {
	return func(ctx context.Context) (Wire, error) {
		cmd := command(ctx)
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
		}
		if err := cmd.Start(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
		}
		w := &stdioWire{cmd: cmd, in: in, patience: patience, lines: make(chan []byte, 64)}
		go w.read(out)
		return w, nil
	}
}

func (w *stdioWire) read(out io.Reader) {
	defer close(w.lines)
	s := bufio.NewScanner(out)
	s.Buffer(nil, maxAnswer)
	for s.Scan() {
		w.lines <- bytes.Clone(s.Bytes())
	}
}

func (w *stdioWire) Send(ctx context.Context, message []byte, id jsontext.Value) ([]byte, error) {
	if _, err := w.in.Write(append(bytes.Clone(message), '\n')); err != nil {
		return nil, fmt.Errorf("%w: the process ended: %w", ErrNoAnswer, err)
	}
	if id == nil {
		return nil, nil
	}
	late := time.NewTimer(w.patience)
	defer late.Stop()
	for {
		select {
		case line, more := <-w.lines:
			if !more {
				return nil, fmt.Errorf("%w: the process ended", ErrNoAnswer)
			}
			if answers(line, id) {
				return line, nil
			}
		case <-late.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close closes the process's input, and ends it if it does not end by itself.
func (w *stdioWire) Close() error {
	w.once.Do(func() {
		_ = w.in.Close()
		late := time.AfterFunc(w.patience, func() { _ = w.cmd.Process.Kill() })
		defer late.Stop()
		for range w.lines { // until it says no more
		}
		_ = w.cmd.Wait() // how it ends is its own affair
	})
	return nil
}
