package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pawl-dev/pawl/classify"
)

// strength is how something is known.
type strength string

// The strengths, in the order of the table.
const (
	byExecution strength = "execution"
	byPeople    strength = "people"
	derived     strength = "derived"
	injected    strength = "injected"
	unknown     strength = "unknown"

	firm strength = "firm" // see measurement.firm
)

func strengths() []strength { return []strength{byExecution, byPeople, derived, injected, unknown} }

// claim is what is known of one label on one run: nothing when Present is nil. Where names the spans at which it is to be seen, if anybody said.
type claim struct {
	Present  *bool    `json:"present"`
	Where    []string `json:"where"`
	Strength strength `json:"strength"`
}

// run is one whole run with what is known of it. A label that is not in Truth is not known of.
type run struct {
	Set   string                   `json:"set"`
	ID    string                   `json:"trace_id"` // of a capture: SDK and scenario
	Clean bool                     `json:"clean"`    // nothing went wrong
	Truth map[classify.Label]claim `json:"labels"`
}

// readTruth reads one run a line.
func readTruth(path string) ([]run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []run
	for d := json.NewDecoder(bufio.NewReader(z)); ; {
		var r run
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: run %d: %w", path, len(out)+1, err)
		}
		out = append(out, r)
	}
}
