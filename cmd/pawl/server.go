package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/assemble"
	"github.com/pawl-dev/pawl/ingest/otlp"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
	"github.com/pawl-dev/pawl/ratchet/redact"
)

// role is a part of the service that a process may play alone, when the streams live on a cluster.
type role string

const (
	roleReceive role = "receive"
	roleWork    role = "work"
	roleAbsorb  role = "absorb"
)

var allRoles = []role{roleReceive, roleWork, roleAbsorb}

// pace is how often the loops look; the demo is quicker than a service needs to be.
type pace struct {
	baselines time.Duration // a fresh snapshot for the workers
	sweep     time.Duration // of groups and batches
	observe   time.Duration // of open pull requests
}

var servicePace = pace{baselines: 10 * time.Second, sweep: 5 * time.Second, observe: 5 * time.Minute}

// server is the running service: everything that serve and demo wire together.
type server struct {
	lg    *slog.Logger
	cfg   config.Config
	roles []role
	reg   *prometheus.Registry

	q        *queue.Queue
	space    *space
	receiver *otlp.Receiver
	maker    *ratchet.Maker
	bases    *ratchet.Baselines
	flags    *ratchet.Flags
	homes    *fetching // nil where none are configured, or another process works
	worker   *ratchet.Worker
	absorber *ratchet.Absorber
	view     *ratchet.View
	pr       *ghpr.Reconciler
	policy   ratchet.Policy
	targets  []ratchet.Target
	stores   []*assemble.Store
	httpAt   net.Listener
	http     *http.Server
	pace     pace

	hookRoutes func(*http.ServeMux) // those of webhooks, for the listener that has them
	hooksAt    net.Listener         // nil where they have no address of their own
	hookServer *http.Server

	withRule func(custom.Definition) (classify.Rule, *classify.Engine, error)
	stopping context.Context // ends when it takes no new requests
	stop     context.CancelFunc

	ready   atomic.Bool
	closers []closer // undone in reverse
}

type closer struct {
	what string
	stop func(context.Context) error
}

// newServer opens and binds everything, in the order of the data path, and closes what it opened when something fails.
func (a *app) newServer(ctx context.Context, cfg config.Config, roles []role, p pace) (_ *server, err error) {
	s := &server{lg: a.log, cfg: cfg, roles: roles, pace: p, reg: prometheus.NewRegistry()}
	s.withRule = a.withRule(cfg)
	s.stopping, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	if s.policy, err = prPolicyOf(cfg); err != nil {
		return nil, err
	}
	s.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.maker, err = a.makerOf(cfg); err != nil {
		return nil, err
	}
	for _, open := range []func(context.Context) error{s.openQueue, s.openFlags, s.openReceiver, s.openHomes, s.openWork, s.openAbsorb, s.openWebhooks, s.openHTTP} {
		if err := open(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *server) plays(r role) bool { return slices.Contains(s.roles, r) }

func (s *server) onClose(what string, stop func(context.Context) error) {
	s.closers = append(s.closers, closer{what, stop})
}

func (s *server) openQueue(ctx context.Context) (err error) {
	o := queue.Options{Partitions: s.cfg.Queue.Partitions, MaxBytes: int64(s.cfg.Queue.MaxBytes), Registerer: s.reg}
	if s.cfg.NATS.URL != "" {
		o.URL, o.Access = s.cfg.NATS.URL, accessOf(s.cfg.NATS.Credentials, s.cfg.NATS.TLS)
	} else {
		if len(s.roles) < len(allRoles) {
			return usageError(errors.New("a process with some of the roles needs streams that it shares with the others"), "nats.url in pawl.yaml, or serve without --role")
		}
		o.Dir = filepath.Join(s.cfg.DataDir, "stream")
	}
	if err := os.MkdirAll(s.cfg.DataDir, 0o700); err != nil {
		return usageError(fmt.Errorf("data_dir: %w", err), "a data_dir in pawl.yaml that this user may write to")
	}
	s.space = newSpace(s.lg, s.cfg.DataDir, diskReserve)
	if s.q, err = queue.Open(ctx, s.lg, o); err != nil {
		return usageError(err, "")
	}
	s.onClose("streams", func(context.Context) error { return s.q.Close() })
	return nil
}

func accessOf(credentials string, t config.ClientTLS) queue.Access {
	return queue.Access{Credentials: credentials, CA: t.CA, Cert: t.Cert, Key: t.Key}
}

func (s *server) openWork(ctx context.Context) (err error) {
	if !s.plays(roleWork) {
		return nil
	}
	if s.bases, err = ratchet.NewBaselines(ctx, s.lg, s.q); err != nil {
		return err
	}
	s.worker = ratchet.NewWorker(s.lg, s.q, s.maker.Engine, s.bases.Current)
	s.worker.Heed(s.flags)
	for p := range s.q.Partitions() {
		store, err := assemble.Open(s.lg, filepath.Join(s.cfg.DataDir, "traces", fmt.Sprintf("p%d", p)), s.assembleOptions(p))
		if err != nil {
			return err
		}
		s.stores = append(s.stores, store)
		s.onClose(fmt.Sprintf("traces of partition %d", p), func(context.Context) error { return store.Close() })
	}
	return nil
}

func (s *server) assembleOptions(partition int) assemble.Options {
	c := s.cfg.Assemble
	return assemble.Options{
		RootGrace: time.Duration(c.RootGrace), IdleTimeout: time.Duration(c.IdleTimeout), MaxAge: time.Duration(c.MaxAge),
		MaxBytes: int64(c.MaxBytes), MaxSpans: c.MaxSpans, Retention: time.Duration(c.Retention),
		Parallel: judgedTogether, Done: s.judge, Quarantine: s.q.Quarantine, Registerer: s.reg, Partition: partition,
	}
}

// judgedTogether is how many traces are judged at a time: more than there are cores, for their verdicts share one sync of the disk.
const judgedTogether = 16

// judge takes a whole trace from the assembler to the worker. A trace that breaks a dialect is a bug of pawl and comes again later, with the
// others going on: it must not end the process, at every start anew.
func (s *server) judge(ctx context.Context, t trajectory.Trace, r assemble.Revision) (note []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.lg.Error("a trace broke pawl: report this with the trace", "trace", t.ID, "panic", p, "stack", string(debug.Stack()))
			note, err = nil, fmt.Errorf("trace %s broke pawl: %v", t.ID, p)
		}
	}()
	note, err = s.worker.Judge(ctx, t, r.Digest, r.Previous, r.LastSeen)
	if errors.Is(err, ratchet.ErrNotAgent) {
		return nil, assemble.ErrNotAgent
	}
	return note, err
}

// ghprOptions are what the configuration says of pull requests; it reads the App's key. Whoever opens pull requests opens them with these: what leaves is
// looked through by the redactor's second look, as the very bytes that leave.
func ghprOptions(cfg config.Config) (ghpr.Options, error) {
	g := cfg.GHPR
	look, err := redact.New(nil, redactOptions(cfg))
	if err != nil {
		return ghpr.Options{}, err
	}
	o := ghpr.Options{Mode: ghpr.Mode(g.Mode), BaseURL: g.BaseURL, Token: g.Token.Reveal(), Pace: time.Duration(g.Limits.Pause),
		Limits: ghpr.Limits{Open: g.Limits.Open, PerHour: g.Limits.PerHour, PerDay: g.Limits.PerDay},
		Public: publicOf(cfg), Enabled: config.Switch, SwitchFile: "pawl.yaml", Outgoing: look.Verify}
	if o.Transport, err = networkOf(g); err != nil || g.App == nil {
		return o, err
	}
	key, err := os.ReadFile(g.App.KeyFile)
	if err != nil {
		return o, fmt.Errorf("ghpr.app.key_file: %w", err)
	}
	o.App = ghpr.App{ID: g.App.ID, InstallationID: g.App.Installation, PrivateKey: key}
	return o, nil
}

func (s *server) openAbsorb(ctx context.Context) (err error) {
	g := s.cfg.GHPR
	o, err := ghprOptions(s.cfg)
	if err != nil {
		return usageError(err, "")
	}
	if s.pr, err = ghpr.New(s.lg, o); err != nil {
		return usageError(err, "ghpr in pawl.yaml")
	}
	s.targets = targetsOf(s.cfg)
	jury, err := s.juryOf()
	if err != nil {
		return err
	}
	s.absorber = ratchet.NewAbsorber(s.lg, s.q, s.maker, s.pr, ratchet.Options{
		Policy: s.policy, Targets: s.targets, Hold: time.Duration(g.Limits.Hold), CasesPerPR: g.Limits.CasesPerPR,
		Propose: s.cfg.Absorb.Mode != config.ModeOff && g.Mode != config.ModeOff, Mode: s.prMode(), Sweep: s.pace.sweep, Observe: s.pace.observe,
		SessionQuiet: time.Duration(s.cfg.Absorb.SessionQuiet), KeepRecordings: time.Duration(s.cfg.Absorb.KeepRecordings), Traces: s.sessionTraces(), Jury: jury,
		CoolDown: time.Duration(g.Limits.CoolDown), WarmUp: time.Duration(g.Limits.WarmUp), NewGroups: g.Limits.NewGroups, SignOff: g.SignOff, Onboard: onboarding,
	})
	s.view = ratchet.NewView(s.lg, s.q)
	s.absorber.See(s.view)
	return nil
}

// publicOf says which repositories may be public, as targets say it.
func publicOf(cfg config.Config) func(string) bool {
	return func(repo string) bool {
		return slices.ContainsFunc(cfg.Targets, func(t config.Target) bool { return t.Public && strings.EqualFold(t.Repo, repo) })
	}
}

func targetsOf(cfg config.Config) (out []ratchet.Target) {
	for _, t := range cfg.Targets {
		out = append(out, ratchet.Target{Service: string(t.Service), Repo: t.Repo, Base: t.Base, Set: path.Clean(t.Set)})
	}
	return out
}

// prMode is the more careful one of the two switches.
func (s *server) prMode() ghpr.Mode {
	if s.cfg.Enabled && s.cfg.Absorb.Mode == config.ModeOpen && s.cfg.GHPR.Mode == config.ModeOpen {
		return ghpr.ModeOpen
	}
	return ghpr.ModePreview
}

// run plays the roles until ctx ends or one of them fails.
func (s *server) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	if s.plays(roleWork) {
		g.Go(func() error { return s.bases.Run(ctx, s.pace.baselines) })
		g.Go(func() error { return toTheEnd(ctx, "flags", s.alone(ctx, "flags", s.flags.Gather)) })
		for p, store := range s.stores {
			name := fmt.Sprintf("work-%d", p)
			g.Go(func() error {
				return toTheEnd(ctx, name, s.alone(ctx, name, func(ctx context.Context) error { return s.workOn(ctx, p, store) }))
			})
		}
	}
	if s.plays(roleAbsorb) {
		g.Go(func() error { return toTheEnd(ctx, "absorb", s.alone(ctx, "absorb", s.absorber.Run)) })
		g.Go(func() error { return s.tellRoom(ctx) })
	}
	if s.receiver != nil {
		s.receiver.Start()
		s.runSources(ctx, g)
	}
	g.Go(func() error { return s.flags.Follow(ctx) })
	g.Go(func() error { return s.view.Follow(ctx) })
	if s.hookServer != nil {
		g.Go(s.serveWebhooks)
	}
	if s.http != nil {
		g.Go(s.serveHTTP)
	}
	g.Go(func() error {
		s.ready.Store(true)
		<-ctx.Done()
		s.ready.Store(false)
		return s.stopServing()
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// toTheEnd names the role that failed. One that is done before its time has failed too: the others would go on without it, and nobody would know.
func toTheEnd(ctx context.Context, role string, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", role, err)
	case ctx.Err() == nil:
		return fmt.Errorf("%s ended by itself", role)
	}
	return nil
}

const leaseTime = 15 * time.Second

// alone runs f while this process holds the lease. The lease is politeness: two at once would do no harm, only the work twice. The embedded streams are
// this process's own, so it asks nobody.
func (s *server) alone(ctx context.Context, name string, f func(context.Context) error) error {
	if s.cfg.NATS.URL == "" {
		return f(ctx)
	}
	for ctx.Err() == nil {
		l, err := s.q.Lease(ctx, name, owner(), leaseTime)
		if _, away := errors.AsType[*queue.UnavailableError](err); away {
			s.lg.Warn("the lease is not to be had", "lease", name, "err", err)
			err = nil
		} else if err == nil {
			err = whileHeld(ctx, l, f)
		}
		if err != nil && !isHeld(err) && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(leaseTime / 3):
		}
	}
	return nil
}

func isHeld(err error) bool {
	_, held := errors.AsType[*queue.HeldError](err)
	return held || errors.Is(err, queue.ErrLeaseLost)
}

func whileHeld(ctx context.Context, l *queue.Lease, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		tick := time.NewTicker(leaseTime / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := l.Renew(ctx); errors.Is(err, queue.ErrLeaseLost) {
					cancel(err)
				}
			}
		}
	}()
	err := f(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, queue.ErrLeaseLost) {
		return cause
	}
	return errors.Join(err, l.Release(context.WithoutCancel(ctx)))
}

func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// stopTimeout bounds how long requests under way may take when the service stops.
const stopTimeout = 10 * time.Second

// stopServing takes no new requests and lets those under way finish.
func (s *server) stopServing() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var errs []error
	if s.receiver != nil {
		errs = append(errs, s.receiver.Stop(ctx))
	}
	if s.hookServer != nil {
		errs = append(errs, s.hookServer.Shutdown(ctx))
	}
	if s.http != nil {
		errs = append(errs, s.http.Shutdown(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("requests were still under way after %s: %w", stopTimeout, err)
	}
	return nil
}

// close undoes what newServer did, in reverse.
func (s *server) close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var errs []error
	for _, c := range slices.Backward(s.closers) {
		if err := c.stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", c.what, err))
		}
	}
	return errors.Join(errs...)
}

// trace finds a kept trace in the stores of this process.
func (s *server) trace(ctx context.Context, id string) (trajectory.Trace, error) {
	for _, st := range s.stores {
		t, err := st.Get(ctx, id)
		if !errors.Is(err, assemble.ErrNotFound) {
			return t, err
		}
	}
	return trajectory.Trace{}, assemble.ErrNotFound
}

// sessionTraces is where the absorber finds the traces of a session: nil where another process keeps them.
func (s *server) sessionTraces() ratchet.Traces {
	if !s.plays(roleWork) {
		return nil
	}
	return func(ctx context.Context, id string) (trajectory.Trace, bool, error) {
		t, err := s.trace(ctx, id)
		if errors.Is(err, assemble.ErrNotFound) {
			return t, false, nil
		}
		return t, err == nil, err
	}
}

func (s *server) report(t *trajectory.Trajectory) classify.Report {
	r := s.maker.Engine.Classify(t, s.bases.Current())
	if s.flags.Of(t.TraceID) != nil {
		r = r.Flagged()
	}
	return r
}
