package redact

import "testing"

// BenchmarkTrace redacts one export request of about 40 KB; Verify runs apart.
func BenchmarkTrace(b *testing.B) {
	var line []byte
	captureLines(b, "*/S01.otlp.jsonl.gz", func(_ string, l []byte) {
		if d := len(l) - 40_000; line == nil || d*d < (len(line)-40_000)*(len(line)-40_000) {
			line = l
		}
	})
	r := newRedactor(b, Options{})
	b.Run("JSON", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			if _, err := r.Session().JSON(line); err != nil {
				b.Fatal(err)
			}
		}
	})
	s := r.Session()
	out, err := s.JSON(line)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Verify", func(b *testing.B) {
		b.SetBytes(int64(len(out)))
		for b.Loop() {
			if err := s.Verify(out); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := New(nil, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
