package verify

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// maxLoosened is how many cases one change may loosen, each with its waiver.
const maxLoosened = 3

// Erased stands in a case for what was taken out of it for a person's sake.
const Erased = "[erased]"

// bulkField is the field of a waiver beside pawl.yaml that lists, as its head, the cases that a decision on policy loosens.
const bulkField = "/bulk"

// bulk refuses a change that loosens many cases at once, waived or not: a reviewer looks at three waivers and waves at thirty. Not counted are cases
// of which nothing is gone but personal data, and those that a change of policy lists; each of their loosenings is waived by itself all the same. A
// rename is no loosening at all (renames.go).
func (r *Report) bulk(base, head Version) {
	listed := r.listed(base.Config, head.Config)
	var cases []string
	for _, f := range r.Findings {
		if f.Case != "" && f.Kind != Idle && !slices.Contains(cases, f.Case) && !slices.Contains(listed, f.Case) && !r.erased(f.Case, base, head) {
			cases = append(cases, f.Case)
		}
	}
	if len(cases) <= maxLoosened {
		return
	}
	slices.Sort(cases)
	r.Findings = append(r.Findings, &Finding{Kind: Bulk, Why: fmt.Sprintf("%d cases are loosened at once, and %d may be, whatever is waived: %s. Loosen them in changes of their own",
		len(cases), maxLoosened, strings.Join(cases[:min(len(cases), 10)], ", "))})
}

// listed are the cases that a fresh waiver of a change of policy lists.
func (r *Report) listed(base, head Config) []string {
	more, ok := beyond(base.Waivers, head.Waivers)
	if !ok || !slices.ContainsFunc(r.Findings, func(f *Finding) bool {
		return f.Case == "" && strings.HasPrefix(f.Field, "/policy/") && f.Waiver != nil
	}) {
		return nil
	}
	var all []string
	for _, w := range more {
		var ids []string
		if w.Field == bulkField && Unfit(w) == "" && json.Unmarshal(w.Head, &ids) == nil {
			all = append(all, ids...)
		}
	}
	return all
}

// erased says that a case differs in nothing but texts of which pieces gave way to Erased.
func (r *Report) erased(id string, base, head Version) bool {
	for dir, b := range base.Sets {
		for place, was := range b.Cases {
			h := head.Sets[dir]
			if was.Case.ID == id && h != nil && h.Cases[place] != nil {
				return r.onlyErased(id, b, h, was, h.Cases[place])
			}
		}
	}
	return false
}

// quoting are the fields that quote what people said, where an erasure may blank something. Names of tools, rules and agents are nobody's.
var quoting = regexp.MustCompile(`^/(input/.*|fixtures(/\d+)?|expect/(response/text|criteria|state/memory|trajectory/calls/\d+/arguments/.*))$`)

// onlyErased says that nothing else became of a case. What is gone from an expectation must have been in the recording, and be gone from there too: else
// it is the assertion that somebody wants to be rid of.
func (r *Report) onlyErased(id string, base, head *Set, was, is *Entry) bool {
	before, err := base.trace(was)
	if err != nil {
		return false
	}
	after, err := head.trace(is)
	if err != nil || !blanked(before, after) {
		return false
	}
	for _, f := range r.Findings {
		if f.Case != id || f.Field == "/trace/sha256" {
			continue
		}
		gone, ok := erasedOf(jsontext.Value(f.Base), jsontext.Value(f.Head))
		if !ok || !quoting.MatchString(f.Field) {
			return false
		}
		for _, piece := range gone {
			if strings.HasPrefix(f.Field, "/expect/") && (!quotes(before, piece) || quotes(after, piece)) {
				return false
			}
		}
	}
	return slices.EqualFunc(was.Case.Fixtures, is.Case.Fixtures, func(a, b regcase.Fixture) bool { return a.Tool == b.Tool }) &&
		!slices.ContainsFunc(is.Case.Input.Turns, func(t regcase.Turn) bool { return strings.TrimSpace(t.User) == Erased })
}

// quotes says that a document holds a text, as it is or as JSON writes it, also where JSON stands in a text of JSON.
func quotes(doc []byte, text string) bool {
	for range 3 {
		if bytes.Contains(doc, []byte(text)) {
			return true
		}
		b, err := json.Marshal(text)
		if err != nil {
			return false
		}
		text = string(b[1 : len(b)-1])
	}
	return false
}

// blanked says that head is base with pieces of its texts, or whole numbers, replaced by Erased.
func blanked(base, head jsontext.Value) bool {
	_, ok := erasedOf(base, head)
	return ok
}

// erasedOf lists what gave way to Erased; ok is false if anything else differs.
func erasedOf(base, head jsontext.Value) (gone []string, ok bool) {
	var b, h any
	if json.Unmarshal(base, &b) != nil || json.Unmarshal(head, &h) != nil {
		return nil, false
	}
	ok = blankedValue(b, h, &gone)
	return gone, ok
}

func blankedValue(base, head any, gone *[]string) bool {
	switch b := base.(type) {
	case map[string]any:
		h, ok := head.(map[string]any)
		if !ok || len(h) != len(b) {
			return false
		}
		for _, k := range slices.Sorted(maps.Keys(b)) {
			if v, there := h[k]; !there || !blankedValue(b[k], v, gone) {
				return false
			}
		}
		return true
	case []any:
		h, ok := head.([]any)
		if !ok || len(h) != len(b) {
			return false
		}
		for i := range b {
			if !blankedValue(b[i], h[i], gone) {
				return false
			}
		}
		return true
	case string:
		h, ok := head.(string)
		return ok && blankedText(b, h, gone)
	case float64:
		if head == Erased {
			*gone = append(*gone, strconv.FormatFloat(b, 'f', -1, 64))
		}
		return base == head || head == Erased
	}
	return base == head
}

func blankedText(base, head string, gone *[]string) bool {
	kept := strings.Split(head, Erased)
	if len(kept) == 1 {
		return base == head
	}
	first, last := kept[0], kept[len(kept)-1]
	if !strings.HasPrefix(base, first) || !strings.HasSuffix(base[len(first):], last) {
		return false
	}
	rest := base[len(first) : len(base)-len(last)]
	for _, piece := range kept[1 : len(kept)-1] {
		i := strings.Index(rest, piece)
		if i < 0 {
			return false
		}
		*gone = append(*gone, rest[:i])
		rest = rest[i+len(piece):]
	}
	*gone = append(*gone, rest)
	return true
}
