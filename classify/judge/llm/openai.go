package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// openAI asks by chat completions: of OpenAI's protocols the one that other servers speak as well.
func (c *Client) openAI() func(context.Context, Request, map[string]bool) (Answer, error) {
	opts := []option.RequestOption{option.WithBaseURL(c.o.BaseURL), option.WithHTTPClient(c.http), option.WithMaxRetries(0), option.WithRequestTimeout(c.o.Timeout)}
	if c.o.Key != "" {
		opts = append(opts, option.WithAPIKey(c.o.Key))
	}
	service := openai.NewChatCompletionService(opts...)
	return func(ctx context.Context, r Request, without map[string]bool) (Answer, error) {
		got, err := service.New(ctx, c.openAIParams(r, without))
		if api, ok := errors.AsType[*openai.Error](err); ok {
			return Answer{}, c.failed(api.Response, api.StatusCode, api.Message, api.Param)
		}
		if err != nil {
			return Answer{}, c.unreached(err)
		}
		return c.openAIAnswer(got)
	}
}

func (c *Client) openAIParams(r Request, without map[string]bool) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: c.o.Model}
	if r.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(r.System))
	}
	for _, t := range r.Turns {
		if t.Role == RoleAssistant {
			p.Messages = append(p.Messages, openai.AssistantMessage(t.Text))
		} else {
			p.Messages = append(p.Messages, openai.UserMessage(t.Text))
		}
	}
	if without[fieldLimit] != strings.HasSuffix(c.Host(), "openai.com") { // the newer name, save where only the older one is known
		p.MaxCompletionTokens = openai.Int(int64(c.o.MaxTokens))
	} else {
		p.MaxTokens = openai.Int(int64(c.o.MaxTokens))
	}
	if c.o.Temperature != nil && !without[fieldTemperature] {
		p.Temperature = openai.Float(*c.o.Temperature)
	}
	if r.Seed != nil && !without[fieldSeed] {
		p.Seed = openai.Int(*r.Seed)
	}
	switch {
	case r.Schema != nil && without[fieldFormat]:
		p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	case r.Schema != nil:
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: r.Name, Strict: openai.Bool(true), Schema: json.RawMessage(r.Schema), // raw: models answer in the order of its properties
		}}
	}
	return p
}

func (c *Client) openAIAnswer(got *openai.ChatCompletion) (Answer, error) {
	if got == nil || len(got.Choices) == 0 {
		return Answer{}, c.unreached(errors.New("its answer has no choice in it: is the base url right?"))
	}
	first := got.Choices[0]
	a := Answer{
		Text: first.Message.Content, Model: got.Model, Cut: first.FinishReason == "length",
		InputTokens: int(got.Usage.PromptTokens), OutputTokens: int(got.Usage.CompletionTokens),
	}
	switch {
	case first.Message.Refusal != "":
		return Answer{}, c.declined(first.Message.Refusal, a)
	case first.FinishReason == "content_filter":
		return Answer{}, c.declined("its content filter stopped it", a)
	case a.Text == "" && !a.Cut:
		return Answer{}, c.declined(fmt.Sprintf("its answer is empty (%s)", first.FinishReason), a)
	}
	return a, nil
}
