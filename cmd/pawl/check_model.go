package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/pawl-dev/pawl/classify/judge/llm"
	"github.com/pawl-dev/pawl/classify/price"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/gate"
)

// modelOf is the model that judges criteria and plays users in a check: that of the judge, which need not be switched on for production's traces.
// Where pawl.yaml names none it is none.
func (a *app) modelOf(cfg config.Config) (gate.Model, error) {
	j := cfg.Judge
	if j.Model == "" {
		return gate.Model{}, nil
	}
	key, err := j.APIKey.Resolve()
	if err != nil { // as where a pull request comes from a fork
		fmt.Fprintf(a.stderr, "No model is asked: judge.api_key: %v\n", err)
		return gate.Model{}, nil
	}
	opt := llm.Options{API: string(j.API), BaseURL: j.BaseURL, Model: j.Model, Key: key, Temperature: new(0.0)}
	client, err := llm.New(opt)
	if err != nil {
		return gate.Model{}, usageError(err, "judge in pawl.yaml")
	}
	r, err := a.redactorOf(cfg)
	if err != nil {
		return gate.Model{}, err
	}
	prices, err := pricesOf(cfg)
	if err != nil {
		return gate.Model{}, usageError(err, "pawl config check")
	}
	clean := func(text string) (string, error) {
		s := r.Session()
		out := s.Text(text)
		return out, s.Verify([]byte(out))
	}
	return gate.Model{Name: j.Model, Ask: askVia(client, prices), Clean: clean}, nil
}

func askVia(client *llm.Client, prices *price.Table) func(context.Context, gate.Question) (gate.Reply, error) {
	return func(ctx context.Context, q gate.Question) (gate.Reply, error) {
		r := llm.Request{System: q.System, Name: q.Name, Schema: q.Schema}
		if q.Seed != 0 {
			r.Seed = new(q.Seed)
		}
		for _, t := range q.Turns {
			r.Turns = append(r.Turns, llm.Turn{Role: t.Role, Text: t.Content})
		}
		answer, err := client.Ask(ctx, r)
		if err != nil {
			return gate.Reply{}, err
		}
		in, out := int64(answer.InputTokens), int64(answer.OutputTokens)
		reply := gate.Reply{Text: answer.Text, Model: answer.Model, Tokens: in + out}
		if usd, from, _ := prices.Of(price.Call{Models: []string{answer.Model, client.Model()}, Usage: trajectory.Usage{Input: &in, Output: &out}, At: time.Now()}); from != "" {
			reply.USD = &usd
		}
		return reply, nil
	}
}

// criteriaOf is how criteria are judged: by the model, and by the rubric that gate.rubric names.
func criteriaOf(cfg config.Config, m gate.Model) (gate.Criteria, error) {
	k := gate.Criteria{Model: m}
	if cfg.Gate.Rubric == "" {
		return k, nil
	}
	b, err := os.ReadFile(cfg.Gate.Rubric)
	if err != nil {
		return k, usageError(fmt.Errorf("gate.rubric: %w", err), "a file to begin with: ratchet/gate/rubric.md in pawl's source is the built-in one")
	}
	k.Rubric = string(b)
	return k, nil
}
