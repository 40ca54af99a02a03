package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
)

// TestAnInterruptEndsAReadThatWaits holds that one signal ends every command that reads recorded traces, though nothing ever comes to be read.
func TestAnInterruptEndsAReadThatWaits(t *testing.T) {
	for _, args := range [][]string{
		{"classify", "-"}, {"trajectory", "-"}, {"doctor", "-"}, {"absorb", "-", "--set", t.TempDir()}, {"baseline", "learn", "-", "-o", t.TempDir() + "/b"},
	} {
		t.Run(args[0], func(t *testing.T) {
			stdin, nobody := io.Pipe()
			defer nobody.Close() // lets go of the read that was left behind
			ctx, interrupt := context.WithCancel(t.Context())
			var out, errs bytes.Buffer
			if code := run(ctx, args, interrupting{stdin, interrupt}, &out, &errs); code != exitUndecided {
				t.Errorf("exit code %d, want %d", code, exitUndecided)
			}
			if errs.String() != "pawl: interrupted\n" || out.Len() > 0 {
				t.Errorf("stderr %q, stdout %q", errs.String(), out.String())
			}
		})
	}
}

// interrupting interrupts as soon as somebody reads.
type interrupting struct {
	io.Reader
	interrupt func()
}

func (r interrupting) Read(p []byte) (int, error) {
	r.interrupt()
	return r.Reader.Read(p)
}

func TestInterruptibleYieldsAllInOrderAndStopsEarly(t *testing.T) {
	broken := errors.New("broken")
	seq := func(yield func(int, error) bool) {
		for i := range 5 {
			if i == 2 {
				if !yield(0, broken) {
					return
				}
				continue
			}
			if !yield(i, nil) {
				return
			}
		}
	}
	synctest.Test(t, func(t *testing.T) { // which fails where a goroutine stays
		var got []int
		var errs int
		for n, err := range interruptible(t.Context(), seq) {
			if err != nil {
				errs++
				continue
			}
			got = append(got, n)
		}
		if len(got) != 4 || got[0] != 0 || got[3] != 4 || errs != 1 {
			t.Errorf("got %v and %d errors", got, errs)
		}
		for range interruptible(t.Context(), seq) {
			break
		}
	})
}
