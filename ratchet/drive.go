package ratchet

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
)

// drive takes one batch a step further: collecting -> frozen -> preview or pull request -> closed or merged.
func (a *Absorber) drive(ctx context.Context, now time.Time, b *Batch) error {
	if b.Intent == nil {
		if a.held(now, b) {
			return nil
		}
		if frozen, err := a.freeze(ctx, now, b); err != nil || !frozen {
			return err
		}
	}
	switch {
	case b.Onboard != nil && b.workflowRefused():
		return a.dropWorkflow(ctx, b)
	case a.opts.Mode == ghpr.ModePreview:
		return a.preview(ctx, now, b)
	case a.opts.Mode == ghpr.ModeOpen && b.unsent() && b.Onboard == nil && a.why(b.Repo) != "":
		return a.restrain(ctx, b, a.why(b.Repo))
	case a.opts.Mode == ghpr.ModeOpen && a.wants(now, b):
		a.looks.note(b.Key(), now)
		if err := a.reconcile(ctx, now, b); err != nil {
			return err
		}
	}
	return a.follow(ctx, now, b)
}

// restrain stores why a batch that is ready is not sent, for whoever looks at it. The round that sends it takes the words away.
func (a *Absorber) restrain(ctx context.Context, b *Batch, why string) error {
	if b.Intent.Waiting == why {
		return nil
	}
	in := *b.Intent
	in.Waiting = why
	return a.saver(b)(ctx, in)
}

// follow acts on what became of the pull request.
func (a *Absorber) follow(ctx context.Context, now time.Time, b *Batch) error {
	state, u := b.Intent.Receipt.State, b.Intent.Update
	switch {
	case u != nil && u.State == ghpr.UpdateLeft && slices.ContainsFunc(b.Members, func(m Member) bool { return m.Update == u.ID }):
		return a.evict(ctx, b, u.ID, u.Why)
	case state == ghpr.StateOpen && a.opts.Mode == ghpr.ModeOpen && b.news() && b.Intent.Done():
		return a.grow(ctx, now, b)
	case state != ghpr.StateOpen && state != "" && len(b.late()) > 0:
		return a.evict(ctx, b, waits, "the pull request is "+string(state))
	case u != nil && !u.Settled():
		return nil
	case state == ghpr.StateClosed && !b.Told:
		return a.refuse(ctx, now, b)
	case state != ghpr.StateClosed && b.Told:
		return a.relent(ctx, now, b)
	}
	return nil
}

// held says whether the batch is not to be frozen yet: it is empty, it waits for more cases, or freezing it failed a while ago. A clock that was set
// back holds nothing.
func (a *Absorber) held(now time.Time, b *Batch) bool {
	if len(b.Members) == 0 {
		return true
	}
	if b.Fault != "" && recently(now, a.looks.last(b.Key()), a.opts.Observe) {
		return true
	}
	if a.opts.Mode == ghpr.ModeOpen && b.Onboard == nil && now.Before(a.looks.coolUntil(b.seriesKey())) {
		return true
	}
	return b.Collecting() && b.Onboard == nil && recently(now, b.Opened, a.opts.Hold)
}

// recently says that then is less than a span ago. What lies ahead of now was written by another clock and is not recent.
func recently(now, then time.Time, span time.Duration) bool {
	ago := now.Sub(then)
	return ago >= 0 && ago < span
}

// A closed pull request may be opened again by whoever closed it: it is looked at more and more seldom than an open one, and at last no more.
const (
	closedPace = 12
	closedFor  = 30 * 24 * time.Hour
)

// wants says whether the pull request needs a round now: it is not finished, or was not looked at for a while. When it was is this process's to know:
// a look that found nothing new is not stored.
func (a *Absorber) wants(now time.Time, b *Batch) bool {
	in, roused := b.Intent, a.looks.roused(b.Key())
	if in.Parked != nil || now.Before(in.NotBefore) && !(roused && in.Asleep) {
		return false
	}
	if !in.Done() {
		return true
	}
	switch in.Receipt.State {
	case ghpr.StateOpen:
		return roused || !recently(now, a.looks.last(b.Key()), a.opts.Observe)
	case ghpr.StateClosed:
		return roused || !recently(now, a.looks.last(b.Key()), closedPace*a.opts.Observe) && now.Sub(in.Receipt.ObservedAt) < closedFor
	}
	return false
}

// freeze fixes what the batch writes. A case whose files cannot leave is taken out first; then it says no, and the next sweep goes on.
func (a *Absorber) freeze(ctx context.Context, now time.Time, b *Batch) (frozen bool, err error) {
	if out, err := a.sift(ctx, b); out || err != nil {
		return false, err
	}
	b.Advisory = a.unguarded(ctx, b)
	in, err := a.intent(ctx, b)
	if err != nil {
		return false, a.fault(ctx, now, b, err)
	}
	body, err := a.q.Objects.Put(ctx, []byte(in.Body))
	if err != nil {
		return false, err
	}
	small := slim(in)
	return true, a.changeBatch(ctx, b.Key(), func(stored *Batch) error {
		if stored.Intent != nil && stored.Intent.ID != in.ID || !stored.holds(b) {
			return errRace
		}
		if stored.Intent == nil {
			stored.Intent, stored.Body, stored.Shut, stored.Fault, stored.Advisory = &small, body, true, "", b.Advisory
		}
		*b = *stored
		return nil
	})
}

// GuardWords and GuardPaths are what a base's rules should name for the set to hold: a required check, and code owners.
var GuardWords = []string{"pawl", "verify"}

// GuardPaths are the set, pawl.yaml and the workflow.
func GuardPaths(set string) []string { return []string{set + "/", "pawl.yaml", workflowFile} }

// unguarded asks what keeps the base's rules from holding the set. Who may not ask says nothing.
func (a *Absorber) unguarded(ctx context.Context, b *Batch) []string {
	missing, err := a.pr.Missing(ctx, b.Repo, b.Base, GuardWords, GuardPaths(b.Set))
	if err != nil {
		a.lg.Debug("the rules of the base branch are not told", "repo", b.Repo, "base", b.Base, "err", err)
	}
	return missing
}

// intent renders and freezes the batch's change.
func (a *Absorber) intent(ctx context.Context, b *Batch) (ghpr.Intent, error) {
	change, err := b.Change(a.content(ctx))
	if err != nil {
		return ghpr.Intent{}, err
	}
	change.SignOff = a.opts.SignOff
	texts := []string{change.Title, change.CommitMessage, change.Key}
	for _, block := range change.Body {
		texts = append(texts, block.Text)
	}
	if err := a.lastLook(texts...); err != nil {
		return ghpr.Intent{}, err
	}
	in, err := ghpr.Freeze(change)
	if err != nil { // a service may be called what no title may say, such as a number with # before it
		change.Title = b.plainTitle()
		if again, second := ghpr.Freeze(change); second == nil {
			return again, nil
		}
	}
	return in, err
}

// sift takes out the cases whose files must not leave or are gone, and says whether there were any.
func (a *Absorber) sift(ctx context.Context, b *Batch) (out bool, err error) {
	for _, m := range b.Members {
		reason, err := a.unfit(ctx, m)
		if err != nil {
			return out, err
		}
		if reason == "" {
			continue
		}
		out = true
		if err := a.reject(ctx, b.Key(), m, reason); err != nil {
			return out, err
		}
	}
	return out, nil
}

// unfit says why a case's files must not leave, or that they are gone; "" if neither.
func (a *Absorber) unfit(ctx context.Context, m Member) (string, error) {
	yaml, trace, err := a.content(ctx)(m)
	if errors.Is(err, queue.ErrNotFound) {
		return "the files that were made of it are gone", nil
	}
	if err != nil {
		return "", err
	}
	if err := a.lastLook(m.CaseID, m.Title, m.Why, yaml, trace); err != nil {
		return "a last look found what redaction had missed: " + err.Error(), nil
	}
	return "", nil
}

// fault notes on the batch why it does not go on, for people to see; it is tried again from time to time.
func (a *Absorber) fault(ctx context.Context, now time.Time, b *Batch, cause error) error {
	if passing(cause) || ctx.Err() != nil {
		return cause
	}
	a.looks.note(b.Key(), now)
	if text := clip(cause.Error(), maxText); b.Fault != text {
		a.lg.Error("a batch cannot become a pull request", "batch", b.Key(), "err", cause)
		return a.changeBatch(ctx, b.Key(), func(stored *Batch) error { stored.Fault = text; return nil })
	}
	return nil
}

// slim is an intent as a batch stores it: a bucket's value is small, so what is long lies in the object store.
func slim(in ghpr.Intent) ghpr.Intent {
	s := in.Slim()
	s.Body = ""
	if s.Update != nil {
		s.Update.Body = ""
	}
	return s
}

// lastLook scans texts that are about to be frozen, words and files alike, for what must never leave. It knows nothing of how they were redacted.
func (a *Absorber) lastLook(texts ...string) error {
	look := a.maker.Redactor.Session()
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

// embodied gives the intent with its body and without the contents of its files.
func (a *Absorber) embodied(ctx context.Context, b *Batch) (ghpr.Intent, error) {
	in := *b.Intent
	body, err := a.q.Objects.Get(ctx, b.Body)
	if err != nil {
		return in, fmt.Errorf("body: %w", err)
	}
	in.Body = string(body)
	if in.Update != nil {
		if body, err = a.q.Objects.Get(ctx, b.LateBody); err != nil {
			return in, fmt.Errorf("body of the update: %w", err)
		}
		u := *in.Update
		u.Body, in.Update = string(body), &u
	}
	return in, nil
}

// whole gives the intent with the contents of its files.
func (a *Absorber) whole(ctx context.Context, b *Batch) (ghpr.Intent, error) {
	in, err := a.embodied(ctx, b)
	if err != nil {
		return in, err
	}
	text := map[string]string{}
	for _, m := range b.Members {
		yaml, trace, err := a.content(ctx)(m)
		if err != nil {
			return in, fmt.Errorf("files of case %s: %w", m.CaseID, err)
		}
		text[ghpr.BlobID(yaml)], text[ghpr.BlobID(trace)] = yaml, trace
	}
	if b.Onboard != nil {
		for _, f := range b.Onboard.Files {
			text[ghpr.BlobID(f.Content)] = f.Content
		}
	}
	if b.Rule != nil {
		for _, f := range b.Rule.Files {
			text[ghpr.BlobID(f.Content)] = f.Content
		}
	}
	in.Files = slices.Clone(in.Files)
	lists := [][]ghpr.FrozenFile{in.Files}
	if in.Update != nil {
		in.Update.Files = slices.Clone(in.Update.Files)
		lists = append(lists, in.Update.Files)
	}
	for _, files := range lists {
		for i, f := range files {
			content, ok := text[f.Blob]
			if !ok {
				return in, fmt.Errorf("content of %s: %w", f.Path, queue.ErrNotFound)
			}
			files[i].Content = content
		}
	}
	return in, nil
}

// preview keeps what the batch would write, for people to look at.
func (a *Absorber) preview(ctx context.Context, now time.Time, b *Batch) error {
	if b.Preview != "" || b.Fault != "" && recently(now, a.looks.last(b.Key()), a.opts.Observe) {
		return nil
	}
	in, err := a.whole(ctx, b)
	if err != nil {
		return a.fault(ctx, now, b, err)
	}
	plan, err := a.pr.Preview(ctx, now, in)
	if err != nil {
		return a.fault(ctx, now, b, err)
	}
	doc, err := json.Marshal(plan)
	if err != nil {
		return a.fault(ctx, now, b, err)
	}
	object, err := a.q.Objects.Put(ctx, doc)
	if err != nil {
		return err
	}
	a.lg.Info("pull request ready to be looked at", "title", in.Title, "cases", len(b.Members), "mode", "preview")
	return a.changeBatch(ctx, b.Key(), func(stored *Batch) error {
		if stored.Intent == nil || stored.Intent.ID != in.ID {
			return errRace
		}
		stored.Preview, stored.Fault = object, ""
		return nil
	})
}

func (a *Absorber) reconcile(ctx context.Context, now time.Time, b *Batch) error {
	read := a.whole
	if u := b.Intent.Update; b.Intent.Steps.PR.Outcome == ghpr.Confirmed && (u == nil || u.Settled()) { // it is only looked at: the files are there
		read = a.embodied
	}
	in, err := read(ctx, b)
	if err != nil {
		return err
	}
	before := *b.Intent
	if in.Asleep {
		in.NotBefore = time.Time{} // it is looked at again, so somebody woke it or its time has come
	}
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
	as, words := closeReason(b.Intent.Receipt.Labels)
	return a.tell(ctx, b, true, Decision{Who: orDefault(b.Intent.Receipt.ClosedBy, "somebody on GitHub"), When: now.UTC(), Choice: "deny", As: as,
		Reason: fmt.Sprintf("pull request %d was closed without a merge%s", b.Intent.Receipt.Number, words), Digest: b.Intent.ID})
}

// relent takes the no back: the pull request was opened again.
func (a *Absorber) relent(ctx context.Context, now time.Time, b *Batch) error {
	return a.tell(ctx, b, false, Decision{Who: "somebody on GitHub", When: now.UTC(), Choice: "revive",
		Reason: fmt.Sprintf("pull request %d was opened again", b.Intent.Receipt.Number), Digest: b.Intent.ID})
}

func (a *Absorber) tell(ctx context.Context, b *Batch, closed bool, d Decision) error {
	for _, m := range b.Members {
		if err := a.changeGroup(ctx, m.Fingerprint, func(g *Group) bool { return g.decideOnce(d) }); err != nil {
			return err
		}
	}
	return a.changeBatch(ctx, b.Key(), func(stored *Batch) error { stored.Told = closed; return nil })
}
