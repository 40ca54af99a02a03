package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"

	"github.com/pawl-dev/pawl/classify"
)

// measured is what is known of one version of a rule: how many of its findings were judged, how many of them were right, the 95 % interval
// of that share, on what, and when.
type measured struct {
	Judged int     `json:"judged"`
	Right  int     `json:"right"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Set    string  `json:"set"`
	Date   string  `json:"date"`
}

// precisionOf counts what may be held against a rule, or for it: truth by execution or by people counts both ways; where there is none,
// our own reading of the finding does; and truth that was derived counts against it alone, since a rule of the same definition cannot but agree.
func precisionOf(m measurement, r classify.Rule, read readings) (measured, bool) {
	var out measured
	var sets []string
	for _, s := range m.Samples {
		before := out.Judged
		for _, j := range s.Runs {
			if len(j.said(r)) == 0 {
				continue
			}
			known, right := verdictOf(j, r, read)
			if known {
				out.Judged++
			}
			if known && right {
				out.Right++
			}
		}
		if out.Judged > before {
			sets = append(sets, s.Name)
		}
	}
	_, out.Low, out.High = wilson(out.Right, out.Judged)
	out.Set = strings.Join(sets, " ")
	return out, out.Judged > 0
}

func verdictOf(j judged, r classify.Rule, read readings) (known, right bool) {
	t := j.claim(r.Label)
	if t.Strength == byExecution || t.Strength == byPeople {
		return true, *t.Present
	}
	if holds, ok := read.of(r.Label, j.run); ok {
		return true, holds
	}
	return t.Strength == derived && !*t.Present, false
}

// writePrecision writes what was measured, by rule version. A version that is not in the file has not been measured.
func writePrecision(path, date string, m measurement) error {
	read, err := readReadings()
	if err != nil {
		return err
	}
	out := map[string]measured{}
	for _, r := range m.Rules {
		if p, ok := precisionOf(m, r, read); ok {
			p.Date = date
			p.Low, p.High = rounded(p.Low), rounded(p.High)
			out[r.ID()] = p
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil { // encoding/json writes the keys in order
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

func rounded(x float64) float64 { return float64(int(x*1000+0.5)) / 1000 }
