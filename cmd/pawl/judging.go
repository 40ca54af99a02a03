package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/judge"
	"github.com/pawl-dev/pawl/classify/judge/llm"
	"github.com/pawl-dev/pawl/classify/price"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
	"github.com/pawl-dev/pawl/ratchet/redact"
)

// taxonomyOf is what a judge may choose: the labels of the rules, the team's own among them.
func taxonomyOf(rules []classify.Rule) (out []judge.Choice) {
	for _, r := range rules {
		out = append(out, judge.Choice{Label: r.Label, Means: cmp.Or(r.Doc.Title, r.Doc.Why, string(r.Label))})
	}
	return out
}

// rubricOf is what the model is told about judging.
func rubricOf(cfg config.Config) (string, error) {
	if cfg.Judge.Rubric == "" {
		return judge.Rubric, nil
	}
	b, err := os.ReadFile(cfg.Judge.Rubric)
	if err != nil {
		return "", usageError(fmt.Errorf("judge.rubric: %w", err), "pawl judge rubric, which prints one to begin with")
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return "", usageError(fmt.Errorf("judge.rubric: %s is empty", cfg.Judge.Rubric), "pawl judge rubric, which prints one to begin with")
	}
	return string(b), nil
}

// panelOf is the judge of the configuration, which need not be switched on for production's traces. What it sends goes through the redactor's second look once
// more, as the very bytes that leave.
func panelOf(lg *slog.Logger, cfg config.Config, rules []classify.Rule, look *redact.Redactor, transport http.RoundTripper) (*judge.Panel, error) {
	j := cfg.Judge
	if j.Model == "" {
		return nil, usageError(errors.New("no model is named"), "judge.model and judge.api_key in pawl.yaml")
	}
	key, err := j.APIKey.Resolve()
	if err != nil {
		return nil, usageError(fmt.Errorf("judge.api_key: %w", err), "")
	}
	price, err := judgePrice(cfg)
	if err != nil {
		return nil, err
	}
	rubric, err := rubricOf(cfg)
	if err != nil {
		return nil, err
	}
	client, err := llm.New(llm.Options{API: string(j.API), BaseURL: j.BaseURL, Model: j.Model, Key: key, Transport: outgoing{transport, look.Verify}, Price: price,
		Timeout: time.Duration(j.Timeout), MaxTokens: j.MaxTokens, Temperature: new(0.0)})
	if err != nil {
		return nil, usageError(err, "judge in pawl.yaml")
	}
	p, err := judge.New(lg, client, judge.Options{Rubric: rubric, Taxonomy: taxonomyOf(rules), Votes: j.Votes, MaxBytes: j.MaxBytes, MaxTokens: j.MaxTokens, Price: price})
	if err != nil {
		return nil, usageError(err, "judge in pawl.yaml")
	}
	return p, nil
}

// judgePrice is what the model's tokens cost; nil where nobody knows, which is a mistake where a budget is in money.
func judgePrice(cfg config.Config) (*llm.Price, error) {
	table, err := pricesOf(cfg)
	if err != nil {
		return nil, usageError(err, "pawl config check")
	}
	million, none := int64(1e6), int64(0)
	of := func(in, out *int64) (float64, bool) {
		usd, from, _ := table.Of(price.Call{Provider: string(cfg.Judge.API), Models: []string{cfg.Judge.Model}, Usage: trajectory.Usage{Input: in, Output: out}, At: time.Now()})
		return usd, from != ""
	}
	in, known := of(&million, &none)
	out, both := of(&none, &million)
	if known && both {
		return &llm.Price{In: in, Out: out}, nil
	}
	if cfg.Judge.Budget.USDPerDay > 0 {
		return nil, usageError(fmt.Errorf("judge.budget.usd_per_day cannot be kept: nobody knows what %s costs", cfg.Judge.Model), `prices: [{model: "`+cfg.Judge.Model+`", input: 2.5, output: 10}] in pawl.yaml`)
	}
	return nil, nil
}

// outgoing looks at the bytes of a request as they are sent.
type outgoing struct {
	next http.RoundTripper
	look func([]byte) error
}

// RoundTrip implements http.RoundTripper.
func (o outgoing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		if err := o.look(body); err != nil {
			return nil, &llm.Refused{Why: "not sent: " + err.Error()}
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	next := o.next
	if next == nil {
		next = http.DefaultTransport
	}
	return next.RoundTrip(req)
}

// calibrationOf reads what was measured of a judge; zero where no file is named.
func calibrationOf(cfg config.Config) (g ratchet.Agreement, err error) {
	if cfg.Judge.Calibration == "" {
		return g, nil
	}
	b, err := os.ReadFile(cfg.Judge.Calibration)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		err = d.Decode(&g)
	}
	if err == nil && (!strings.HasPrefix(g.Judge, "judge@") || g.Labels < 0 || g.Agreed < 0 || g.Agreed > g.Labels) {
		err = fmt.Errorf("%s is no calibration", cfg.Judge.Calibration)
	}
	if err != nil {
		return g, usageError(fmt.Errorf("judge.calibration: %w", err), "pawl judge calibrate LABELS --traces DIR -o "+cfg.Judge.Calibration)
	}
	return g, nil
}

// juryOf is who the service asks of what no rule explains; nil where judge is not enabled.
func (s *server) juryOf() (*ratchet.Jury, error) {
	j := s.cfg.Judge
	if !j.Enabled {
		return nil, nil
	}
	p, err := panelOf(s.lg, s.cfg, s.maker.Engine.Rules(), s.maker.Redactor, nil)
	if err != nil {
		return nil, err
	}
	measured, err := calibrationOf(s.cfg)
	if err != nil {
		return nil, err
	}
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pawl_judge_outcomes_total",
		Help: "Questions to the judge by what became of them: label, none, split, not_decided; and tries that came to nothing: budget_spent, unavailable, refused."}, []string{"outcome"})
	s.reg.MustRegister(outcomes)
	if measured.Judge != "" && measured.Judge != p.ID() {
		s.lg.Warn("judge.calibration is of another model or rubric and does not count", "file", j.Calibration, "of", measured.Judge, "judge", p.ID())
	}
	return &ratchet.Jury{Judge: p, ID: p.ID(), Model: p.Model(), Rubric: p.RubricDigest(), Budget: judge.Cost{Tokens: j.Budget.TokensPerDay, USD: j.Budget.USDPerDay},
		Parallel: j.Parallel, Signature: j.PerSignature, Measured: measured, Count: func(of string) { outcomes.WithLabelValues(of).Inc() }}, nil
}

// purse is the budget of one run of a command: what the configuration allows for a day.
func purseOf(cfg config.Config) judge.Purse {
	b := cfg.Judge.Budget
	var spent judge.Cost
	return func(_ context.Context, most judge.Cost) (func(context.Context, judge.Cost) error, error) {
		switch {
		case b.TokensPerDay > 0 && spent.Tokens+most.Tokens > b.TokensPerDay:
			return nil, &judge.Spent{What: fmt.Sprintf("judge.budget.tokens_per_day is %d", b.TokensPerDay)}
		case b.USDPerDay > 0 && spent.USD+most.USD > b.USDPerDay:
			return nil, &judge.Spent{What: fmt.Sprintf("judge.budget.usd_per_day is %g", b.USDPerDay)}
		}
		spent.Tokens, spent.USD = spent.Tokens+most.Tokens, spent.USD+most.USD
		return func(_ context.Context, real judge.Cost) error {
			spent.Tokens, spent.USD = spent.Tokens-most.Tokens+real.Tokens, spent.USD-most.USD+real.USD
			return nil
		}, nil
	}
}
