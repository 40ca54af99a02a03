package rule

import (
	_ "embed" // the table below
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
)

//go:embed windows.json
var windowsJSON []byte

// windowTable reads the embedded table, once: beginning of a model's name -> context window in tokens.
var windowTable = sync.OnceValue(func() map[string]int {
	var f struct {
		Models []struct {
			Prefix string `json:"prefix"`
			Window int    `json:"window"`
		} `json:"models"`
	}
	table := map[string]int{}
	if err := json.Unmarshal(windowsJSON, &f); err != nil {
		return table // a test reads the embedded file too
	}
	for _, m := range f.Models {
		table[m.Prefix] = m.Window
	}
	return table
})

// vendor is what gateways and clouds put before a model's name.
var vendor = regexp.MustCompile(`^([a-z]{2,6}\.)?(anthropic|amazon|meta|mistral|cohere|deepseek|ai21|openai|google|models)[./]`)

// bareModel strips path, cloud region and vendor from a model's name: "bedrock/us.anthropic.claude-3-haiku-20240307-v1:0" begins
// with claude-3 after that.
func bareModel(name string) string {
	s := strings.ToLower(strings.TrimSpace(name))
	if i := strings.LastIndexByte(s, '/'); i >= 0 && i < len(s)-1 {
		s = s[i+1:]
	}
	return vendor.ReplaceAllString(s, "")
}

// window returns the context window of a model. Entries of own go before the table's.
func window(name string, own map[string]int) (tokens int, ok bool) {
	s := bareModel(name)
	for _, table := range []map[string]int{own, windowTable()} {
		for end := len(s); end > 0; end-- {
			if end < len(s) && !strings.ContainsRune("-:@", rune(s[end])) {
				continue
			}
			if n, ok := table[s[:end]]; ok && n > 0 {
				return n, true
			}
		}
	}
	return 0, false
}

var modelDate = regexp.MustCompile(`[-@:]?(\d{4}-\d\d-\d\d|\d{8}|\d{6}|\d{4}|latest|preview|v\d+(:\d+)?)$`)

// modelFamily is a model's name without vendor, date and version of its release.
func modelFamily(name string) string {
	s := bareModel(name)
	for {
		cut := modelDate.ReplaceAllString(s, "")
		if cut == s || cut == "" {
			return classify.ScrubIDs(s)
		}
		s = cut
	}
}
