package regcase

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// VarianceFile lies in the set's root and holds how much agents differed from themselves when that was last measured. While an agent's measure is above its
// limit no further case of it is enforced. It says nothing of cases that are: nothing that stands in it lets a change pass.
const VarianceFile = "_variance.json"

// VarianceKind is the kind of the document in VarianceFile.
const VarianceKind = "Variance"

// Measure is how much an agent differed from itself over equal runs of one case, by the last measurement.
type Measure struct {
	Case    string    `json:"case"`
	Agent   string    `json:"agent"`  // service or agent that the case names; "" where it names none
	Commit  string    `json:"commit"` // "" when unknown, or when the work tree was changed
	At      time.Time `json:"at"`
	Runs    int       `json:"runs"`    // that could be judged
	Differs float64   `json:"differs"` // share of Runs that did not do as most did, 0 to 1
}

type varianceFile struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Measures   []Measure `json:"measures"`
}

// DecodeMeasures reads the document. What is malformed, of another version or out of range is an error.
func DecodeMeasures(b []byte) ([]Measure, error) {
	var f varianceFile
	if err := json.Unmarshal(b, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("malformed: %w; pawl variance writes it anew", err)
	}
	if f.APIVersion != APIVersion || f.Kind != VarianceKind {
		return nil, fmt.Errorf("it is %q %q, not %s %s", f.APIVersion, f.Kind, APIVersion, VarianceKind)
	}
	for _, m := range f.Measures {
		if m.Case == "" || m.Runs < 1 || m.Differs < 0 || m.Differs > 1 {
			return nil, fmt.Errorf("the measure of case %q is none: it has runs, and a share of 0 to 1", m.Case)
		}
	}
	return f.Measures, nil
}

// EncodeMeasures gives the document's canonical bytes: sorted, of one case and agent the last.
func EncodeMeasures(all []Measure) ([]byte, error) {
	all = slices.Clone(all)
	slices.Reverse(all)
	same := func(a, b Measure) int { return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Case, b.Case)) }
	slices.SortStableFunc(all, same)
	all = slices.CompactFunc(all, func(a, b Measure) bool { return same(a, b) == 0 })
	b, err := json.Marshal(varianceFile{APIVersion, VarianceKind, append([]Measure{}, all...)}, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", VarianceFile, err)
	}
	return append(bytes.TrimSpace(b), '\n'), nil
}

// ReadMeasures reads the measures of a set; none where there is no file.
func ReadMeasures(src fs.FS) ([]Measure, error) {
	b, err := readFile(src, VarianceFile, MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return DecodeMeasures(b)
}
