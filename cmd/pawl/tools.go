package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/catalog/mcptools"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func toolsCommand(a *app) *cobra.Command {
	return group("tools", "the tools that agents may use: record them, and look for faults", toolsImport(a), toolsLint(a))
}

func toolsImport(a *app) *cobra.Command {
	var out, command string
	var spans bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "import (FILE|URL|--command CMD|--spans FILE|DIR) -o FILE",
		Short: "record tools with their schemas, pinned by digest",
		Long: "Reads tools from a file (a catalog file, or an MCP server's answers to tools/list), from an MCP server at a URL or started by a command, or from what\n" +
			"recorded traces offered to models, and writes a catalog file. Where the file exists, what changed is told, and effects and execution declarations\n" +
			"that were added to it by hand are kept. Exits 1 if a change breaks callers or means something else.",
		Example: "  pawl tools import https://mcp.example.com/mcp -o tools.json\n  pawl tools import --command 'npx some-server' -o tools.json\n  pawl tools import --spans last-week/ -o tools.json",
		Args:    cobra.ArbitraryArgs,
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "catalog `FILE` to write (required)")
	cmd.Flags().StringVar(&command, "command", "", "start an MCP server by this `CMD` and ask it")
	cmd.Flags().BoolVar(&spans, "spans", false, "the arguments are recorded traces")
	cmd.Flags().DurationVar(&limit, "timeout", 30*time.Second, "how long a server may take")
	cmd.MarkFlagRequired("output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), limit)
		defer cancel()
		tools, err := a.toolsFrom(ctx, args, command, spans)
		if err != nil {
			return err
		}
		return a.writeTools(out, tools)
	}
	return cmd
}

// toolsFrom reads tools from wherever the command line says.
func (a *app) toolsFrom(ctx context.Context, args []string, command string, spans bool) ([]catalog.Tool, error) {
	client := mcptools.Client{Name: "pawl", Version: "1"}
	switch {
	case command != "" && len(args) > 0, command == "" && len(args) == 0, !spans && len(args) > 1:
		return nil, usageError(errors.New("give one of FILE, URL, --command CMD or --spans with one FILE or more"), "pawl tools import --help")
	case command != "":
		words := strings.Fields(command)
		return client.FromCommand(ctx, exec.CommandContext(ctx, words[0], words[1:]...))
	case spans:
		return a.toolsOfSpans(ctx, args)
	case strings.HasPrefix(args[0], "http://"), strings.HasPrefix(args[0], "https://"):
		return client.FromURL(ctx, args[0], http.DefaultClient)
	}
	return readTools(args[0])
}

func readTools(path string) ([]catalog.Tool, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError(err, "a file that is there")
	}
	tools, err := catalog.Read(b)
	if err != nil {
		return nil, usageError(fmt.Errorf("%s: %w", path, err), "a catalog file, or an MCP server's answer to tools/list")
	}
	return tools, nil
}

// toolsOfSpans are the tools that recorded traces offered; of several forms of one name the first counts.
func (a *app) toolsOfSpans(ctx context.Context, paths []string) ([]catalog.Tool, error) {
	cfg, err := a.loadOffline()
	if err != nil {
		return nil, err
	}
	engine, err := a.engineOf(cfg)
	if err != nil {
		return nil, err
	}
	all, err := a.judgePaths(ctx, engine, paths, "")
	if err != nil {
		return nil, err
	}
	var out []catalog.Tool
	seen := map[string]bool{}
	for _, j := range all {
		for _, d := range j.trajectory.ToolsOffered {
			if d.Builtin || seen[d.Name] {
				continue
			}
			seen[d.Name] = true
			out = append(out, toolOfSpan(d))
		}
	}
	if len(out) == 0 {
		return nil, usageError(errors.New("no trace offers a tool"), "have the instrumentation record the tools that models are offered")
	}
	return out, nil
}

func toolOfSpan(d trajectory.ToolDef) catalog.Tool {
	return catalog.Tool{Name: d.Name, Description: d.Description, Schema: d.Schema}.Pin()
}

// toolChange is one line of what changed, as --json prints it.
type toolChange struct {
	Tool    string `json:"tool"`
	Drift   string `json:"drift"`
	Field   string `json:"field"`
	Pointer string `json:"pointer"`
	What    string `json:"what"`
}

// writeTools writes the file, keeps of an old one what the team declared, and tells what changed.
func (a *app) writeTools(path string, tools []catalog.Tool) error {
	changes, worst := []toolChange{}, catalog.Same
	if _, err := os.Stat(path); err == nil {
		old, err := readTools(path)
		if err != nil {
			return err
		}
		changes, worst = kept(old, tools)
	}
	if _, err := catalog.New(tools); err != nil {
		return usageError(err, "pawl tools lint")
	}
	var b bytes.Buffer
	if err := catalog.Write(&b, tools); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return usageError(err, "a file that you may write to")
	}
	for _, c := range changes {
		if err := a.printToolChange(c); err != nil {
			return err
		}
	}
	if err := a.printToolsWritten(len(tools), path); err != nil {
		return err
	}
	if worst == catalog.Breaking || worst == catalog.Meaning {
		return errFinding
	}
	return nil
}

func (a *app) printToolsWritten(tools int, path string) error {
	if a.json {
		return a.printJSON(struct {
			File  string `json:"file"`
			Tools int    `json:"tools"`
		}{path, tools})
	}
	_, err := fmt.Fprintf(a.stdout, "%s written to %s\n", plural(tools, "tool"), path)
	return err
}

// kept carries the team's own declarations over, and compares.
func kept(old, tools []catalog.Tool) (changes []toolChange, worst catalog.Drift) {
	before, now := map[string]catalog.Tool{}, map[string]bool{}
	for _, t := range old {
		before[t.Name] = t
	}
	var all []catalog.Change
	for i, t := range tools {
		now[t.Name] = true
		o, ok := before[t.Name]
		if !ok {
			changes = append(changes, toolChange{Tool: t.Name, Drift: string(catalog.Compatible), Field: "tool", What: "is new"})
			continue
		}
		if o.Execution != nil && t.Execution == nil {
			tools[i].Execution = o.Execution
		}
		if t.Effect == "" || t.Effect == catalog.EffectUnknown {
			tools[i].Effect, tools[i].Idempotent = o.Effect, t.Idempotent || o.Idempotent
		}
		for _, c := range catalog.Diff(o, t) {
			all = append(all, c)
			changes = append(changes, toolChange{t.Name, string(c.Kind), c.Field, classify.SafePointer(c.Pointer), c.What})
		}
	}
	for _, o := range old {
		if !now[o.Name] {
			all = append(all, catalog.Change{Kind: catalog.Breaking})
			changes = append(changes, toolChange{Tool: o.Name, Drift: string(catalog.Breaking), Field: "tool", What: "was removed"})
		}
	}
	return changes, catalog.Worst(all)
}

func (a *app) printToolChange(c toolChange) error {
	if a.json {
		return a.printJSON(c)
	}
	_, err := fmt.Fprintf(a.stdout, "%s: %s: %s%s %s\n", c.Drift, c.Tool, c.Field, c.Pointer, c.What)
	return err
}

// toolComplaint is one line of the lint, as --json prints it.
type toolComplaint struct {
	Tool    string `json:"tool"`
	Level   string `json:"level"` // error | advice
	Pointer string `json:"pointer"`
	What    string `json:"what"`
}

func toolsLint(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "lint [FILE...]",
		Args:    cobra.ArbitraryArgs,
		Short:   "look for tools that models cannot call rightly",
		Long:    "Reads catalog files or answers of MCP servers, and without one the tools of pawl.yaml. Exits 1 if a tool can never be called rightly.",
		Example: "  pawl tools lint tools.json",
		RunE: func(_ *cobra.Command, args []string) error {
			tools, err := a.toolsToLint(args)
			if err != nil {
				return err
			}
			bad := false
			for _, c := range catalog.Lint(tools) {
				line := toolComplaint{c.Tool, "advice", c.Pointer, c.What}
				if c.Error {
					line.Level, bad = "error", true
				}
				if a.json {
					err = a.printJSON(line)
				} else {
					_, err = fmt.Fprintf(a.stdout, "%s: %s%s %s\n", line.Level, line.Tool, line.Pointer, line.What)
				}
				if err != nil {
					return err
				}
			}
			if bad {
				return errFinding
			}
			return nil
		},
	}
}

func (a *app) toolsToLint(args []string) ([]catalog.Tool, error) {
	var out []catalog.Tool
	for _, path := range args {
		tools, err := readTools(path)
		if err != nil {
			return nil, err
		}
		out = append(out, tools...)
	}
	if len(args) > 0 {
		return out, nil
	}
	cfg, err := a.loadOffline()
	if err != nil {
		return nil, err
	}
	cat, err := catalogOf(cfg)
	if err != nil {
		return nil, usageError(err, "pawl config check")
	}
	return cat.Tools(), nil
}
