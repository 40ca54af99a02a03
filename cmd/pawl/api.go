package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pawl-dev/pawl/classify/triage"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/assemble"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
)

func (s *server) openHTTP(context.Context) error {
	addr := s.cfg.Listen.HTTP
	if addr == "" {
		return nil
	}
	if !addr.Loopback() && len(s.cfg.Auth.Tokens) == 0 && s.cfg.Auth.Proxy == nil {
		return usageError(fmt.Errorf("listen.http %s is reachable from other machines and auth.tokens is empty", addr), "auth.tokens or auth.proxy in pawl.yaml, or listen on 127.0.0.1")
	}
	at, err := net.Listen("tcp", string(addr))
	if err != nil {
		return usageError(fmt.Errorf("listen.http: %w", err), "another port under listen in pawl.yaml; port 0 takes any free one")
	}
	s.httpAt = at
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	s.onClose("http", func(ctx context.Context) error {
		_ = at.Close() // closed already where it was served
		return s.http.Shutdown(ctx)
	})
	return nil
}

func (s *server) serveHTTP() error {
	if err := s.http.Serve(s.httpAt); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http: %w", err)
	}
	return nil
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	s.hookRoutes(mux)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.reg, promhttp.HandlerOpts{}))
	var tokens []triage.Token
	for _, t := range s.cfg.Auth.Tokens {
		tokens = append(tokens, triage.Token{Name: t.Name, Token: t.Token.Reveal(), Decides: t.Role != config.RoleViewer, Admin: t.Role == config.RoleAdmin, Services: globsOf(t.Services)})
	}
	mux.Handle("/", triage.New(s.lg, s.source(), triage.Options{Tokens: tokens, Proxy: proxyOf(s.cfg.Auth.Proxy)}))
	return mux
}

// proxyOf is the proxy that says who asks, nil for none.
func proxyOf(p *config.AuthProxy) *triage.Proxy {
	if p == nil {
		return nil
	}
	out := &triage.Proxy{Header: p.Header, Roles: map[string]triage.Role{}}
	for _, from := range p.From {
		out.From = append(out.From, from.Prefix())
	}
	for name, role := range p.Roles {
		out.Roles[string(name)] = triage.Role(role)
	}
	return out
}

// readyz says whether a sender or a person would be served now.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if !s.ready.Load() {
		http.Error(w, "starting or stopping", http.StatusServiceUnavailable)
		return
	}
	if s.space.scarce(time.Now()) {
		http.Error(w, "the disk is almost full", http.StatusServiceUnavailable)
		return
	}
	if _, err := s.q.Info(ctx, 0); err != nil {
		http.Error(w, "the stream does not answer", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// notFound is what triage knows a missing group by.
func notFound(err error) error {
	if errors.Is(err, queue.ErrNotFound) {
		return triage.ErrNotFound
	}
	return err
}

func (s *server) source() triage.Source {
	src := triage.Source{
		Groups:   fromView(s.view, s.view.Groups, s.absorber.Groups),
		Services: fromView(s.view, s.view.Services, s.absorber.Services),
		Batches:  fromView(s.view, s.view.Batches, s.absorber.Batches),
		Plan: func(ctx context.Context, b ratchet.Batch) (ghpr.Plan, error) {
			return s.absorber.Plan(ctx, &b)
		},
		Trace: func(ctx context.Context, id string) (trajectory.Trace, error) {
			t, err := s.trace(ctx, id)
			if errors.Is(err, assemble.ErrNotFound) {
				return t, triage.ErrNotFound
			}
			return t, err
		},
		Judge: s.report,
		Merge: func(ctx context.Context, id, into, who, reason string) (ratchet.Group, error) {
			g, err := s.absorber.Merge(ctx, id, into, ratchet.Merge{Who: who, When: time.Now(), Reason: reason})
			if errors.Is(err, queue.ErrNotFound) {
				err = triage.ErrNotFound
			}
			return g, err
		},
		Case: func(ctx context.Context, id string) (ratchet.Preview, error) {
			p, err := s.absorber.Preview(ctx, id, time.Now())
			return p, notFound(err)
		},
		Edit: func(ctx context.Context, id, who, digest string, expect []byte) (ratchet.Preview, error) {
			p, err := s.absorber.EditCase(ctx, id, who, time.Now(), digest, expect)
			return p, notFound(err)
		},
		Decide: func(ctx context.Context, id, who string, ask ratchet.Ask) (ratchet.Group, error) {
			g, err := s.absorber.Decide(ctx, id, who, time.Now(), ask)
			if errors.Is(err, queue.ErrNotFound) {
				err = triage.ErrNotFound
			}
			return g, err
		},
		Audit: s.absorber.Audit,
		Rules: s.ruleList,
		Trust: func(gs []ratchet.Group, batches map[string]*ratchet.Batch) func(string) ratchet.Trust {
			p := s.policy
			p.Own = ratchet.Own(gs, batches)
			return p.Trust
		},
		Open: func(ctx context.Context, repo, who string) error {
			err := s.absorber.Open(ctx, time.Now(), repo, who)
			if errors.Is(err, ratchet.ErrNoTarget) {
				err = triage.ErrNotFound
			}
			return err
		},
		Status: func(gs []ratchet.Group, batches map[string]*ratchet.Batch) func(*ratchet.Group) string {
			p := s.policy
			p.Own, p.Held, p.Now = ratchet.Own(gs, batches), s.absorber.Held(), time.Now()
			p.Judges = s.absorber.Agreement()
			if len(p.Held) > 0 {
				p.Ranks = ratchet.Ranks(gs, p)
			}
			return func(g *ratchet.Group) string { return p.Status(g, s.targets, batches) }
		},
	}
	src.Redact = func() func(key, text string) string { return s.maker.Redactor.Session().Field }
	src.Group, src.Offer, src.Stopping = s.absorber.Group, s.offer, s.stopping
	src.Metrics = s.reg.Gather
	src.Jury = func(ctx context.Context) (ratchet.JuryReport, bool, error) {
		return s.absorber.JuryReport(ctx, time.Now())
	}
	src.Flags, src.Flagged, src.Flag = s.flags.List, s.flags.Of, s.flagged
	if s.plays(roleWork) {
		src.Kept, src.Spans, src.Erase = s.kept, s.spans, s.erase
	}
	return src
}

// fromView reads from the view where that is ready, else from the store.
func fromView[T any](v *ratchet.View, view func() []T, store func(context.Context) ([]T, error)) func(context.Context) ([]T, error) {
	return func(ctx context.Context) ([]T, error) {
		if v.Ready() {
			return view(), nil
		}
		return store(ctx)
	}
}

// ruleList are the engine's rules, as lists show them.
func (s *server) ruleList() (out []triage.Rule) {
	for _, r := range s.maker.Engine.Rules() {
		out = append(out, triage.Rule{ID: r.ID(), Label: r.Label, Form: r.Form, Doc: r.Doc.Title})
	}
	return out
}

func globsOf(gs []config.Glob) (out []string) {
	for _, g := range gs {
		out = append(out, string(g))
	}
	return out
}
