package rule

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// heard is a text that agents had before them: what users, instructions and tools told. What a model said itself is none.
type heard struct {
	from int  // the step after which it is known, -1: from the beginning
	call int  // the tool call whose result it is, -1
	user bool // a user said it
	own  bool // arguments of a call that was taken: the agent's own words, which have become true
	text string
	flat string
}

// hearsay is all that was told in a run, and what of it is not in the data.
type hearsay struct {
	texts []heard
	cut   bool        // something that was told is cut or withheld
	asked []int       // per tool call: the step in which the model asked for it, else that in which it ran
	ran   []int       // per tool call: the step in which it ran
	calls map[int]int // step of each model call
}

// withheldText is what redactors put in place of a person's words.
var withheldText = regexp.MustCompile(`(?i)[\[<{(](redacted|masked|filtered|hidden|removed|scrubbed|e-?mail|phone|name|person|address|account|card|pii|id)[_ -]?(address|number|redacted|removed|\d*)?[\]>})]|\*{4,}|█{3,}`)

// spoken are the words by which people spell addresses out.
var spoken = strings.NewReplacer(" dot ", ".", " at ", "@", " underscore ", "_", " dash ", "-", " hyphen ", "-")

// hear collects what was told.
func hear(t *trajectory.Trajectory) *hearsay {
	h := &hearsay{calls: map[int]int{}}
	ran := map[int]int{}
	for i, s := range t.Steps {
		switch s.Kind {
		case trajectory.StepModel:
			h.calls[s.Index] = i
		case trajectory.StepTool:
			ran[s.Index] = i
		case trajectory.StepUser:
			h.texts = append(h.texts, heard{from: i, call: -1, user: true, text: s.Text, flat: flat(s.Text)})
			if spelled := spoken.Replace(s.Text); spelled != s.Text {
				h.texts = append(h.texts, heard{from: i, call: -1, user: true, text: spelled, flat: flat(spelled)})
			}
			h.cut = h.cut || withheldText.MatchString(s.Text)
		case trajectory.StepRetrieval:
			h.say(i, -1, s.Text)
		}
	}
	for _, text := range []string{t.SystemPrompt, t.SessionID, t.UserID} {
		h.say(-1, -1, text)
	}
	h.fromModels(t)
	h.fromTools(t, ran)
	return h
}

func (h *hearsay) say(from, call int, text string) {
	if text != "" {
		h.texts = append(h.texts, heard{from: from, call: call, text: text, flat: flat(text)})
	}
}

// fromModels takes what came into each model call. Of an agent's later calls the assistant's messages are its own words; those that it began with
// are history, which may rest on what is not in the data.
func (h *hearsay) fromModels(t *trajectory.Trajectory) {
	began := map[string]bool{}
	for i := range t.ModelCalls {
		m := &t.ModelCalls[i]
		at := h.calls[i] - 1 // its own answer may rest on it
		h.say(at, -1, m.System)
		for _, msg := range m.New {
			own := msg.Role == "assistant" && began[m.Agent]
			for _, p := range msg.Parts {
				if own || p.Kind == trajectory.PartToolResult && h.aResult(t, p.ID) {
					continue
				}
				h.cut = h.cut || p.Value.Truncated || p.Unrecorded
				h.say(at, -1, p.Text)
				h.say(at, -1, textOf(p.Value))
			}
		}
		began[m.Agent] = true
	}
}

// aResult says that a result in a message is known as that of a call, so that it need not be told twice.
func (h *hearsay) aResult(t *trajectory.Trajectory, id string) bool {
	return slices.ContainsFunc(t.ToolCalls, func(c trajectory.ToolCall) bool { return c.HasResult && (id == "" || c.ID == id) })
}

func (h *hearsay) fromTools(t *trajectory.Trajectory, ran map[int]int) {
	h.asked, h.ran = make([]int, len(t.ToolCalls)), make([]int, len(t.ToolCalls))
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		at, known := ran[i]
		if !known {
			at = len(t.Steps)
		}
		h.asked[i], h.ran[i] = at, at
		if m, ok := h.calls[c.Model]; ok && c.Model >= 0 {
			h.asked[i] = min(m, at)
		}
		from := at
		if c.Recalled {
			from = -1
			h.say(-1, -1, textOf(c.Arguments))
		}
		if !failed(c) && !looksFailed(c) && rejection(c) == "" {
			text := textOf(c.Arguments)
			h.texts = append(h.texts, heard{from: from, call: i, own: true, text: text, flat: flat(text)})
		}
		h.cut = h.cut || c.HasResult && c.Result.Truncated
		h.say(from, i, textOf(c.Result))
		if c.Error != nil {
			h.say(from, i, c.Error.Message)
		}
	}
}

// escapes are the line ends and tabs of JSON texts, which would hang on the words behind them.
var escapes = strings.NewReplacer(`\n`, " ", `\r`, " ", `\t`, " ")

func textOf(v trajectory.Value) string {
	if v.JSON != nil {
		return escapes.Replace(string(v.JSON))
	}
	return escapes.Replace(v.Raw)
}

// flat is a text's letters and digits in lower case: case, separators and quotes mean nothing.
func flat(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// oneNumber is a name that holds one run of digits, which may be told without its letters: order 10231 is ORD-10231. The last digits of a card
// are no name of it.
var oneNumber = regexp.MustCompile(`^(?:[A-Za-z]{0,5}[-_ #]?0*([1-9]\d{2,})|[A-Za-z][\w-]*?0*([1-9]\d{4,}))$`)

// placeholder is a name made of words that describe what is meant in place of naming it: last_email_id.
var placeholder = regexp.MustCompile(`(?i)^[a-z]+([_ -][a-z]+)+$`)
var describing = regexp.MustCompile(`(?i)(^|[_ -])(last|latest|most|recent|newest|oldest|next|previous|first|current|existing|of|from|the|my|your|with|some|actual|placeholder|id|here)([_ -]|$)`)

func isPlaceholder(value string) bool {
	return placeholder.MatchString(value) && describing.MatchString(value)
}

// before yields what was told before a step, but for what skip is true of; skip may be nil.
func (h *hearsay) before(step int, skip func(heard) bool) iter.Seq[heard] {
	return func(yield func(heard) bool) {
		for _, x := range h.texts {
			if x.from < step && !(skip != nil && skip(x)) && !yield(x) {
				return
			}
		}
	}
}

// holds says whether a value was told before a step, in whatever spelling. What merely describes a thing in the words of the user names none.
func (h *hearsay) holds(value string, step int, skip func(heard) bool) bool {
	want := flat(value)
	if len(want) < 3 {
		return true // too short to say
	}
	var number *regexp.Regexp
	if m := oneNumber.FindStringSubmatch(value); m != nil {
		number = regexp.MustCompile(`(^|[^\w-])0*` + m[1] + m[2] + `([^\w-]|$)`)
	}
	literal := isPlaceholder(value)
	for x := range h.before(step, skip) {
		switch {
		case literal && !strings.Contains(x.text, value):
		case strings.Contains(x.flat, want), number != nil && number.MatchString(x.text):
			return true
		}
	}
	return false
}
