package main

import (
	"math/rand/v2"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// modelDamages are those of what models and their providers do.
func modelDamages() []damage {
	return []damage{
		{"provider error at the end", classify.UpstreamError, false, func(t *trajectory.Trajectory, rnd *rand.Rand) bool {
			return broken(t, []trajectory.Error{{Type: "503", Message: "The engine is currently overloaded, please try again later", Code: 503},
				{Type: "RateLimitError", Message: "429 Rate limit reached for requests", Code: 429}, {Type: "APIConnectionError", Message: "Connection error."}}[rnd.IntN(3)])
		}},
		{"context too long", classify.ContextOverflow, false, func(t *trajectory.Trajectory, rnd *rand.Rand) bool {
			return broken(t, trajectory.Error{Type: "BadRequestError", Code: 400, Message: one(rnd, "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens.",
				"prompt is too long: 210034 tokens > 200000 maximum", "The input token count (1048999) exceeds the maximum number of tokens allowed (1048576).")})
		}},
		{"another bad request", classify.ContextOverflow, true, func(t *trajectory.Trajectory, rnd *rand.Rand) bool {
			return broken(t, trajectory.Error{Type: "BadRequestError", Code: 400, Message: one(rnd, "max_tokens must be at least 1", "Invalid value for 'context': expected an object", "Unsupported parameter: 'length'")})
		}},
		{"answer cut by the limit", classify.TruncatedOutput, false, func(t *trajectory.Trajectory, _ *rand.Rand) bool { return cut(t, trajectory.FinishLength, "length") }},
		{"short answer", classify.TruncatedOutput, true, func(t *trajectory.Trajectory, _ *rand.Rand) bool { return cut(t, trajectory.FinishStop, "stop") }},
		{"empty answer", classify.EmptyResponse, false, func(t *trajectory.Trajectory, _ *rand.Rand) bool {
			m, ok := lastModel(t)
			if ok {
				change.Reply(t, "")
				m.Text = ""
			}
			return ok
		}},
		{"answer of another shape", classify.OutputViolation, false, func(t *trajectory.Trajectory, rnd *rand.Rand) bool {
			return shaped(t, one(rnd, `{"text":"It is on its way."}`, `{"answer":7,"sure":true}`, "It is on its way.", `{"answer":"It is on its way.","sure":"very"}`))
		}},
		{"answer of the shape", classify.OutputViolation, true, func(t *trajectory.Trajectory, rnd *rand.Rand) bool {
			return shaped(t, one(rnd, `{"answer":"It is on its way."}`, "```json\n{\"answer\":\"It is on its way.\",\"sure\":0.9}\n```", `{"answer":"It is on its way.","sure":1,"note":null}`))
		}},
		{"another model answers", classify.ModelDrift, false, responded("mistral-tiny-2312")},
		{"a dated name of the same model", classify.ModelDrift, true, responded("")},
	}
}

// lastModel is the model call that gave the reply.
func lastModel(t *trajectory.Trajectory) (*trajectory.ModelCall, bool) {
	if t.Reply == nil || *t.Reply == "" || len(t.ModelCalls) == 0 {
		return nil, false
	}
	m := &t.ModelCalls[len(t.ModelCalls)-1]
	return m, len(m.ToolCalls) == 0 && m.Text == *t.Reply
}

// broken makes the last model call fail, and the run with it.
func broken(t *trajectory.Trajectory, e trajectory.Error) bool {
	m, ok := lastModel(t)
	if !ok {
		return false
	}
	change.DropStep(t, len(t.Steps)-1)
	t.Reply, m.Text, m.FinishReason, m.FinishRaw, m.Error, t.RootError = nil, "", "", "", &e, new(e)
	return true
}

// shaped makes the last request want an answer of a shape, and the model answer this.
func shaped(t *trajectory.Trajectory, text string) bool {
	m, ok := lastModel(t)
	if !ok {
		return false
	}
	change.Reply(t, text)
	m.Text, m.Wanted.JSON = text, true
	m.Wanted.Schema = jsontext.Value(`{"type":"object","properties":{"answer":{"type":"string"},"sure":{"type":"number"}},"required":["answer"]}`)
	return true
}

func cut(t *trajectory.Trajectory, why trajectory.FinishReason, raw string) bool {
	m, ok := lastModel(t)
	if !ok || len(*t.Reply) < 40 || m.FinishReason == "" {
		return false
	}
	r := []rune(*t.Reply)
	change.Reply(t, string(r[:len(r)/2]))
	m.FinishReason, m.FinishRaw = why, raw
	return true
}

// responded makes every model call be answered by another model, "" by a dated name of its own.
func responded(by string) func(*trajectory.Trajectory, *rand.Rand) bool {
	return func(t *trajectory.Trajectory, _ *rand.Rand) bool {
		done := false
		for i := range t.ModelCalls {
			if m := &t.ModelCalls[i]; m.ModelRequested != "" && m.ModelResponded != "" {
				m.ModelResponded, done = by, true
				if by == "" {
					m.ModelResponded = m.ModelRequested + "-2026-03-01"
				}
			}
		}
		return done
	}
}
