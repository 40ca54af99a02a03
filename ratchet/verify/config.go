package verify

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Config is one version of pawl.yaml: every effective value as JSON, defaults included.
type Config struct {
	Path       string            // in the repository
	Values     jsontext.Value    // a JSON object with the keys of pawl.yaml
	Severities map[string]string // by label, what holds where Values["severity"] says nothing
	Waivers    []Waiver          // of the file beside it
	Absent     bool              // there is no file: Values are the defaults
	Pinned     jsontext.Value    // what tools_file holds: a JSON array of tools; nil: none
	Files      map[string]string // sha256 of other files that Values name, by their name there; "" for one that is not in the repository
}

// WaiversOf is the file beside a pawl.yaml that states why it was loosened: pawl.waivers.yaml.
func WaiversOf(config string) string {
	dot := strings.LastIndexByte(config, '.')
	if dot < strings.LastIndexByte(config, '/') || dot < 0 {
		return config + ".waivers.yaml"
	}
	return config[:dot] + ".waivers.yaml"
}

// CompareConfig lists where head lets pass, or no longer looks for, what base would have found. What has nothing to do with that (addresses, limits,
// the model of the judge) is free.
func CompareConfig(base, head Config) ([]Difference, error) {
	var b, h settings
	if err := json.Unmarshal(base.Values, &b); err != nil {
		return nil, fmt.Errorf("the configuration of base: %w", err)
	}
	if err := json.Unmarshal(head.Values, &h); err != nil {
		return nil, fmt.Errorf("the configuration of head: %w", err)
	}
	d := &differ{}
	d.put("/enabled", b.Enabled, h.Enabled, presence(b.Enabled, h.Enabled))
	d.rules(b.Rules, h.Rules)
	d.severities(base, head, b.Severity, h.Severity)
	d.policies(b.Policy, h.Policy)
	d.named("/custom", "name", b.Custom, h.Custom, "why", "fix")
	d.named("/tools", "name", b.Tools, h.Tools)
	d.declared("/tools", b.Tools, h.Tools)
	d.schemas(base, head, b.Tools)
	d.absorb(b.Absorb, h.Absorb)
	d.put("/ghpr/mode", b.GHPR.Mode, h.GHPR.Mode, higher(modes[b.GHPR.Mode], modes[h.GHPR.Mode]))
	d.put("/ingest/drop", b.Ingest.Drop, h.Ingest.Drop, values(b.Ingest.Drop, h.Ingest.Drop).turned()) // what is not there no rule sees
	d.put("/ingest/mask", b.Ingest.Mask, h.Ingest.Mask, values(b.Ingest.Mask, h.Ingest.Mask).turned())
	same(d, "/tools_file", b.ToolsFile, h.ToolsFile)
	if err := d.pinned(base, head); err != nil {
		return nil, err
	}
	d.put("/assemble/max_spans", b.Assemble.MaxSpans, h.Assemble.MaxSpans, higher(b.Assemble.MaxSpans, h.Assemble.MaxSpans)) // what is cut off no rule sees
	d.put("/assemble/max_bytes", b.Assemble.MaxBytes, h.Assemble.MaxBytes, sizes(b.Assemble.MaxBytes, h.Assemble.MaxBytes))
	for _, wait := range []string{"hold", "cool_down", "warm_up"} {
		was, is := pause(b.GHPR.Limits[wait]), pause(h.GHPR.Limits[wait])
		if is > maxPause && is > was {
			d.put("/ghpr/limits/"+wait, b.GHPR.Limits[wait], h.GHPR.Limits[wait], Looser)
		}
	}
	same(d, "/gate/embeddings/base_url", b.Gate.Embeddings.BaseURL, h.Gate.Embeddings.BaseURL) // who says that a reply means the same
	same(d, "/gate/embeddings/model", b.Gate.Embeddings.Model, h.Gate.Embeddings.Model)
	d.put("/gate/live_tools", b.Gate.LiveTools, h.Gate.LiveTools, among(b.Gate.LiveTools, h.Gate.LiveTools).turned())
	d.targets(b.Targets, h.Targets)
	for _, kind := range []string{"models", "prompts", "tools"} {
		d.put(under("/watch", kind), b.Watch[kind], h.Watch[kind], among(b.Watch[kind], h.Watch[kind]))
	}
	return d.out, nil
}

// maxPause is how long a wait before a pull request may be and still be one: beyond it none comes.
const maxPause = 30 * 24 * time.Hour

func pause(v jsontext.Value) time.Duration {
	var text string
	if json.Unmarshal(v, &text) != nil {
		return 0
	}
	d, _ := time.ParseDuration(text)
	return d
}

// sizes compares two sizes in bytes, such as 10MiB.
func sizes(base, head string) Relation {
	if base == head {
		return Equal
	}
	b, okB := size(base)
	h, okH := size(head)
	if !okB || !okH {
		return Unordered
	}
	return higher(b, h)
}

func size(text string) (float64, bool) {
	n := strings.TrimRight(text, "KMGiB")
	unit, ok := map[string]float64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[text[len(n):]]
	x, err := strconv.ParseFloat(n, 64)
	return x * unit, ok && err == nil
}

type settings struct {
	Enabled  bool                                 `json:"enabled"`
	Rules    map[string]map[string]jsontext.Value `json:"rules"`
	Severity map[string]string                    `json:"severity"`
	Policy   []policy                             `json:"policy"`
	Custom   []map[string]jsontext.Value          `json:"custom"`
	Tools    []map[string]jsontext.Value          `json:"tools"`
	Absorb   absorb                               `json:"absorb"`
	GHPR     struct {
		Mode   string                    `json:"mode"`
		Limits map[string]jsontext.Value `json:"limits"`
	} `json:"ghpr"`
	Assemble struct {
		MaxSpans int    `json:"max_spans"`
		MaxBytes string `json:"max_bytes"`
	} `json:"assemble"`
	Ingest struct {
		Drop []jsontext.Value `json:"drop"`
		Mask []jsontext.Value `json:"mask"`
	} `json:"ingest"`
	ToolsFile jsontext.Value `json:"tools_file"`
	Gate      struct {
		LiveTools  []string `json:"live_tools"`
		Embeddings struct {
			BaseURL *string `json:"base_url"`
			Model   *string `json:"model"`
		} `json:"embeddings"`
	} `json:"gate"`
	Targets []jsontext.Value    `json:"targets"`
	Watch   map[string][]string `json:"watch"`
}

type policy struct {
	Agent       string           `json:"agent"`
	MustPrecede []jsontext.Value `json:"must_precede"`
	MustNotCall []jsontext.Value `json:"must_not_call"`
	NoToolWhen  []jsontext.Value `json:"no_tool_when"`
	Route       []jsontext.Value `json:"route"`
}

type absorb struct {
	Mode          string   `json:"mode"`
	Labels        []string `json:"labels"`
	MinCount      float64  `json:"min_count"`
	MinConfidence float64  `json:"min_confidence"`
	MinJudged     float64  `json:"min_judged"`
	SessionQuiet  string   `json:"session_quiet"`
}

// moreIsStricter lists the parameters of pawl.yaml's rules of which a larger number makes a rule look further; of all other numbers it is the smaller.
var moreIsStricter = map[string]bool{
	"/rules/loop/max_period":         true, // longest cycle looked for
	"/rules/skipped_step/most":       true, // findings of one trace that are told
	"/rules/silent_timeout/min_rate": true, // tokens a second below which a call has stalled
}

func (d *differ) rules(base, head map[string]map[string]jsontext.Value) {
	for _, rule := range slices.Sorted(maps.Keys(base)) {
		for _, name := range slices.Sorted(maps.Keys(base[rule])) {
			field := under(under("/rules", rule), name)
			b, h := base[rule][name], head[rule][name]
			d.put(field, b, h, parameter(field, b, h))
		}
	}
}

func parameter(field string, base, head jsontext.Value) Relation {
	if string(canonical(base)) == string(canonical(head)) {
		return Equal
	}
	var b, h float64
	if base.Kind() != '0' || head.Kind() != '0' || json.Unmarshal(base, &b) != nil || json.Unmarshal(head, &h) != nil {
		return Unordered
	}
	if moreIsStricter[field] {
		return higher(b, h)
	}
	return lower(b, h)
}

var weights = map[string]int{"info": 1, "warning": 2, "blocking": 3}

func (d *differ) severities(base, head Config, b, h map[string]string) {
	labels := slices.Concat(slices.Collect(maps.Keys(b)), slices.Collect(maps.Keys(h)))
	slices.Sort(labels)
	for _, label := range slices.Compact(labels) {
		was, is := effective(b, base.Severities, label), effective(h, head.Severities, label)
		r := higher(weights[was], weights[is])
		if was != is && (weights[was] == 0 || weights[is] == 0) {
			r = Unordered
		}
		d.put(under("/severity", label), was, is, r)
	}
}

func effective(said, otherwise map[string]string, label string) string {
	if s, ok := said[label]; ok {
		return s
	}
	return otherwise[label]
}

// values orders sets of any values.
func values(base, head []jsontext.Value) Relation {
	texts := func(vs []jsontext.Value) (out []string) {
		for _, v := range vs {
			out = append(out, string(canonical(v)))
		}
		return out
	}
	return among(texts(base), texts(head))
}

// policies wants every line of base in head, for the same agents. Any further line forbids more, but for a route: what one line allows no other
// forbids.
func (d *differ) policies(base, head []policy) {
	b, h := byAgent(base), byAgent(head)
	for _, agent := range slices.Sorted(maps.Keys(b)) {
		field := under("/policy", agent)
		d.lines(field+"/must_precede", b[agent].MustPrecede, h[agent].MustPrecede)
		d.lines(field+"/must_not_call", b[agent].MustNotCall, h[agent].MustNotCall)
		d.lines(field+"/no_tool_when", b[agent].NoToolWhen, h[agent].NoToolWhen)
	}
	agents := slices.Concat(slices.Collect(maps.Keys(b)), slices.Collect(maps.Keys(h)))
	slices.Sort(agents)
	routed := slices.ContainsFunc(base, func(p policy) bool { return len(p.Route) > 0 })
	for _, agent := range slices.Compact(agents) {
		if was, is := b[agent].Route, h[agent].Route; routed || len(was) > 0 {
			same(d, under("/policy", agent)+"/route", was, is)
		}
	}
}

func byAgent(ps []policy) map[string]policy {
	out := map[string]policy{}
	for _, p := range ps {
		all := out[p.Agent]
		all.MustPrecede = append(all.MustPrecede, p.MustPrecede...)
		all.MustNotCall = append(all.MustNotCall, p.MustNotCall...)
		all.NoToolWhen = append(all.NoToolWhen, p.NoToolWhen...)
		all.Route = append(all.Route, p.Route...)
		out[p.Agent] = all
	}
	return out
}

// lines wants every line of base in head, each lost one a difference of its own.
func (d *differ) lines(field string, base, head []jsontext.Value) {
	there := map[string]bool{}
	for _, l := range head {
		there[string(canonical(l))] = true
	}
	for i, l := range base {
		if !there[string(canonical(l))] {
			d.put(at(field, i), l, nil, Looser)
		}
	}
}

// named wants every entry of base in head, as it was but for the free members.
func (d *differ) named(field, key string, base, head []map[string]jsontext.Value, free ...string) {
	index := func(list []map[string]jsontext.Value) map[string]map[string]jsontext.Value {
		out := map[string]map[string]jsontext.Value{}
		for _, e := range list {
			e = maps.Clone(e)
			for _, f := range free {
				delete(e, f)
			}
			var name string
			if json.Unmarshal(e[key], &name) != nil {
				continue
			}
			if _, twice := out[name]; twice {
				e["/twice"] = jsontext.Value("true") // which of the two counts is not said
			}
			out[name] = e
		}
		return out
	}
	b, h := index(base), index(head)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if is, ok := h[name]; ok {
			same(d, under(field, name), b[name], is)
		} else {
			d.put(under(field, name), b[name], nil, Looser)
		}
	}
}

// declared looks at tools that base says nothing of. What is declared harmless runs for real in a check, may be sent twice, and no rule asks what became
// of it; any other declaration lets rules see more.
func (d *differ) declared(field string, base, head []map[string]jsontext.Value) {
	for _, t := range head {
		if slices.ContainsFunc(base, func(b map[string]jsontext.Value) bool { return string(b["name"]) == string(t["name"]) }) {
			continue
		}
		var said struct {
			ExternalAPI string `json:"external_api"`
		}
		_ = json.Unmarshal(t["execution"], &said) // null, or a mapping: the configuration was checked
		if string(t["effect"]) == `"read"` || string(t["idempotent"]) == "true" || said.ExternalAPI == "never" {
			var name string
			_ = json.Unmarshal(t["name"], &name)
			d.put(under(field, name), nil, t, Unordered)
		}
	}
}

// schemas holds the files of schemas that base names to what they say.
func (d *differ) schemas(base, head Config, tools []map[string]jsontext.Value) {
	for _, t := range tools {
		var name, file string
		if json.Unmarshal(t["schema_file"], &file) == nil && file != "" && json.Unmarshal(t["name"], &name) == nil {
			same(d, under("/tools", name)+"/schema_file/sha256", base.Files[file], head.Files[file])
		}
	}
}

// pinned compares the tools of tools_file, one by one.
func (d *differ) pinned(base, head Config) error {
	var b, h []map[string]jsontext.Value
	for _, side := range []struct {
		tools jsontext.Value
		into  *[]map[string]jsontext.Value
	}{{base.Pinned, &b}, {head.Pinned, &h}} {
		if side.tools == nil {
			continue
		}
		if err := json.Unmarshal(side.tools, side.into); err != nil {
			return fmt.Errorf("tools_file: %w", err)
		}
	}
	d.named("/tools_file", "name", b, h)
	if base.Pinned != nil { // else the file itself is what is new
		d.declared("/tools_file", b, h)
	}
	return nil
}

var modes = map[string]int{"off": 1, "preview": 2, "open": 3}

func (d *differ) absorb(base, head absorb) {
	d.put("/absorb/mode", base.Mode, head.Mode, higher(modes[base.Mode], modes[head.Mode]))
	labels := Equal
	switch {
	case len(base.Labels) == 0 && len(head.Labels) > 0:
		labels = Unordered // every label that is absorbed by default, against a choice
	case len(base.Labels) > 0 && len(head.Labels) == 0:
		labels = Unordered
	default:
		labels = among(base.Labels, head.Labels)
	}
	d.put("/absorb/labels", base.Labels, head.Labels, labels)
	d.put("/absorb/min_count", base.MinCount, head.MinCount, lower(base.MinCount, head.MinCount))
	d.put("/absorb/min_confidence", base.MinConfidence, head.MinConfidence, lower(base.MinConfidence, head.MinConfidence))
	d.put("/absorb/min_judged", base.MinJudged, head.MinJudged, lower(base.MinJudged, head.MinJudged))
	was, errB := time.ParseDuration(base.SessionQuiet)
	is, errH := time.ParseDuration(head.SessionQuiet)
	quiet := lower(was, is)
	if base.SessionQuiet != head.SessionQuiet && (errB != nil || errH != nil) {
		quiet = Unordered
	}
	d.put("/absorb/session_quiet", base.SessionQuiet, head.SessionQuiet, quiet)
}

// targets wants base's first and as they were: the first match wins, so that what comes before takes away from what follows.
func (d *differ) targets(base, head []jsontext.Value) {
	for i, b := range base {
		var h jsontext.Value
		if i < len(head) {
			h = head[i]
		}
		if string(canonical(b)) != string(canonical(h)) {
			d.put("/targets", base, head, Unordered)
			return
		}
	}
}

// config adds what two versions of pawl.yaml show, and lets its waivers through.
func (r *Report) config(was, is Version) error {
	base, head := was.Config, is.Config
	ds, err := CompareConfig(base, head)
	if err != nil {
		return err
	}
	if was.priced() {
		ds = append(ds, comparePrices(base, head)...)
	}
	for _, d := range ds {
		if !d.Relation.Holds() {
			r.Findings = append(r.Findings, &Finding{Kind: Loosened, Path: head.Path, Difference: d, Why: sentence(d), Waivable: true})
		}
	}
	for _, name := range fresh(base, head) {
		r.note(head.Path, "the new rule %s is blocking: what other rules find on the calls that it names counts as its consequence, and opens no group", name)
	}
	if _, ok := beyond(base.Waivers, head.Waivers); !ok {
		r.Findings = append(r.Findings, &Finding{Kind: Rewritten, Path: WaiversOf(head.Path), Why: "waivers that were there before were changed or removed: that file is only added to"})
	}
	return nil
}

// fresh are the team's own blocking rules that base does not have.
func fresh(base, head Config) (names []string) {
	var b, h struct {
		Custom []struct {
			Name     string `json:"name"`
			Severity string `json:"severity"`
		} `json:"custom"`
	}
	if json.Unmarshal(base.Values, &b) != nil || json.Unmarshal(head.Values, &h) != nil {
		return nil
	}
	for _, rule := range h.Custom {
		if rule.Severity == "blocking" && !slices.ContainsFunc(b.Custom, func(o struct {
			Name     string `json:"name"`
			Severity string `json:"severity"`
		}) bool {
			return o.Name == rule.Name
		}) {
			names = append(names, rule.Name)
		}
	}
	return names
}

// comparePrices holds the team's prices to what they were: they decide whether a run stays under a ceiling in money.
func comparePrices(base, head Config) []Difference {
	var b, h struct {
		Prices jsontext.Value `json:"prices"`
	}
	d := &differ{}
	if json.Unmarshal(base.Values, &b) == nil && json.Unmarshal(head.Values, &h) == nil {
		same(d, "/prices", b.Prices, h.Prices)
	}
	return d.out
}

// priced says that a case has a ceiling in money.
func (v Version) priced() bool {
	for _, s := range v.Sets {
		for _, e := range s.Cases {
			if b := e.Case.Expect.Budget; b != nil && b.CostUSD != nil {
				return true
			}
		}
	}
	return false
}

// Sets are the directories that targets lead to.
func (c Config) Sets() []string {
	var s struct {
		Targets []struct {
			Set string `json:"set"`
		} `json:"targets"`
	}
	if json.Unmarshal(c.Values, &s) != nil {
		return nil
	}
	var out []string
	for _, t := range s.Targets {
		if dir := path.Clean("./" + t.Set); !slices.Contains(out, dir) && fs.ValidPath(dir) {
			out = append(out, dir)
		}
	}
	return out
}
