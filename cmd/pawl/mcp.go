package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify/triage/mcp"
	"github.com/pawl-dev/pawl/config"
)

func mcpCommand(a *app) *cobra.Command {
	return group("mcp", "MCP: the service for coding agents, the replay for agents under test, and a check of a server of your own", mcpServe(a), mcpCheck(a), mcpReplay(a))
}

// mcpServing are the flags of mcp serve.
type mcpServing struct {
	server, tokenEnv string // whom it asks, and with what
	listen           string // "" for standard input and output
	clientEnv        string
	origins          []string
}

func mcpServe(a *app) *cobra.Command {
	var s mcpServing
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "let coding agents look at what the running service found, by MCP, reading alone",
		Long: "An MCP server over standard input and output, or with --listen over streamable HTTP, of the tools status, list_groups, get_group, get_trace, get_case,\n" +
			"list_intents and explain_rule. It asks a running pawl serve, by GET and nothing else, with a token of role viewer: that of --token-env, else PAWL_TOKEN, else\n" +
			"the first one of that role in pawl.yaml. Nothing can be changed through it. It speaks MCP 2026-07-28 and 2025-11-25.\n\n" +
			"--listen takes loopback addresses alone, unless --client-token-env names the variable with the token that clients must show.",
		Example: "  pawl mcp serve --server http://127.0.0.1:7295\n  PAWL_TOKEN=... pawl mcp serve --server https://pawl.example.com\n  pawl mcp serve --listen 127.0.0.1:7296",
	}
	f := cmd.Flags()
	f.StringVar(&s.server, "server", "", "ask the service at this `URL` (default listen.http of pawl.yaml)")
	f.StringVar(&s.tokenEnv, "token-env", "", "the environment variable `NAME` holds the token to ask with")
	f.StringVar(&s.listen, "listen", "", "serve streamable HTTP at this `HOST:PORT`, path /mcp; port 0 takes any free one")
	f.StringVar(&s.clientEnv, "client-token-env", "", "with --listen: the environment variable `NAME` holds the token that clients must show")
	f.StringArrayVar(&s.origins, "origin", nil, "with --listen: pages of this `ORIGIN` may ask, too; repeatable")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		token, err := s.clientToken()
		if err != nil {
			return err
		}
		server, err := a.mcpServer(cmd.Context(), s)
		if err != nil {
			return err
		}
		if s.listen == "" {
			return mcp.ServeStdio(cmd.Context(), server, a.stdin, a.stdout)
		}
		return a.mcpListen(cmd.Context(), server, s, token)
	}
	return cmd
}

// mcpServer is the MCP server, over a service that answers as pawl does.
func (a *app) mcpServer(ctx context.Context, s mcpServing) (*sdk.Server, error) {
	cfg, err := a.loadOffline()
	if err != nil {
		return nil, err
	}
	at, err := a.runningAt(s.server, cfg)
	if err != nil {
		return nil, err
	}
	token, err := readingToken(cfg, s.tokenEnv)
	if err != nil {
		return nil, err
	}
	api, err := mcp.Open(ctx, at.base, mcp.APIOptions{Token: token})
	if err != nil {
		return nil, &exitError{exitUndecided, err, "--server with the address of a running pawl serve, and a token of its auth.tokens in " + cmp.Or(s.tokenEnv, tokenVariable)}
	}
	return mcp.New(a.log, api, mcp.Options{Name: "pawl", Version: buildVersion().Version, Explain: func(_ context.Context, word string) (mcp.Rule, error) { return a.mcpRule(cfg, word) }}), nil
}

// readingToken is the token to ask with. What pawl.yaml says may decide, is not taken: it would lie about in the settings of a coding agent.
func readingToken(cfg config.Config, variable string) (string, error) {
	token := os.Getenv(cmp.Or(variable, tokenVariable))
	if variable != "" && token == "" {
		return "", usageError(fmt.Errorf("--token-env names %s, and that is not set", variable), "the name of a variable that holds a token")
	}
	for _, t := range cfg.Auth.Tokens {
		known, err := t.Token.Resolve()
		if err != nil {
			continue // of somebody else: it is not here
		}
		switch reads := t.Role == config.RoleViewer; {
		case token == "" && reads:
			return known, nil
		case token == known && !reads:
			return "", usageError(fmt.Errorf("the token of %s may do more than read: its role is %s", t.Name, t.Role), "a token of role viewer under auth.tokens in pawl.yaml")
		}
	}
	return token, nil
}

func (a *app) mcpRule(cfg config.Config, word string) (mcp.Rule, error) {
	x, err := a.explained(cfg, word)
	if err != nil {
		return mcp.Rule{}, err
	}
	out := mcp.Rule{ID: x.Rule, Own: x.Own, Label: string(x.Label), Severity: string(x.Severity), Form: string(x.Form), Title: x.Title, Why: x.Why, Fix: x.Fix, Example: x.Example,
		Silent: x.Repairs, Params: x.Params, Right: right(x.Precision)}
	for _, n := range x.Needs {
		out.Needs = append(out.Needs, string(n))
	}
	return out, nil
}

// clientToken is what clients must show, "" for nothing: then only loopback may reach the server.
func (s mcpServing) clientToken() (string, error) {
	token := os.Getenv(s.clientEnv)
	switch {
	case s.listen == "" && (s.clientEnv != "" || len(s.origins) > 0):
		return "", usageError(errors.New("--client-token-env and --origin go with --listen"), "pawl mcp serve --help")
	case s.clientEnv != "" && token == "":
		return "", usageError(fmt.Errorf("--client-token-env names %s, and that is not set", s.clientEnv), "the name of a variable that holds a token")
	case s.listen != "" && token == "" && !config.Addr(s.listen).Loopback():
		return "", usageError(fmt.Errorf("%s is reachable from other machines, and no token is asked of clients", s.listen), "--client-token-env NAME, or listen on 127.0.0.1")
	}
	return token, nil
}

// mcpListen serves HTTP until ctx ends.
func (a *app) mcpListen(ctx context.Context, server *sdk.Server, s mcpServing, token string) error {
	at, err := net.Listen("tcp", s.listen)
	if err != nil {
		return usageError(fmt.Errorf("--listen: %w", err), "another port; 0 takes any free one")
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.Handler(server, mcp.HTTPOptions{Token: token, Origins: slices.Clone(s.origins)}))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	if err := a.printMCPAddress("http://" + at.Addr().String() + "/mcp"); err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		_ = srv.Close() // each answer stands alone
	}()
	if err := srv.Serve(at); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}

func (a *app) printMCPAddress(url string) error {
	if a.json {
		return a.printJSON(struct {
			MCP string `json:"mcp"`
		}{url})
	}
	_, err := fmt.Fprintf(a.stdout, "MCP        %s\n", url)
	return err
}
