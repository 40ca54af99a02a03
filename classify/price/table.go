// Package price tells what a call of a model cost, from its token counts and a dated list of prices. It is pure.
//
// A price is found by the exact name of a model, under rules that take off what does not change it (the date of a release, a router's or a
// cloud's prefix); a name that is merely like another has none: what a model costs is never guessed, and a gap names the model and the key
// of pawl.yaml that prices it. A cost that a span reports stands; only what no span reports is computed, and which of both it is, is kept
// with the number (trajectory.Usage.CostFrom).
//
// The list is prices.json, embedded: {"as_of", "source", "note", "models": [{"provider", "names", "from", "input", "output", "cache_read",
// "cache_write", "audio_in", "audio_out", "tiers": [{"above", ...}]}]}, USD per million tokens, renewed by test/prices.
package price

import (
	_ "embed" // the list below
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

//go:embed prices.json
var pricesJSON []byte

// Rate is what a model's tokens cost, in USD per million. What is nil costs as Input or Output does.
type Rate struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cache_read"`
	CacheWrite *float64 `json:"cache_write"`
	AudioIn    *float64 `json:"audio_in"`
	AudioOut   *float64 `json:"audio_out"`
}

// Own is a price of the user's, from pawl.yaml: it goes before the list.
type Own struct {
	Provider string // "" for any
	Model    string // pattern of the name as spans have it: * is any run of characters, ? any one
	Rate
}

// OwnSource is the CostSource of a cost that a price of the user's gave.
const OwnSource trajectory.CostSource = "pawl.yaml"

// entry is one model of the list; of entries with one name the later ones hold from their dates on.
type entry struct {
	Provider string   `json:"provider"`
	Names    []string `json:"names"`
	From     string   `json:"from"` // YYYY-MM-DD; "" for ever before
	Rate
	Tiers []tier `json:"tiers"`
}

// tier is the rate of a whole call whose input is above so many tokens.
type tier struct {
	Above int64 `json:"above"`
	Rate
}

type file struct {
	AsOf   string  `json:"as_of"`
	Source string  `json:"source"`
	Note   string  `json:"note"`
	Models []entry `json:"models"`
}

// Table is a list of prices, with the user's own before it. It never changes and may be used by many at once.
type Table struct {
	own    []Own
	models map[key][]*entry // by date
	source trajectory.CostSource
	asOf   time.Time
}

// key names a model of the list.
type key struct{ provider, name string }

// list reads the embedded file, once.
var list = sync.OnceValues(func() (*Table, error) {
	var f file
	if err := json.Unmarshal(pricesJSON, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("embedded prices: %w", err)
	}
	t := &Table{models: make(map[key][]*entry, 2*len(f.Models)), source: trajectory.CostSource("prices of " + f.AsOf)}
	t.asOf, _ = time.Parse(time.DateOnly, f.AsOf)
	for i := range f.Models {
		e := &f.Models[i]
		for _, n := range e.Names {
			t.models[key{e.Provider, n}] = append(t.models[key{e.Provider, n}], e)
		}
	}
	return t, nil
})

// New returns the embedded list with the user's own prices before it, of which the first that matches holds. A price that is negative, or
// that matches nothing, is an error.
func New(own []Own) (*Table, error) {
	embedded, err := list()
	if err != nil {
		return nil, err
	}
	for i, o := range own {
		if o.Model == "" {
			return nil, fmt.Errorf("prices[%d]: model is empty; write \"*\" for all", i)
		}
		for _, v := range []*float64{&o.Input, &o.Output, o.CacheRead, o.CacheWrite, o.AudioIn, o.AudioOut} {
			if v != nil && !(*v >= 0) {
				return nil, fmt.Errorf("prices[%d]: %v is no price: want USD per million tokens", i, *v)
			}
		}
	}
	t := *embedded
	t.own = slices.Clone(own)
	return &t, nil
}

// Source is what a cost computed by the embedded list says that it comes from.
func (t *Table) Source() trajectory.CostSource { return t.source }

// Call is what a price is asked for.
type Call struct {
	Provider string   // as trajectory.ModelCall has it; "" when it is not told
	Models   []string // names of the model, the surest first: as it responded, as it was requested; empty ones are passed over
	At       time.Time
	Sum      bool // the usage is that of several calls, so that no one's size is known
	Usage    trajectory.Usage
}

// Of computes what a call cost in USD, and by which list. The source is "" when it is not known; why then says, in a few words, what there is
// to do: it is "" itself when the counts or the model's name are missing, which no price would help.
func (t *Table) Of(c Call) (usd float64, from trajectory.CostSource, why string) {
	if c.Usage.Input == nil || c.Usage.Output == nil {
		return 0, "", ""
	}
	for _, o := range t.own {
		if o.matches(c) {
			return o.cost(c.Usage), OwnSource, ""
		}
	}
	for _, m := range c.Models {
		if m == "" {
			continue
		}
		es, reason := t.find(c.Provider, m)
		if es == nil {
			why = firstOf(why, reason)
			continue
		}
		e := t.at(es, c.At)
		if c.Sum && len(e.Tiers) > 0 && *c.Usage.Input > e.Tiers[0].Above {
			return 0, "", "its price depends on the size of each call, and the sum alone is told"
		}
		return e.rate(*c.Usage.Input).cost(c.Usage), t.source, ""
	}
	return 0, "", why
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// at is the entry that holds at a time: the last one that has begun. For a time that is not known, or of before there were such models, it is
// the one that holds at the list's own date.
func (t *Table) at(es []*entry, when time.Time) *entry {
	if when.Year() < 2020 {
		when = t.asOf
	}
	day := when.UTC().Format(time.DateOnly)
	for _, e := range slices.Backward(es) {
		if e.From <= day {
			return e
		}
	}
	return es[0]
}

// rate is what a call with so much input costs.
func (e *entry) rate(input int64) *Rate {
	r := &e.Rate
	for i := range e.Tiers {
		if input > e.Tiers[i].Above {
			r = &e.Tiers[i].Rate
		}
	}
	return r
}

// cost is what a usage costs. Its parts are told apart first: what was read from a cache, written to one, and heard, of the input; what was
// spoken, of the output. A part never exceeds what is left of its whole.
func (r *Rate) cost(u trajectory.Usage) float64 {
	in, out := *u.Input, *u.Output
	read := min(count(u.CacheRead), in)
	write := min(count(u.CacheWrite), in-read)
	heard := min(count(u.AudioIn), in-read-write)
	spoken := min(count(u.AudioOut), out)
	return dollars(float64(in-read-write-heard)*r.Input + float64(read)*or(r.CacheRead, r.Input) + float64(write)*or(r.CacheWrite, r.Input) +
		float64(heard)*or(r.AudioIn, r.Input) + float64(out-spoken)*r.Output + float64(spoken)*or(r.AudioOut, r.Output))
}

// dollars turns millionths of dollars into dollars, rounded far below what a token costs so that sums read well.
func dollars(millionths float64) float64 { return math.Round(millionths*1e6) / 1e12 }

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return max(*n, 0)
}

func or(v *float64, other float64) float64 {
	if v == nil {
		return other
	}
	return *v
}

// matches says whether a price of the user's is for the call: its pattern for a name of the model.
func (o *Own) matches(c Call) bool {
	if o.Provider != "" && !strings.EqualFold(o.Provider, c.Provider) && listOf(o.Provider) != listOf(c.Provider) {
		return false
	}
	return slices.ContainsFunc(c.Models, func(m string) bool { return m != "" && wild(strings.ToLower(o.Model), strings.ToLower(m)) })
}

// wild matches a name with a pattern of * and ?, in time that grows with the product of their lengths at most.
func wild(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p, n = p+1, n+1
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
