package test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/home"
)

// config imports nothing of ours and so keeps lists of its own; these tests hold them to the truth.

func TestConfigKnowsTheLabels(t *testing.T) {
	var truth []string
	for _, l := range classify.Labels() {
		truth = append(truth, string(l))
	}
	slices.Sort(truth)
	if got := config.Labels(); !slices.Equal(got, truth) {
		t.Errorf("config has the labels\n%q\nclassify has\n%q", got, truth)
	}
}

// TestConfigKnowsTheRules: a rule's parameters and their defaults are its own, and pawl.yaml shows the same.
func TestConfigKnowsTheRules(t *testing.T) {
	got := asJSON(t, config.Default().Rules.Parameters())
	truth := map[string]any{}
	for _, r := range rule.All() {
		if r.Params != nil {
			truth[r.Name] = asJSON(t, r.Params)
		}
	}
	if !reflect.DeepEqual(got, any(truth)) {
		t.Errorf("config has the rules\n%v\nclassify/rule has\n%v", got, truth)
	}
}

func asJSON(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestConfigKnowsTheHomes(t *testing.T) {
	if got := config.HomeKind("").Values(); !slices.Equal(got, home.Kinds()) {
		t.Errorf("config has the kinds %q, ingest/home has %q", got, home.Kinds())
	}
}
