package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ratchet"
)

// triageCommands are the subcommands of pawl triage, in the order of the help.
var triageCommands = []func(*app, *string) *cobra.Command{
	triageList, triageShow,
	triageLabel, triageDismiss, triageApprove, triageDeny, triageSnooze, triageWake, triageRevive, triageSplit, triageMerge, triageUndo,
	triageEdit, triagePropose,
	triageAudit,
}

func triageCommand(a *app) *cobra.Command {
	var server string
	var subs []*cobra.Command
	for _, make := range triageCommands {
		subs = append(subs, make(a, &server))
	}
	cmd := group("triage", "what pawl found, and what you decide on it", subs...)
	cmd.Long = "Asks the running service. A group is named by its id, or by the beginning of it, or of its hex digits. A decision is recorded under the name of the\n" +
		"token: " + tokenVariable + ", or the first of auth.tokens in pawl.yaml. A service on loopback that asks for no token takes the name from " + personVariable + ",\n" +
		"or that of the user. It can be undone, save for a merge, and stands in the audit log."
	cmd.PersistentFlags().StringVar(&server, "server", "", "the service's `URL` (default listen.http)")
	return cmd
}

// toldTriage is what is read of a group for a person.
type toldTriage struct {
	ID        string               `json:"id"`
	Label     classify.Label       `json:"label"`
	Status    string               `json:"status"`
	Life      ratchet.Life         `json:"life"`
	Severity  classify.Severity    `json:"severity"`
	Source    classify.Source      `json:"source"`
	Count     int                  `json:"count"`
	Growth    int                  `json:"growth"`
	Services  []string             `json:"services"`
	FirstSeen time.Time            `json:"first_seen"`
	LastSeen  time.Time            `json:"last_seen"`
	Title     string               `json:"title"`
	Why       string               `json:"why"`
	Traces    []string             `json:"traces"`
	Digest    string               `json:"digest"`
	Snoozed   *time.Time           `json:"snoozed_until"`
	Into      string               `json:"into"`
	Decisions []ratchet.Decision   `json:"decisions"`
	Finger    classify.Fingerprint `json:"fingerprint"`
	Began     struct {
		Sentence string `json:"sentence"`
	} `json:"began"`
}

// of is where it was seen: its services, and the agent where that has another name.
func (g *toldTriage) of() string {
	if agent := g.Finger.Agent; agent != "" && !slices.Contains(g.Services, agent) {
		return strings.Join(append(slices.Clone(g.Services), "agent "+agent), ", ")
	}
	return strings.Join(g.Services, ", ")
}

func triageList(a *app, server *string) *cobra.Command {
	q := map[string]*string{}
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "the groups, each one failure", Args: cobra.NoArgs,
		Long:    "With --json one object a line. --life tells those that are new, escalating, ongoing, regressed, resolved or ignored; --verdict unclassified those that\nno rule explains.",
		Example: "  pawl triage list --verdict unclassified --sort growing\n  pawl triage list --life new --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.running = true
			r, err := a.service(*server)
			if err != nil {
				return err
			}
			v := url.Values{}
			for name, text := range q {
				if *text != "" {
					v.Set(name, *text)
				}
			}
			groups, err := r.pages(cmd.Context(), "/v1/groups", v, limit)
			if err != nil {
				return err
			}
			return a.printGroups(groups)
		},
	}
	for _, f := range [][2]string{{"life", "only this `LIFE`"}, {"status", "only this `STATUS`: waits, due, preview, open, merged"}, {"label", "only this `LABEL`"}, {"service", "only this `SERVICE`"},
		{"verdict", "failing or unclassified"}, {"sort", "last, new, growing or count"}} {
		q[f[0]] = cmd.Flags().String(f[0], "", f[1])
	}
	q["q"] = cmd.Flags().String("search", "", "`TEXT` in id, title, why, service or agent")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most so many; 0: all")
	return cmd
}

// largestAsked is how many entries are asked for at once.
const largestAsked = 1000

var nextLink = regexp.MustCompile(`<([^>]*)>; *rel="next"`)

// pages reads a list page by page, until limit entries are there; 0: all.
func (r *running) pages(ctx context.Context, path string, q url.Values, limit int) (out []json.RawMessage, err error) {
	q.Set("limit", strconv.Itoa(largestAsked))
	if limit > 0 {
		q.Set("limit", strconv.Itoa(min(limit, largestAsked)))
	}
	for next := path + "?" + q.Encode(); next != ""; {
		body, head, err := r.call(ctx, http.MethodGet, next, nil)
		if err != nil {
			return nil, err
		}
		var page []json.RawMessage
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, fmt.Errorf("%s does not answer as pawl does: %w", r.at, err)
		}
		out = append(out, page...)
		if limit > 0 && len(out) >= limit {
			return out[:limit], nil
		}
		next = ""
		if m := nextLink.FindStringSubmatch(head.Get("Link")); m != nil && strings.HasPrefix(m[1], "/v1/") {
			next = m[1]
		}
	}
	return out, nil
}

func (a *app) printGroups(groups []json.RawMessage) error {
	if a.json {
		return a.printLines(groups)
	}
	t := a.newTable(4, 60, "id", "life", "seen", "status", "title", "of")
	for _, doc := range groups {
		var g toldTriage
		if err := json.Unmarshal(doc, &g); err != nil {
			return err
		}
		t.AppendRow([]any{g.ID, g.Life, g.Count, shown(g.Status), shown(g.Title), shown(g.of())})
	}
	if len(groups) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no groups")
		return err
	}
	_, err := fmt.Fprintln(a.stdout, t.Render())
	return err
}

// printLines prints documents as they are, one a line.
func (a *app) printLines(docs []json.RawMessage) error {
	for _, d := range docs {
		if err := a.printJSON(d); err != nil {
			return err
		}
	}
	return nil
}

// groupNamed finds the one group that a word names: its id, or the beginning of that or of its digits.
func (r *running) groupNamed(ctx context.Context, word string) (json.RawMessage, toldTriage, error) {
	var doc json.RawMessage
	err := r.get(ctx, "/v1/groups/"+url.PathEscape(word), nil, &doc)
	if _, none := errors.AsType[absent](err); none {
		doc, err = r.groupLike(ctx, word)
	}
	var g toldTriage
	if err == nil {
		err = json.Unmarshal(doc, &g)
	}
	return doc, g, err
}

const leastDigits = 4 // that name a group without its label

func (r *running) groupLike(ctx context.Context, word string) (json.RawMessage, error) {
	all, err := r.pages(ctx, "/v1/groups", url.Values{}, 0)
	if err != nil {
		return nil, err
	}
	var ids []string
	var found []json.RawMessage
	for _, doc := range all {
		var g toldTriage
		if err := json.Unmarshal(doc, &g); err != nil {
			return nil, err
		}
		ids = append(ids, g.ID)
		digits := g.ID[strings.LastIndexByte(g.ID, '-')+1:]
		if strings.HasPrefix(g.ID, word) || len(word) >= leastDigits && strings.HasPrefix(digits, word) {
			found = append(found, doc)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, usageError(fmt.Errorf("%s names %d groups: give more of the id", shown(word), len(found)), "pawl triage list")
	}
	hint := ""
	if near, ok := classify.Nearest(word, ids); ok {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return nil, usageError(fmt.Errorf("%s has no group %s%s", r.at, shown(word), hint), "pawl triage list")
}

func triageShow(a *app, server *string) *cobra.Command {
	asCase := false
	cmd := &cobra.Command{
		Use: "show ID", Short: "one group with its evidence and what was decided on it", Args: oneArg("the group's id"),
		Example: "  pawl triage show loop-3f9a1c02d4\n  pawl triage show loop-3f9a1c02d4 --case",
		RunE: func(cmd *cobra.Command, args []string) error {
			a.running = true
			r, err := a.service(*server)
			if err != nil {
				return err
			}
			doc, g, err := r.groupNamed(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			switch {
			case asCase:
				return a.showCase(cmd.Context(), r, g.ID)
			case a.json:
				return a.printJSON(doc)
			}
			return a.printGroup(g)
		},
	}
	cmd.Flags().BoolVar(&asCase, "case", false, "its case instead, as its pull request would bring it: files, what was redacted, what was proven; or why there is none")
	return cmd
}

func (a *app) printGroup(g toldTriage) error {
	w := func(name, text string) {
		if text != "" {
			fmt.Fprintf(a.stdout, "%-10s %s\n", name, text)
		}
	}
	fmt.Fprintf(a.stdout, "%s: %s\n\n", g.ID, shown(g.Title))
	w("label", string(g.Label)+" (by a "+string(g.Source)+")")
	w("severity", string(g.Severity))
	w("life", string(g.Life))
	if g.Snoozed != nil {
		w("put off", "until "+g.Snoozed.UTC().Format(shortTime))
	}
	w("status", shown(g.Status))
	w("seen", fmt.Sprintf("%s, %s to %s", plural(g.Count, "time"), g.FirstSeen.UTC().Format(shortTime), g.LastSeen.UTC().Format(shortTime)))
	w("service", shown(strings.Join(g.Services, ", ")))
	w("agent", shown(g.Finger.Agent))
	w("why", shown(g.Why))
	w("began", shown(g.Began.Sentence))
	for _, p := range g.Finger.Parts {
		w("part", p.Key+" "+shown(string(p.Value)))
	}
	w("case", g.Digest)
	for i, id := range g.Traces {
		name := "trace"
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(a.stdout, "%-10s %s\n", name, id)
	}
	for _, d := range g.Decisions {
		fmt.Fprintf(a.stdout, "%-10s %s\n", "decided", decisionLine(&d))
	}
	return nil
}

const shortTime = "2006-01-02 15:04"

// decisionLine tells a decision in a line.
func decisionLine(d *ratchet.Decision) string {
	what := d.Choice
	switch {
	case d.Label != "":
		what += " " + string(d.Label)
	case d.As != "":
		what += " as " + d.As
	case !d.Until.IsZero():
		what += " until " + d.Until.UTC().Format(shortTime)
	case d.Of != "":
		what += " " + d.Of
	}
	line := fmt.Sprintf("%s by %s: %s", d.When.UTC().Format(shortTime), shown(d.Who), what)
	if d.Reason != "" {
		line += ", because " + shown(d.Reason)
	}
	if d.Undone {
		line += " (undone)"
	}
	return line
}

func triageAudit(a *app, server *string) *cobra.Command {
	var who string
	var limit int
	cmd := &cobra.Command{
		Use: "audit [ID]", Short: "what was decided, by whom and when, the latest first", Args: cobra.MaximumNArgs(1),
		Example: "  pawl triage audit --limit 20\n  pawl triage audit loop-3f9a1c02d4 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			a.running = true
			r, err := a.service(*server)
			if err != nil {
				return err
			}
			q := url.Values{}
			if who != "" {
				q.Set("who", who)
			}
			if len(args) == 1 {
				_, g, err := r.groupNamed(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				q.Set("group", g.ID)
			}
			told, err := r.pages(cmd.Context(), "/v1/audit", q, limit)
			if err != nil || a.json {
				return errors.Join(err, a.printLines(told))
			}
			for _, doc := range told {
				var e ratchet.Told
				if err := json.Unmarshal(doc, &e); err != nil {
					return err
				}
				fmt.Fprintf(a.stdout, "%s  %s\n", e.Group, decisionLine(&e.Decision))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&who, "who", "", "only what this `PERSON` decided")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most so many; 0: all")
	return cmd
}

// tracesNamed are the traces of a group that words name by their beginnings.
func tracesNamed(g *toldTriage, words []string) ([]string, error) {
	var out []string
	for _, w := range words {
		i := slices.IndexFunc(g.Traces, func(id string) bool { return strings.HasPrefix(id, w) })
		switch {
		case i >= 0 && slices.ContainsFunc(g.Traces[i+1:], func(id string) bool { return strings.HasPrefix(id, w) }):
			return nil, usageError(fmt.Errorf("%s names several traces of the group: give more of the id", shown(w)), "pawl triage show "+g.ID)
		case i >= 0:
			w = g.Traces[i]
		case !traceID.MatchString(w):
			return nil, usageError(fmt.Errorf("the group shows no trace %s", shown(w)), "pawl triage show "+g.ID)
		}
		out = append(out, w)
	}
	return out, nil
}
