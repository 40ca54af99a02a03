// Command run fills the data directory of a service that does not run with groups, pull requests and traces, and measures pages:
//
//	go run ./test/seed/run -dir data -groups 10000 -traces 100000
//	pawl serve -c pawl.yaml          # with data_dir: data; it assembles and judges the traces first
//	go run ./test/seed/run -measure http://127.0.0.1:7295
//
// Measuring asks for each page a number of times and prints how long the answers took.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/pawl-dev/pawl/test/seed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir := flag.String("dir", "", "data `directory` to fill")
	groups := flag.Int("groups", 3, "`number` of groups")
	traces := flag.Int("traces", 100, "`number` of traces")
	url := flag.String("measure", "", "`URL` of a service whose pages to measure")
	times := flag.Int("times", 20, "`number` of times that each page is asked for")
	flag.Parse()
	var err error
	if *url != "" {
		err = measure(ctx, *url, *times)
	} else {
		err = seed.Fill(ctx, *dir, *groups, *traces)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
