// Command pawl turns the failures that LLM agents have in production into regression cases, by pull request.
//
// It holds wiring and flags, no logic: each subcommand is one file, each exit code has its one place in exit.go.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // a reader that has seen enough is an error of the write, after which everything is cleaned up
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal asks for an orderly end, the second ends at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
