package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/pawl-dev/pawl/config"
)

// commands lists every subcommand in the order of the help. A command is a function in a file of its own that builds
// a cobra.Command whose RunE speaks only to the app; add its name here.
var commands = []func(*app) *cobra.Command{
	demoCommand,
	serveCommand, openCommand,
	classifyCommand,
	trajectoryCommand,
	absorbCommand,
	checkCommand, varianceCommand,
	verifyCommand,
	clickCommand, waiveCommand, quarantineCommand, retireCommand, migrateCommand, healthCommand, exportCommand,
	baselineCommand, toolsCommand, mcpCommand,
	rulesCommand, judgeCommand,
	triageCommand,
	eraseCommand,
	doctorCommand,
	configCommand,
	versionCommand,
	manCommand,
}

// app is what the commands share: the streams and the flags that all of them take. It lives as long as one run.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	configFile string       // -c; empty: pawl.yaml where there is one, else the defaults
	json       bool         // --json: one object a line on stdout
	log        *slog.Logger // to stderr, level by --log-level

	logLevel slog.LevelVar
	asOf     time.Time // --now; zero: the clock's
	unread   int       // parts of recorded files that could not be read: a good result would not be the whole truth
	until    time.Time // of traces that were read from elsewhere: when they were; zero: what is known ends with the last of them
	leftOut  int       // spans and log records of them that can be of no trace, for want of ids: the same
	running  bool      // RunE was reached: an error before it is a mistake of usage
}

// defaultFile is read where -c names no other; it may be absent.
const defaultFile = "pawl.yaml"

// run is the whole program: it takes the arguments without the program's name and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	a.log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: &a.logLevel}))
	root := newRoot(a)
	root.SetArgs(append([]string{}, args...)) // never nil, which cobra takes for os.Args
	cmd, err := root.ExecuteContextC(ctx)
	if _, known := errors.AsType[*exitError](err); err != nil && !known && !a.running {
		err = usageError(err, cmd.CommandPath()+" --help")
	}
	if err == nil && a.unread+a.leftOut > 0 {
		err = &exitError{code: exitUndecided}
	}
	return exitWith(stderr, err)
}

func newRoot(a *app) *cobra.Command {
	root := group("pawl", "turns the failures that LLM agents have in production into regression cases, by pull request")
	root.Long = "A pawl is the catch in a ratchet: the wheel turns forward and never back. pawl reads the traces of LLM agents,\n" +
		"finds the failures in them and turns each into a regression case in your own repository, by pull request.\n\n" +
		"Exit codes: 0 good, 1 a regression or a finding, 2 usage or configuration, 3 not decided."
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Version = buildVersion().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.StringVarP(&a.configFile, "config", "c", "", "configuration `FILE` (default pawl.yaml where there is one)")
	flags.BoolVar(&a.json, "json", false, "print JSON, one object a line")
	flags.TextVar(&a.logLevel, "log-level", &a.logLevel, "log at this `LEVEL` and above: debug, info, warn, error")
	flags.TextVar(&a.asOf, "now", time.Time{}, "judge the dates of a set as of this `TIME`")
	_ = flags.MarkHidden("now")
	for _, build := range commands {
		root.AddCommand(build(a))
	}
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	prepare(root, a)
	return root
}

// group is a command that only holds others: without one of them it prints its help.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: runGroup}
	cmd.AddCommand(subs...)
	return cmd
}

func runGroup(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return unknownCommand(cmd, args[0])
}

// prepare notes for every command that its RunE was reached, and lets one that names no arguments take none.
func prepare(cmd *cobra.Command, a *app) {
	for _, sub := range cmd.Commands() {
		prepare(sub, a)
	}
	if cmd.HasSubCommands() && cmd.RunE == nil { // cobra's own completion
		cmd.Args, cmd.RunE = cobra.ArbitraryArgs, runGroup
	}
	if cmd.Name() == "help" { // cobra's own, which calls a topic that it does not know a success
		cmd.Args = knownTopic
	}
	if cmd.Args == nil {
		cmd.Args = noArgs
	}
	if inner := cmd.RunE; inner != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			a.running = true
			return inner(cmd, args)
		}
	}
}

// oneArg is the Args of a command that takes one argument; what says which.
func oneArg(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("name %s: one argument, not %d", what, len(args))
		}
		return nil
	}
}

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	return nil
}

func knownTopic(cmd *cobra.Command, args []string) error {
	if found, rest, err := cmd.Root().Find(args); err == nil && len(rest) > 0 {
		return unknownCommand(found, rest[0])
	}
	return nil
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usageError(fmt.Errorf("unknown command %q for %q%s", name, cmd.CommandPath(), didYouMean(name, "", names)), cmd.CommandPath()+" --help")
}

// flagError adds the nearest flag to cobra's own message.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		err = fmt.Errorf("%w%s", err, didYouMean(unknown.GetSpecifiedName(), "--", names))
	}
	return usageError(err, cmd.CommandPath()+" --help")
}

func didYouMean(word, prefix string, among []string) string {
	if near := config.Nearest(word, among); near != "" {
		return fmt.Sprintf("; did you mean `%s%s`?", prefix, near)
	}
	return ""
}

// loadConfig reads the configuration of a command that connects or listens: its secrets are resolved.
func (a *app) loadConfig() (config.Config, error) { return a.load(config.Load) }

// loadOffline reads the configuration of a command that talks to nobody: its secrets may be absent.
func (a *app) loadOffline() (config.Config, error) { return a.load(config.LoadOffline) }

func (a *app) load(read func(string) (config.Config, error)) (config.Config, error) {
	cfg, err := read(a.file())
	switch {
	case err == nil:
		return cfg, nil
	case a.configFile == "" && errors.Is(err, fs.ErrNotExist):
		cfg, err = config.Default().WithRules(os.DirFS("."), ".")
		if err == nil {
			return cfg, nil
		}
	case errors.Is(err, fs.ErrNotExist):
		return cfg, usageError(err, "pawl config init -c "+a.file())
	}
	return cfg, usageError(err, "pawl config schema, which describes every key")
}

func (a *app) file() string {
	if a.configFile != "" {
		return a.configFile
	}
	return defaultFile
}

// printJSON writes v to stdout as one line.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing JSON to stdout: %w", err)
	}
	return nil
}

func manCommand(*app) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "write the manual pages, one a command",
		Example: "  pawl man /usr/local/share/man/man1",
		Hidden:  true,
		Args:    oneArg("the DIR to write them to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usageError(err, "")
			}
			header := &doc.GenManHeader{Title: "PAWL", Section: "1", Source: "pawl", Manual: "pawl"}
			if err := doc.GenManTree(cmd.Root(), header, args[0]); err != nil {
				return fmt.Errorf("writing manual pages to %s: %w", args[0], err)
			}
			return nil
		},
	}
}
