package ratchet

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
)

// drive takes one batch a step further: collecting -> frozen -> preview or pull request -> closed or merged.
func (a *Absorber) drive(ctx context.Context, now time.Time, b *Batch) error {
	if b.Collecting() {
		if now.Sub(b.Opened) < a.opts.Hold && len(b.Members) < a.opts.CasesPerPR {
			return nil
		}
		if err := a.freeze(ctx, b); err != nil {
			return err
		}
	}
	switch {
	case a.opts.Mode == ghpr.ModePreview:
		return a.preview(ctx, now, b)
	case a.opts.Mode == ghpr.ModeOpen && a.wants(now, b):
		if err := a.reconcile(ctx, now, b); err != nil {
			return err
		}
	}
	if b.Intent.Receipt.State == ghpr.StateClosed && !b.Told {
		return a.refuse(ctx, now, b)
	}
	return nil
}

// wants says whether the pull request needs a round now: it is not finished, or it is open and was not looked at for a while.
func (a *Absorber) wants(now time.Time, b *Batch) bool {
	in := b.Intent
	if in.Parked != nil || now.Before(in.NotBefore) {
		return false
	}
	if !in.Done() {
		return true
	}
	return in.Receipt.State == ghpr.StateOpen && now.Sub(in.Receipt.ObservedAt) >= a.opts.Observe
}

func (a *Absorber) freeze(ctx context.Context, b *Batch) error {
	change, err := b.Change(a.content(ctx))
	if err != nil {
		return err
	}
	if err := a.lastLook(change); err != nil {
		return err
	}
	in, err := ghpr.Freeze(change)
	if err != nil {
		return err
	}
	if b.Body, err = a.q.Objects.Put(ctx, []byte(in.Body)); err != nil {
		return err
	}
	small := slim(in)
	b.Intent = &small
	return a.changeBatch(ctx, b.Key(), func(stored *Batch) error {
		if stored.Intent != nil && stored.Intent.ID != in.ID || len(stored.Members) != len(b.Members) {
			return errRace
		}
		if stored.Intent != nil {
			b.Intent, b.Body = stored.Intent, stored.Body
			return nil
		}
		stored.Intent, stored.Body = &small, b.Body
		return nil
	})
}

// slim is an intent as a batch stores it: a bucket's value is small, so what is long lies in the object store.
func slim(in ghpr.Intent) ghpr.Intent {
	s := in.Slim()
	s.Body = ""
	return s
}

// lastLook scans what is about to be frozen, words and files alike, for what must never leave. It knows nothing of how it was redacted.
func (a *Absorber) lastLook(c ghpr.Change) error {
	look := a.maker.Redactor.Session()
	texts := []string{c.Title, c.CommitMessage, c.Key}
	for _, b := range c.Body {
		texts = append(texts, b.Text)
	}
	for _, f := range c.Files {
		texts = append(texts, f.Path, f.Content)
	}
	for _, t := range texts {
		if err := look.Verify([]byte(t)); err != nil {
			return err
		}
	}
	return nil
}

// content reads a member's files from the object store.
func (a *Absorber) content(ctx context.Context) Content {
	return func(m Member) (string, string, error) {
		yaml, err := a.q.Objects.Get(ctx, m.YAML)
		if err != nil {
			return "", "", err
		}
		trace, err := a.q.Objects.Get(ctx, m.Trace)
		return string(yaml), string(trace), err
	}
}

// whole gives the intent with the contents of its files.
func (a *Absorber) whole(ctx context.Context, b *Batch) (ghpr.Intent, error) {
	change, err := b.Change(a.content(ctx))
	if err != nil {
		return ghpr.Intent{}, err
	}
	text := map[string]string{}
	for _, f := range change.Files {
		text[ghpr.BlobID(f.Content)] = f.Content
	}
	in := *b.Intent
	body, err := a.q.Objects.Get(ctx, b.Body)
	if err != nil {
		return in, fmt.Errorf("body: %w", err)
	}
	in.Body = string(body)
	in.Files = append([]ghpr.FrozenFile{}, in.Files...)
	for i, f := range in.Files {
		content, ok := text[f.Blob]
		if !ok {
			return in, fmt.Errorf("content of %s: %w", f.Path, queue.ErrNotFound)
		}
		in.Files[i].Content = content
	}
	return in, nil
}

func (a *Absorber) preview(ctx context.Context, now time.Time, b *Batch) error {
	if b.Preview != "" {
		return nil
	}
	in, err := a.whole(ctx, b)
	if err != nil {
		return err
	}
	plan, err := a.pr.Preview(ctx, now, in)
	if err != nil {
		return err
	}
	doc, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	object, err := a.q.Objects.Put(ctx, doc)
	if err != nil {
		return err
	}
	a.lg.Info("pull request ready to be looked at", "title", in.Title, "cases", len(b.Members), "mode", "preview")
	return a.changeBatch(ctx, b.Key(), func(stored *Batch) error { stored.Preview = object; return nil })
}

func (a *Absorber) reconcile(ctx context.Context, now time.Time, b *Batch) error {
	in, err := a.whole(ctx, b)
	if err != nil {
		return err
	}
	before := *b.Intent
	after, err := a.pr.Reconcile(ctx, now, in, a.saver(b))
	if err != nil {
		return err
	}
	a.report(&before, &after)
	return nil
}

// saver stores the batch's intent by compare-and-set on the intent itself: another absorber's step in between makes the save fail, and with it
// everything that this one was about to send. Storing what is stored already is a success, for the answer to the first try may have been lost.
func (a *Absorber) saver(b *Batch) ghpr.Save {
	return func(ctx context.Context, in ghpr.Intent) error {
		small := slim(in)
		err := a.changeBatch(ctx, b.Key(), func(stored *Batch) error {
			if !reflect.DeepEqual(stored.Intent, b.Intent) && !reflect.DeepEqual(stored.Intent, &small) {
				return errRace
			}
			stored.Intent = &small
			return nil
		})
		if err == nil {
			b.Intent = &small
		}
		return err
	}
}

func (a *Absorber) report(before, after *ghpr.Intent) {
	switch {
	case after.Parked != nil && before.Parked == nil:
		a.lg.Warn("pull request waits for a person", "title", after.Title, "reason", after.Parked.Reason)
	case after.Receipt.State != before.Receipt.State:
		a.lg.Info("pull request", "state", after.Receipt.State, "url", after.Receipt.URL, "title", after.Title)
	case after.Waiting != "" && after.Waiting != before.Waiting:
		a.lg.Info("pull request waits", "for", after.Waiting, "title", after.Title)
	}
}

// refuse remembers a person's no on every group of the batch, then notes on the batch that it did.
func (a *Absorber) refuse(ctx context.Context, now time.Time, b *Batch) error {
	in := b.Intent
	d := Decision{Who: orDefault(in.Receipt.ClosedBy, "somebody on GitHub"), When: now.UTC(), Choice: "deny",
		Reason: fmt.Sprintf("pull request %d was closed without a merge", in.Receipt.Number), Digest: in.ID}
	for _, m := range b.Members {
		if err := a.changeGroup(ctx, m.Fingerprint, func(g *Group) bool { return g.decideOnce(d) }); err != nil {
			return err
		}
	}
	return a.changeBatch(ctx, b.Key(), func(stored *Batch) error { stored.Told = true; return nil })
}
