package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify/triage"
	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/ratchet/turn"
)

// eraseFlags are what the caller asked for.
type eraseFlags struct {
	set, server, reason, issue string
	dry, write                 bool
}

func eraseCommand(a *app) *cobra.Command {
	var f eraseFlags
	cmd := &cobra.Command{
		Use:   "erase SUBJECT [--dry-run]  |  erase SUBJECT --set DIR [--write --reason WHY --issue LINK]",
		Short: "erase a person's value from what the service keeps, or from a set",
		Long: "SUBJECT is the value as it stands in texts: a name, an e-mail address, a number. Without --set the running service blanks it in every kept trace, in its\n" +
			"groups and in the recordings of their specimens; ids, counts and findings stay. A case that has not left is made anew without it, one that has is named.\n" +
			"It needs a token of the role admin.\n\n" +
			"With --set it names the cases that hold the value and, with --write, blanks it there and waives each field that changes, without quoting it; `pawl verify`\n" +
			"knows such a change as an erasure. git's history and GitHub's copies of it keep what was.\n\n" +
			"It finds the value as it is written, also in JSON inside of texts, in addresses, in base64, as bytes and compressed; there the least part goes that holds it.\n" +
			"Run it once for each value of a person.",
		Example: "  pawl erase 'Maya Lind' --dry-run\n  pawl erase maya@example.org --server http://127.0.0.1:7295\n  pawl erase 'Maya Lind' --set regressions --write --reason 'a request under article 17' --issue '#31'",
		Args:    cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := redact.NewSubject(args[0])
		if err != nil {
			return usageError(err, "pawl erase --help")
		}
		if f.set != "" {
			return a.eraseSet(s, args[0], f)
		}
		return a.eraseKept(cmd.Context(), args[0], f)
	}
	flags := cmd.Flags()
	flags.StringVar(&f.set, "set", "", "erase in the cases of this `DIR` instead")
	flags.StringVar(&f.server, "server", "", "the service's `URL` (default listen.http)")
	flags.BoolVar(&f.dry, "dry-run", false, "tell what holds it and change nothing")
	flags.BoolVar(&f.write, "write", false, "with --set: write the files; without it they are only named")
	flags.StringVar(&f.reason, "reason", "", "with --write: `WHY`, without the value")
	flags.StringVar(&f.issue, "issue", "", "with --write: the issue or `LINK` where it was decided")
	cmd.MarkFlagsMutuallyExclusive("set", "server")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "write")
	return cmd
}

// eraseSet does what pawl migrate --erase does.
func (a *app) eraseSet(s redact.Subject, value string, f eraseFlags) error {
	if !f.write && f.reason == "" && f.issue == "" { // nothing is written, so nothing has to be stated
		f.reason, f.issue = "to be stated", "#1"
	}
	m := migrateFlags{set: f.set, erase: value, reason: f.reason, issue: f.issue, write: f.write}
	if s.In(f.reason + "\n" + f.issue) {
		return usageError(errors.New("the reason holds what is to be erased, and stays"), "")
	}
	err := a.migrate(m)
	if errors.Is(err, turn.ErrNothing) && !a.json {
		_, err = fmt.Fprintf(a.stdout, "nothing in %s holds it\n", filepath.ToSlash(f.set))
	}
	return err
}

func (a *app) eraseKept(ctx context.Context, value string, f eraseFlags) error {
	r, err := a.service(f.server)
	if err != nil {
		return err
	}
	ask, err := json.Marshal(map[string]any{"subject": value, "dry_run": f.dry})
	if err != nil {
		return err
	}
	bar := a.progress(-1, "looking through what is kept")
	defer func() { _ = bar.Finish() }()
	body, _, err := r.callFor(ctx, time.Hour, http.MethodPost, "/v1/erase", ask)
	if err != nil {
		return err
	}
	var done triage.Erasure
	if err := json.Unmarshal(body, &done); err != nil {
		return fmt.Errorf("%s does not answer as pawl does: %w", r.at, err)
	}
	if a.json {
		return a.printJSON(done)
	}
	return a.printErasure(done)
}

func (a *app) printErasure(d triage.Erasure) error {
	verb := "blanked in"
	if d.DryRun {
		verb = "found in"
	}
	fmt.Fprintf(a.stdout, "%s %d kept traces (%d spans and log records, %d resources and scopes), the words of %d groups, %d recordings\n", verb, d.Traces, d.Records, d.Shared, d.Groups, d.Specimens)
	if d.Flags+d.Unexplained+d.Messages > 0 {
		fmt.Fprintf(a.stdout, "%s what others said of %s, what %s said of themselves, and %s of streams and of the quarantine\n", verb, plural(d.Flags, "trace"), plural(d.Unexplained, "run"), plural(d.Messages, "message"))
	}
	for _, id := range d.Withdrawn {
		fmt.Fprintf(a.stdout, "case %s: not proposed yet, made anew without it\n", shown(id))
	}
	for _, left := range d.Left {
		fmt.Fprintf(a.stdout, "out already: %s: pawl erase SUBJECT --set DIR erases it in the set\n", shown(left))
	}
	for _, n := range d.Notes {
		fmt.Fprintf(a.stdout, "note: %s\n", shown(n))
	}
	return nil
}

// erase blanks a person's value in what this process keeps.
func (s *server) erase(ctx context.Context, value string, dry bool) (out triage.Erasure, err error) {
	subject, err := redact.NewSubject(value)
	if err != nil {
		return out, &triage.Unfit{Reason: err.Error()}
	}
	for _, st := range s.stores {
		r, err := st.Rewrite(ctx, subject.Blank, dry)
		out.Traces, out.Records, out.Shared = out.Traces+r.Traces, out.Records+r.Records, out.Shared+r.Shared
		if err != nil {
			return out, err
		}
	}
	e, err := s.absorber.Erase(ctx, subject, dry)
	out.Groups, out.Specimens, out.Flags, out.Withdrawn, out.Left = e.Groups, e.Specimens, e.Flags, e.Withdrawn, e.Left
	out.Unexplained, out.Judgements, out.Messages, out.Unread = e.Unexplained, e.Judgements, e.Messages, e.Unread
	out.Notes = []string{
		fmt.Sprintf("what was overwritten leaves the disk with its hour, at the latest after assemble.retention (%s); spans in the stream that are younger than their trace may bring it back: run this again after assemble.max_age (%s)",
			time.Duration(s.cfg.Assemble.Retention), time.Duration(s.cfg.Assemble.MaxAge)),
		"pawl's own log, archives of several files, images, and what is encoded more than 8 times or unpacks to more than 4 MiB are not looked through",
	}
	if e.Unread > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s of the streams of findings and flags hold it and cannot be rewritten: each goes as soon as it is read, and leaves its words in a group; run this again then, in a minute if all goes well", plural(e.Unread, "message")))
	}
	if len(s.roles) < len(allRoles) {
		out.Notes = append(out.Notes, "other processes keep traces of their own: ask each that plays the role work")
	}
	return out, err
}
