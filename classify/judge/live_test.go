package judge

import (
	"cmp"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/classify/judge/llm"
)

// TestLive asks a true model, for whoever has a key: PAWL_JUDGE_LIVE names the protocol (openai or anthropic), PAWL_JUDGE_MODEL the model, PAWL_JUDGE_KEY the
// key, PAWL_JUDGE_URL another address. It costs three to six requests of about 2,000 tokens.
func TestLive(t *testing.T) {
	api := os.Getenv("PAWL_JUDGE_LIVE")
	if api == "" {
		t.Skip("set PAWL_JUDGE_LIVE=openai or anthropic, PAWL_JUDGE_MODEL and PAWL_JUDGE_KEY to ask a true model; it costs a few thousand tokens")
	}
	c, err := llm.New(llm.Options{API: api, BaseURL: os.Getenv("PAWL_JUDGE_URL"), Model: os.Getenv("PAWL_JUDGE_MODEL"), Key: os.Getenv("PAWL_JUDGE_KEY"),
		Temperature: new(0.0), Timeout: 5 * time.Minute, MaxTokens: 4096})
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(slog.New(slog.DiscardHandler), c, Options{Taxonomy: taxonomy, MaxTokens: 4096})
	if err != nil {
		t.Fatal(err)
	}
	op, err := p.Judge(t.Context(), asks(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range op.Votes {
		t.Logf("vote %d by %s, %d tokens, %d requests: %s %s", i+1, v.Model, v.Tokens, v.Asked, cmp.Or(string(v.Label), "void: "+v.Void), v.Why)
		if v.Void != "" && v.Asked > 1 {
			t.Errorf("vote %d is in no form: %s", i+1, v.Void)
		}
		if v.Tokens == 0 || v.Model == "" {
			t.Errorf("vote %d tells no tokens or no model", i+1)
		}
	}
	t.Logf("%s %s %.2f: %s", op.Outcome, op.Label, op.Confidence, op.Why)
}
