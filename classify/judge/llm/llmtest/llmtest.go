// Package llmtest plays the model's side of package llm: an http.RoundTripper that answers what it is told to, in the wire form of the API that is
// asked, and keeps every request for golden files.
package llmtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Reply is one answer of a scripted model.
type Reply struct {
	Text                      string
	InputTokens, OutputTokens int               // 0 and 0: a quarter of the bytes
	Model                     string            // that says it answered; "" is the one that was asked
	Cut                       bool              // it ran out of tokens
	Refusal                   string            // the model declines, with these words
	Status                    int               // an HTTP error instead, with Text as its message
	Field                     string            // that the error blames (OpenAI's "param")
	Header                    map[string]string // of the answer, such as Retry-After
	Body                      []byte            // the answer's body as it is, instead of all this
	Err                       error             // no answer at all
}

// Recorded is a request as it was sent.
type Recorded struct {
	Method, Host, Path string
	Header             http.Header
	Body               []byte
}

// Model is a scripted model. It is safe for concurrent use.
type Model struct {
	mu       sync.Mutex
	script   []Reply
	say      func(Recorded) Reply
	requests []Recorded
}

// Script answers with these replies, in their order; the last one is given again and again.
func Script(replies ...Reply) *Model { return &Model{script: replies} }

// Func answers each request with what say makes of it. say may be called by several requests at once.
func Func(say func(Recorded) Reply) *Model { return &Model{say: say} }

// Requests are those that came, in their order.
func (m *Model) Requests() []Recorded {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// RoundTrip implements http.RoundTripper.
func (m *Model) RoundTrip(req *http.Request) (*http.Response, error) {
	rec := Recorded{Method: req.Method, Host: req.URL.Host, Path: req.URL.Path, Header: req.Header.Clone()}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		rec.Body = body
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	reply := m.next(rec)
	if reply.Err != nil {
		return nil, reply.Err
	}
	return respond(req, rec, reply), nil
}

func (m *Model) next(rec Recorded) Reply {
	m.mu.Lock()
	m.requests = append(m.requests, rec)
	n := len(m.requests)
	m.mu.Unlock()
	if m.say != nil {
		return m.say(rec)
	}
	if len(m.script) == 0 {
		return Reply{Err: errors.New("the scripted model has nothing to say")}
	}
	return m.script[min(n, len(m.script))-1]
}

func respond(req *http.Request, rec Recorded, r Reply) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for k, v := range r.Header {
		h.Set(k, v)
	}
	body := r.Body
	if body == nil {
		body = encode(rec, r)
	}
	status := cmp.Or(r.Status, http.StatusOK)
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// Asked is what both APIs' requests have in common.
type Asked struct {
	Model  string
	System string
	Turns  []string        // their texts
	Tool   string          // that must be called (Anthropic)
	Schema json.RawMessage // that the answer shall have
}

// Asked reads a request of either API.
func (r Recorded) Asked() Asked {
	var q struct {
		Model    string          `json:"model"`
		System   json.RawMessage `json:"system"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		ToolChoice   struct{ Name string } `json:"tool_choice"`
		OutputConfig struct {
			Format struct{ Schema json.RawMessage } `json:"format"`
		} `json:"output_config"`
		ResponseFormat struct {
			JSONSchema struct{ Schema json.RawMessage } `json:"json_schema"`
		} `json:"response_format"`
	}
	_ = json.Unmarshal(r.Body, &q)
	a := Asked{Model: q.Model, System: text(q.System), Tool: q.ToolChoice.Name, Schema: q.OutputConfig.Format.Schema}
	if a.Schema == nil {
		a.Schema = q.ResponseFormat.JSONSchema.Schema
	}
	for _, m := range q.Messages {
		if m.Role == "system" {
			a.System = text(m.Content)
			continue
		}
		a.Turns = append(a.Turns, text(m.Content))
	}
	return a
}

// text reads a message's content: a string, or a list of blocks.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []struct{ Text string }
	_ = json.Unmarshal(raw, &blocks)
	var b strings.Builder
	for _, block := range blocks {
		b.WriteString(block.Text)
	}
	return b.String()
}

func encode(rec Recorded, r Reply) []byte {
	anthropic := strings.HasSuffix(rec.Path, "/messages")
	if r.InputTokens+r.OutputTokens == 0 {
		r.InputTokens, r.OutputTokens = (len(rec.Body)+3)/4, (len(r.Text)+3)/4
	}
	asked := rec.Asked()
	r.Model = cmp.Or(r.Model, asked.Model)
	var v any
	switch {
	case anthropic && r.Status >= 400:
		v = object{"type": "error", "error": object{"type": "invalid_request_error", "message": r.Text}, "request_id": "req_1"}
	case anthropic:
		v = message(r, asked.Tool)
	case r.Status >= 400:
		v = object{"error": object{"message": r.Text, "type": "invalid_request_error", "param": r.Field, "code": nil}}
	default:
		v = completion(r)
	}
	body, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error())
	}
	return body
}

type object map[string]any

func message(r Reply, tool string) object {
	stop, block := "end_turn", object{"type": "text", "text": r.Text}
	switch {
	case r.Refusal != "":
		stop, block = "refusal", object{"type": "text", "text": r.Refusal}
	case r.Cut:
		stop = "max_tokens"
	case tool != "" && json.Valid([]byte(r.Text)):
		stop, block = "tool_use", object{"type": "tool_use", "id": "toolu_1", "name": tool, "input": json.RawMessage(r.Text)}
	}
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": r.Model, "content": []object{block}, "stop_reason": stop, "stop_sequence": nil,
		"usage": object{"input_tokens": r.InputTokens, "output_tokens": r.OutputTokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
	}
}

func completion(r Reply) object {
	finish, msg := "stop", object{"role": "assistant", "content": r.Text, "refusal": nil}
	switch {
	case r.Refusal != "":
		msg = object{"role": "assistant", "content": nil, "refusal": r.Refusal}
	case r.Cut:
		finish = "length"
	}
	return object{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1790000000, "model": r.Model,
		"choices": []object{{"index": 0, "message": msg, "finish_reason": finish, "logprobs": nil}},
		"usage":   object{"prompt_tokens": r.InputTokens, "completion_tokens": r.OutputTokens, "total_tokens": r.InputTokens + r.OutputTokens},
	}
}

// Golden is a request as a golden file holds it: what it asks, with the key blanked, and its body indented. The SDK's own headers (its version, the
// machine) are left out.
func (r Recorded) Golden() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s https://%s%s\n", r.Method, r.Host, r.Path)
	for _, name := range []string{"Anthropic-Version", "Authorization", "Content-Type", "X-Api-Key"} {
		v := r.Header.Get(name)
		if v != "" && (name == "Authorization" || name == "X-Api-Key") {
			scheme, _, bearer := strings.Cut(v, " ")
			v = "[key]"
			if bearer {
				v = scheme + " [key]"
			}
		}
		if v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	b.WriteByte('\n')
	if err := json.Indent(&b, r.Body, "", "  "); err != nil {
		b.Write(r.Body)
	}
	b.WriteByte('\n')
	return b.Bytes()
}
