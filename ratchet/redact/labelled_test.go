package redact

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestToldOnRealTalk counts, over what people and agents said in published benchmarks, how many words by how people tell of themselves are found, and shows
// some: each has to be a person's. It runs with PAWL_ALL_CAPTURES=1.
func TestToldOnRealTalk(t *testing.T) {
	files, err := filepath.Glob("../../../shared/data/labelled/*/traces.jsonl.gz")
	if err != nil || len(files) == 0 || os.Getenv("PAWL_ALL_CAPTURES") == "" {
		t.Skip("no published runs beside the repository, or not asked for: skipped")
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		found := map[string]int{}
		words := 0
		for line := range bytes.Lines(data) {
			text := unescape(unescape(string(line)))
			words += len(bytes.Fields(line))
			told(text, func(kind Kind, start, end int) { found[string(kind)+": "+text[start:end]]++ })
		}
		t.Logf("%s: %d words, %d different finds", filepath.Base(filepath.Dir(file)), words, len(found))
		for i, k := range sortedKeys(found) {
			if i%max(1, len(found)/40) == 0 {
				t.Logf("%5d %q", found[k], k)
			}
		}
	}
}
