package classify

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// NoLabel is the label of groups of what went wrong and no rule explains. No rule gives it, and no case is made of it: it waits for a person, or a judge.
const NoLabel Label = "unclassified"

// noLabelRule names what found it, with its version: a change of how such failures are told apart raises it.
const noLabelRule = "unclassified@1"

// Claim is what somebody outside said of a trace. The words are a quotation.
type Claim struct {
	Source string // who
	Reason string // in their words
}

// NoLabelFinding is what groups an unclassified trace with others that went wrong in the same way: the same class of error, words of it and tools that led
// there, or the same kind of sign where there is no error. said is what outsiders said of it; it counts where nothing in the trace itself went wrong. Its
// fingerprint holds none of the message's words, but a digest of them with all values replaced by their kinds.
func NoLabelFinding(t *trajectory.Trajectory, said ...Claim) Finding {
	return signOf(t, said).finding(t)
}

// finding is what groups the trace by the sign.
func (s sign) finding(t *trajectory.Trajectory) Finding {
	path := pathOf(t)
	parts := append(s.parts, Word("error", s.kind), Word("path", path))
	return Finding{Label: NoLabel, Rule: noLabelRule, Source: SourceRule, Severity: Warning, Confidence: 1, Form: FormNone, Agent: lastAgent(t), Step: -1,
		Fingerprint: NewFingerprint(NoLabel, t.Service, lastAgent(t), parts...), Title: s.title + after(path) + ", and no rule explains it", Why: s.why, Evidence: s.evidence(t)}
}

// after tells groups apart in a list, where all else of their titles is the same.
func after(path string) string {
	if path == "" {
		return " without a tool call"
	}
	return " after " + strings.ReplaceAll(path, " ", ", then ")
}

// sign is by what an unclassified trace shows that something went wrong.
type sign struct {
	kind, title, why, span string
	parts                  []Part
}

func signOf(t *trajectory.Trajectory, said []Claim) sign {
	if e := t.RootError; e != nil {
		class := cmp.Or(e.Type, codeText(e.Code), "error")
		return sign{kind: "error", title: "ended in " + SafeName(class), why: Unexplained(t),
			parts: []Part{Name("class", class), Name("message", Kinds(e.Message))}}
	}
	if i := slices.IndexFunc(t.Feedback, bad); i >= 0 {
		f := t.Feedback[i]
		why := "its feedback is bad: " + describe(f)
		return sign{kind: "feedback", title: "bad feedback", why: why, span: f.SpanID, parts: []Part{Name("name", f.Name)}}
	}
	if Silent(t) || len(said) == 0 {
		return sign{kind: "no_reply", title: "no reply", why: Unexplained(t)}
	}
	first := said[0]
	why := fmt.Sprintf("%s says of it: %q", first.Source, first.Reason)
	if n := len(said); n > 1 {
		why += fmt.Sprintf(", and %d more", n-1)
	}
	return sign{kind: "flag", title: "flagged by " + SafeName(first.Source), why: why, parts: []Part{Name("source", first.Source)}}
}

// evidence is the span that the sign is on, or the last step.
func (s sign) evidence(t *trajectory.Trajectory) []Evidence {
	if n := len(t.Steps); s.span == "" && n > 0 {
		s.span = t.Steps[n-1].SpanID
	}
	if s.span == "" {
		return []Evidence{}
	}
	return []Evidence{{SpanID: s.span, What: s.why}}
}

func codeText(code int) string {
	if code == 0 {
		return ""
	}
	return strconv.Itoa(code)
}

func describe(f trajectory.Feedback) string {
	words := []string{cmp.Or(f.Name, "feedback")}
	if f.Label != "" {
		words = append(words, f.Label)
	} else if f.Score != nil {
		words = append(words, strconv.FormatFloat(*f.Score, 'g', -1, 64))
	}
	text := strings.Join(words, " ")
	if f.Explanation != "" {
		text += fmt.Sprintf(", %q", strings.Join(strings.Fields(f.Explanation), " "))
	}
	return text
}

func lastAgent(t *trajectory.Trajectory) string {
	for _, s := range slices.Backward(t.Steps) {
		if s.Agent != "" {
			return s.Agent
		}
	}
	if n := len(t.Agents); n > 0 {
		return t.Agents[n-1]
	}
	return ""
}

// maxPath is how many tools the shape of a path has: the last ones, which led to the end.
const maxPath = 3

// pathOf is the shape of the path that led to the end: the last different tools, in the order in which each was called last. How often each was called does
// not count, nor do its arguments.
func pathOf(t *trajectory.Trajectory) string {
	var path []string
	for _, c := range slices.Backward(t.ToolCalls) {
		name := SafeName(c.Name)
		if slices.Contains(path, name) || c.Recalled {
			continue
		}
		if path = append(path, name); len(path) == maxPath {
			break
		}
	}
	slices.Reverse(path)
	return strings.Join(path, " ")
}

// maxKinds is how many words of a message tell it from others.
const maxKinds = 12

var (
	quoted = regexp.MustCompile("\"[^\"\n]*\"|'[^'\n]{2,}'|`[^`\n]*`|“[^”\n]*”")
	bodies = regexp.MustCompile(`(?s)[{\[<].*`)
	links  = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://\S+`)
)

// Kinds is the first line of a message with its values replaced by their kinds: what is quoted, addresses, numbers, ids, names and whatever is no plain
// word. Messages of one cause have the same kinds, whatever they are about. It is idempotent.
func Kinds(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	line = links.ReplaceAllString(quoted.ReplaceAllString(line, " _ "), " _ ")
	line = bodies.ReplaceAllString(line, " _ ")
	var out []string
	for i, w := range strings.Fields(line) {
		w = kindOf(strings.Trim(w, ".,:;!?()-'\"`“”"), i == 0)
		if w == "" || w == "_" && len(out) > 0 && out[len(out)-1] == "_" {
			continue
		}
		if out = append(out, w); len(out) == maxKinds {
			break
		}
	}
	return strings.Join(out, " ")
}

// kindOf leaves a plain word as it is, in lower case, and makes _ of all else.
func kindOf(word string, first bool) string {
	if word == "" {
		return ""
	}
	for i, r := range word {
		if !unicode.IsLetter(r) && r != '-' && r != '\'' || unicode.IsUpper(r) && (i > 0 || !first) {
			return "_"
		}
	}
	return strings.ToLower(word)
}
