package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet"
	"github.com/pawl-dev/pawl/test/fakegithub"
)

const (
	demoOwner, demoRepo = "acme", "parcel-desk"
	demoToken           = "demo-token"
	demoTimeout         = 60 * time.Second
)

func demoCommand(a *app) *cobra.Command {
	var leave bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "show it all in one go, on this machine alone",
		Long: "Starts pawl and a small stand-in for GitHub in this process, on free ports of this machine. Sends sample traces of an invented\n" +
			"agent in four span dialects over real OTLP, shows what was found, writes the cases into a scratch git repository and opens\n" +
			"the pull requests on the stand-in. Nothing leaves this machine, and the scratch directory is removed at the end.",
		Example: "  pawl demo          # leaves the web pages open until Ctrl-C\n  pawl demo --exit   # ends by itself",
	}
	cmd.Flags().BoolVar(&leave, "exit", false, "end when everything was shown")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("log-level") {
			a.logLevel.Set(slog.LevelWarn)
		}
		dir, err := os.MkdirTemp("", "pawl-demo-")
		if err != nil {
			return fmt.Errorf("scratch directory: %w", err)
		}
		defer os.RemoveAll(dir)
		return a.demo(cmd.Context(), dir, leave)
	}
	return cmd
}

// demo runs the whole path once.
func (a *app) demo(ctx context.Context, dir string, leave bool) (err error) {
	github, url, stop, err := a.demoGitHub(dir)
	if err != nil {
		return err
	}
	defer stop()
	s, err := a.newServer(ctx, demoConfig(dir, url), allRoles, pace{baselines: 200 * time.Millisecond, sweep: 200 * time.Millisecond, observe: time.Minute})
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.run(running) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-ended, s.close())
	}()
	limited, done := context.WithTimeout(ctx, demoTimeout)
	defer done()
	if err := a.demoPath(limited, s); err != nil {
		return err
	}
	if err := a.demoShow(limited, s, github); err != nil {
		return err
	}
	if leave || a.json {
		return nil
	}
	fmt.Fprintf(a.stdout, "\nThe pages stay open until Ctrl-C:\n  found      http://%s/\n  pull       %s/%s/%s/pull/1\n", s.addresses().UI, url, demoOwner, demoRepo)
	<-ctx.Done()
	return nil
}

// demoGitHub starts the stand-in with one empty repository.
func (a *app) demoGitHub(dir string) (*fakegithub.Fake, string, func(), error) {
	f, err := fakegithub.New(a.log, filepath.Join(dir, "github"), fakegithub.Options{RateLimit: 1_000_000})
	if err != nil {
		return nil, "", nil, usageError(err, "install git: the demo keeps its pull requests in a real repository")
	}
	err = errors.Join(f.AddUser(fakegithub.User{Login: "pawl-demo", Token: demoToken, Right: "write"}), f.AddRepo(demoOwner, demoRepo, ""))
	if err != nil {
		return nil, "", nil, usageError(err, "install git: the demo keeps its pull requests in a real repository")
	}
	srv, err := fakegithub.Serve(f, "")
	if err != nil {
		return nil, "", nil, err
	}
	stop := func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = srv.Close(ctx) // a page left open in a browser may hold a connection
	}
	return f, srv.URL, stop, nil
}

func demoConfig(dir, url string) config.Config {
	cfg := config.Default()
	cfg.DataDir = filepath.Join(dir, "data")
	cfg.Listen = config.Listen{OTLPGRPC: "127.0.0.1:0", OTLPHTTP: "127.0.0.1:0", HTTP: "127.0.0.1:0"}
	cfg.Assemble.RootGrace, cfg.Assemble.IdleTimeout = config.Duration(time.Second), config.Duration(5*time.Second)
	cfg.Absorb.Mode, cfg.Absorb.SessionQuiet, cfg.Absorb.MinJudged = config.ModeOpen, config.Duration(2*time.Second), 0
	cfg.GHPR.Mode, cfg.GHPR.BaseURL, cfg.GHPR.Token = config.ModeOpen, url+"/", config.NewSecret(demoToken)
	cfg.GHPR.Limits = config.GHPRLimits{PerHour: 20, PerDay: 20, Open: 20, CasesPerPR: 10, Hold: config.Duration(time.Second), Pause: config.Duration(time.Millisecond)} // no warm-up, no cooling down
	cfg.Targets = []config.Target{{Service: "parcel-*", Repo: demoOwner + "/" + demoRepo, Base: "main", Set: "regressions"}}
	return cfg
}

// demoFound is what the demo tells of one group.
type demoFound struct {
	ID    string         `json:"id"`
	Label classify.Label `json:"label"`
	Count int            `json:"count"`
	Why   string         `json:"why"`
	Pull  string         `json:"pull_request"`
}

// demoShow prints what was found, the pull requests, and what to do next.
func (a *app) demoShow(ctx context.Context, s *server, f *fakegithub.Fake) error {
	found, err := s.demoFound(ctx)
	if err != nil {
		return err
	}
	if a.json {
		for _, d := range found {
			if err := a.printJSON(d); err != nil {
				return err
			}
		}
		return nil
	}
	pulls := f.Pulls(demoOwner, demoRepo)
	if i := slices.IndexFunc(pulls, func(p fakegithub.Pull) bool { return strings.Contains(p.Title, " loop ") }); i >= 0 {
		if err := a.demoPull(ctx, s, pulls[i]); err != nil {
			return err
		}
	}
	t := a.newTable(3, 56, "failure", "seen", "why", "pull request")
	for _, d := range found {
		t.AppendRow(table.Row{d.Label, d.Count, shown(d.Why), d.Pull[strings.LastIndexByte(d.Pull, '/')+1:]})
	}
	_, err = fmt.Fprintf(a.stdout, "\nWhat pawl found in the traces of four SDKs\n%s\n%s", t.Render(), demoNext)
	return err
}

// demoPull prints one pull request as its reviewer would see it.
func (a *app) demoPull(ctx context.Context, s *server, p fakegithub.Pull) error {
	batches, err := s.absorber.Batches(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(batches, func(b ratchet.Batch) bool { return b.Intent != nil && b.Intent.Branch == p.Head })
	if i < 0 {
		return fmt.Errorf("no batch has the branch %s", p.Head)
	}
	plan, err := s.absorber.Plan(ctx, &batches[i])
	if err != nil {
		return err
	}
	const most = 24
	lines := strings.SplitAfter(plan.Diff, "\n")
	diff := strings.Join(lines[:min(most, len(lines))], "")
	if len(lines) > most {
		diff += fmt.Sprintf("... and %d more lines\n", len(lines)-most)
	}
	_, body, ours := ghpr.ParseMarker(p.Body)
	if !ours {
		return fmt.Errorf("pull request %d does not carry pawl's marker", p.Number)
	}
	_, err = fmt.Fprintf(a.stdout, "\nPull request %d: %s\nbranch %s into %s\n\n%s\nIts diff\n\n%s", p.Number, p.Title, p.Head, p.Base, body, diff)
	return err
}

const demoNext = `
Next
  Point an OTLP exporter at pawl:    pawl serve, then OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
  Try it on traces that you have:    pawl classify FILE
  Write cases from them:             pawl absorb FILE --set regressions
  Say where pull requests go:        pawl config init
`

func (s *server) demoFound(ctx context.Context) ([]demoFound, error) {
	groups, err := s.absorber.Groups(ctx)
	if err != nil {
		return nil, err
	}
	batches, err := s.absorber.Batches(ctx)
	if err != nil {
		return nil, err
	}
	var out []demoFound
	for _, g := range groups {
		d := demoFound{ID: g.ID(), Label: g.Fingerprint.Label, Count: g.Count, Why: g.Why}
		for i := range batches {
			if batches[i].Key() == g.Batch {
				_, d.Pull, _ = batches[i].Status()
			}
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(x, y demoFound) int { return cmp.Or(cmp.Compare(x.Label, y.Label), cmp.Compare(x.ID, y.ID)) })
	return out, nil
}
