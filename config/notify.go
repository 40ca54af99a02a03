package config

// Notify says which chat room hears of failures.
type Notify struct {
	URL  Secret   `yaml:"url" required:"true" doc:"address that takes what Slack's incoming webhooks take; whoever has it may speak in the room"`
	Min  Severity `yaml:"min" null:"blocking" doc:"the least severity that is told; warning tells also of what no rule explains"`
	Link string   `yaml:"link" null:"no links" doc:"address of the web UI as people reach it"`
}
