package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify/triage/mcp"
	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// replayURL is where a running check answers for tools by MCP.
const replayURL = "PAWL_MCP_URL"

func mcpReplay(a *app) *cobra.Command {
	var kase, set, url, ledger string
	cmd := &cobra.Command{
		Use:   "replay [--case FILE|ID]",
		Short: "stand in for an MCP server that an agent starts as a command: its tools are answered for",
		Long: "An MCP server over standard input and output. During pawl check it hands each call to the replay of the run, at PAWL_MCP_URL, where it is answered and\n" +
			"recorded like any other: put it in the place of the agent's own server in its MCP settings, with PAWL_MCP_URL in its environment (many clients pass on few\n" +
			"variables unless they are named). With --case it serves one case by itself, in the same order of answers; --ledger records the calls, one a line.",
		Example: "  pawl mcp replay\n  pawl mcp replay --case regressions/loop/loop-3f9a1c02d4/case.yaml --ledger calls.jsonl",
	}
	f := cmd.Flags()
	f.StringVar(&kase, "case", "", "serve this case by itself: its `FILE`, or its ID in the set")
	f.StringVar(&set, "set", "", "with --case: the `DIR` with the cases (default: where FILE lies, else regressions)")
	f.StringVar(&url, "url", "", "the replay's `URL` (default: what PAWL_MCP_URL says)")
	f.StringVar(&ledger, "ledger", "", "with --case: write the calls to this `FILE`, one a line, as they come")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if kase != "" {
			return a.replayCase(cmd.Context(), kase, set, ledger)
		}
		if set != "" || ledger != "" {
			return usageError(errors.New("--set and --ledger go with --case: the check that runs has its own"), "pawl mcp replay --help")
		}
		return a.replayRun(cmd.Context(), cmp.Or(url, os.Getenv(replayURL)))
	}
	return cmd
}

// replayRun hands calls to the replay of a running check.
func (a *app) replayRun(ctx context.Context, url string) error {
	if url == "" {
		return usageError(fmt.Errorf("%s is not set: there is no check that would answer", replayURL),
			"start it from an agent that pawl check runs, and name "+replayURL+" among the variables of its entry in the agent's MCP settings; or --case FILE")
	}
	server, stop, err := gate.ForwardMCP(ctx, url)
	if err != nil {
		return err
	}
	err = mcp.ServeStdio(ctx, server, a.stdin, a.stdout)
	_ = stop() // the run may be over
	return err
}

// replayCase answers for the tools of one case by itself.
func (a *app) replayCase(ctx context.Context, word, set, ledger string) error {
	id := word
	if b, err := os.ReadFile(word); err == nil {
		c, err := regcase.Decode(b)
		if err != nil {
			return usageError(fmt.Errorf("%s: %w", word, err), "a case.yaml of a set")
		}
		id, set = c.ID, cmp.Or(set, filepath.Join(filepath.Dir(word), "..", ".."))
	}
	set = cmp.Or(set, "regressions")
	root, err := os.OpenRoot(set)
	if err != nil {
		return usageError(err, "--set with the directory of the cases")
	}
	defer root.Close()
	cases, stubs, bad := gate.Load(root, func(x string) bool { return x == id })
	if len(cases) != 1 {
		return usageError(fmt.Errorf("%s has no case %s that can be read: %w", set, shown(id), errors.Join(append(bad, errors.New("see pawl health"))...)), "the FILE or the ID of a case, and --set")
	}
	replay := gate.NewReplay(cases[0], gate.Stubs{Dir: set, Files: stubs})
	server := gate.MCPServer(replay, ctx)
	if ledger != "" {
		out, err := os.Create(ledger)
		if err != nil {
			return usageError(err, "a file that you may write to")
		}
		defer out.Close()
		server.AddReceivingMiddleware(recordCalls(replay, out))
	}
	return mcp.ServeStdio(ctx, server, a.stdin, a.stdout)
}

// recordCalls writes the ledger anew after each call, so that a process that is ended leaves it behind.
func recordCalls(r *gate.Replay, out *os.File) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, req)
			if method == "tools/call" && err == nil {
				err = writeLedger(r.Ledger(), out)
			} else if method == "tools/call" {
				_ = writeLedger(r.Ledger(), out) // the call's own error is the one to tell
			}
			return res, err
		}
	}
}

func writeLedger(calls []gate.Entry, out *os.File) error {
	var b bytes.Buffer
	for _, e := range calls {
		line, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("write the ledger: %w", err)
		}
		b.Write(append(line, '\n'))
	}
	if _, err := out.WriteAt(b.Bytes(), 0); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}
