package trajectory

import (
	"cmp"
	"math"
	"strconv"
)

// answerBody is what a provider's or framework's response body says beside its messages. Emitters that put the whole body into one
// attribute often lose these facts elsewhere, above all when the answer was streamed.
type answerBody struct {
	ID     string
	Model  string
	Finish string
	Usage  Usage
	// CacheApart says that the provider counts cached tokens beside the input, not in it: Anthropic, alone or on Bedrock.
	CacheApart bool
}

// readAnswerBody reads a response body of OpenAI (chat, Responses), Anthropic, Bedrock, Gemini or LangChain.
func readAnswerBody(text string) answerBody {
	if kindOf(text) == '[' { // the bridge for OpenAI Agents lists the one response
		text = soleElement(text)
		if readObject(text).get("choices", "candidates") == "" {
			return answerBody{}
		}
	}
	if kindOf(text) != '{' {
		return answerBody{}
	}
	o := readObject(text)
	if g := o.get("generations"); g != "" {
		return generationBody(g)
	}
	usage := o.object("usage", "usageMetadata", "usage_metadata")
	return answerBody{
		ID:         o.str("id", "responseId", "response_id"),
		Model:      o.str("model", "modelVersion", "model_version"),
		Finish:     bodyFinish(o),
		Usage:      usageOf(usage),
		CacheApart: usage.get("cache_read_input_tokens", "cacheReadInputTokens") != "" && !cacheWithin(usage),
	}
}

// cacheWithin says whether the provider's own total shows that its input count has the cached tokens in it. Anthropic's body has no total.
func cacheWithin(usage object) bool {
	u, total := usageOf(usage), usage.count("totalTokens", "total_tokens")
	return total != nil && u.Input != nil && u.Output != nil && *total == *u.Input+*u.Output && tokens(u.CacheRead)+tokens(u.CacheWrite) > 0
}

func bodyFinish(o object) string {
	if s := o.str("stop_reason", "stopReason", "finish_reason", "finishReason"); s != "" {
		return s
	}
	if s := o.object("finishReason").str("unified", "raw"); s != "" { // the AI SDK's own, beside the provider's
		return s
	}
	first := readObject(firstElement(o.get("choices", "candidates")))
	if s := first.str("finish_reason", "finishReason"); s != "" {
		return s
	}
	if s := o.object("incomplete_details").str("reason"); s != "" {
		return s
	}
	if o.str("object") == "response" {
		return o.str("status")
	}
	return ""
}

// generationBody reads LangChain's LLMResult: generations[0][0].message.kwargs.
func generationBody(generations string) answerBody {
	first := firstElement(generations)
	if kindOf(first) == '[' {
		first = firstElement(first)
	}
	g := readObject(first)
	m := g.object("message")
	if k := m.object("kwargs"); k != nil {
		m = k
	}
	body := messageBody(m)
	body.Finish = cmp.Or(body.Finish, g.object("generation_info", "generationInfo").str("finish_reason"))
	return body
}

// messageBody reads the fields of LangChain's AIMessage.
func messageBody(m object) answerBody {
	meta := m.object("response_metadata")
	return answerBody{
		ID:     m.str("id"),
		Model:  meta.str("model_name", "model"),
		Finish: meta.str("finish_reason", "stop_reason", "stopReason"),
		Usage:  usageOf(m.object("usage_metadata")),
	}
}

// usageOf reads a usage object in any spelling.
func usageOf(u object) Usage {
	in := u.object("prompt_tokens_details", "input_tokens_details", "input_token_details", "inputTokenDetails", "promptTokensDetails")
	out := u.object("completion_tokens_details", "output_tokens_details", "output_token_details", "outputTokenDetails")
	return Usage{
		AudioIn:    cmp.Or(in.count("audio_tokens", "audio", "audioTokens"), geminiAudio(u.get("promptTokensDetails", "prompt_tokens_details"))),
		AudioOut:   cmp.Or(out.count("audio_tokens", "audio", "audioTokens"), geminiAudio(u.get("candidatesTokensDetails", "candidates_tokens_details"))),
		Input:      u.count("prompt_tokens", "input_tokens", "inputTokens", "promptTokens", "promptTokenCount", "prompt_token_count"),
		Output:     u.count("completion_tokens", "output_tokens", "outputTokens", "completionTokens", "candidatesTokenCount", "candidates_token_count"),
		CacheRead:  cmp.Or(u.count("cache_read_input_tokens", "cacheReadInputTokens", "cachedContentTokenCount", "cachedInputTokens"), in.count("cached_tokens", "cache_read", "cacheReadTokens")),
		CacheWrite: cmp.Or(u.count("cache_creation_input_tokens", "cacheWriteInputTokens"), in.count("cache_creation", "cacheWriteTokens")),
		Reasoning:  cmp.Or(out.count("reasoning_tokens", "reasoning", "reasoningTokens"), u.count("thoughtsTokenCount", "reasoningTokens")),
	}
}

// geminiAudio finds the audio tokens in a list of counts by modality: [{"modality": "AUDIO", "tokenCount": 12}].
func geminiAudio(list string) *int64 {
	if kindOf(list) != '[' {
		return nil
	}
	for e := range elements(list) {
		if o := readObject(e); o.str("modality") == "AUDIO" {
			return o.count("tokenCount", "token_count")
		}
	}
	return nil
}

// count returns the first of the names that holds a whole number, as a number or as text.
func (o object) count(names ...string) *int64 {
	for _, n := range names {
		raw := o.get(n)
		if raw == "" {
			continue
		}
		text := raw
		if s, ok := unquote(raw); ok {
			text = s
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0 && f < math.MaxInt64 {
			n := int64(f)
			return &n
		}
	}
	return nil
}

// or fills what is missing of a usage from another.
func (u Usage) or(other Usage) Usage {
	return Usage{
		Input:      cmp.Or(u.Input, other.Input),
		Output:     cmp.Or(u.Output, other.Output),
		CacheRead:  cmp.Or(u.CacheRead, other.CacheRead),
		CacheWrite: cmp.Or(u.CacheWrite, other.CacheWrite),
		Reasoning:  cmp.Or(u.Reasoning, other.Reasoning),
		AudioIn:    cmp.Or(u.AudioIn, other.AudioIn),
		AudioOut:   cmp.Or(u.AudioOut, other.AudioOut),
		CostUSD:    cmp.Or(u.CostUSD, other.CostUSD),
	}
}
