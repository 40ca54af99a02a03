package test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ratchet"
)

// buildPawl builds the program as a person would, with the race detector where this test has it.
func buildPawl(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "pawl")
	args := []string{"build", "-o", bin}
	if raceDetector() {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "../cmd/pawl")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return bin
}

func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// service is `pawl serve` as a process of its own, which can be killed and started again on the same data directory.
type service struct {
	bin, config, log string

	life sync.Mutex // one change of its life at a time

	mu  sync.Mutex
	at  listening
	cmd *exec.Cmd // nil while it is down
}

// listening is what `pawl serve --json` prints.
type listening struct {
	GRPC string `json:"otlp_grpc"`
	HTTP string `json:"otlp_http"`
	UI   string `json:"http"`

	Webhooks string `json:"webhooks"`
}

// newService prepares a service with that pawl.yaml; start starts it. What it logged is shown when the test fails.
func newService(t *testing.T, bin, dir, yaml string) *service {
	t.Helper()
	s := &service{bin: bin, config: filepath.Join(dir, "pawl.yaml"), log: filepath.Join(dir, "log")}
	if err := os.WriteFile(s.config, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.kill()
		text, err := os.ReadFile(s.log)
		if err != nil || strings.Contains(string(text), "DATA RACE") || strings.Contains(string(text), "panic:") {
			t.Errorf("the service's log: %v\n%s", err, text)
		} else if t.Failed() {
			t.Logf("the service's log, its end:\n%s", text[max(0, len(text)-8000):])
		}
	})
	return s
}

// start starts the process and reads from its stdout where it listens.
func (s *service) start() error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.bin, "serve", "--json", "-c", s.config)
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), "PAWL_TEST_TOKEN="+ghToken)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var at listening
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("pawl serve printed %q: %w", line, err), cmd.Process.Kill(), cmd.Wait())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.cmd = at, cmd
	return nil
}

// address is where it listens now, or did last.
func (s *service) address() listening {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// end takes the process out of the service.
func (s *service) end() *exec.Cmd {
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd := s.cmd
	s.cmd = nil
	return cmd
}

// kill is kill -9; it returns when the process is gone.
func (s *service) kill() error {
	cmd := s.end()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	_ = cmd.Wait() // "signal: killed"
	return nil
}

// stop asks for an orderly end.
func (s *service) stop() error {
	cmd := s.end()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return cmd.Wait()
}

// restart kills the process, lets something happen while it is down, and starts it again.
func (s *service) restart(down func()) error {
	s.life.Lock()
	defer s.life.Unlock()
	err := s.kill()
	down()
	return errors.Join(err, s.start())
}

// get asks the service's API.
func (s *service) get(ctx context.Context, path string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address().UI+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", path, res.Status, body)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}

// The parts of the API's answers that the tests look at.
type (
	apiGroup struct {
		ID, Status, Batch, Why string
		Label                  classify.Label
		Count                  int
		Services, Traces       []string
	}
	apiBatch struct {
		Key, State, URL, Note string
		Label                 classify.Label
		Members               []ratchet.Member
	}
	apiTrace struct {
		Line struct {
			Primary      *classify.Label
			Inapplicable []struct{ Rule, Missing string }
			Stats        struct{ Spans int }
		}
	}
)

// until asks again and again until the answer is nil and not what is still missing; a service that is down is asked on.
func until(t *testing.T, ctx context.Context, what string, ask func() error) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited for %s: %v: %v", what, context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}
