package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

// anthropic asks by messages. An answer in a form is asked for by output_config, and of models that do not know it by a tool that must be called.
func (c *Client) anthropic() func(context.Context, Request, map[string]bool) (Answer, error) {
	opts := []option.RequestOption{
		option.WithBaseURL(c.o.BaseURL), option.WithHTTPClient(c.http), option.WithMaxRetries(0), option.WithRequestTimeout(c.o.Timeout),
		option.WithoutOpenTelemetry(), // or its spans would be sent with whatever exporter the process has
	}
	if c.o.Key != "" {
		opts = append(opts, option.WithAPIKey(c.o.Key))
	}
	service := anthropic.NewMessageService(opts...)
	return func(ctx context.Context, r Request, without map[string]bool) (Answer, error) {
		got, err := service.New(ctx, c.anthropicParams(r, without))
		if api, ok := errors.AsType[*anthropic.Error](err); ok {
			return Answer{}, c.failed(api.Response, api.StatusCode, anthropicWords(api.RawJSON()), "")
		}
		if err != nil {
			return Answer{}, c.unreached(err)
		}
		return c.anthropicAnswer(got)
	}
}

func (c *Client) anthropicParams(r Request, without map[string]bool) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: c.o.Model, MaxTokens: int64(c.o.MaxTokens)}
	if r.System != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.System}}
	}
	for _, t := range r.Turns {
		if t.Role == RoleAssistant {
			p.Messages = append(p.Messages, anthropic.NewAssistantMessage(anthropic.NewTextBlock(t.Text)))
		} else {
			p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(t.Text)))
		}
	}
	if c.o.Temperature != nil && !without[fieldTemperature] {
		p.Temperature = anthropic.Float(*c.o.Temperature)
	}
	switch {
	case r.Schema != nil && without[fieldFormat]:
		tool := anthropic.ToolParam{Name: r.Name, Description: anthropic.String("Gives the answer."), InputSchema: param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(r.Schema))}
		p.Tools = []anthropic.ToolUnionParam{{OfTool: &tool}}
		p.ToolChoice = anthropic.ToolChoiceParamOfTool(r.Name)
	case r.Schema != nil:
		format, _ := json.Marshal(struct { // raw: models answer in the order of its properties
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		}{"json_schema", r.Schema})
		p.OutputConfig.Format = param.Override[anthropic.JSONOutputFormatParam](json.RawMessage(format))
	}
	return p
}

func (c *Client) anthropicAnswer(got *anthropic.Message) (Answer, error) {
	if got == nil || got.Type != "message" {
		return Answer{}, c.unreached(errors.New("its answer is no message: is the base url right?"))
	}
	u := got.Usage
	a := Answer{
		Model: got.Model, Cut: got.StopReason == anthropic.StopReasonMaxTokens || got.StopReason == anthropic.StopReasonModelContextWindowExceeded,
		InputTokens: int(u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens), OutputTokens: int(u.OutputTokens),
	}
	var text strings.Builder
	for _, block := range got.Content {
		switch block.Type {
		case "text":
			text.WriteString(block.Text)
		case "tool_use":
			a.Text = string(block.Input)
		}
	}
	if a.Text == "" {
		a.Text = text.String()
	}
	switch {
	case got.StopReason == anthropic.StopReasonRefusal:
		return Answer{}, c.declined("it stopped with refusal", a)
	case a.Text == "" && !a.Cut:
		return Answer{}, c.declined(fmt.Sprintf("its answer is empty (%s)", got.StopReason), a)
	}
	return a, nil
}

// anthropicWords takes the message out of an error's body; the body itself if it has none.
func anthropicWords(body string) string {
	var e struct {
		Error struct{ Message string } `json:"error"`
	}
	if json.Unmarshal([]byte(body), &e) == nil && e.Error.Message != "" {
		return e.Error.Message
	}
	return body
}
