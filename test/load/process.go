package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is the service under measurement.
type process struct {
	cmd *exec.Cmd
	at  struct {
		HTTP string `json:"otlp_http"`
		UI   string `json:"http"`
	}
}

const configuration = `data_dir: %s/data
listen: {otlp_grpc: null, otlp_http: 127.0.0.1:0, http: 127.0.0.1:0}
assemble: {root_grace: 1s}
`

func startPawl(ctx context.Context, o options, dir string) (*process, error) {
	config := filepath.Join(dir, "pawl.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, configuration, dir), 0o600); err != nil {
		return nil, err
	}
	args := []string{"serve", "--json", "--log-level", "warn", "-c", config}
	if o.profile != "" {
		args = append(args, "--cpuprofile", o.profile)
	}
	p := &process{cmd: exec.CommandContext(ctx, o.pawl, args...)}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p.at)
	}
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("%s serve: %q: %w", o.pawl, line, err)
	}
	return p, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it has ended already where all went well
	_ = p.cmd.Wait()
}

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.cmd.Wait()
}

func (p *process) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.at.UI+path, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

var completed = regexp.MustCompile(`(?m)^pawl_assemble_completed_total\{.*\} (\S+)$`)

// drained waits until as many traces are complete.
func (p *process) drained(ctx context.Context, traces int) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := p.get(ctx, "/metrics")
		if err != nil {
			return err
		}
		n := 0.0
		for _, m := range completed.FindAllSubmatch(text, -1) {
			v, err := strconv.ParseFloat(string(m[1]), 64)
			if err != nil {
				return err
			}
			n += v
		}
		if int(n) == traces {
			return nil
		}
		if int(n) > traces {
			return fmt.Errorf("%v traces are complete, %d were sent", n, traces)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// findings waits until the groups count so many: the absorber folds after the last trace is judged.
func (p *process) findings(ctx context.Context, want int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		text, err := p.get(ctx, "/v1/groups")
		if err != nil {
			return err
		}
		var groups []struct{ Count int }
		if err := json.Unmarshal(text, &groups); err != nil {
			return err
		}
		n := 0
		for _, g := range groups {
			n += g.Count
		}
		if n == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d findings are counted, %d failing traces were sent: %w", n, want, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// usage is what the kernel counted for the process.
type usage struct {
	cpu                 time.Duration
	peak, last, written int // bytes; peak and last of RssAnon
}

// watch samples the process until the function that it returns is called.
func (p *process) watch() func() usage {
	begin := p.usage()
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		peak := 0
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				done <- peak
				return
			case <-tick.C:
				peak = max(peak, p.usage().last)
			}
		}
	}()
	return func() usage {
		close(stop)
		u := p.usage()
		u.peak = max(<-done, u.last)
		u.cpu -= begin.cpu
		u.written -= begin.written
		return u
	}
}

const ticksPerSecond = 100 // USER_HZ, the same on every Linux

func (p *process) usage() (u usage) {
	dir := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	if stat, err := os.ReadFile(dir + "stat"); err == nil {
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 12 {
			u.cpu = time.Duration(number(f[11])+number(f[12])) * time.Second / ticksPerSecond
		}
	}
	u.last = field(dir+"status", "RssAnon:") << 10
	u.written = field(dir+"io", "write_bytes:")
	return u
}

func field(file, name string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			return number(f[1])
		}
	}
	return 0
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func diskUse(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				n += st.Blocks * 512
			}
		}
		return nil
	})
	return n
}
