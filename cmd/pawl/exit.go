package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/term"

	"github.com/pawl-dev/pawl/config"
)

// The exit codes, the same for every command.
const (
	exitGood      = 0
	exitFinding   = 1 // a regression, or a finding in what was read
	exitUsage     = 2 // flags, arguments, configuration
	exitUndecided = 3 // no verdict: nothing was executed, the run was interrupted, something it needs does not work
)

// exitError is an error that knows its exit code and what a person may try next. A nil err exits in silence, for
// a command that has said everything on stdout.
type exitError struct {
	code int
	err  error
	try  string // a command or a short sentence; may be empty
}

// Error gives the message without the advice.
func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap gives the error underneath.
func (e *exitError) Unwrap() error { return e.err }

// errFinding ends a command that did its work and found something.
var errFinding error = &exitError{code: exitFinding}

// usageError marks a mistake of the caller: flags, arguments, configuration, a port in use.
func usageError(err error, try string) error { return &exitError{exitUsage, err, try} }

// exitWith reports err, if there is one, and returns the exit code. An error that names no code is exitUndecided.
func exitWith(stderr io.Writer, err error) int {
	if err == nil {
		return exitGood
	}
	e, ok := errors.AsType[*exitError](err)
	if !ok {
		e = &exitError{code: exitUndecided, err: err}
	}
	switch {
	case e.err == nil, errors.Is(err, syscall.EPIPE): // nobody reads any more
	case errors.Is(err, context.Canceled):
		printError(stderr, "interrupted")
	default:
		printError(stderr, messages(err)...)
		if e.try != "" {
			fmt.Fprintf(stderr, "try: %s\n", e.try)
		}
	}
	return e.code
}

// messages gives the mistakes of a configuration one by one, anything else as one line.
func messages(err error) []string {
	ps, ok := errors.AsType[config.Problems](err)
	if !ok {
		return []string{strings.Join(strings.Fields(err.Error()), " ")}
	}
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return lines
}

// maxShown bounds one text of a trace on a terminal, in runes.
const maxShown = 500

// shown makes a text that came in a trace fit to be printed for a person: on one line, of bounded length, and without the control and
// direction characters by which it could take over a terminal.
func shown(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown]) + "..."
	}
	return text
}

func printError(stderr io.Writer, lines ...string) {
	prefix := "pawl:"
	if colour(stderr) {
		prefix = "\x1b[1;31mpawl:\x1b[0m"
	}
	for _, line := range lines {
		fmt.Fprintf(stderr, "%s %s\n", prefix, line)
	}
}

// colour reports whether w is a terminal whose owner has not set NO_COLOR.
func colour(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}
