package ratchet

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-dev/pawl/ingest/queue"
)

// TestMain fails when a test leaves a goroutine behind. One queue stays open during all tests: the server's clock goes with its last store.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ratchet")
	if err != nil {
		fail(err)
	}
	keep, err := queue.Open(context.Background(), quiet, queue.Options{Dir: dir})
	if err != nil {
		fail(err)
	}
	code := m.Run()
	if err := keep.Close(); err != nil {
		fail(err)
	}
	clients := goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect") // may miss that its connection closes
	err = goleak.Find(clients)
	for tries := 0; err != nil && tries < 10; tries++ { // on a busy machine servers take their time to go
		err = goleak.Find(clients)
	}
	if err != nil && code == 0 {
		fail(err)
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
