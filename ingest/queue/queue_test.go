package queue

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
)

func TestReopenKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{Dir: dir, Partitions: 4})
	publish(t, q, "a", "b")
	if err := q.Groups.Create(t.Context(), "g", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	q = open(t, Options{Dir: dir})
	if q.Partitions() != 4 {
		t.Fatalf("%d partitions after reopening, want the 4 it was made with", q.Partitions())
	}
	if got := readAll(t, q, 0, 1); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("read back %q", got)
	}
	if e, err := q.Groups.Get(t.Context(), "g"); err != nil || string(e.Value) != "1" {
		t.Fatalf("group %q, %v", e.Value, err)
	}
	publish(t, q, "c")
	if got := readAll(t, q, 0, 3); !slices.Equal(got, []string{"c"}) {
		t.Fatalf("sequence does not go on after reopening: %q", got)
	}
}

func TestDirectoryInUse(t *testing.T) {
	dir := t.TempDir()
	open(t, Options{Dir: dir})
	_, err := Open(t.Context(), logger(t), Options{Dir: dir})
	wantError(t, err, "in use", fmt.Sprintf("process %d", os.Getpid()), "stop that pawl")
}

func TestDirectoryMode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	open(t, Options{Dir: dir})
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
		t.Fatalf("mode %v, %v; want 0700", fi.Mode(), err)
	}
}

func TestDirectoryUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/file"} {
		_, err := Open(t.Context(), logger(t), Options{Dir: dir})
		wantError(t, err, "data directory", "file", "data_dir")
	}
	if os.Getuid() != 0 {
		locked := t.TempDir()
		if err := os.Chmod(locked, 0o500); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), logger(t), Options{Dir: filepath.Join(locked, "data")})
		wantError(t, err, "permission denied", "data_dir")
	}
}

func TestStoreUnusable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nats"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), logger(t), Options{Dir: dir})
	wantError(t, err, "embedded server did not start", "storage")
}

func TestOptionsRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"either a directory":  {},
		"not both":            {Dir: "x", URL: "nats://x"},
		"prefix":              {Dir: "x", Prefix: "a.b"},
		"partitions":          {Dir: "x", Partitions: -1},
		"max payload":         {Dir: "x", MaxPayload: 100},
		"negative":            {Dir: "x", MaxBytes: -1},
		"connect to NATS":     {URL: "nats://user:hunter2@127.0.0.1:1"},
		"nats.url, credentia": {URL: "nats://127.0.0.1:1"},
	} {
		_, err := Open(t.Context(), logger(t), o)
		wantError(t, err, name)
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("password in %q", err)
		}
	}
}

func TestOpenWithUsedRegistry(t *testing.T) {
	reg := prometheus.NewRegistry()
	q := open(t, Options{Registerer: reg})
	_, err := Open(t.Context(), logger(t), Options{Dir: t.TempDir(), Registerer: reg})
	wantError(t, err, "metrics", "duplicate")
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, Options{Registerer: reg}) // Close took its metrics along
}

func TestPartitionsAreFixed(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{Dir: dir, Partitions: 2})
	if err := q.js.DeleteStream(t.Context(), "PAWL_SPANS_1"); err != nil { // as a crash between the two would leave it
		t.Fatal(err)
	}
	q.Close()
	_, err := Open(t.Context(), logger(t), Options{Dir: dir, Partitions: 3})
	wantError(t, err, "3 partitions wanted", "made with 2")
	q = open(t, Options{Dir: dir})
	if err := q.Publish(t.Context(), 1, Traces, []byte("x")); err != nil {
		t.Fatalf("the missing partition was not made again: %v", err)
	}
}

func TestForeignStreamSettings(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{Dir: dir})
	s, err := q.js.Stream(t.Context(), "PAWL_SPANS_0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.Discard, cfg.MaxMsgs = jetstream.DiscardOld, 10
	if _, err := q.js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	q.Close()
	_, err = Open(t.Context(), logger(t), Options{Dir: dir})
	wantError(t, err, "PAWL_SPANS_0", "discard", "max messages")
}

func TestResize(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{Dir: dir, MaxBytes: 1 << 20})
	publish(t, q, "a")
	q.Close()
	for _, want := range []struct{ ask, have int64 }{{0, 1 << 20}, {2 << 20, 2 << 20}, {1, 1}} {
		q = open(t, Options{Dir: dir, MaxBytes: want.ask})
		if info, err := q.Info(t.Context(), 0); err != nil || info.MaxBytes != want.have || info.Messages != 1 {
			t.Fatalf("asked for %d: %+v, %v", want.ask, info, err)
		}
		q.Close()
	}
}

func TestCloseIsIdempotentAndFinal(t *testing.T) {
	q := open(t, Options{})
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, q.Publish(t.Context(), 0, Traces, []byte("x")), "closed")
	for _, err := range q.Read(t.Context(), 0, 1) {
		wantError(t, err, "closed")
	}
}

// victim publishes numbered bodies from several goroutines and prints each once it is acknowledged, until it is killed.
func victim(dir string) int {
	q, err := Open(context.Background(), slog.New(slog.DiscardHandler), Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var out sync.Mutex
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 1 << 20 {
				body := fmt.Sprintf("%d-%d-%s", g, i, strings.Repeat("x", 3000))
				if err := q.Publish(context.Background(), 0, Traces, []byte(body)); err != nil {
					continue
				}
				out.Lock()
				fmt.Printf("%d-%d\n", g, i)
				out.Unlock()
			}
		})
	}
	wg.Wait()
	return 0
}

func TestKill(t *testing.T) {
	dir := t.TempDir()
	acked := map[string]bool{}
	for round := range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "PAWL_TEST_VICTIM="+dir)
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(pipe)
		for n := 0; lines.Scan(); n++ {
			acked[fmt.Sprintf("%d-%s", round, lines.Text())] = true
			if n == 200+137*round {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		q := open(t, Options{Dir: dir})
		stored := map[string]int{}
		for _, b := range readAll(t, q, 0, 0) {
			g, rest, _ := strings.Cut(b, "-")
			i, pad, _ := strings.Cut(rest, "-")
			if len(pad) != 3000 {
				t.Fatalf("torn body of %d bytes", len(b))
			}
			stored[fmt.Sprintf("%d-%s-%s", round, g, i)]++
		}
		for id := range acked {
			if strings.HasPrefix(id, fmt.Sprintf("%d-", round)) && stored[id] != 1 {
				t.Fatalf("acknowledged %s is stored %d times", id, stored[id])
			}
		}
		info, err := q.Info(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Purge(t.Context(), 0, info.Last+1); err != nil {
			t.Fatal(err)
		}
		q.Close()
	}
	if len(acked) < 600 {
		t.Fatalf("only %d bodies were acknowledged", len(acked))
	}
}
