package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/ratchet"
)

// showCase prints the case of a group as its pull request would bring it.
func (a *app) showCase(ctx context.Context, r *running, id string) error {
	var doc json.RawMessage
	if err := r.get(ctx, "/v1/groups/"+url.PathEscape(id)+"/case", nil, &doc); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(doc)
	}
	var p ratchet.Preview
	if err := json.Unmarshal(doc, &p); err != nil {
		return fmt.Errorf("%s does not answer as pawl does: %w", r.at, err)
	}
	_, err := io.WriteString(a.stdout, caseText(p, a.width()))
	return err
}

// maxTrace is how much of a recording is shown, in bytes: --json has it whole.
const maxTrace = 2000

func caseText(p ratchet.Preview, width int) string {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, text)
		}
	}
	fmt.Fprintf(&b, "%s: %s\n\n", p.Group, cmp.Or(shown(p.Title), "no case"))
	line("refused", shown(p.Refused))
	line("to do", shown(p.Setting))
	line("waits", shown(p.Waits))
	line("case", p.Digest)
	if p.Edit != nil {
		line("edited", "by "+shown(p.Edit.Who)+" at "+p.Edit.When.UTC().Format(shortTime))
	}
	if q := p.Proof; q != nil {
		line("form", q.Form)
		line("red", q.Red+"; twins that stay red: "+cmp.Or(strings.Join(q.Twins, ", "), "none"))
		line("green", "after: "+cmp.Or(strings.Join(q.Repairs, ", "), "no repair")+"; healthy run: "+cmp.Or(orEmpty(q.Control), "none known"))
		line("damaged", strings.Join(q.Damages, ", "))
		if q.Weak {
			line("weak", "a run that refuses everything passes it: say what a good answer does")
		}
	}
	for _, r := range p.Redacts {
		where := ""
		for _, at := range r.Places {
			where += fmt.Sprintf(" %s:%s", at.Path, strings.Trim(strings.ReplaceAll(fmt.Sprint(at.Lines), " ", ","), "[]"))
		}
		line("redacted", fmt.Sprintf("%s %s, %d times%s", r.Kind, r.StandIn, r.Times, where))
	}
	if q := p.Pull; q != nil {
		line("would be", fmt.Sprintf("%q from %s into %s of %s", shown(q.Title), shown(q.Branch), q.Base, q.Repo))
		line("is", strings.TrimSpace(q.State+" "+q.URL))
	}
	for _, f := range p.Files {
		text := f.Content
		if len(text) > maxTrace && strings.HasSuffix(f.Path, ".json") {
			text = fmt.Sprintf("%s\n... (%d bytes; --json has them)\n", strings.ToValidUTF8(text[:maxTrace], ""), len(f.Content))
		}
		fmt.Fprintf(&b, "\n--- %s\n%s", f.Path, text)
	}
	return b.String()
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func triageEdit(a *app, server *string) *cobra.Command {
	var digest, file string
	var drop bool
	cmd := &cobra.Command{
		Use: "edit ID --expect FILE", Short: "say what its case shall assert, before it is proposed", Args: oneArg("the group's id"),
		Long: "FILE holds what stands under expect in case.yaml, as YAML or JSON; - reads it from standard input. `pawl triage show ID --case` has it as it is. It is tried\n" +
			"like any case: red on the recording and its twins, green on a healthy run; what the rule found stays. --drop goes back to what pawl would assert.",
		Example: "  pawl triage edit loop-3f9a1c02d4 --expect expect.yaml --digest 9c1f04ab",
	}
	cmd.Flags().StringVar(&digest, "digest", "", "only if the case is this one: its `DIGEST`, or 8 digits of it, as show --case prints it")
	cmd.Flags().StringVar(&file, "expect", "", "the `FILE`")
	cmd.Flags().BoolVar(&drop, "drop", false, "drop an earlier edit")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.running = true
		if drop == (file != "") {
			return usageError(errors.New("name the file with --expect, or --drop an earlier edit"), cmd.CommandPath()+" --help")
		}
		text, err := readText(cmd.InOrStdin(), file)
		if err != nil {
			return err
		}
		r, err := a.service(*server)
		if err != nil {
			return err
		}
		_, g, err := r.groupNamed(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return a.edit(cmd.Context(), r, g.ID, digest, text)
	}
	return cmd
}

// readText reads a file, - for standard input; "" is none.
func readText(stdin io.Reader, file string) ([]byte, error) {
	switch file {
	case "":
		return nil, nil
	case "-":
		return io.ReadAll(stdin)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usageError(err, "")
	}
	return text, nil
}

func (a *app) edit(ctx context.Context, r *running, id, digest string, text []byte) error {
	at := "/v1/groups/" + url.PathEscape(id) + "/case"
	var p ratchet.Preview
	if err := r.get(ctx, at, nil, &p); err != nil {
		return err
	}
	if digest != "" && (len(digest) < leastDigest || !strings.HasPrefix(p.Digest, digest)) {
		return &exitError{exitUndecided, fmt.Errorf("the case changed since you looked: it is %s now", p.Digest), "pawl triage show --case " + id}
	}
	ask := map[string]any{"digest": cmp.Or(p.Digest, "none")}
	if len(text) > 0 {
		ask["expect"] = string(text)
	}
	doc, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	body, _, err := r.call(ctx, http.MethodPut, at, doc)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(json.RawMessage(body))
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("%s does not answer as pawl does: %w", r.at, err)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: its case is %s now\n", p.Group, cmp.Or(p.Digest, "none, for "+shown(p.Refused)))
	return err
}
