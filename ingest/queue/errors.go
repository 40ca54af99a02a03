package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var (
	// ErrNotFound says that there is no message, key or object of that name.
	ErrNotFound = errors.New("not found")
	// ErrExists says that a key that was to be created is already there.
	ErrExists = errors.New("already exists")
	// ErrConflict says that a compare-and-set met another writer at every attempt.
	ErrConflict = errors.New("changed by others at every attempt")
	// ErrClosed says that the queue was closed.
	ErrClosed = errors.New("queue is closed")
	// ErrSlowConsumer says that the client dropped messages, so that what was read may have a hole. It is fatal to a reader.
	ErrSlowConsumer = errors.New("messages were dropped because the reader was too slow")
	// ErrLeaseLost says that a lease ran out or was taken over.
	ErrLeaseLost = errors.New("lease lost")
)

// FullError refuses a body because the stream, or the memory for waiting bodies, is full. Nothing was stored: send it again
// after RetryAfter.
type FullError struct {
	What       string        // the stream's name, or "memory"
	RetryAfter time.Duration // how long to wait
}

func (e *FullError) Error() string {
	return fmt.Sprintf("queue: %s is full: try again in %s", e.What, e.RetryAfter)
}

// TooLargeError refuses a body that can never be stored, however often it is sent.
type TooLargeError struct {
	Size, Max int // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("queue: %d bytes are more than a message may hold (%d): send smaller requests", e.Size, e.Max)
}

// UnavailableError says that the outcome of an operation is unknown or that the server did not answer: a body may or may not
// have been stored. Writes here are idempotent by content, so send it again after RetryAfter.
type UnavailableError struct {
	Op         string // what was tried
	RetryAfter time.Duration
	Err        error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("queue: %s: unavailable: %v", e.Op, e.Err)
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// GapError says that messages First to Last of a log, both included, are gone though a reader still wanted them.
type GapError struct {
	Log         string
	First, Last uint64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("queue: %s: messages %d to %d are missing", e.Log, e.First, e.Last)
}

// AheadError says that a reader's cursor lies beyond the end of the log: the log lost messages (power loss, another data
// directory) that the reader has seen.
type AheadError struct {
	Log        string
	From, Last uint64 // wanted; last in the log
}

func (e *AheadError) Error() string {
	return fmt.Sprintf("queue: %s: read from %d, but the log ends at %d: read again from an older cursor", e.Log, e.From, e.Last)
}

// codeStoreFull is JetStream's error for a stream at MaxBytes that discards new messages.
const codeStoreFull jetstream.ErrorCode = 10077

// storeError gives an error of a publish to a log its type.
func (q *Queue) storeError(op, log string, size int, err error) error {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == codeStoreFull {
		return &FullError{What: log, RetryAfter: q.opts.RetryAfter}
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return &TooLargeError{Size: size, Max: q.MaxBody()}
	}
	return q.unavailable(op, err)
}

// unavailable wraps err as an UnavailableError; a caller's own cancellation stays what it is.
func (q *Queue) unavailable(op string, err error) error {
	if errors.Is(err, context.Canceled) && q.ctx.Err() == nil {
		return fmt.Errorf("queue: %s: %w", op, err)
	}
	return &UnavailableError{Op: op, RetryAfter: q.opts.RetryAfter, Err: err}
}
