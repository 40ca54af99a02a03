package ratchet

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ghpr"
)

// What a pull request says: why, what had changed, the cases, how sure pawl is, the evidence, how to see it, what merging and closing mean. Words from
// outside stand in code spans and fences alone.

// body puts the evidence between what comes before and after it.
func (b *Batch) body(evidence []ghpr.Block) []ghpr.Block {
	out := []ghpr.Block{{Text: b.lead()}, {Text: b.Rule.told()}, {Text: b.gone()}, {Text: b.escaped()}, {Text: b.advisory(), Optional: true}, {Text: b.began(), Optional: true}, {Text: b.table()}, {Text: b.known()}}
	return append(append(out, evidence...), ghpr.Block{Text: b.reproduce()}, ghpr.Block{Text: meaning})
}

// advisory tells what would let a change loosen the set unseen.
func (b *Batch) advisory() string {
	if len(b.Advisory) == 0 {
		return ""
	}
	return "**Advisory only**, as the branch is protected now: " + ghpr.Inline(strings.Join(b.Advisory, "; "), 400) + ". Require `pawl verify`, and code owners for the set, " +
		"`pawl.yaml` and the workflow, and the set holds."
}

// escaped tells which failures came back.
func (b *Batch) escaped() string {
	var t strings.Builder
	for _, m := range b.Members {
		if m.Escaped {
			fmt.Fprintf(&t, "- `%s`\n", m.CaseID)
		}
	}
	if t.Len() == 0 {
		return ""
	}
	return "**Escaped.** These failures came back although their case on this branch is enforced, so what the case asks for is not enough. This adds what happened now, as a further specimen:\n\n" + t.String()
}

// gone tells which cases should not be merged after all.
func (b *Batch) gone() string {
	var t strings.Builder
	for _, m := range b.Members {
		if m.Gone != "" {
			fmt.Fprintf(&t, "- `%s`: %s\n", m.CaseID, ghpr.Inline(m.Gone, 200))
		}
	}
	if t.Len() == 0 {
		return ""
	}
	return "**Taken back.** Please take these out of the branch, or close the pull request:\n\n" + t.String()
}

func (b *Batch) lead() string {
	return fmt.Sprintf("%s failed with **%s**. This adds what happened to the regression set, so that it does not come back unseen.\n\n"+
		"Each case enters as `pending`: it is reported and blocks nothing until the failure is fixed and the case is enforced. Each was seen to be red: on its own redacted recording, or live where the table says so.",
		ghpr.Inline(b.Service, 80), b.Label)
}

// maxTable leaves room for what else a pull request must say, in bytes.
const maxTable = 40_000

// table lists the cases. Of very many, or very wordy ones, it shows less of each title.
func (b *Batch) table() (text string) {
	for _, width := range []int{120, 60, 20} {
		if text = b.rows(width); len(text) <= maxTable {
			break
		}
	}
	return text
}

func (b *Batch) rows(width int) string {
	var t strings.Builder
	t.WriteString("| case | what happened | rule | red | seen | first (UTC) | last |\n|---|---|---|---|---|---|---|\n")
	for _, m := range b.Members {
		fmt.Fprintf(&t, "| `%s` | %s | `%s`, %.0f %% sure | %s | %d× | %s | %s |\n", m.CaseID, ghpr.Inline(m.Title, width), m.Rule, 100*m.Confidence,
			cmp.Or(m.Shown, "on the recording"), m.Count, minute(m.FirstSeen), minute(m.LastSeen))
	}
	return t.String()
}

// minute breaks in one place only, where a cell is narrow.
func minute(t time.Time) string { return t.UTC().Format("2&nbsp;Jan&nbsp;2006 15:04") }

// known tells how far the rules that found the cases may be believed.
func (b *Batch) known() string {
	var t strings.Builder
	told := map[string]bool{}
	for _, m := range b.Members {
		if line := fmt.Sprintf("- `%s` %s\n", m.Rule, cmp.Or(m.Known, notMeasured)); !told[line] {
			told[line] = true
			t.WriteString(line)
		}
	}
	return "**How often these rules are right**, of findings that were checked one by one:\n\n" + t.String()
}

// reproduce gives the commands. The base and the set are names that were checked when the batch was made, but a shell has its own ideas.
func (b *Batch) reproduce() string {
	set, base := shellWord(b.Set), shellWord("origin/"+b.Base)
	which := ""
	if len(b.Members) == 1 {
		which = " --case " + shellWord(b.Members[0].CaseID)
	}
	return "**See it yourself**, in a checkout of this branch:\n\n" + ghpr.Fence("sh", "pawl check --set "+set+which+" --run 'START YOUR AGENT'   # runs your agent over the cases\n"+
		"pawl verify --set "+set+" --base "+base+"   # sees each recorded failure again, without an agent\n")
}

// shellWord quotes what is not plain.
func shellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// began tells what had changed when the failures began, of all with the same story at once. It says when, not why.
func (b *Batch) began() string {
	var stories []string
	of := map[string][]string{}
	for _, m := range b.Members {
		if m.Began == "" {
			continue
		}
		if of[m.Began] == nil {
			stories = append(stories, m.Began)
		}
		of[m.Began] = append(of[m.Began], m.CaseID)
	}
	if len(stories) == 0 {
		return "**When it began:** too little is on record to say what had changed."
	}
	var t strings.Builder
	for _, story := range stories {
		fmt.Fprintf(&t, "- %s: %s\n", some(of[story]), story)
	}
	return "**When it began**, as far as traces tell:\n\n" + t.String()
}

// some names the first few cases and counts the others.
func some(ids []string) string {
	const few = 3
	text := "`" + strings.Join(ids[:min(few, len(ids))], "`, `") + "`"
	if more := len(ids) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func evidence(m Member, yaml string) string {
	note := ""
	if m.Weak {
		note = "\n\nThis case is _weak_: it says what must not happen and no more, so an agent that refuses everything would pass it. Add what a good answer does."
	}
	return "Why:\n\n" + ghpr.Fence("text", m.Why) + "\n\nThe case:\n\n" + ghpr.Fence("yaml", yaml) + note
}

const meaning = "**Merging** adds the cases to the set, which only grows and tightens from then on. **Closing** without merging is a no: these failures are not proposed again " +
	"until a person revives them in pawl. The labels `pawl:false-alarm`, `pawl:intended` and `pawl:duplicate` tell pawl why; without one it is \"not now\". `pawl:stop` makes pawl leave this pull request alone.\n\nPersonal data and secrets were replaced by numbered stand-ins, the same one for the same value, before the files were made. " +
	"The whole recording is `trace.json` beside each case."
