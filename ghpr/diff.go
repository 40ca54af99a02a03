package ghpr

import (
	"fmt"
	"strings"
)

// Diff shows the intent's files as a unified diff that git can apply: additions only.
func (in Intent) Diff() string {
	var b strings.Builder
	for _, f := range in.Files {
		fmt.Fprintf(&b, "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\nindex %040d..%s\n", f.Path, 0, f.Blob)
		lines := strings.SplitAfter(f.Content, "\n")
		whole := lines[len(lines)-1] == ""
		if whole {
			lines = lines[:len(lines)-1]
		}
		if len(lines) == 0 {
			continue // Slim: no content to show
		}
		count := ""
		if len(lines) > 1 {
			count = fmt.Sprintf(",%d", len(lines))
		}
		fmt.Fprintf(&b, "--- /dev/null\n+++ b/%s\n@@ -0,0 +1%s @@\n+%s", f.Path, count, strings.Join(lines, "+"))
		if !whole {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
	return b.String()
}
