package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/test/sample"
)

// writeSession puts a run of the sample agent into a file, each step of it a trace of its own. In one that is stateful a later trace does not tell
// what the earlier ones did.
func writeSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) == 4 && args[3] != "stateful" || len(args) > 4 {
		ts.Fatalf("usage: session SCENARIO DIALECT FILE [stateful]")
	}
	i := slices.IndexFunc(sample.Dialects, func(d sample.Dialect) bool { return d.Name == args[1] })
	if i < 0 {
		ts.Fatalf("there is no dialect %s", args[1])
	}
	rng := rand.New(rand.NewPCG(1, 5))
	run := sample.Named(args[0]).Make(rng)
	run.Stateful = len(args) == 4
	td := sample.Session(sample.Dialects[i], run, time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rng)
	out, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), out, 0o666))
}

// writeSample puts runs of the sample agent into a file, in JSON or, where its name ends in .pb, in protobuf. Equal seeds
// give equal traces. They are of so many days later.
func writeSample(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 5 {
		ts.Fatalf("usage: sample SCENARIO FILE [SEED [COUNT [DAYS]]]")
	}
	seed, count, days := 1, 1, 0
	for i, n := range []*int{&seed, &count, &days} {
		if len(args) > 2+i {
			var err error
			*n, err = strconv.Atoi(args[2+i])
			ts.Check(err)
		}
	}
	rng := rand.New(rand.NewPCG(uint64(seed), 5))
	all := ptrace.NewTraces()
	for range count {
		td := sample.Trace(sample.Dialects[0], sample.Named(args[0]).Make(rng), time.Date(2026, 11, 30+days, 9, 0, 0, 0, time.UTC), rng)
		td.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
	}
	var out []byte
	var err error
	if filepath.Ext(args[1]) == ".pb" {
		out, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(all)
	} else {
		out, err = (&ptrace.JSONMarshaler{}).MarshalTraces(all)
		out = append(out, '\n')
	}
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out, 0o666))
}

// cutFile keeps the first bytes of a file.
func cutFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut BYTES FILE INTO")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	content := ts.ReadFile(args[1])
	if len(content) <= n {
		ts.Fatalf("%s has %d bytes, so nothing would be cut off", args[1], len(content))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(content[:n]), 0o666))
}

// gzipFile compresses a file.
func gzipFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gzip FILE INTO")
	}
	ts.Check(writeGzip(ts.MkAbs(args[1]), strings.NewReader(ts.ReadFile(args[0]))))
}

// writeBomb makes a small gzip file of a request that inflates to so many MiB.
func writeBomb(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bomb MIB INTO")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	head := `{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":{"stringValue":"`
	parts := []io.Reader{strings.NewReader(head)}
	mib := bytes.Repeat([]byte("x"), 1<<20)
	for range n {
		parts = append(parts, bytes.NewReader(mib))
	}
	parts = append(parts, strings.NewReader(`"}}]}}]}`))
	ts.Check(writeGzip(ts.MkAbs(args[1]), io.MultiReader(parts...)))
}

func writeGzip(path string, from io.Reader) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	if _, err := io.Copy(z, from); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}

// jsonKeys holds that every object at a path, on every line of a file, has exactly the keys. The path is dotted, "." for the
// line itself; lists on the way are gone through, and there must be at least one object. Where the last key is "...", there may be more.
func jsonKeys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: jsonkeys FILE PATH KEY...")
	}
	keys, open := args[2:], args[len(args)-1] == "..."
	if open {
		keys = keys[:len(keys)-1]
	}
	want := slices.Sorted(slices.Values(keys))
	seen := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			ts.Fatalf("%v in %.200q", err, line)
		}
		for _, o := range objectsAt(v, strings.FieldsFunc(args[1], func(r rune) bool { return r == '.' })) {
			seen++
			got := slices.Sorted(maps.Keys(o))
			if open {
				got = slices.DeleteFunc(got, func(k string) bool { return !slices.Contains(want, k) })
			}
			if !slices.Equal(got, want) {
				ts.Fatalf("%s: keys %v, want %v", args[1], slices.Sorted(maps.Keys(o)), want)
			}
		}
	}
	if seen == 0 {
		ts.Fatalf("no object at %s", args[1])
	}
}

func objectsAt(v any, path []string) (out []map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, objectsAt(e, path)...)
		}
	case map[string]any:
		if len(path) == 0 {
			return []map[string]any{v}
		}
		return objectsAt(v[path[0]], path[1:])
	}
	return out
}
