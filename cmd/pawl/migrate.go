package main

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/turn"
)

// migrateFlags are what the caller asked for.
type migrateFlags struct {
	set, tool, field, erase, reason, issue string
	format, write                          bool
}

func migrateCommand(a *app) *cobra.Command {
	var f migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate (--rename-tool OLD=NEW | --rename-field TOOL:/old=/new | --erase VALUE | --format) [--write]",
		Short: "give a tool or a field its new name in the whole set, erase a value from it, or write it in today's format",
		Long: "A rename touches what the cases expect, their fixtures, their tools, the recorded traces, the cases written by hand and the team's own answers. It is stated once, in renames.yaml\n" +
			"of the set, with a reason; verify applies it to the cases of the base and holds the change to what comes out. Without --write it only tells which\n" +
			"files would change. --erase blanks a value, such as a person's name, in everything that the set quotes; what was equal stays equal, and each field that\n" +
			"changes is waived without being quoted. git's history keeps what was. --format rewrites cases of an older version, or that were edited by hand, in canonical bytes.",
		Example: "  pawl migrate --rename-tool get_order=fetch_order --reason 'one name in all services' --issue '#31'\n" +
			"  pawl migrate --rename-field refund:/id=/order_id --reason 'as the API calls it' --issue '#32' --write\n  pawl migrate --format --write",
		RunE: func(*cobra.Command, []string) error { return a.migrate(f) },
	}
	setFlag(cmd, &f.set)
	flags := cmd.Flags()
	flags.StringVar(&f.tool, "rename-tool", "", "`OLD=NEW` name of a tool")
	flags.StringVar(&f.field, "rename-field", "", "`TOOL:/old=/new`, JSON pointers to a field of the tool's arguments")
	flags.StringVar(&f.erase, "erase", "", "take this `VALUE` out, as a person asked")
	flags.BoolVar(&f.format, "format", false, "write every case in the canonical bytes of "+regcase.APIVersion)
	flags.StringVar(&f.reason, "reason", "", "`WHY` it is renamed or erased")
	flags.StringVar(&f.issue, "issue", "", "the issue or `LINK` where it was decided")
	flags.BoolVar(&f.write, "write", false, "write the files; without it they are only named")
	cmd.MarkFlagsMutuallyExclusive("rename-tool", "rename-field", "erase", "format")
	cmd.MarkFlagsOneRequired("rename-tool", "rename-field", "erase", "format")
	return cmd
}

func (a *app) migrate(f migrateFlags) error {
	s, err := a.openSet(f.set)
	if err != nil {
		return err
	}
	defer s.root.Close()
	changes, err := a.changesOf(s, f)
	if err != nil {
		return usageError(err, "pawl migrate --help")
	}
	for _, c := range changes {
		if err := a.migrateFile(s, f, c); err != nil {
			return err
		}
	}
	if a.json {
		return nil
	}
	switch {
	case len(changes) == 0:
		fmt.Fprintln(a.stdout, "every case is in today's format")
	case f.write:
		fmt.Fprintf(a.stdout, "%s written\nnext: pawl verify --base origin/main\n", plural(len(changes), "file"))
	default:
		fmt.Fprintf(a.stdout, "%s would change; --write does it\n", plural(len(changes), "file"))
	}
	return nil
}

func (a *app) changesOf(s *openedSet, f migrateFlags) ([]turn.Change, error) {
	switch {
	case f.format:
		return turn.Format(s.Set)
	case f.erase != "":
		return a.erasure(s, f)
	}
	n, err := renameOf(f)
	if err != nil {
		return nil, err
	}
	return turn.Rename(s.src, s.Set, n)
}

// erasure tells of the files that hold the value in places that stay.
func (a *app) erasure(s *openedSet, f migrateFlags) ([]turn.Change, error) {
	if f.reason == "" || f.issue == "" {
		return nil, errors.New("an erasure is stated with --reason and --issue, without the value")
	}
	changes, left, err := turn.Erase(s.src, s.Set, f.erase, f.reason, f.issue, a.now())
	for _, file := range left {
		fmt.Fprintf(a.stderr, "pawl: %s holds it where nothing is blanked: mend that by hand\n", filepath.ToSlash(filepath.Join(s.dir, file)))
	}
	return changes, err
}

// renameOf reads OLD=NEW or TOOL:/old=/new. A name may hold what separates, so the last one counts.
func renameOf(f migrateFlags) (regcase.Rename, error) {
	n := regcase.Rename{Reason: f.reason, Issue: f.issue}
	switch text := f.tool + f.field; {
	case f.tool != "":
		i := strings.LastIndexByte(text, '=')
		if i <= 0 || i == len(text)-1 {
			return n, fmt.Errorf("--rename-tool %q is not OLD=NEW", text)
		}
		n.Tool, n.To = text[:i], text[i+1:]
	default:
		at, i := strings.Index(text, ":/"), strings.LastIndex(text, "=/")
		if at <= 0 || i < at {
			return n, fmt.Errorf("--rename-field %q is not TOOL:/old=/new", text)
		}
		n.Tool, n.Field, n.To = text[:at], text[at+1:i], text[i+1:]
	}
	if n.Reason == "" || n.Issue == "" {
		return n, errors.New("a rename is stated with --reason and --issue")
	}
	return n, nil
}

func (a *app) migrateFile(s *openedSet, f migrateFlags, c turn.Change) error {
	if f.write {
		if err := s.root.MkdirAll(path.Dir(c.Path), 0o755); err != nil {
			return err
		}
		if err := regcase.WriteFile(s.root, c.Path, c.Data); err != nil {
			return err
		}
		if c.Old != "" {
			if err := s.root.Remove(c.Old); err != nil {
				return err
			}
		}
	}
	file := filepath.ToSlash(filepath.Join(s.dir, c.Path))
	if a.json {
		return a.printJSON(struct {
			File    string `json:"file"`
			Case    string `json:"case"`
			Written bool   `json:"written"`
		}{file, c.Case, f.write})
	}
	_, err := fmt.Fprintln(a.stdout, file)
	return err
}
