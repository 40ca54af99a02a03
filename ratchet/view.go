package ratchet

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"github.com/pawl-dev/pawl/ingest/queue"
)

// View keeps all groups, batches and services decoded in memory, as their buckets change, so that lists need not read thousands of values each time. What it
// gives is shared and not to be changed; its groups lack Seen, which is their largest part. It is safe for concurrent use.
type View struct {
	lg       *slog.Logger
	groups   *shelf[Group]
	batches  *shelf[Batch]
	services *shelf[Service]
}

// NewView makes a view; Follow fills it.
func NewView(lg *slog.Logger, q *queue.Queue) *View {
	v := &View{lg: lg.With("component", "view"), groups: newShelf[Group]("groups", q.Groups), batches: newShelf[Batch]("batches", q.Batches), services: newShelf[Service]("services", q.Services)}
	v.groups.trim = func(key string, g *Group) {
		g.digest, g.Seen = key, nil
		v.groups.names[g.ID()] = key
	}
	return v
}

// viewAgain is how long a watch that broke off waits to be taken up again.
const viewAgain = time.Second

// Follow keeps the view until ctx ends.
func (v *View) Follow(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return v.keep(ctx, v.groups.name, v.groups.follow) })
	g.Go(func() error { return v.keep(ctx, v.batches.name, v.batches.follow) })
	g.Go(func() error { return v.keep(ctx, v.services.name, v.services.follow) })
	return g.Wait()
}

func (v *View) keep(ctx context.Context, name string, follow func(context.Context, *slog.Logger) error) error {
	for ctx.Err() == nil {
		if err := follow(ctx, v.lg); err != nil && ctx.Err() == nil {
			v.lg.Warn("the view is not kept up: trying again", "of", name, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(viewAgain):
		}
	}
	return nil
}

// Ready says whether the view has all that there was when it began.
func (v *View) Ready() bool { return v.groups.isFull() && v.batches.isFull() && v.services.isFull() }

// Groups are all groups, by digest.
func (v *View) Groups() []Group { return v.groups.all() }

// Batches are all batches, by key.
func (v *View) Batches() []Batch { return v.batches.all() }

// Services are all services, by name.
func (v *View) Services() []Service {
	out := v.services.all()
	slices.SortFunc(out, func(x, y Service) int { return cmp.Compare(x.Name, y.Name) })
	return out
}

// Digest is that of the group of an id.
func (v *View) Digest(id string) (string, bool) {
	v.groups.mu.RLock()
	defer v.groups.mu.RUnlock()
	d, ok := v.groups.names[id]
	return d, ok
}

// Refresh reads a group that was just changed, so that who changed it sees that.
func (v *View) Refresh(ctx context.Context, fp string) error {
	e, err := v.groups.bucket.Get(ctx, fp)
	if err != nil {
		return err
	}
	return v.groups.put(e)
}

// shelf is one bucket's values.
type shelf[T any] struct {
	name   string
	bucket *queue.Bucket
	trim   func(key string, v *T) // called under mu

	mu    sync.RWMutex
	at    map[string]kept[T]
	names map[string]string
	full  bool
	list  []T // all, by key; nil once something changed
}

type kept[T any] struct {
	value    *T
	revision uint64
}

func newShelf[T any](name string, b *queue.Bucket) *shelf[T] {
	return &shelf[T]{name: name, bucket: b, at: map[string]kept[T]{}, names: map[string]string{}}
}

// follow takes over the bucket and its changes until ctx ends or the watch does.
func (s *shelf[T]) follow(ctx context.Context, lg *slog.Logger) error {
	first := map[string]bool{}
	for e, err := range s.bucket.Watch(ctx) {
		if err != nil {
			return err
		}
		if e.Key == "" {
			s.filled(first)
			first = nil
			continue
		}
		if first != nil {
			first[e.Key] = true
		}
		if err := s.put(e); err != nil {
			lg.Error("a value cannot be read: report this", "bucket", s.name, "err", err)
		}
	}
	return nil
}

// filled lets go of what was deleted while nobody looked.
func (s *shelf[T]) filled(seen map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.at {
		if seen != nil && !seen[key] {
			delete(s.at, key)
			s.list = nil
		}
	}
	s.full = true
}

func (s *shelf[T]) isFull() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.full
}

// put takes over an entry, unless a later one of its key is there.
func (s *shelf[T]) put(e queue.Entry) error {
	var v *T
	if len(e.Value) > 0 {
		v = new(T)
		if err := json.Unmarshal(e.Value, v); err != nil {
			return fmt.Errorf("%s %.40s: %w", s.name, e.Key, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at[e.Key].revision >= e.Revision {
		return nil
	}
	s.list = nil
	if v == nil {
		delete(s.at, e.Key)
		return nil
	}
	if s.trim != nil {
		s.trim(e.Key, v)
	}
	s.at[e.Key] = kept[T]{v, e.Revision}
	return nil
}

func (s *shelf[T]) all() []T {
	s.mu.RLock()
	list := s.list
	s.mu.RUnlock()
	if list == nil {
		list = s.gather()
	}
	return slices.Clone(list)
}

func (s *shelf[T]) gather() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list != nil {
		return s.list
	}
	keys := make([]string, 0, len(s.at))
	for k := range s.at {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, strings.Compare)
	s.list = make([]T, 0, len(keys))
	for _, k := range keys {
		s.list = append(s.list, *s.at[k].value)
	}
	return s.list
}

// See has the absorber find groups by the view once that is ready. It is called before Run.
func (a *Absorber) See(v *View) { a.view = v }
