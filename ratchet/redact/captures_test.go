package redact

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const captures = "../../../shared/data/captures"

// captureLines calls f with each export request of the captures whose name matches the pattern.
func captureLines(t testing.TB, pattern string, f func(name string, line []byte)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(captures, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no captures beside the repository: skipped")
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		for line := range bytes.Lines(data) {
			f(strings.TrimPrefix(name, captures+"/"), bytes.TrimSpace(line))
		}
	}
}

// TestCaptures (over all of them with PAWL_ALL_CAPTURES=1) redacts real telemetry whose only personal data are addresses at example.com and user ids.
func TestCaptures(t *testing.T) {
	pattern := "[otv]*/S01.otlp.jsonl.gz"
	if os.Getenv("PAWL_ALL_CAPTURES") != "" {
		pattern = "*/*.otlp.jsonl.gz"
	}
	r := newRedactor(t, Options{})
	changed := map[string]int{}
	captureLines(t, pattern, func(name string, line []byte) {
		s := r.Session()
		out, err := s.JSON(line)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := s.Verify(out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again, err := r.Session().JSON(out)
		if err != nil || !bytes.Equal(out, again) {
			t.Errorf("%s: redacting again changed it (%v)", name, err)
		}
		for v, rep := range s.names {
			if rep.Times > 0 {
				changed[string(rep.Kind)+"\t"+v+"\t"+rep.Pseudonym]++
				if rep.Kind != Email && rep.Kind != User {
					t.Errorf("%s: %s %q was taken for personal data", name, rep.Kind, v)
				}
			}
		}
	})
	for _, k := range sortedKeys(changed) {
		t.Logf("%d\t%s", changed[k], k)
	}
}
