package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func serveCommand(a *app) *cobra.Command {
	var names []string
	var profile string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "receive traces, classify them and propose cases, until stopped",
		Long: "Receives OTLP over gRPC and HTTP, keeps it in a durable queue, assembles whole traces, classifies them, groups the failures and\n" +
			"proposes a regression case for each by pull request (ghpr.mode: preview shows what it would write and sends nothing).\n\n" +
			"Everything lies in data_dir. Ctrl-C stops cleanly; after a kill it goes on where it was: what was acknowledged is not lost.",
		Example: "  pawl serve\n  pawl serve -c pawl.yaml\n  pawl serve --role receive   # needs nats.url: the other roles run elsewhere",
	}
	cmd.Flags().StringSliceVar(&names, "role", nil, "play only these `ROLES`: receive, work, absorb (default all)")
	cmd.Flags().StringVar(&profile, "cpuprofile", "", "write a CPU profile to this `FILE`")
	_ = cmd.Flags().MarkHidden("cpuprofile") // it is there
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		stop, err := profileInto(profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		roles, err := rolesOf(names)
		if err != nil {
			return err
		}
		cfg, err := a.loadConfig()
		if err != nil {
			return err
		}
		for _, note := range slices.Concat(notRead(cfg), tooOpen(cfg)) {
			a.log.Warn("configuration", "note", note)
		}
		s, err := a.newServer(cmd.Context(), cfg, roles, servicePace)
		if err != nil {
			return err
		}
		if err := a.printListening(s); err != nil {
			return errors.Join(err, s.close())
		}
		return errors.Join(s.run(cmd.Context()), s.close())
	}
	return cmd
}

// profileInto writes a CPU profile into the file, if one is named, until stop is called.
func profileInto(file string) (stop func() error, err error) {
	if file == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, usageError(fmt.Errorf("--cpuprofile: %w", err), "")
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

func rolesOf(names []string) ([]role, error) {
	if len(names) == 0 {
		return allRoles, nil
	}
	var out []role
	for _, n := range names {
		if !slices.Contains(allRoles, role(n)) {
			return nil, usageError(fmt.Errorf("unknown role %q", n), "--role receive, work or absorb")
		}
		out = append(out, role(n))
	}
	return out, nil
}

// printListening says where the service is to be found; with --json as one object.
func (a *app) printListening(s *server) error {
	at := s.addresses()
	if a.json {
		return a.printJSON(at)
	}
	var b strings.Builder
	if at.GRPC != "" {
		fmt.Fprintf(&b, "OTLP gRPC   %s\n", at.GRPC)
	}
	if at.HTTP != "" {
		fmt.Fprintf(&b, "OTLP HTTP   http://%s/v1/traces\n", at.HTTP)
	}
	if at.UI != "" {
		fmt.Fprintf(&b, "pawl        http://%s/\n", at.UI)
	}
	if at.Webhooks != "" {
		fmt.Fprintf(&b, "webhooks    http://%s/webhooks/\n", at.Webhooks)
	}
	fmt.Fprintf(&b, "data        %s\n", s.cfg.DataDir)
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}

// addresses are where the listeners are bound, host:port; "" for one that is off.
type addresses struct {
	GRPC string `json:"otlp_grpc"`
	HTTP string `json:"otlp_http"`
	UI   string `json:"http"`

	Webhooks string `json:"webhooks,omitzero"` // where they have an address of their own
}

func (s *server) addresses() (at addresses) {
	if s.receiver != nil {
		at.GRPC, at.HTTP = s.receiver.Addr()
	}
	if s.httpAt != nil {
		at.UI = s.httpAt.Addr().String()
	}
	if s.hooksAt != nil {
		at.Webhooks = s.hooksAt.Addr().String()
	}
	return at
}
