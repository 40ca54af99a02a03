package main

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/classify/judge/llm/llmtest"
)

// serveModel is the scripted model as a server.
func serveModel(w http.ResponseWriter, r *http.Request) {
	res, err := llmtest.Func(modelSays).RoundTrip(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body) // a client that is gone needs no answer
}

func modelSays(r llmtest.Recorded) llmtest.Reply {
	if r.Header.Get("Authorization") != "Bearer secret-key" {
		return llmtest.Reply{Status: http.StatusUnauthorized, Text: "who are you?"}
	}
	asked := r.Asked()
	said := asked.Turns[len(asked.Turns)-1]
	var answer any = map[string]any{"verdicts": verdictsOn(said)}
	if strings.Contains(said, "\nThe run:\n") {
		answer = judgementOn(said)
	}
	if strings.HasPrefix(asked.System, "You play the user") {
		answer = map[string]any{"message": "", "state": "reached"}
		if strings.Count(said, `"assistant"`) < 2 {
			answer = map[string]any{"message": regexp.MustCompile(`PX-\d+`).FindString(said) + " is late", "state": "goes_on"}
		}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return llmtest.Reply{Err: err}
	}
	return llmtest.Reply{Text: string(text), InputTokens: 100, OutputTokens: 10}
}

// criterion is a line of a ballot.
var criterion = regexp.MustCompile(`(?m)^(\d+)\. (.*)$`)

func verdictsOn(ballot string) []map[string]any {
	list, _, _ := strings.Cut(ballot, "\nThe conversation")
	var out []map[string]any
	for _, m := range criterion.FindAllStringSubmatch(list, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		said := "fulfilled"
		if strings.Contains(m[2], "never") {
			said = "not_fulfilled"
		}
		out = append(out, map[string]any{"criterion": n, "because": "the script says so", "quote": "", "said": said})
	}
	return out
}

// calledOn is a call in a run as the judge's model sees it.
var calledOn = regexp.MustCompile(`\{"span":"([0-9a-f]+)","kind":"tool_call".*?"tool":"([^"]+)"`)

// judgementOn names the first call of a run for everything that went wrong.
func judgementOn(run string) map[string]any {
	call := calledOn.FindStringSubmatch(run)
	if call == nil {
		return map[string]any{"why": "Nothing was called.", "label": "none", "evidence": []any{}}
	}
	return map[string]any{"why": "It said so.", "label": "fabricated_success", "evidence": []any{map[string]string{"span_id": call[1], "quote": call[2]}}}
}
