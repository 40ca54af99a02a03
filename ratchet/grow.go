package ratchet

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/ghpr"
)

// roomIn says whether a case may join the batch's open pull request.
func (a *Absorber) roomIn(b *Batch) bool {
	return b.growable() && len(b.Members) < a.opts.CasesPerPR && !b.large()
}

// grow freezes an update of the open pull request: the cases that waited long enough, and what was taken back since.
func (a *Absorber) grow(ctx context.Context, now time.Time, b *Batch) error {
	if len(b.late()) > 0 && recently(now, b.LateSince, a.opts.Hold) {
		return nil
	}
	for _, m := range b.late() {
		reason, err := a.unfit(ctx, m)
		if err != nil {
			return err
		}
		if reason != "" {
			return a.reject(ctx, b.Key(), m, reason)
		}
	}
	g, err := b.Growth(a.content(ctx))
	if err != nil {
		return err
	}
	texts := []string{g.Title, g.CommitMessage}
	for _, block := range g.Body {
		texts = append(texts, block.Text)
	}
	if err := a.lastLook(texts...); err != nil {
		return a.evict(ctx, b, waits, "a last look at the text found what redaction had missed: "+err.Error())
	}
	in, err := b.Intent.Grow(g)
	if err != nil {
		g.Title = ""
		if in, err = b.Intent.Grow(g); err != nil {
			return a.evict(ctx, b, waits, err.Error())
		}
	}
	body, err := a.q.Objects.Put(ctx, []byte(in.Update.Body))
	if err != nil {
		return err
	}
	small := slim(in)
	return a.changeBatch(ctx, b.Key(), func(stored *Batch) error {
		if !reflect.DeepEqual(stored.Intent, b.Intent) || !stored.holds(b) {
			return errRace
		}
		for i := range stored.Members {
			m := &stored.Members[i]
			if m.Update == waits {
				m.Update = in.Update.ID
			}
			m.GoneToo = m.Gone != ""
		}
		stored.Intent, stored.LateBody, stored.LateSince = &small, body, time.Time{}
		*b = *stored
		return nil
	})
}

// evict takes the cases of an update out that did not get into the pull request, or those that wait for one. They join the next.
func (a *Absorber) evict(ctx context.Context, b *Batch, update, why string) error {
	var out []Member
	err := a.changeBatch(ctx, b.Key(), func(stored *Batch) error {
		u := stored.Intent.Update
		if update != waits && (u == nil || u.ID != update || u.State != ghpr.UpdateLeft) {
			return errRace
		}
		out = nil
		stored.Members = slices.DeleteFunc(stored.Members, func(m Member) bool {
			if m.Update == update {
				out = append(out, m)
			}
			return m.Update == update
		})
		stored.Sealed, stored.LateSince = clip(why, maxText), time.Time{}
		*b = *stored
		return nil
	})
	if err != nil {
		return err
	}
	for _, m := range out {
		a.lg.Info("a case goes into the next pull request", "case", m.CaseID, "why", why)
		if err := a.unpoint(ctx, m.Fingerprint, b.Key()); err != nil {
			return err
		}
	}
	return nil
}

// takeBack notes on a case that was sent why its ground is lost, for the pull request to say.
func (a *Absorber) takeBack(ctx context.Context, b *Batch, m Member, why string) error {
	if m.Gone != "" || b.Intent == nil || b.Intent.Receipt.State != ghpr.StateOpen {
		return nil
	}
	a.lg.Info("a case is taken back", "case", m.CaseID, "why", why)
	return a.changeBatch(ctx, b.Key(), func(stored *Batch) error {
		if i := stored.member(m.Fingerprint); i >= 0 {
			stored.Members[i].Gone = clip(why, maxReason)
		}
		return nil
	})
}

// Why a pull request was closed, as the labels on it say.
const (
	AsFalseAlarm = "false_alarm" // the rule was wrong
	AsIntended   = "intended"    // the agent is meant to do that
	AsDuplicate  = "duplicate"   // right, and known already
	AsNotNow     = "not_now"     // no label
)

// closeReason reads the labels of a closed pull request. words go on in a sentence.
func closeReason(labels []string) (as, words string) {
	for _, l := range []struct{ label, as, words string }{
		{"pawl:false-alarm", AsFalseAlarm, ": a false alarm"}, {"pawl:intended", AsIntended, ": it is intended"}, {"pawl:duplicate", AsDuplicate, ": it is a duplicate"},
	} {
		if slices.Contains(labels, l.label) {
			return l.as, l.words
		}
	}
	return AsNotNow, fmt.Sprintf(": not now (a label %s, %s or %s would say why)", "pawl:false-alarm", "pawl:intended", "pawl:duplicate")
}
