package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify/sight"
	"github.com/pawl-dev/pawl/config"
)

func doctorCommand(a *app) *cobra.Command {
	d := doctor{app: a}
	cmd := &cobra.Command{
		Use:   "doctor [FILE|DIR|-...]",
		Short: "say what pawl cannot see and what is not right, and what to do",
		Long: "With recorded telemetry: who speaks in it, how far each fact that the rules need is told, which rules can judge, what is wrong with how it\n" +
			"was recorded, and the one setting of your instrumentation that mends each. Without arguments: the same of the running service, which it\n" +
			"asks at listen.http of pawl.yaml, and of pawl itself: configuration, data directory, ports, GitHub, targets.\n\n" +
			"Nothing is changed and nothing is written. What costs the most judgements comes first.\n\n" +
			"Exit code 1: at least one problem; 0: none, though there may be advice; 3: there was nothing to examine.",
		Example: "  pawl doctor traces.jsonl\n  pawl doctor                        # the running service\n  pawl doctor --json captures/ | jq 'select(.level==\"problem\")'",
		Args:    cobra.ArbitraryArgs,
	}
	cmd.Flags().StringVar(&d.address, "address", "", "ask the service at this `HOST:PORT` (default listen.http)")
	cmd.Flags().BoolVar(&d.online, "online", false, "also ask GitHub, reading only, whether it lets pawl in")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return d.recorded(cmd.Context(), args)
		}
		return d.service(cmd.Context())
	}
	return cmd
}

// doctor is one run of the command.
type doctor struct {
	*app
	address string
	online  bool
	cfg     config.Config // as far as it could be read
	broken  bool          // the configuration has mistakes: what it says of targets, places and ports is not known
	checks  []sight.Check
}

// add notes a check of pawl itself.
func (d *doctor) add(level sight.Level, about, remedy, format string, args ...any) {
	d.checks = append(d.checks, sight.Check{Level: level, About: about, What: fmt.Sprintf(format, args...), Remedy: remedy})
}

// recorded examines recorded telemetry and the configuration that would be used with it.
func (d *doctor) recorded(ctx context.Context, paths []string) error {
	cfg, err := d.configuration(d.loadOffline)
	if err != nil {
		return err
	}
	engine, err := d.engineOf(cfg)
	if err != nil {
		return err
	}
	all, err := d.judgePaths(ctx, engine, paths, "")
	if err != nil {
		return nothingExamined(err)
	}
	if d.unread > 0 {
		d.add(sight.Problem, "files", "see the lines above: each names the file and why", "%s could not be read", plural(d.unread, "part"))
	}
	if d.leftOut > 0 {
		d.add(sight.Problem, "ids", "have the exporter send trace and span ids as hex digits or bytes that are not all zero", "%s could be of no trace, for want of an id, and were left out", plural(d.leftOut, "record"))
	}
	services := surveyed(all)
	d.targets(cfg, services)
	return d.tell(services)
}

// nothingExamined is an error of reading as doctor exits with it: nothing is known, whoever is to blame.
func nothingExamined(err error) error {
	e, ok := errors.AsType[*exitError](err)
	if !ok {
		return err
	}
	return &exitError{exitUndecided, e.err, e.try}
}

// surveyed adds up what the traces show, by service.
func surveyed(all []judged) []sight.Service {
	var out []sight.Service
	at := map[string]int{}
	for _, j := range all {
		name := j.trajectory.Service
		if _, ok := at[name]; !ok {
			at[name] = len(out)
			out = append(out, sight.Service{Name: name})
		}
		out[at[name]].Take(sight.Look(j.trajectory), j.report.Inapplicable)
	}
	slices.SortFunc(out, func(x, y sight.Service) int { return cmp.Compare(x.Name, y.Name) })
	return out
}

// configuration loads pawl.yaml. Its mistakes are problems like others: the examination goes on with the defaults.
func (d *doctor) configuration(load func() (config.Config, error)) (config.Config, error) {
	cfg, err := load()
	ps, mistakes := errors.AsType[config.Problems](err)
	switch {
	case mistakes:
		d.broken, d.cfg = true, config.Default()
		for _, p := range ps {
			line, _, _ := strings.Cut(p.Error(), "\n")
			d.add(sight.Problem, d.file(), "pawl config schema describes every key; pawl serve does not start with this", "%s", line)
		}
		return config.Default(), nil
	case err != nil:
		return cfg, err
	}
	d.cfg = cfg
	notes := notRead(cfg)
	for _, note := range notes {
		about, _, _ := strings.Cut(note, " ")
		about = strings.TrimSuffix(about, ":")
		d.add(sight.Advice, about, "take it out, so that nobody counts on it", "%s", note)
	}
	for _, note := range tooOpen(cfg) {
		about, _, _ := strings.Cut(note, " ")
		d.add(sight.Advice, about, "pawl config schema, which describes it", "%s", note)
	}
	if _, err := os.Stat(d.file()); err != nil {
		d.add(sight.OK, d.file(), "", "there is no %s: the defaults apply", d.file())
	} else if len(notes) == 0 {
		d.add(sight.OK, d.file(), "", "%s is good, and all of it is acted on", d.file())
	}
	return cfg, nil
}

// targets compares the services that were seen with the lines of targets.
func (d *doctor) targets(cfg config.Config, services []sight.Service) {
	targets := targetsOf(cfg)
	if d.broken {
		return
	}
	if len(targets) == 0 {
		d.add(sight.Advice, "targets", "add a line to targets in pawl.yaml: {service: \"shop-*\", repo: owner/name}", "no repository is named: no failure becomes a pull request")
		return
	}
	matched := make([]bool, len(targets))
	for i := range services {
		n, ok := targetOf(cfg, services[i].Name)
		if !ok {
			d.checks = append(d.checks, sight.Check{Level: sight.Problem, Service: services[i].Name, About: "targets", What: "no line of targets matches this service: its failures wait",
				Remedy: "add a line to targets in pawl.yaml: {service: \"" + shown(services[i].Name) + "\", repo: owner/name}"})
			continue
		}
		matched[n] = true
	}
	for i, t := range targets {
		if !matched[i] {
			d.add(sight.Advice, "targets", "compare it with the names of the services above; the first line that matches wins", "targets[%d] (service %q) matches no service seen", i, t.Service)
		}
	}
}

// tell prints services and checks, and ends the command by what they say.
func (d *doctor) tell(services []sight.Service) error {
	rules, err := d.ruleIDs()
	if err != nil {
		return err
	}
	for i := range services {
		d.checks = append(d.checks, sight.Examine(&services[i])...)
	}
	sight.Sort(d.checks)
	show := d.printText
	if d.json {
		show = d.printLines
	}
	if err := show(services, rules); err != nil {
		return err
	}
	if slices.ContainsFunc(d.checks, func(c sight.Check) bool { return c.Level == sight.Problem }) {
		return errFinding
	}
	return nil
}

// ruleIDs are pawl's rules and those of the configuration, as far as it could be read.
func (d *doctor) ruleIDs() (ids []string, err error) {
	rules, err := d.rulesOf(d.cfg)
	for _, r := range rules {
		ids = append(ids, r.ID())
	}
	slices.Sort(ids)
	return ids, err
}

// printLines prints one object a line: each service, then each check.
func (d *doctor) printLines(services []sight.Service, rules []string) error {
	for i := range services {
		s := &services[i]
		line := struct {
			Kind     string               `json:"kind"`
			Service  string               `json:"service"`
			Traces   int                  `json:"traces"`
			Dialects []string             `json:"dialects"`
			Emitters []sight.Emitter      `json:"emitters"`
			Facts    []sight.Fact         `json:"facts"`
			Rules    []sight.Judged       `json:"rules"`
			Oddities map[sight.Oddity]int `json:"oddities"`
		}{"service", s.Name, s.Examined, append([]string{}, s.Dialects()...), append([]sight.Emitter{}, s.Emitters...), append([]sight.Fact{}, s.Facts...), s.Judged(rules), s.Oddities}
		if line.Oddities == nil {
			line.Oddities = map[sight.Oddity]int{}
		}
		if err := d.printJSON(line); err != nil {
			return err
		}
	}
	for _, c := range d.checks {
		line := struct {
			Kind string `json:"kind"`
			sight.Check
		}{"check", c}
		if err := d.printJSON(line); err != nil {
			return err
		}
	}
	return nil
}

// doctorWidth is the widest that the report gets: lines of advice are read best at about this width.
const doctorWidth = 100

func (d *doctor) printText(services []sight.Service, rules []string) error {
	var b strings.Builder
	width := min(d.width(), doctorWidth)
	for i := range services {
		b.WriteString(serviceTable(&services[i], rules, width) + "\n")
	}
	count := map[sight.Level]int{}
	for i, c := range d.checks {
		if count[c.Level]++; i > 0 && c.Level != d.checks[i-1].Level {
			b.WriteByte('\n')
		}
		b.WriteString(d.checkText(c, len(services) > 1, width))
	}
	fmt.Fprintf(&b, "\n%s, %d advice, %d ok\n", plural(count[sight.Problem], "problem"), count[sight.Advice], count[sight.OK])
	_, err := fmt.Fprint(d.stdout, b.String())
	return err
}

// checkText is a check in a line or two, the remedy below.
func (d *doctor) checkText(c sight.Check, named bool, width int) string {
	what := c.What
	if c.Service != "" && named {
		what = c.Service + ": " + what
	}
	level := fmt.Sprintf("%-8s ", c.Level)
	if colour(d.stdout) {
		level = map[sight.Level]text.Color{sight.Problem: text.FgRed, sight.Advice: text.FgYellow, sight.OK: text.FgGreen}[c.Level].Sprint(level)
	}
	margin := strings.Repeat(" ", 9)
	out := level + strings.TrimPrefix(indent(shown(what), margin, width), margin)
	if c.Remedy != "" {
		out += margin + "-> " + strings.TrimPrefix(indent(shown(c.Remedy), margin+"   ", width), margin+"   ")
	}
	return out
}

// serviceTable shows a service: who speaks, how far each fact is told, and what the rules see.
func serviceTable(s *sight.Service, rules []string, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", cmp.Or(shown(s.Name), "(no service.name)"), plural(s.Examined, "trace"))
	for _, e := range s.Emitters {
		fmt.Fprintf(&b, "  speaks %s, %s\n", e.Dialect, cmp.Or(shown(strings.TrimSpace(e.Scope+" "+e.Version)), "a scope without a name"))
	}
	for line := range strings.Lines(factTable(s, width-2)) {
		b.WriteString("  " + line)
	}
	b.WriteString("\n" + indent(rulesLine(s.Judged(rules)), "  ", width))
	return b.String()
}

// factTable shows the facts of each trace, of each model call and of each tool call.
func factTable(s *sight.Service, width int) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"fact", "told by", "", "blind without it"})
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 4, WidthMax: max(16, width-52), WidthMaxEnforcer: text.WrapSoft}})
	for _, unit := range []string{"trace", "model call", "tool call"} {
		titled := false
		for _, f := range s.Facts {
			if f.Fact.Unit() != unit || f.Seen == f.Of && !sight.Asked(f.Fact) {
				continue
			}
			if !titled {
				titled = true
				t.AppendSeparator()
				t.AppendRow(table.Row{"of each " + unit})
			}
			t.AppendRow(table.Row{"  " + sight.Words(f.Fact), fmt.Sprintf("%d of %d", f.Seen, f.Of), bar(f.Seen, f.Of), strings.Join(blinded(s, f), ", ")})
		}
	}
	return t.Render()
}

const barWidth = 10

// bar draws a share; what is not nothing and not all is seen to be so.
func bar(n, of int) string {
	full := barWidth * n / max(of, 1)
	if n > 0 {
		full = max(full, 1)
	}
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}

// blinded are the rules that could not judge for want of a fact, without their versions.
func blinded(s *sight.Service, f sight.Fact) (out []string) {
	for _, x := range s.Blind {
		if x.Missing == f.Fact && f.Seen < f.Of {
			for _, r := range x.Rules {
				out = append(out, sight.RuleName(r))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rulesLine says which rules see all, some and none of the traces.
func rulesLine(js []sight.Judged) string {
	var all, some, none []string
	for _, j := range js {
		switch name := sight.RuleName(j.Rule); j.Traces {
		case j.Of:
			all = append(all, name)
		case 0:
			none = append(none, name)
		default:
			some = append(some, fmt.Sprintf("%s %d", name, j.Traces))
		}
	}
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"all", all}, {"some", some}, {"none", none}} {
		if len(p.names) > 0 {
			parts = append(parts, p.what+" by "+strings.Join(p.names, ", "))
		}
	}
	return "Traces judged: " + strings.Join(parts, "; ")
}
