package ratchet

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestViewFollowsTheStore holds that the view has what the store has, that who decides sees the decision at once, and that what is deleted goes.
func TestViewFollowsTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testQueue(t)
		a := testAbsorber(t, q, testFake(t))
		x := strange("broke")
		publishStrange(t, q, traceNo(1), x)
		catchUp(t, a)
		v := NewView(quiet, q)
		a.See(v)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- v.Follow(ctx) }()
		time.Sleep(time.Second)
		if gs := v.Groups(); !v.Ready() || len(gs) != 1 || gs[0].ID() != x.ID() || gs[0].Count != 1 {
			t.Errorf("the view has %+v", gs)
		}
		g := decided(t, a, x.ID(), Ask{Choice: ChoiceLabel, Label: "wrong_currency"})
		if _, ok := v.Digest(g.ID()); !ok || len(v.Groups()) != 2 {
			t.Errorf("the decision is not seen at once: %d groups", len(v.Groups()))
		}
		decided(t, a, x.ID(), Ask{Choice: ChoiceDismiss, As: AsIntended, Reason: "so"})
		if err := q.Groups.Delete(t.Context(), x.Digest()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if len(v.Groups()) != 1 {
			t.Error("what was deleted is still there")
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
