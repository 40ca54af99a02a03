package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ratchet/match/embed"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/redact"
)

// judgeOf is oracleOf for runs of the agent: where the configuration names an embeddings endpoint it is asked, under ctx, whether two texts mean the
// same. What it is asked is redacted, and looked at once more before it leaves. Vectors are kept in the user's cache directory, as far as there is one.
func (a *app) judgeOf(ctx context.Context, cfg config.Config) (*oracle.Oracle, error) {
	o, err := a.oracleOf(cfg)
	e := cfg.Gate.Embeddings
	if err != nil || e.BaseURL == "" {
		return o, err
	}
	key, err := e.APIKey.Resolve()
	if err != nil { // as where a pull request comes from a fork
		fmt.Fprintf(a.stderr, "Texts are compared by their words alone: gate.embeddings.api_key: %v\n", err)
		return o, nil
	}
	r, err := a.redactorOf(cfg)
	if err != nil {
		return nil, err
	}
	opt := embed.Options{URL: e.BaseURL, Model: e.Model, Key: key, Clean: cleanerOf(r), Outgoing: r.Verify}
	if dir, err := os.UserCacheDir(); err == nil {
		opt.Dir = filepath.Join(dir, "pawl", "embeddings")
	}
	client, err := embed.New(a.log, opt)
	if err != nil {
		return nil, usageError(err, "gate.embeddings in pawl.yaml")
	}
	o.Embed = client.Embedder(ctx)
	return o, nil
}

// cleanerOf redacts texts that are laid beside each other, by one mapping: what was equal in them stays equal, and what differed differs.
func cleanerOf(r *redact.Redactor) func([]string) ([]string, error) {
	return func(texts []string) ([]string, error) {
		s := r.Session()
		for _, t := range texts {
			s.Learn(t)
		}
		out := make([]string, len(texts))
		for i, t := range texts {
			out[i] = s.Text(t)
		}
		for _, t := range out {
			if err := s.Verify([]byte(t)); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}
