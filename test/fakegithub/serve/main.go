// Command serve runs the stand-in for GitHub by itself, so that a person can try pull requests on it:
//
//	go run ./test/fakegithub/serve -dir /tmp/github -repo acme/shop -token TOKEN
//
// It prints its URL, which is ghpr.base_url for pawl.yaml and, with /acme/shop/pulls behind it, a page for a browser. What is in the directory is
// gone on with; Ctrl-C ends it.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/pawl-dev/pawl/test/fakegithub"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.dir, "dir", "", "`directory` of its state; made where it is not there (needed)")
	flag.StringVar(&o.repo, "repo", "acme/shop", "repository, `owner/name`; made with a first commit where it is not there")
	flag.StringVar(&o.git, "git", "", "`directory` of a bare repository, or the .git of a checkout, to serve as that repository")
	flag.StringVar(&o.token, "token", "", "`token` that may write (needed)")
	flag.StringVar(&o.addr, "addr", "127.0.0.1:0", "listen `address`")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct{ dir, repo, git, token, addr string }

func run(ctx context.Context, o options) error {
	owner, name, ok := strings.Cut(o.repo, "/")
	if o.dir == "" || o.token == "" || !ok {
		return fmt.Errorf("-dir, -token and -repo owner/name are needed: see -help")
	}
	fake, err := fakegithub.New(slog.New(slog.NewTextHandler(os.Stderr, nil)), o.dir, fakegithub.Options{})
	if err != nil {
		return err
	}
	if err := fake.AddUser(fakegithub.User{Login: "pawl-bot", Token: o.token, Right: "write"}); err != nil {
		return err
	}
	if err := fake.AddRepo(owner, name, o.git); err != nil {
		return err
	}
	srv, err := fakegithub.Serve(fake, o.addr)
	if err != nil {
		return err
	}
	fmt.Printf("base_url: %s/\npulls:    %s/%s/pulls\ngit:      %s\n", srv.URL, srv.URL, o.repo, fake.GitDir(owner, name))
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return srv.Close(ctx)
}
