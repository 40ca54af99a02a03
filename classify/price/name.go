package price

import (
	"regexp"
	"slices"
	"strings"
)

// The providers whose prices the list has, in its words.
const (
	bedrock    = "aws.bedrock"
	openai     = "openai"
	google     = "google"
	anthropic  = "anthropic"
	openrouter = "openrouter"
	azure      = "azure" // it has no prices of its own here: see azureModel
)

// words are the other names of providers: as spans have them, and as routers write them before a model's name.
var words = map[string]string{
	"azure.ai.openai": azure, "azure_ai": azure, "azure_openai": azure, "azure.ai.inference": azure,
	"bedrock": bedrock, "bedrock_converse": bedrock, "amazon-bedrock": bedrock, "amazon": bedrock, "aws": bedrock,
	"gcp.gemini": google, "gcp.vertex_ai": google, "gcp.gen_ai": google, "gemini": google, "googleai": google, "vertexai": google, "vertex_ai": google,
	"vertex_ai_beta": google, "google-vertex": google, "google_genai": google, "google-gla": google, "google_vertexai": google,
	"mistralai": "mistral", "mistral_ai": "mistral", "x-ai": "x_ai", "xai": "x_ai", "grok": "x_ai", "cohere_chat": "cohere", "moonshot": "moonshotai",
	"z-ai": "zai", "z.ai": "zai", "openai_responses": openai,
}

// makers sell their own models, each under names that nobody else uses for another. Of the sole ones nobody but clouds sells them, so that
// the maker's price is right even where the provider that a span names is a proxy's or a program's own word.
var (
	makers = []string{anthropic, openai, google, "x_ai", "mistral", "deepseek", "cohere", "moonshotai", "minimax", "zai"}
	sole   = makers[:4]
)

// hosts sell other makers' models at prices of their own: where they do not list a model, nobody else's price is taken.
var hosts = []string{bedrock, azure, openrouter, "groq", "cerebras"}

func listOf(provider string) string {
	p := strings.ToLower(strings.TrimSpace(provider))
	if w, ok := words[p]; ok {
		return w
	}
	return p
}

// Reasons why a name has no price, beside that nobody has listed it.
const (
	whyARN   = "its ARN does not name a model"
	whyTuned = "a fine-tuned model has a price of its own"
	whyAzure = "the name of an Azure deployment does not tell its model"
)

// find looks up a model's entries; nil when it has no price, with the reason where there is one to tell.
func (t *Table) find(provider, model string) (es []*entry, why string) {
	name := strings.ToLower(strings.TrimSpace(model))
	list := listOf(provider)
	switch {
	case len(name) > maxName:
		return nil, ""
	case strings.HasPrefix(name, "arn:"):
		return t.arn(name)
	case bedrockID.MatchString(name) && list != openrouter:
		return t.bedrock(name), ""
	}
	if es := t.listed(list, name); es != nil {
		return es, ""
	}
	if prefix, rest, ok := routedName(name); ok && (!slices.Contains(hosts, list) || prefix == list) {
		if list == azure || prefix == azure {
			return t.azureModel(rest)
		}
		return t.find(prefix, rest)
	}
	switch {
	case list == azure:
		return t.azureModel(name)
	case strings.HasPrefix(name, "ft:"):
		if es := t.listed(openai, name); es != nil {
			return es, ""
		}
		return nil, whyTuned
	case slices.Contains(hosts, list):
		return nil, ""
	case list == "":
		return t.ofMakers(makers, name), ""
	}
	return t.ofMakers(sole, name), ""
}

// maxName bounds what is looked up, in bytes.
const maxName = 512

// listed looks up a name in one provider's list, taking off one after the other what a release adds to it.
func (t *Table) listed(list, name string) []*entry {
	if tuned, ok := strings.CutPrefix(name, "ft:"); ok { // ft:gpt-4o-2024-08-06:acme::id
		base, _, _ := strings.Cut(tuned, ":")
		name = "ft:" + base
	}
	for {
		if es := t.models[key{list, name}]; es != nil {
			return es
		}
		cut := releaseOf(list).ReplaceAllString(name, "")
		if cut == name || cut == "" {
			return nil
		}
		name = cut
	}
}

// release is what the name of a release has behind the model's: its date, or "latest"; clouds number them too.
var (
	release      = regexp.MustCompile(`([-@:]latest|@default|[-@]20\d\d-?[01]\d-?[0-3]\d)$`)
	cloudRelease = regexp.MustCompile(`([-@:]latest|@default|[-@]20\d\d-?[01]\d-?[0-3]\d|-v\d+(:\d+(:\d+k)?)?|:\d+(:\d+k)?|-00\d|-[01]\d-20\d\d)$`)
)

func releaseOf(list string) *regexp.Regexp {
	if list == bedrock || list == google || list == anthropic { // Vertex AI has claude-3-5-sonnet-v2@20241022
		return cloudRelease
	}
	return release
}

// ofMakers looks a name up in the makers' own lists. Where two have it, it is nobody's.
func (t *Table) ofMakers(of []string, name string) (found []*entry) {
	for _, maker := range of {
		if es := t.listed(maker, name); es != nil {
			if found != nil && found[0] != es[0] {
				return nil
			}
			found = es
		}
	}
	return found
}

// routedName splits what a router writes: the provider's word before the model's name.
func routedName(name string) (provider, rest string, ok bool) {
	if i := strings.LastIndex(name, "models/"); i >= 0 && (i == 0 || name[i-1] == '/') { // publishers/google/models/gemini-2.5-pro
		head, rest := name[:i], name[i+len("models/"):]
		if _, publisher, ok := strings.Cut(head, "publishers/"); ok && publisher != "" {
			return listOf(strings.TrimSuffix(publisher, "/")), rest, rest != ""
		}
		return google, rest, head == "" && rest != ""
	}
	head, rest, ok := strings.Cut(name, "/")
	list := listOf(head)
	if !ok || rest == "" || !slices.Contains(makers, list) && !slices.Contains(hosts, list) {
		return "", "", false
	}
	if list == bedrock { // bedrock/us-east-1/converse/anthropic.claude-...
		rest = rest[strings.LastIndexByte(rest, '/')+1:]
	}
	return list, rest, rest != ""
}

var dated = regexp.MustCompile(`-20\d\d-[01]\d-[0-3]\d$`)

// azureModel prices what Azure answered by: a deployment may have any name, but the answer names the dated model.
func (t *Table) azureModel(name string) ([]*entry, string) {
	if dated.MatchString(name) {
		if es := t.listed(openai, name); es != nil {
			return es, ""
		}
	}
	return nil, whyAzure
}

// bedrockID is the shape of Bedrock's ids of models and inference profiles: region, maker, model.
var bedrockID = regexp.MustCompile(`^((us|eu|apac|jp|au|ca|sa|me|global)\.)?(ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshotai|nvidia|openai|qwen|writer|zai)\.[a-z0-9]`)

var region = regexp.MustCompile(`^[a-z]{2,6}\.`)

// bedrock looks up an id. A global profile may have a price of its own; every region has the same.
func (t *Table) bedrock(id string) []*entry {
	if es := t.listed(bedrock, id); es != nil {
		return es
	}
	if m := bedrockID.FindStringSubmatch(id); m != nil && m[1] != "" {
		return t.listed(bedrock, region.ReplaceAllString(id, ""))
	}
	return nil
}

// arn looks up what an ARN of Bedrock names: arn:aws:bedrock:REGION:ACCOUNT:inference-profile/eu.anthropic.claude-...
func (t *Table) arn(name string) ([]*entry, string) {
	parts := strings.SplitN(name, ":", 6)
	if len(parts) == 6 && parts[2] == "bedrock" {
		kind, id, _ := strings.Cut(parts[5], "/")
		if (kind == "inference-profile" || kind == "foundation-model") && bedrockID.MatchString(id) {
			return t.bedrock(id), ""
		}
	}
	return nil, whyARN
}
