package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/classify/propose"
	"github.com/pawl-dev/pawl/classify/triage"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ratchet"
)

// withRule builds the service's engine with one more rule, as it will be once that is merged.
func (a *app) withRule(cfg config.Config) func(custom.Definition) (classify.Rule, *classify.Engine, error) {
	return func(d custom.Definition) (r classify.Rule, _ *classify.Engine, err error) {
		rules, err := a.rulesOf(cfg)
		if err != nil {
			return r, nil, err
		}
		own, problems, err := custom.New([]custom.Definition{d}, namesOf(rules))
		if err != nil {
			return r, nil, err
		}
		if len(problems) > 0 {
			return r, nil, &ratchet.Refused{Reason: fmt.Sprintf("the rule cannot be used: %s: %s", problems[0].Key, problems[0].Message)}
		}
		engine, err := a.engineWith(cfg, byName(append(rules, own[0])))
		return own[0], engine, err
	}
}

// offer makes the batch of a proposed rule.
func (s *server) offer(ctx context.Context, id, who string, c propose.Candidate, trial string) (ratchet.Offered, error) {
	rule, engine, err := s.withRule(c.Rule)
	if err != nil {
		return ratchet.Offered{}, err
	}
	dir := path.Clean(cmp.Or(s.cfg.RulesDir, config.Default().RulesDir))
	files := []ghpr.File{{Path: path.Join(dir, c.Rule.Name+".yaml"), Content: propose.YAML(c.Rule)}}
	for _, f := range c.Testdata {
		files = append(files, ghpr.File{Path: path.Join(dir, c.Rule.Name, f.Name), Content: f.Content})
	}
	o, err := s.absorber.OfferRule(ctx, id, who, time.Now(), ratchet.Offer{Rule: rule, Engine: engine, Files: ratchet.RuleFiles{Name: c.Rule.Name, Dir: dir, Says: c.Says, Trial: trial, Files: files}})
	if errors.Is(err, queue.ErrNotFound) {
		err = triage.ErrNotFound
	}
	return o, err
}
