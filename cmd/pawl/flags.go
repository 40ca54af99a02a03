package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-dev/pawl/classify/triage"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/assemble"
	"github.com/pawl-dev/pawl/ingest/flag"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/webhook"
	"github.com/pawl-dev/pawl/ratchet"
)

// flagEvery is how often flags look for their traces.
const flagEvery = time.Second

func (s *server) openFlags(ctx context.Context) (err error) {
	idle := time.Duration(s.cfg.Assemble.IdleTimeout)
	s.flags, err = ratchet.NewFlags(ctx, s.lg, s.q, ratchet.FlagOptions{Wait: time.Duration(s.cfg.Flags.Wait), Settle: idle + idle/3, Partition: s.partition, Partitions: s.q.Partitions()})
	return err
}

// partition is that of a trace, by its id.
func (s *server) partition(id string) int {
	var trace [16]byte
	if b, err := hex.DecodeString(id); err == nil {
		copy(trace[:], b)
	}
	return wire.Partition(trace, s.q.Partitions())
}

// workOn assembles the traces of a partition and joins flags to them.
func (s *server) workOn(ctx context.Context, partition int, store *assemble.Store) error {
	g, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	g.Go(func() error {
		defer cancel()
		return store.Run(ctx, s.q)
	})
	g.Go(func() error { return s.flags.Join(ctx, s.worker, partition, keptIn(store), flagEvery) })
	if s.homes != nil {
		g.Go(func() error { return s.flags.Fetch(ctx, partition, keptIn(store), s.homes.source(), flagEvery) })
	}
	return g.Wait()
}

// keptIn is where flags look for traces.
func keptIn(store *assemble.Store) ratchet.Kept {
	return ratchet.Kept{
		Look: func(ctx context.Context, id string, recent bool) (ratchet.Looked, bool, error) {
			t, r, open, err := store.Look(ctx, id, recent)
			if errors.Is(err, assemble.ErrNotFound) {
				return ratchet.Looked{}, false, nil
			}
			return ratchet.Looked{Trace: t, Revision: r.Digest, Note: r.Previous, Seen: r.LastSeen, Open: open}, err == nil, err
		},
		Within: func(ctx context.Context, since time.Time, each func(string, time.Time, bool, []byte)) error {
			for k, err := range store.Recent(ctx, since) {
				if err != nil {
					return err
				}
				each(k.ID, k.LastSeen, k.Open, k.Note)
			}
			return nil
		},
	}
}

// inbox is where webhooks leave their flags.
func (s *server) inbox() webhook.Inbox {
	return webhook.Inbox{
		Known: func(ctx context.Context, key string) (bool, error) {
			_, err := s.q.Deliveries.Get(ctx, key)
			if errors.Is(err, queue.ErrNotFound) {
				return false, nil
			}
			return err == nil, err
		},
		Put: s.putFlags,
		Remember: func(ctx context.Context, key string) error {
			err := s.q.Deliveries.Create(ctx, key, []byte{'1'})
			if errors.Is(err, queue.ErrExists) {
				return nil
			}
			return err
		},
	}
}

// putFlags stores flags. The disk's reserve, at which spans are refused, is there for them, too: they are small and some senders never come again.
func (s *server) putFlags(ctx context.Context, key string, fs []flag.Flag) error {
	doc, err := flag.Encode(fs)
	if err != nil {
		return err
	}
	_, err = s.q.Flags.Append(ctx, key, doc)
	if full, ok := errors.AsType[*queue.FullError](err); ok {
		return &webhook.FullError{RetryAfter: full.RetryAfter}
	}
	return err
}

// webhooks is the handler of POST /webhooks/{source}, nil where no source is configured.
func (s *server) webhooks() (http.Handler, error) {
	var sources []*webhook.Source
	for _, name := range webhook.Names() {
		c, ok := s.cfg.Webhooks[config.Source(name)]
		if !ok {
			continue
		}
		o := webhook.SourceOptions{Secrets: []string{c.Secret.Reveal()}, Proof: c.Proof, TimeHeader: c.TimeHeader, Fields: webhook.Fields(c.Fields), Foreign: len(s.cfg.Homes) > 0}
		if p := c.Previous.Reveal(); p != "" {
			o.Secrets = append(o.Secrets, p)
		}
		src, err := webhook.NewSource(name, o)
		if err != nil {
			return nil, usageError(err, "webhooks."+name+" in pawl.yaml")
		}
		sources = append(sources, src)
	}
	if len(sources) == 0 {
		return nil, nil
	}
	return webhook.New(s.lg, s.inbox(), sources, s.reg)
}

// openWebhooks builds the routes of all webhooks, and listens for them where they have an address of their own.
func (s *server) openWebhooks(context.Context) error {
	github, err := s.hooks()
	if err != nil {
		return err
	}
	tools, err := s.webhooks()
	if err != nil {
		return err
	}
	s.hookRoutes = func(mux *http.ServeMux) {
		if github != nil {
			mux.Handle("POST /webhooks/github", github) // signed: it asks for no token
		}
		if tools != nil {
			mux.Handle("/webhooks/{source}", tools) // each proves itself
		}
	}
	addr := s.cfg.Listen.Webhooks
	if addr == "" {
		return nil
	}
	at, err := net.Listen("tcp", string(addr))
	if err != nil {
		return usageError(fmt.Errorf("listen.webhooks: %w", err), "another port under listen in pawl.yaml; port 0 takes any free one")
	}
	mux := http.NewServeMux()
	s.hookRoutes(mux)
	s.hookRoutes = func(*http.ServeMux) {}
	s.hooksAt = at
	s.hookServer = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute}
	s.onClose("webhooks", func(ctx context.Context) error {
		_ = at.Close() // closed already where it was served
		return s.hookServer.Shutdown(ctx)
	})
	return nil
}

func (s *server) serveWebhooks() error {
	if err := s.hookServer.Serve(s.hooksAt); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("webhooks: %w", err)
	}
	return nil
}

// flagged takes the body of POST /v1/flags from a caller.
func (s *server) flagged(ctx context.Context, who string, body []byte) (flag.Flag, error) {
	f, err := webhook.Plain(body)
	if err != nil {
		return f, &triage.Unusable{Reason: err.Error()}
	}
	f.Source = cmp.Or(f.Source, who)
	complete := flag.New
	if len(s.cfg.Homes) > 0 {
		complete = flag.NewForeign
	}
	if f, err = complete(f, "", time.Now()); err != nil {
		return f, &triage.Unusable{Reason: err.Error()}
	}
	err = s.putFlags(ctx, f.ID, []flag.Flag{f})
	if full, ok := errors.AsType[*webhook.FullError](err); ok {
		return f, &triage.Busy{RetryAfter: full.RetryAfter}
	}
	return f, err
}
