package propose

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify/custom"
)

// YAML writes a rule as a file of the rules directory: its definition under custom, as pawl.yaml has it.
func YAML(d custom.Definition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "custom:\n  - name: %s\n    version: %d\n", d.Name, max(1, d.Version))
	if d.Label != "" && string(d.Label) != d.Name {
		fmt.Fprintf(&b, "    label: %s\n", d.Label)
	}
	fmt.Fprintf(&b, "    severity: %s\n", d.Severity)
	for _, x := range [][2]string{{"when", d.When}, {"evidence", d.Evidence}, {"why", d.Why}} {
		fmt.Fprintf(&b, "    %s: %s\n", x[0], scalar(x[1]))
	}
	return b.String()
}

// scalar writes a text: one of several lines as a block, which holds it as it is, else in double quotes.
func scalar(s string) string {
	if lines := strings.Split(strings.TrimRight(s, "\n"), "\n"); len(lines) > 1 {
		return "|\n      " + strings.Join(lines, "\n      ")
	}
	quoted, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return `""`
	}
	return string(quoted)
}
