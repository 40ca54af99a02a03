package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify/triage"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

func configCommand(a *app) *cobra.Command {
	cmd := group("config", "write, check and describe pawl.yaml", configInit(a), configCheck(a), configSchema(a))
	cmd.Long = "Without a file the defaults apply: everything listens on loopback and nothing leaves the machine.\n" +
		"Secrets are written as ${env:NAME} or ${file:PATH} and never printed."
	return cmd
}

func configInit(a *app) *cobra.Command {
	var force, flow bool
	w := pipeline{Version: actionVersion(buildVersion())}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "write a pawl.yaml in which every key is explained",
		Long: "Writes pawl.yaml, or the file that -c names. Every section stands commented out with its defaults or an example,\n" +
			"so the new file changes nothing until you edit it. A file that is there is kept, unless --force is given.\n\n" +
			"With --workflow it writes " + workflowFile + " instead, which has GitHub run pawl verify and pawl check on pull requests, in the merge\n" +
			"queue and at night, and a checkbox into the template of pull requests. Pull requests from forks, which get no secrets, run verify only.",
		Example: "  pawl config init --workflow --run 'node agent.js' --setup 'npm ci'\n  pawl config init\n  pawl config init -c deploy/pawl.yaml",
		RunE: func(*cobra.Command, []string) error {
			if flow {
				return a.initWorkflow(w, force)
			}
			if w.Run != "" || w.Setup != "" {
				return usageError(errors.New("--run and --setup are for --workflow"), "pawl config init --workflow --run 'node agent.js'")
			}
			if err := writeExample(a.file(), force); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(struct {
					File string `json:"file"`
				}{a.file()})
			}
			_, err := fmt.Fprintf(a.stdout, "wrote %s\n", a.file())
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite the file")
	cmd.Flags().BoolVar(&flow, "workflow", false, "write the workflow for GitHub Actions")
	cmd.Flags().StringVar(&w.Run, "run", "", "how your agent is started there: `CMD` (sh -c)")
	cmd.Flags().StringVar(&w.Setup, "setup", "", "how it is prepared there: `CMD` (npm ci, pip install ...)")
	return cmd
}

// initWorkflow writes the workflow and tells what was written.
func (a *app) initWorkflow(w pipeline, force bool) error {
	if w.Run == "" {
		return usageError(errors.New("say how your agent is started: --run CMD"), "pawl config init --workflow --run 'node agent.js'")
	}
	done, err := writeWorkflow(w, force)
	for _, line := range done {
		if a.json {
			err = errors.Join(err, a.printJSON(struct {
				Did string `json:"did"`
			}{line}))
			continue
		}
		fmt.Fprintln(a.stdout, line)
	}
	return err
}

func writeExample(name string, force bool) error {
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(name, mode, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usageError(fmt.Errorf("%s is there already", name), "--force overwrites it; -c FILE writes another")
	}
	if err != nil {
		return usageError(err, "")
	}
	_, err = f.Write(config.Example())
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

func configCheck(a *app) *cobra.Command {
	var offline bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "check pawl.yaml and print the effective values",
		Long: "Prints every value as it takes effect, with the defaults filled in and secrets hidden, and exits 0. If the file has\n" +
			"mistakes all of them are printed, each with its line and what was probably meant, and the exit code is 2.\n" +
			"With --json a good file is one object, and each mistake is one object a line.",
		Example: "  pawl config check\n  pawl config check -c deploy/pawl.yaml --offline    # in CI, where the secrets are not set",
		RunE: func(*cobra.Command, []string) error {
			load := a.loadConfig
			if offline {
				load = a.loadOffline
			}
			cfg, err := load()
			if err != nil {
				return a.reportProblems(err)
			}
			if _, err := a.rulesOf(cfg); err != nil {
				return a.reportProblems(err)
			}
			for _, note := range slices.Concat(notRead(cfg), tooOpen(cfg)) {
				fmt.Fprintf(a.stderr, "pawl: note: %s\n", note)
			}
			return a.printConfig(cfg)
		},
	}
	cmd.Flags().BoolVar(&offline, "offline", false, "do not ask for the secrets, check only how they are written")
	return cmd
}

// reportProblems prints the mistakes as JSON where that was asked for, and leaves the text to the exit.
func (a *app) reportProblems(err error) error {
	ps, ok := errors.AsType[config.Problems](err)
	if !ok || !a.json {
		return err
	}
	for _, p := range ps {
		if err := a.printJSON(p); err != nil {
			return err
		}
	}
	return &exitError{code: exitUsage}
}

func (a *app) printConfig(cfg config.Config) error {
	if a.json {
		text, err := cfg.JSON()
		if err != nil {
			return err
		}
		return a.printJSON(json.RawMessage(text))
	}
	text, err := cfg.YAML()
	if err != nil {
		return err
	}
	source := a.file()
	if _, err := os.Stat(source); err != nil {
		source = "the defaults, without a file"
	}
	_, err = fmt.Fprintf(a.stdout, "# %s: good; these values take effect\n%s", source, text)
	return err
}

func configSchema(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [pawl.yaml|case|waivers|fixtures|golden|renames|input|api]",
		Short: "print the JSON Schema of pawl.yaml, or of what lies in a set",
		Long: "Prints a JSON Schema (draft 2020-12) that describes every key: of pawl.yaml, of case.yaml, waivers.yaml, _fixtures/<tool>.yaml, _golden/*.yaml and renames.yaml of a\n" +
			"set, or of the file that PAWL_INPUT names, which an agent reads; of api it is the OpenAPI document of the service. Editors with a YAML language server use it when the\n" +
			"first line of the file is: # yaml-language-server: $schema=pawl.schema.json",
		Example: "  pawl config schema > pawl.schema.json\n  pawl config schema case > case.schema.json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := schemaOf(append(args, "pawl.yaml")[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(json.RawMessage(text))
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
}

func schemaOf(name string) ([]byte, error) {
	switch {
	case name == "pawl.yaml":
		text, err := config.Schema()
		if err != nil {
			return nil, fmt.Errorf("describing pawl.yaml: %w", err)
		}
		return text, nil
	case name == "input":
		return gate.InputSchema, nil
	case name == "api":
		text, err := triage.OpenAPI()
		return append(text, '\n'), err
	case slices.Contains(regcase.SchemaNames(), name):
		return regcase.Schema(name)
	}
	return nil, usageError(fmt.Errorf("there is no schema of %q", name), "pawl config schema --help")
}
