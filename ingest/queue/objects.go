package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Objects holds bytes by their digest, "sha256:" and 64 hex digits. An object never changes.
type Objects struct {
	q     *Queue
	store jetstream.ObjectStore
}

// Digest returns the name under which Put stores data.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Put stores data unless it is there and returns its digest.
func (o *Objects) Put(ctx context.Context, data []byte) (string, error) {
	digest := Digest(data)
	have, err := o.Has(ctx, digest)
	if err != nil || have {
		return digest, err
	}
	if _, err := o.store.PutBytes(ctx, digest, data); err != nil {
		return "", o.q.unavailable("put object "+digest, err)
	}
	return digest, nil
}

// Has tells whether an object is there.
func (o *Objects) Has(ctx context.Context, digest string) (bool, error) {
	_, err := o.store.GetInfo(ctx, digest)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return false, nil
	case err != nil:
		return false, o.q.unavailable("look for object "+digest, err)
	}
	return true, nil
}

// Get returns the bytes of an object, or ErrNotFound. Bytes that do not have the digest are an error.
func (o *Objects) Get(ctx context.Context, digest string) ([]byte, error) {
	data, err := o.store.GetBytes(ctx, digest)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return nil, fmt.Errorf("queue: object %s: %w", digest, ErrNotFound)
	case err != nil:
		return nil, o.q.unavailable("get object "+digest, err)
	case Digest(data) != digest:
		return nil, fmt.Errorf("queue: object %s is damaged: its bytes have digest %s", digest, Digest(data))
	}
	return data, nil
}

// Delete removes an object; one that is absent is no error.
func (o *Objects) Delete(ctx context.Context, digest string) error {
	if err := o.store.Delete(ctx, digest); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return o.q.unavailable("delete object "+digest, err)
	}
	return nil
}
