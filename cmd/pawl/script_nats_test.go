package main

import (
	"context"
	"os"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rogpeppe/go-internal/testscript"
)

// natsBox holds the server of a script, under natsKey.
type natsBox struct{ srv *natsd.Server }

type natsKey struct{}

// natsServer starts a NATS server with JetStream that ends with the script; $NATS is its address.
func natsServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: natsserver")
	}
	srv, err := natsd.NewServer(&natsd.Options{Host: "127.0.0.1", Port: natsd.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: ts.MkAbs("nats-store")})
	ts.Check(err)
	srv.Start()
	ts.Defer(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(patience) {
		ts.Fatalf("the NATS server does not answer")
	}
	ts.Setenv("NATS", srv.ClientURL())
	ts.Value(natsKey{}).(*natsBox).srv = srv
}

func natsStream(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: natsstream NAME SUBJECT")
	}
	withNATS(ts, func(nc *nats.Conn) error {
		js, err := jetstream.New(nc)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: args[0], Subjects: args[1:]})
		return err
	})
}

// natsPublish waits until somebody listens on the subject, then sends a file as one message and returns once the server has it.
func natsPublish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: natspub SUBJECT FILE")
	}
	body, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	awaitInterest(ts, args[0])
	withNATS(ts, func(nc *nats.Conn) error {
		if err := nc.Publish(args[0], body); err != nil {
			return err
		}
		return nc.FlushTimeout(patience)
	})
}

func awaitInterest(ts *testscript.TestScript, subject string) {
	account := ts.Value(natsKey{}).(*natsBox).srv.GlobalAccount()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for account.Interest(subject) == 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("nobody listens on %s", subject)
		}
	}
}

func withNATS(ts *testscript.TestScript, do func(*nats.Conn) error) {
	nc, err := nats.Connect(ts.Getenv("NATS"), nats.Timeout(10*time.Second))
	ts.Check(err)
	defer nc.Close()
	ts.Check(do(nc))
}
