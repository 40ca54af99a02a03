package main

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// providerWords are the providers that are taken from the list, in pawl's own words for them. Of the routers and hosts these are the ones
// that agents are run on; whatever else the list has is left to pawl.yaml.
var providerWords = map[string]string{
	"anthropic": "anthropic", "openai": "openai", "google": "google", "aws": "aws.bedrock", "mistral": "mistral", "x-ai": "x_ai",
	"deepseek": "deepseek", "cohere": "cohere", "groq": "groq", "moonshotai": "moonshotai", "minimax": "minimax", "zai": "zai",
	"cerebras": "cerebras", "openrouter": "openrouter",
}

// routed are the models that are taken of a router that resells hundreds, by the beginning of their names.
var routed = []string{
	"anthropic/claude-haiku", "anthropic/claude-opus", "anthropic/claude-sonnet", "anthropic/claude-fable", "deepseek/deepseek-chat", "deepseek/deepseek-r1", "deepseek/deepseek-v",
	"google/gemini-2.5", "google/gemini-3", "minimax/minimax-m", "mistralai/devstral", "mistralai/mistral-large", "mistralai/mistral-medium", "moonshotai/kimi-k",
	"openai/gpt-4.1", "openai/gpt-4o", "openai/gpt-5", "openai/gpt-6", "openai/gpt-oss", "openai/o3", "openai/o4", "qwen/qwen3", "x-ai/grok-4", "z-ai/glm",
}

// noText names models that are no agents' models, and variants that are free or priced apart.
var noText = regexp.MustCompile(`embed|rerank|tts|transcribe|whisper|image|ocr|moderation|guard|voxtral|davinci|curie|babbage|^ada$|:free|:exacto|:nitro|veo|omni|sonic|voice|lyria|stable|flux`)

// notSold are open models that the maker's list has and the maker does not sell.
var notSold = map[string]*regexp.Regexp{"openai": regexp.MustCompile(`gpt-oss`), "google": regexp.MustCompile(`gemma|claude`)}

// entry is one line of prices.json; the package classify/price reads it.
type entry struct {
	Provider string   `json:"provider"`
	Names    []string `json:"names"`
	From     string   `json:"from,omitempty"`
	rate
	Tiers []tier `json:"tiers,omitempty"`
}

type rate struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cache_read,omitempty"`
	CacheWrite *float64 `json:"cache_write,omitempty"`
	AudioIn    *float64 `json:"audio_in,omitempty"`
	AudioOut   *float64 `json:"audio_out,omitempty"`
}

type tier struct {
	Above int64 `json:"above"`
	rate
}

func modelsOf(providers []provider) []entry {
	var out []entry
	taken := map[string]string{} // provider and name -> the model that has it
	for _, p := range providers {
		word, ok := providerWords[p.ID]
		if !ok {
			continue
		}
		for _, m := range p.Models {
			if why := unfit(word, m); why != "" {
				fmt.Fprintf(os.Stderr, "left out: %s %s: %s\n", p.ID, m.ID, why)
				continue
			}
			names := slices.DeleteFunc(namesOf(word, m), func(n string) bool {
				owner := taken[word+" "+n]
				if owner != "" && owner != m.ID {
					fmt.Fprintf(os.Stderr, "left out: %s %s: its name %s is that of %s\n", p.ID, m.ID, n, owner)
				}
				taken[word+" "+n] = cmp.Or(owner, m.ID)
				return owner != "" && owner != m.ID
			})
			for _, s := range m.Prices {
				if len(names) > 0 {
					out = append(out, entryOf(word, names, s))
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Names[0], b.Names[0]), cmp.Compare(a.From, b.From))
	})
	return out
}

// unfit says why a model is not taken; "" when it is.
func unfit(word string, m model) string {
	if noText.MatchString(strings.ToLower(m.ID)) {
		return "no model of agents"
	}
	if re := notSold[word]; re != nil && re.MatchString(m.ID) {
		return "another one sells it"
	}
	if word == "openrouter" && !slices.ContainsFunc(routed, func(r string) bool { return strings.HasPrefix(m.ID, r) }) {
		return "a router's rarer model"
	}
	for _, s := range m.Prices {
		_, in := s.Prices["input_mtok"]
		_, out := s.Prices["output_mtok"]
		_, thinks := s.Prices["output_reasoning_mtok"]
		_, fee := s.Prices["requests_kcount"]
		switch {
		case !in || !out:
			return "no price of input and output"
		case s.Hourly:
			return "its price depends on the hour"
		case thinks || fee:
			return "it is not priced by input and output alone"
		}
	}
	if strings.Contains(m.ID, "audio") && m.Prices[0].Prices["input_audio_mtok"].Base == 0 {
		return "no price of audio"
	}
	return ""
}

var bedrockVersion = regexp.MustCompile(`(-v\d+)?(:\d+)?$`)

// namesOf are the names of a model, sorted. Bedrock's rules are about parts of ids; there the id itself is the name, of which regions and
// versions are taken off by whoever looks it up.
func namesOf(word string, m model) []string {
	tuned := strings.HasPrefix(m.ID, "ft:")
	names := slices.DeleteFunc(m.Match.names(), func(n string) bool { return strings.HasPrefix(n, "ft:") != tuned })
	if word == "aws.bedrock" {
		id := strings.TrimPrefix(m.ID, "regional.")
		names = []string{bedrockVersion.ReplaceAllString(id, "")}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return noText.MatchString(n) })
	slices.Sort(names)
	return slices.Compact(names)
}

func entryOf(word string, names []string, s schedule) entry {
	e := entry{Provider: word, Names: names, From: s.From, rate: rateOf(s, -1)}
	var starts []int64
	for _, p := range s.Prices {
		for _, t := range p.Tiers {
			starts = append(starts, t.Start)
		}
	}
	slices.Sort(starts)
	for _, above := range slices.Compact(starts) {
		e.Tiers = append(e.Tiers, tier{above, rateOf(s, above)})
	}
	return e
}

// rateOf is what holds above a size of the input, -1 for none.
func rateOf(s schedule, above int64) rate {
	at := func(key string) *float64 {
		p, ok := s.Prices[key]
		if !ok {
			return nil
		}
		v := p.Base
		for _, t := range p.Tiers {
			if above >= t.Start {
				v = t.Price
			}
		}
		return &v
	}
	return rate{Input: *at("input_mtok"), Output: *at("output_mtok"), CacheRead: at("cache_read_mtok"), CacheWrite: at("cache_write_mtok"),
		AudioIn: at("input_audio_mtok"), AudioOut: at("output_audio_mtok")}
}
