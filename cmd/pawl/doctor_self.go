package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify/sight"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet"
)

// service examines the running service and pawl itself. Where no service answers, what can be said of pawl is said before the error.
func (d *doctor) service(ctx context.Context) error {
	cfg, err := d.configuration(d.loadConfig)
	if err != nil {
		return err
	}
	services, away := d.ask(ctx, cfg)
	if !d.broken { // else the directory, the ports and GitHub's are not known
		running := away == nil || errors.Is(away, errOtherToken)
		d.directory(cfg, running)
		d.ports(cfg, running)
		d.github(ctx, cfg)
	}
	if away != nil {
		if err := d.tell(nil); err != nil && !errors.Is(err, errFinding) {
			return err
		}
		return &exitError{exitUndecided, away, "pawl serve, or pawl doctor FILE for recorded telemetry; --address HOST:PORT asks another place"}
	}
	if len(services) == 0 {
		d.add(sight.Problem, "services", "point an OTLP exporter at it (OTEL_EXPORTER_OTLP_ENDPOINT=http://"+string(cfg.Listen.OTLPHTTP)+"), or look for refused spans: curl http://"+d.at(cfg)+"/metrics",
			"the service runs and has judged no trace of an agent yet")
	}
	d.targets(cfg, services)
	return d.tell(services)
}

func (d *doctor) at(cfg config.Config) string {
	if d.address != "" {
		return d.address
	}
	return string(cfg.Listen.HTTP)
}

// ask gets the services from the running service's API.
func (d *doctor) ask(ctx context.Context, cfg config.Config) ([]sight.Service, error) {
	if d.broken && d.address == "" {
		return nil, fmt.Errorf("where the service listens stands in %s, which has mistakes", d.file())
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := d.runningAt(d.address, cfg)
	if err != nil {
		return nil, err
	}
	var seen []ratchet.Service
	if err := r.get(ctx, "/v1/services", nil, &seen); err != nil {
		return nil, err
	}
	var out []sight.Service
	for _, s := range seen {
		out = append(out, s.Service)
	}
	d.add(sight.OK, "service", "", "pawl answers at %s: %s seen", r.at, plural(len(out), "service"))
	return out, nil
}

// directory looks at data_dir; running says that a service answers, so that its lock is as it should be.
func (d *doctor) directory(cfg config.Config, running bool) {
	dir := cfg.DataDir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !running:
		if parent := filepath.Dir(filepath.Clean(dir)); !mayWrite(parent) {
			d.add(sight.Problem, "data_dir", "make the directory for the user that runs pawl, or choose another", "%s is not there, and %s cannot be written to", dir, parent)
			return
		}
		d.add(sight.OK, "data_dir", "", "%s is not there yet: pawl serve makes it", dir)
		return
	case err != nil:
		d.add(sight.Problem, "data_dir", "choose a directory that the user who runs pawl may use", "%s: %v", dir, errors.Unwrap(err))
		return
	case !info.IsDir():
		d.add(sight.Problem, "data_dir", "choose a directory", "%s is a file", dir)
		return
	case !mayWrite(dir):
		d.add(sight.Problem, "data_dir", "give the directory to the user that runs pawl, or choose another", "%s cannot be written to", dir)
		return
	}
	d.space(dir)
	if pid := holder(dir); pid > 0 && !running {
		d.add(sight.Problem, "data_dir", "if that is a pawl serve, ask it where it listens (it prints that at the start), or stop it; two cannot share a directory",
			"%s is named by process %d, which runs and does not answer at %s", dir, pid, d.at(cfg))
	}
}

// space says how much room is left under the directory.
func (d *doctor) space(dir string) {
	free, err := freeBytes(dir)
	switch {
	case err != nil:
		d.add(sight.OK, "data_dir", "", "%s can be written to", dir)
	case free < diskReserve:
		d.add(sight.Problem, "data_dir", "make room, or lower assemble.retention", "%s has %d MiB free, less than the %d MiB below which telemetry is refused", dir, free>>20, diskReserve>>20)
	case free < 8*diskReserve:
		d.add(sight.Advice, "data_dir", "make room, or lower assemble.retention; below "+strconv.Itoa(diskReserve>>20)+" MiB telemetry is refused", "%s has %d MiB free", dir, free>>20)
	default:
		d.add(sight.OK, "data_dir", "", "%s can be written to, %d GiB free", dir, free>>30)
	}
}

func mayWrite(dir string) bool {
	f, err := os.CreateTemp(dir, ".pawl-doctor-*")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

// holder is the running process that the lock of a data directory names, 0 when there is none. The lock itself is not tried: that would get in
// the way of a serve that starts.
func holder(dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, "stream", "LOCK"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(string(text), "process "))
	if err != nil || pid <= 0 || !alive(pid) {
		return 0
	}
	return pid
}

// ports looks at the addresses to listen on: who may reach them and, when no service runs, whether they are free.
func (d *doctor) ports(cfg config.Config, running bool) {
	bad := false
	for _, l := range []struct {
		key  string
		addr config.Addr
		safe bool
		need string
	}{
		{"listen.otlp_grpc", cfg.Listen.OTLPGRPC, len(cfg.Ingest.Tokens) > 0 || cfg.Ingest.TLS.ClientCA != "" || cfg.Ingest.Anonymous, "ingest.tokens, ingest.tls.client_ca or ingest.anonymous: true"},
		{"listen.otlp_http", cfg.Listen.OTLPHTTP, len(cfg.Ingest.Tokens) > 0 || cfg.Ingest.TLS.ClientCA != "" || cfg.Ingest.Anonymous, "ingest.tokens, ingest.tls.client_ca or ingest.anonymous: true"},
		{"listen.http", cfg.Listen.HTTP, len(cfg.Auth.Tokens) > 0 || cfg.Auth.Proxy != nil, "auth.tokens or auth.proxy"},
	} {
		if l.addr == "" {
			continue
		}
		if !l.addr.Loopback() && !l.safe {
			bad = true
			d.add(sight.Problem, l.key, "set "+l.need+" in pawl.yaml, or listen on 127.0.0.1", "%s is reachable from other machines and asks for no token: pawl serve refuses that", l.addr)
		}
		if running {
			continue
		}
		if at, err := net.Listen("tcp", string(l.addr)); err != nil {
			bad = true
			d.add(sight.Problem, l.key, "another port under listen in pawl.yaml; port 0 takes any free one", "%v", err)
		} else {
			_ = at.Close() // it was only tried
		}
	}
	if !bad && !running {
		d.add(sight.OK, "listen", "", "the ports are free")
	}
}

// github says whether pull requests can be opened, as far as that shows without the network; with --online it asks.
func (d *doctor) github(ctx context.Context, cfg config.Config) {
	mode := cfg.GHPR.Mode
	if cfg.Absorb.Mode == config.ModeOff || mode == config.ModeOff {
		d.add(sight.OK, "ghpr.mode", "", "off: no pull requests are made")
		return
	}
	o, err := ghprOptions(cfg)
	if err == nil {
		_, err = ghpr.New(d.log, o)
	}
	if err != nil {
		d.add(sight.Problem, "ghpr", "ghpr in pawl.yaml: a fine-grained token (contents and pull requests: write) or an App, and the mode", "%v", err)
		return
	}
	known := o.Token != "" || o.App.ID != 0
	switch {
	case mode == config.ModePreview && !known:
		d.add(sight.OK, "ghpr.mode", "", "preview: pull requests are shown and not sent; no credential is set, and none is needed")
	case mode == config.ModePreview || cfg.Absorb.Mode == config.ModePreview:
		d.add(sight.OK, "ghpr.mode", "", "preview: pull requests are shown and not sent")
	default:
		d.add(sight.OK, "ghpr.mode", "", "open: pull requests are opened at %s", o.BaseURL)
	}
	switch {
	case d.online && known:
		d.askGitHub(ctx, o, cfg)
	case d.online:
		d.add(sight.Advice, "ghpr", "set ghpr.token or ghpr.app", "there is no credential with which GitHub could be asked")
	}
}

// guard says what keeps the target's branch from holding the set.
func (d *doctor) guard(ctx context.Context, o ghpr.Options, t ratchet.Target, about string) {
	o.Mode = ghpr.ModePreview
	r, err := ghpr.New(d.log, o)
	if err != nil {
		return // said already
	}
	missing, err := r.Missing(ctx, t.Repo, t.Base, ratchet.GuardWords, ratchet.GuardPaths(t.Set))
	switch {
	case err != nil:
		d.add(sight.Advice, about, "give the credential metadata: read", "the rules of %s are not told: %v", t.Base, err)
	case len(missing) > 0:
		d.add(sight.Advice, about, "require pawl verify on "+t.Base+", and code owners for the set, pawl.yaml and the workflow", "advisory only: %s", strings.Join(missing, "; "))
	}
}

// targetOf is the index of the line of targets that a service falls to.
func targetOf(cfg config.Config, service string) (int, bool) {
	for i, t := range targetsOf(cfg) {
		if _, ok := ratchet.TargetFor([]ratchet.Target{t}, service); ok {
			return i, true
		}
	}
	return 0, false
}
