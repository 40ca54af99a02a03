package ghpr

import (
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
)

// Block is a piece of a body that is shown whole or not at all. Text is our own Markdown; what comes from outside is in it by Inline,
// Fence or Details only.
type Block struct {
	Text     string
	Optional bool // may be left out to fit the limit, the last first
}

// FitBody joins the blocks with blank lines and leaves out optional ones, from the end, until the text has at most limit bytes. Where it
// left some out it says so at the end. It never cuts inside a block.
func FitBody(blocks []Block, limit int) (string, error) {
	kept := make([]bool, len(blocks))
	for i := range kept {
		kept[i] = strings.TrimSpace(blocks[i].Text) != ""
	}
	for left, i := 0, len(blocks)-1; ; i-- {
		if text := joinBlocks(blocks, kept, left); len(text) <= limit {
			return text, nil
		}
		for i >= 0 && !(kept[i] && blocks[i].Optional) {
			i--
		}
		if i < 0 {
			return "", fmt.Errorf("body: more than %d bytes, and nothing optional is left to leave out", limit)
		}
		kept[i] = false
		left++
	}
}

func joinBlocks(blocks []Block, kept []bool, left int) string {
	var parts []string
	for i, b := range blocks {
		if kept[i] {
			parts = append(parts, strings.Trim(b.Text, "\n"))
		}
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("_%d more parts did not fit here; the files hold everything._", left))
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// Details folds Markdown under a summary. The summary may come from outside; the inner text is a block's own Markdown.
func Details(summary, inner string) string {
	line := shaRE.ReplaceAllString(strings.Join(strings.Fields(Defuse(summary)), " "), "$1…") // a commit would be linked
	line = html.EscapeString(line)
	// Names, not numbers: "&#34;" would read as a reference to an issue.
	line = strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;", "`", "&grave;", "*", "&ast;", "_", "&lowbar;", "[", "&lbrack;", "!", "&excl;").Replace(line)
	return "<details><summary>" + line + "</summary>\n\n" + strings.Trim(inner, "\n") + "\n\n</details>\n"
}

var (
	tagRE     = regexp.MustCompile(`(?i)<(/?[a-z!?][^\s/>]*)[^>]*>?`)
	shaRE     = regexp.MustCompile(`(?i)\b([0-9a-f]{12})[0-9a-f]{28}\b`)
	imageRE   = regexp.MustCompile(`!\[`)
	crossRE   = regexp.MustCompile(`(?i)github\.[a-z.]+/[\w.-]+/[\w.-]+/(issues|pull|pulls|discussions|commit)/`)
	fenceRE   = regexp.MustCompile("^ {0,3}(`{3,})([^`]*)$")
	goodTags  = map[string]bool{"details": true, "/details": true, "summary": true, "/summary": true, "br": true, "sub": true, "/sub": true}
	errFences = errors.New("body: a fence is not closed")
)

// checkBody is the last lock before a body is frozen: whatever a caller forgot to defuse stops here.
func checkBody(body string) error {
	switch {
	case visible(body) != body:
		return errors.New("body: has a control, bidi or invisible character")
	case mentionRE.MatchString(body):
		return fmt.Errorf("body: mentions somebody near %q", around(body, mentionRE))
	case numberRE.MatchString(body), ghRE.MatchString(body), crossRE.MatchString(body):
		return errors.New("body: refers to an issue, a pull request or a commit, which would link or close it")
	case commandRE.MatchString(body):
		return fmt.Errorf("body: has a command for bots near %q", around(body, commandRE))
	case skipRE.MatchString(body), noCIRE.MatchString(body), trailRE.MatchString(body):
		return errors.New("body: has a switch for CI or a commit trailer, which a squash merge would copy")
	case strings.Contains(body, "<!--"):
		return errors.New("body: has an HTML comment")
	}
	prose, err := outsideCode(body)
	if err != nil {
		return err
	}
	if imageRE.MatchString(prose) {
		return errors.New("body: has an image")
	}
	for _, tag := range tagRE.FindAllStringSubmatch(prose, -1) {
		if !goodTags[strings.ToLower(tag[1])] {
			return fmt.Errorf("body: has the HTML tag %q", tag[1])
		}
	}
	return nil
}

func around(s string, re *regexp.Regexp) string {
	at := re.FindStringIndex(s)
	return strings.ToValidUTF8(s[max(0, at[0]-10):min(len(s), at[1]+10)], "")
}

// outsideCode gives the body without its fenced blocks and its code spans of one line.
func outsideCode(body string) (string, error) {
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		m := fenceRE.FindStringSubmatch(line)
		switch {
		case fence == "" && m != nil:
			fence = m[1]
		case fence == "":
			out.WriteString(outsideSpans(line) + "\n")
		case m != nil && len(m[1]) >= len(fence) && strings.TrimSpace(m[2]) == "":
			fence = ""
		}
	}
	if fence != "" {
		return "", errFences
	}
	return out.String(), nil
}

// outsideSpans drops each span that opens and closes with equally long runs of back-ticks.
func outsideSpans(line string) string {
	var out strings.Builder
	for {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			return out.String() + line
		}
		n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		out.WriteString(line[:i])
		rest := line[i+n:]
		end := closingRun(rest, n)
		if end < 0 {
			out.WriteString(line[i : i+n])
			line = rest
			continue
		}
		line = rest[end+n:]
	}
}

// closingRun finds the first run of exactly n back-ticks.
func closingRun(s string, n int) int {
	for i := 0; i < len(s); i++ {
		if s[i] != '`' {
			continue
		}
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if run == n {
			return i
		}
		i += run - 1
	}
	return -1
}
