package main

import (
	"context"
	"iter"
)

// interruptible yields what seq yields until ctx is done. Between two of them seq may wait for as long as it likes: a read of a terminal, or of a pipe
// that nobody writes to, ends by no signal. Such a read is left behind; the process ends soon after.
func interruptible[T any](ctx context.Context, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	type step struct {
		item T
		err  error
	}
	return func(yield func(T, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		steps := make(chan step)
		go func() {
			defer close(steps)
			for item, err := range seq {
				select {
				case steps <- step{item, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case s, more := <-steps:
				if !more || ctx.Err() != nil || !yield(s.item, s.err) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
