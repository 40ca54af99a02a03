package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify/catalog/mcpcheck"
)

// mcpChecking are the flags of mcp check.
type mcpChecking struct {
	command, pinned, tokenEnv string
	calls                     []string
	patience                  time.Duration
}

func mcpCheck(a *app) *cobra.Command {
	var c mcpChecking
	var long strings.Builder
	for _, x := range mcpcheck.Checks {
		fmt.Fprintf(&long, "  %-16s %s\n", x[0], x[1])
	}
	cmd := &cobra.Command{
		Use:   "check (URL|--command CMD)",
		Short: "hold an MCP server of your own to the protocol, and to what is declared of its tools",
		Long: "Whether the server\n" + long.String() + "\nNo tool that may write is called: wrong arguments go only to those that are annotated, or declared in pawl.yaml, to read; right ones only where --call gives them.\n\n" +
			"Exit codes: 0 nothing is broken (there may be advice), 1 something is, 2 usage, 3 no server answered.",
		Example: "  pawl mcp check --command 'node server.js'\n  pawl mcp check http://127.0.0.1:8080/mcp --pinned tools.json --call 'get_order={\"order_id\":\"A-1\"}'",
		Args:    cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&c.command, "command", "", "start the server by this `CMD`, words apart by spaces")
	f.StringVar(&c.pinned, "pinned", "", "compare its tools with those of this `FILE` of pawl tools import")
	f.StringArrayVar(&c.calls, "call", nil, "a call that is right, `TOOL=JSON`: its result is held to the tool's output schema; repeatable")
	f.StringVar(&c.tokenEnv, "token-env", "", "the environment variable `NAME` holds a token for the URL, sent as Authorization: Bearer")
	f.DurationVar(&c.patience, "timeout", 10*time.Second, "how long an answer may take")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		open, err := c.wire(args)
		if err != nil {
			return err
		}
		o, err := a.mcpDeclared(c)
		if err != nil {
			return err
		}
		report, err := mcpcheck.Run(cmd.Context(), open, o)
		if err != nil {
			return &exitError{exitUndecided, err, "start the server by hand to see what it says"}
		}
		return a.tellMCP(report)
	}
	return cmd
}

// wire is the way to the server.
func (c mcpChecking) wire(args []string) (func(context.Context) (mcpcheck.Wire, error), error) {
	words := strings.Fields(c.command)
	switch {
	case len(words) > 0 && len(args) == 0:
		return mcpcheck.OverStdio(func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, words[0], words[1:]...)
			cmd.Stderr = os.Stderr
			return cmd
		}, c.patience), nil
	case len(args) == 1 && c.command == "" && (strings.HasPrefix(args[0], "http://") || strings.HasPrefix(args[0], "https://")):
		client := &http.Client{CheckRedirect: asking.CheckRedirect}
		if c.tokenEnv != "" {
			token := os.Getenv(c.tokenEnv)
			if token == "" {
				return nil, usageError(fmt.Errorf("--token-env names %s, and that is not set", c.tokenEnv), "the name of a variable that holds a token")
			}
			client.Transport = bearer(token)
		}
		return mcpcheck.OverHTTP(args[0], client, c.patience), nil
	}
	return nil, usageError(errors.New("give one of URL and --command CMD"), "pawl mcp check --help")
}

// bearer sends a token with each request.
type bearer string

// RoundTrip adds the token to a copy of the request.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// mcpDeclared is what is known of the tools.
func (a *app) mcpDeclared(c mcpChecking) (o mcpcheck.Options, err error) {
	cfg, err := a.loadOffline()
	if err != nil {
		return o, err
	}
	cat, err := catalogOf(cfg)
	if err != nil {
		return o, usageError(err, "tools in pawl.yaml")
	}
	o.Declared = cat.Tools()
	if c.pinned != "" {
		if o.Pinned, err = readTools(c.pinned); err != nil {
			return o, err
		}
	}
	for _, text := range c.calls {
		tool, args, ok := strings.Cut(text, "=")
		if v := jsontext.Value(args); !ok || tool == "" || !v.IsValid() || v.Kind() != '{' {
			return o, usageError(fmt.Errorf("--call %q is not TOOL={...}", text), `--call 'get_order={"order_id":"A-1"}'`)
		}
		o.Calls = append(o.Calls, mcpcheck.Call{Tool: tool, Arguments: jsontext.Value(args)})
	}
	return o, nil
}

func (a *app) tellMCP(r mcpcheck.Report) error {
	var err error
	if a.json {
		err = a.mcpJSON(r)
	} else {
		_, err = fmt.Fprint(a.stdout, mcpText(r))
	}
	if err != nil {
		return err
	}
	if !r.Good() {
		return errFinding
	}
	return nil
}

// mcpJSON prints a line for each finding, each check that was not made, and the whole.
func (a *app) mcpJSON(r mcpcheck.Report) error {
	for _, f := range r.Findings {
		if err := a.printJSON(struct {
			Kind string `json:"kind"`
			mcpcheck.Finding
		}{"finding", f}); err != nil {
			return err
		}
	}
	for _, s := range r.Skipped {
		if err := a.printJSON(struct {
			Kind string `json:"kind"`
			mcpcheck.Skipped
		}{"skipped", s}); err != nil {
			return err
		}
	}
	return a.printJSON(struct {
		Kind     string   `json:"kind"`
		Server   string   `json:"server"`
		Versions []string `json:"versions"`
		Tools    int      `json:"tools"`
		Checked  []string `json:"checked"`
		Good     bool     `json:"good"`
	}{"server", r.Server, r.Versions, r.Tools, r.Checked, r.Good()})
}

func mcpText(r mcpcheck.Report) string {
	var b strings.Builder
	broken := 0
	for _, f := range r.Findings {
		if f.Level == mcpcheck.Broken {
			broken++
		}
		fmt.Fprintf(&b, "%-7s %-16s %s\n", f.Level, f.Check, shown(strings.Join(strings.Fields(f.Tool+" "+f.At+" "+f.What), " ")))
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, "%-7s %-16s %s\n", "skipped", s.Check, shown(strings.TrimSpace(s.Tool+" "+s.Why)))
	}
	fmt.Fprintf(&b, "\n%s: MCP %s, %s, %s made: %d broken, %d advised\n", shown(r.Server), strings.Join(r.Versions, " and "), plural(r.Tools, "tool"), plural(len(r.Checked), "check"), broken, len(r.Findings)-broken)
	return b.String()
}
