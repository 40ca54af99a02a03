package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pawl-dev/pawl/test/desk"
)

// The scripts in test/script run pawl as a process of its own: the test binary stands in its place on the path.
// Beside testscript's own commands they have:
//
//	exits N PROGRAM [ARG...]            run it; the exit code must be N
//	waitfor FILE PATTERN [VAR...]       wait until the file holds the pattern; its groups become the variables
//	httpget [-N] [-h NAME:VALUE] URL    print the body; the status must be N (200)
//	httppost [-N] [-h NAME:VALUE] URL TYPE FILE   post the file as this content type; the status must be N (200)
//	httpwait URL PATTERN                get again and again until the body holds the pattern
//	sample SCENARIO FILE [SEED [COUNT [DAYS]]] write traces of the sample agent; cut BYTES FILE INTO, gzip FILE INTO, bomb MIB INTO
//	jsonkeys FILE PATH KEY...           each line is a JSON object that has exactly these keys there
//	desk MODE [ARG]                     the parcel desk, an agent that pawl check can run: package test/desk
//	github OWNER NAME TOKEN             start a stand-in for GitHub at $GITHUB; human LOGIN close|reopen|merge REPO NUMBER, human LOGIN rename REPO FROM TO
//	knock [-N] SECRET EVENT URL FILE    a delivery of GitHub's webhook, signed; the status must be N (202)
//	natsserver                          start a NATS server with JetStream at $NATS; natsstream NAME SUBJECT, natspub SUBJECT FILE
//
// To start a program in the background and read what it prints while it runs, let a shell put that into files and
// hand the process over:
//
//	! exec sh -c 'exec pawl serve >out 2>err' &serve&
//	waitfor out 'http://(\S+)' ADDR
//	kill -KILL serve                    kill -9; kill -INT asks for an orderly end, to be awaited without the !
//	wait serve
//
// $MODEL is an OpenAI-compatible model: a criterion with "never" in it is not fulfilled, any other is; as a user it has what it wants after one more message.
// $ECHO is a server that answers a GET with 204 at /empty and "pong" elsewhere, and a POST with type and body.
func TestScripts(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(serveEcho))
	t.Cleanup(echo.Close)
	model := httptest.NewServer(http.HandlerFunc(serveModel))
	t.Cleanup(model.Close)
	testscript.Run(t, testscript.Params{
		Dir:                 "../../test/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("PAWL_UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("ECHO", echo.URL)
			env.Setenv("MODEL", model.URL)
			env.Values[natsKey{}] = &natsBox{}
			env.Values[githubKey{}] = &githubBox{t: t}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" { // whom no permission stops
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"waitfor":  waitFor,
			"httpget":  httpGet,
			"httppost": httpPost,
			"httpwait": httpWait,

			"sample":   writeSample,
			"shipped":  writeShipped,
			"session":  writeSession,
			"cut":      cutFile,
			"gzip":     gzipFile,
			"bomb":     writeBomb,
			"jsonkeys": jsonKeys,

			"cistep": ciStep,
			"github": fakeGitHub,
			"human":  human,
			"knock":  knock,

			"natsserver": natsServer,
			"natsstream": natsStream,
			"natspub":    natsPublish,
		},
	})
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pawl": main, "desk": func() { os.Exit(desk.Main(os.Args[1:])) }})
}

func serveEcho(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/empty":
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPost:
		fmt.Fprintf(w, "%s: ", r.Header.Get("Content-Type"))
		_, _ = io.Copy(w, r.Body)
	default:
		fmt.Fprintln(w, "pong")
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

// patience bounds a wait for something that comes as soon as it can; it is no measure of speed.
const patience = 60 * time.Second

func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: waitfor FILE PATTERN [VAR...]")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	if pattern.NumSubexp() < len(args)-2 {
		ts.Fatalf("%q has fewer groups than there are variables", args[1])
	}
	m := pollFile(ts, args[0], pattern)
	for i, name := range args[2:] {
		ts.Setenv(name, m[i+1])
	}
}

func pollFile(ts *testscript.TestScript, name string, pattern *regexp.Regexp) []string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(ts.MkAbs(name))
		if m := pattern.FindStringSubmatch(string(text)); m != nil {
			return m
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("%s never held %q (%v); it holds:\n%s", name, pattern, err, text)
		}
	}
}

func httpGet(ts *testscript.TestScript, neg bool, args []string) {
	want, args := wanted(ts, args)
	if neg || len(args) != 1 {
		ts.Fatalf("usage: httpget [-STATUS] [-h NAME:VALUE] URL")
	}
	exchange(ts, want, http.MethodGet, args[0], nil)
}

func httpPost(ts *testscript.TestScript, neg bool, args []string) {
	want, args := wanted(ts, args)
	if neg || len(args) != 3 {
		ts.Fatalf("usage: httppost [-STATUS] [-h NAME:VALUE] URL TYPE FILE")
	}
	want.header.Set("Content-Type", args[1])
	exchange(ts, want, http.MethodPost, args[0], []byte(ts.ReadFile(args[2])))
}

func httpWait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: httpwait URL PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		body, err := get(ctx, args[0])
		if pattern.Match(body) {
			_, _ = ts.Stdout().Write(body)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("%s never gave %q (%v); it gives:\n%s", args[0], pattern, err, body)
		}
	}
}

func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// want is what a script sends beside the body, and the status that it expects.
type want struct {
	status int
	header http.Header
}

func wanted(ts *testscript.TestScript, args []string) (want, []string) {
	w := want{http.StatusOK, http.Header{}}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "-h" && len(args) > 1 {
			name, value, _ := strings.Cut(args[1], ":")
			w.header.Set(name, strings.TrimSpace(value))
			args = args[2:]
			continue
		}
		var err error
		w.status, err = strconv.Atoi(args[0][1:])
		ts.Check(err)
		args = args[1:]
	}
	return w, args
}

func exchange(ts *testscript.TestScript, want want, method, url string, body []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	ts.Check(err)
	req.Header = want.header
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
	if resp.StatusCode != want.status {
		ts.Fatalf("%s %s: status %d, not %d", method, url, resp.StatusCode, want.status)
	}
}

// TestCommandsExplainThemselves: each command has a line for the list and an example, and takes -c and --json.
func TestCommandsExplainThemselves(t *testing.T) {
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	for _, cmd := range newRoot(a).Commands() {
		if cmd.Name() == "completion" || cmd.Name() == "help" {
			continue
		}
		leaves := append(cmd.Commands(), cmd)
		for _, c := range leaves {
			if c.Short == "" || c.InheritedFlags().Lookup("json") == nil || c.InheritedFlags().Lookup("config") == nil {
				t.Errorf("%s: no short help, --json or -c", c.CommandPath())
			}
			if c.Example == "" && !c.HasSubCommands() {
				t.Errorf("%s: no example", c.CommandPath())
			}
		}
	}
}

// TestExitCodes: an error that names no code is not decided; an interruption says so in one word.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, exitGood, ""},
		{errFinding, exitFinding, ""},
		{usageError(fmt.Errorf("no set"), "pawl help"), exitUsage, "pawl: no set\ntry: pawl help\n"},
		{fmt.Errorf("a:\nb: %w", io.EOF), exitUndecided, "pawl: a: b: EOF\n"},
		{fmt.Errorf("reading: %w", context.Canceled), exitUndecided, "pawl: interrupted\n"},
		{fmt.Errorf("outer: %w", usageError(io.EOF, "x")), exitUsage, "pawl: outer: EOF\ntry: x\n"},
	} {
		var out bytes.Buffer
		if code := exitWith(&out, c.err); code != c.code || out.String() != c.text {
			t.Errorf("%v: code %d, %q", c.err, code, out.String())
		}
	}
}

// TestShown: a text of a trace stays on its line and says nothing to the terminal.
func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		"plain, ünïcode 日本":             "plain, ünïcode 日本",
		" two\r\n  lines\t":             "two lines",
		"\x1b[31mred\x07":               "\ufffd[31mred\ufffd",
		"left\u202eright":               "left\ufffdright",
		"\xff":                          "\ufffd",
		strings.Repeat("é", maxShown+1): strings.Repeat("é", maxShown) + "...",
	} {
		if got := shown(in); got != want {
			t.Errorf("shown(%q) = %q, want %q", in, got, want)
		}
	}
}
