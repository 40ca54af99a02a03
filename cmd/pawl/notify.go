package main

import (
	"context"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/triage/notify"
	"github.com/pawl-dev/pawl/ratchet"
	"github.com/pawl-dev/pawl/ratchet/redact"
)

// notifier tells a chat room of groups, nil where none is configured.
func (s *server) notifier() (*notify.Notifier, error) {
	n := s.cfg.Notify
	if n == nil {
		return nil, nil
	}
	look, err := redact.New(nil, redactOptions(s.cfg))
	if err != nil {
		return nil, err
	}
	o := notify.Options{URL: n.URL.Reveal(), Min: classify.Severity(n.Min), Link: n.Link, Verify: look.Verify, Every: notifyEvery, Look: notifyLook}
	return notify.New(s.lg, s.q.Cursors, s.groupsNow, o), nil
}

const (
	notifyEvery = time.Hour
	notifyLook  = time.Minute
)

// tellRoom tells a chat room of groups until ctx ends, while no other process does.
func (s *server) tellRoom(ctx context.Context) error {
	n, err := s.notifier()
	if err != nil || n == nil {
		return err
	}
	return toTheEnd(ctx, "notify", s.alone(ctx, "notify", n.Run))
}

// groupsNow are all groups with where each stands.
func (s *server) groupsNow(ctx context.Context) ([]notify.Seen, error) {
	gs, err := fromView(s.view, s.view.Groups, s.absorber.Groups)(ctx)
	if err != nil {
		return nil, err
	}
	services, err := fromView(s.view, s.view.Services, s.absorber.Services)(ctx)
	if err != nil {
		return nil, err
	}
	deployed := map[string][]string{}
	for i := range services {
		deployed[services[i].Name] = ratchet.Deployed(&services[i].History)
	}
	now, out := time.Now(), make([]notify.Seen, 0, len(gs))
	for i := range gs {
		out = append(out, notify.Seen{Group: &gs[i], Life: gs[i].Life(deployed[gs[i].Service], now)})
	}
	return out, nil
}
