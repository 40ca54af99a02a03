package gate

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Watch names the files of an agent by what they decide, as globs of paths from the directory of the check; ** is any number of folders.
type Watch struct{ Prompts, Tools, Models []string }

// Empty says that it names nothing.
func (w Watch) Empty() bool { return len(w.Prompts)+len(w.Tools)+len(w.Models) == 0 }

// Change is what differs from another version of the repository, each file once.
type Change struct {
	Prompts, Tools, Models []string
	Cases                  []string // inside the set, below its directory
	Other                  []string
}

// Sort divides changed files by what they decide. set is the directory of the set.
func (w Watch) Sort(files []string, set string) (c Change) {
	for _, f := range files {
		inside, ok := strings.CutPrefix(f, path.Clean(set)+"/")
		switch {
		case ok && strings.HasPrefix(inside, regcase.StubsDir+"/"): // what tools answer in any case
			c.Tools = append(c.Tools, f)
		case ok:
			c.Cases = append(c.Cases, inside)
		case matchesAny(w.Models, f):
			c.Models = append(c.Models, f)
		case matchesAny(w.Prompts, f):
			c.Prompts = append(c.Prompts, f)
		case matchesAny(w.Tools, f):
			c.Tools = append(c.Tools, f)
		default:
			c.Other = append(c.Other, f)
		}
	}
	return c
}

// ModelFiles are those of files that name models.
func (w Watch) ModelFiles(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !matchesAny(w.Models, f) })
}

// Decides says which change reaches every case, "" if none does.
func (c Change) Decides() string {
	for _, of := range []struct {
		what  string
		files []string
	}{{"prompts", c.Prompts}, {"tools", c.Tools}, {"models", c.Models}} {
		if len(of.files) > 0 {
			return fmt.Sprintf("%s changed: %s", of.what, some(of.files))
		}
	}
	return ""
}

// Mixed says that a model changes together with something else, so that no result can tell which of them it comes from; "" if not.
func (c Change) Mixed() string {
	others := slices.Concat(c.Prompts, c.Tools, c.Other)
	if len(c.Models) == 0 || len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("the model (%s) and other things (%s) change together: what the check shows could come from either; change the model alone", some(c.Models), some(others))
}

func some(files []string) string {
	if len(files) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(files[:3], ", "), len(files)-3)
	}
	return strings.Join(files, ", ")
}

func matchesAny(globs []string, file string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		return matchParts(strings.Split(strings.TrimPrefix(g, "./"), "/"), strings.Split(file, "/"))
	})
}

func matchParts(glob, file []string) bool {
	for len(glob) > 0 {
		if glob[0] == "**" {
			for i := range len(file) + 1 {
				if matchParts(glob[1:], file[i:]) {
					return true
				}
			}
			return false
		}
		if len(file) == 0 {
			return false
		}
		if ok, err := path.Match(glob[0], file[0]); err != nil || !ok {
			return false
		}
		glob, file = glob[1:], file[1:]
	}
	return len(file) == 0
}

// Selection is what of a set is run.
type Selection struct {
	Cases []*Case
	Left  []string // labels and tools that no case of it covers, for want of money
}

// Covering picks the fewest cases, as far as taking the most useful one each time finds them, that between them touch every label and every tool of the
// set; cases whose own files changed come first. What a case costs is guessed from earlier runs: those that would exceed maxUSD are left out. 0 is no limit.
func Covering(cases []*Case, changed []string, n int, known []Run, maxUSD float64) Selection {
	price := prices(known)
	var s Selection
	spent := 0.0
	open := map[string]bool{}
	rest := []*Case{}
	for _, c := range cases {
		for _, f := range traitsOf(c) {
			open[f] = true
		}
	}
	take := func(c *Case) bool {
		cost := price(c.ID) * float64(cmp.Or(n, c.Runs.N, 5))
		if maxUSD > 0 && spent+cost > maxUSD {
			return false
		}
		spent += cost
		s.Cases = append(s.Cases, c)
		for _, f := range traitsOf(c) {
			delete(open, f)
		}
		return true
	}
	for _, c := range cases {
		own := slices.ContainsFunc(changed, func(f string) bool {
			return f == c.File || strings.HasPrefix(f, path.Dir(c.File)+"/") && c.Golden == nil
		})
		if !own || !take(c) {
			rest = append(rest, c)
		}
	}
	for len(open) > 0 && len(rest) > 0 {
		best := slices.MinFunc(rest, func(a, b *Case) int {
			return cmp.Or(gain(b, open)-gain(a, open), cmp.Compare(price(a.ID), price(b.ID)), cmp.Compare(a.ID, b.ID))
		})
		if gain(best, open) == 0 {
			break
		}
		take(best)
		rest = slices.DeleteFunc(rest, func(c *Case) bool { return c == best })
	}
	for f := range open {
		s.Left = append(s.Left, f)
	}
	slices.Sort(s.Left)
	slices.SortFunc(s.Cases, func(a, b *Case) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

func gain(c *Case, open map[string]bool) (n int) {
	for _, f := range traitsOf(c) {
		if open[f] {
			n++
		}
	}
	return n
}

// traitsOf are what a case stands for: its label, its form, the tools that it answers for or expects, a dialogue.
func traitsOf(c *Case) []string {
	out := []string{"label " + c.Labels[0], "form " + c.Form}
	for _, f := range c.Fixtures {
		out = append(out, "answer of "+catalog.Normalise(f.Tool))
	}
	if e := c.Expect.Trajectory; e != nil {
		for _, x := range e.Calls {
			out = append(out, "call of "+catalog.Normalise(x.Tool))
		}
		if len(e.Calls) == 0 {
			out = append(out, "no call")
		}
	}
	if len(c.Input.Turns) > 1 {
		out = append(out, "several turns")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// prices foretells what a run of a case costs: the mean of its earlier runs, else of all.
func prices(known []Run) func(id string) float64 {
	sum, count := map[string]float64{}, map[string]float64{}
	for _, r := range known {
		if r.CostUSD == nil {
			continue
		}
		for _, k := range []string{r.Case, ""} {
			sum[k], count[k] = sum[k]+*r.CostUSD, count[k]+1
		}
	}
	return func(id string) float64 {
		if count[id] == 0 {
			id = ""
		}
		return sum[id] / max(1, count[id])
	}
}

var (
	modelWord = regexp.MustCompile(`[A-Za-z][A-Za-z0-9._:@-]*[A-Za-z0-9]`)
	openAI    = regexp.MustCompile(`^(gpt-[0-9][0-9a-z.]*|o[1-9])(-(mini|nano|turbo|pro|preview|codex|chat|audio|realtime))*$`) // no date: the provider moves it
	claude    = regexp.MustCompile(`^claude-(opus|sonnet|haiku)-4(-[015])?$`)
)

// Floating lists the names of models in a text that the provider points at another version when it pleases, each once, in order.
func Floating(text string) (names []string) {
	for _, w := range modelWord.FindAllString(text, -1) {
		low := strings.ToLower(w)
		latest := strings.HasSuffix(low, "-latest") || strings.HasSuffix(low, ":latest")
		if (latest || openAI.MatchString(low) || claude.MatchString(low)) && !slices.Contains(names, w) {
			names = append(names, w)
		}
	}
	return names
}

// Alias is a model that answered under another name than it was asked by: the name asked for is one that the provider may point elsewhere.
type Alias struct {
	Requested string `json:"requested"`
	Responded string `json:"responded"`
}

// Aliases are those of the runs, each once.
func (r Report) Aliases() (out []Alias) {
	for _, run := range r.Runs {
		for _, a := range run.Aliases {
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	slices.SortFunc(out, func(a, b Alias) int {
		return cmp.Or(cmp.Compare(a.Requested, b.Requested), cmp.Compare(a.Responded, b.Responded))
	})
	return out
}

// aliased says that a model answered under a name that is the one asked for and a version.
func aliased(requested, responded string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(responded), strings.ToLower(strings.TrimSuffix(requested, "-latest"))+"-")
	return ok && requested != "" && strings.ContainsAny(rest, "0123456789")
}
