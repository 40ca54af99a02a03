package trajectory

import "strings"

// providerOf folds the names of a model's provider; "" for words that name a framework and not a provider.
func providerOf(raw string) string {
	name := strings.ToLower(strings.TrimSpace(raw))
	switch name {
	case "", "langchain", "langgraph", "strands-agents", "autogen", "microsoft.agent_framework", "github", "mastra", "custom", "unknown", "none":
		return ""
	case "azure_openai", "azure", "az.ai.openai", "azure.openai":
		return "azure.ai.openai"
	case "xai":
		return "x_ai"
	case "bedrock", "aws", "amazon", "amazon_bedrock", "aws_bedrock", "amazon-bedrock":
		return "aws.bedrock"
	case "google", "gemini", "google-gla", "google_genai", "google-genai", "google.generative-ai", "googleai":
		return "gcp.gemini"
	case "vertex_ai", "vertexai", "google-vertex", "google.vertex", "gcp.vertex.agent":
		return "gcp.vertex_ai"
	}
	for _, vendor := range []string{"openai", "anthropic", "mistral", "cohere"} {
		if rest, ok := strings.CutPrefix(name, vendor); ok && (rest == "" || rest[0] == '.' || rest[0] == '_') {
			return vendor
		}
	}
	return name
}
