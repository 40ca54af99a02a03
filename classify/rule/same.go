package rule

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func steady(v jsontext.Value, inValues bool) string { return classify.Steady(v, inValues) }

func resultText(c *trajectory.ToolCall) (string, bool) { return classify.Answer(c) }

func failed(c *trajectory.ToolCall) bool { return classify.Failed(c) }
