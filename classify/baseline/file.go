package baseline

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const fileVersion = 1

type file struct {
	Version  int         `json:"version"`
	Accuracy float64     `json:"accuracy"`
	Routes   []fileRoute `json:"routes"`
}

type fileRoute struct {
	Service string                `json:"service"`
	Agent   string                `json:"agent"`
	Route   string                `json:"route"`
	Runs    int                   `json:"runs"`
	Metrics map[Metric]fileSample `json:"metrics"`
	Habits  []fileHabit           `json:"habits,omitempty"`
}

type fileSample struct {
	N      int       `json:"n"`
	Values []float64 `json:"values,omitempty"`
	Zeros  int       `json:"zeros,omitzero"`
	Bins   [][2]int  `json:"bins,omitempty"`
}

// Write writes the snapshot in the file form of the package comment. A leave-one-out view is written whole.
func (s *Snapshot) Write(w io.Writer) error {
	if s == nil {
		return New().write(w)
	}
	return s.base.write(w)
}

func (b *Baseline) write(w io.Writer) error {
	if err := json.MarshalWrite(w, b.file(), json.Deterministic(true), jsontext.WithIndent(" ")); err != nil {
		return fmt.Errorf("write baseline: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (b *Baseline) digest() string {
	h := sha256.New()
	if err := b.write(h); err != nil {
		return "" // a hash takes every write, and the file form holds finite numbers only
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (b *Baseline) file() file {
	f := file{Version: fileVersion, Accuracy: accuracy, Routes: []fileRoute{}}
	for _, k := range b.Keys() {
		r := b.routes[k]
		fr := fileRoute{Service: k.Service, Agent: k.Agent, Route: k.Route, Runs: r.runs, Metrics: map[Metric]fileSample{}}
		for m, s := range r.metrics {
			fr.Metrics[m] = s.file()
		}
		fr.Habits = r.fileHabits()
		f.Routes = append(f.Routes, fr)
	}
	return f
}

func (s *sample) file() fileSample {
	out := fileSample{N: s.n, Values: s.values, Zeros: s.zeros}
	for _, i := range slices.Sorted(maps.Keys(s.bins)) {
		out.Bins = append(out.Bins, [2]int{i, s.bins[i]})
	}
	return out
}

// Read reads what Write wrote. Another version, a metric nobody knows, counts that do not add up and numbers below zero are errors that name
// the route.
func Read(r io.Reader) (*Baseline, error) {
	var f file
	if err := json.UnmarshalRead(r, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read baseline: this is no file of pawl baseline learn: %w", err)
	}
	if f.Version != fileVersion || f.Accuracy != accuracy {
		return nil, fmt.Errorf("read baseline: version %d with accuracy %g is not one that this pawl reads (version %d, %g): learn it again",
			f.Version, f.Accuracy, fileVersion, accuracy)
	}
	b := New()
	for _, fr := range f.Routes {
		if err := b.readRoute(fr); err != nil {
			return nil, fmt.Errorf("read baseline: service %q agent %q route %q: %w", fr.Service, fr.Agent, fr.Route, err)
		}
	}
	return b, nil
}

func (b *Baseline) readRoute(fr fileRoute) error {
	k := Key{fr.Service, fr.Agent, fr.Route}
	if _, double := b.routes[k]; double {
		return fmt.Errorf("occurs twice")
	}
	at := b.route(k)
	at.runs = fr.Runs
	for m, fs := range fr.Metrics {
		if !slices.Contains(Metrics(), m) {
			return fmt.Errorf("unknown metric %q", m)
		}
		s, err := fs.sample()
		if err != nil {
			return fmt.Errorf("metric %s: %w", m, err)
		}
		if s.n > fr.Runs {
			return fmt.Errorf("metric %s has more values than runs", m)
		}
		at.metrics[m] = s
	}
	for _, fh := range fr.Habits {
		if err := at.readHabit(fh); err != nil {
			return fmt.Errorf("habit %s of %q: %w", fh.Kind, fh.Of, err)
		}
	}
	return nil
}

func (fs fileSample) sample() (*sample, error) {
	s := &sample{values: slices.Sorted(slices.Values(fs.Values)), zeros: fs.Zeros, n: len(fs.Values) + fs.Zeros}
	if len(fs.Bins) > 0 || fs.Zeros > 0 {
		if len(fs.Values) > 0 {
			return nil, fmt.Errorf("has values and bins")
		}
		s.bins = make(map[int]int, len(fs.Bins))
	}
	m := binning()
	for _, b := range fs.Bins {
		if b[1] < 1 || s.bins[b[0]] != 0 || b[0] < m.Index(m.MinIndexableValue()) || b[0] > m.Index(m.MaxIndexableValue()) {
			return nil, fmt.Errorf("bin %d is not one that pawl writes", b[0])
		}
		s.bins[b[0]] = b[1]
		s.n += b[1]
	}
	if s.n != fs.N || fs.Zeros < 0 || len(s.values) > 0 && s.values[0] < 0 || len(s.values) > exactUpTo {
		return nil, fmt.Errorf("its counts do not add up")
	}
	return s, nil
}
