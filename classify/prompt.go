package classify

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PromptDigest is a digest, of 12 hex digits, over the words of instructions with what differs from run to run left out: dates, times, ids, addresses,
// telephone numbers, long numbers, and what is said of the user after a label ("User: ana") or in the usual phrases ("You are talking to Ana").
// White space does not count. Small numbers do, for "at most 3 questions" is an instruction. Of an empty text it is "".
func PromptDigest(text string) string {
	words := promptWords(text)
	if len(words) == 0 {
		return ""
	}
	h := sha256.New()
	gap := false // what was left out last counts once, however many words it had
	for _, w := range words {
		switch {
		case w.text == "\n":
			continue
		case w.out && gap:
			continue
		case w.out:
			h.Write([]byte("#"))
		default:
			h.Write([]byte(w.text))
		}
		gap = w.out
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// promptWord is a word of a prompt, or a mark between words; out says that it is left out of the digest.
type promptWord struct {
	text string
	out  bool
}

// promptWords takes a text apart and marks what differs from run to run.
func promptWords(text string) []promptWord {
	ws := splitPrompt(text)
	for i := range ws {
		ws[i].out = drawn(ws[i].text)
	}
	for i := range ws {
		dated(ws, i)
		labelled(ws, i)
		addressed(ws, i)
	}
	return ws
}

// splitPrompt cuts a text into words, single marks and ends of lines. A word is letters and digits with single joining marks inside.
func splitPrompt(text string) []promptWord {
	ws := make([]promptWord, 0, len(text)/5)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n':
			ws = append(ws, promptWord{text: "\n"})
		case unicode.IsSpace(r):
		case wordRune(r):
			n = wordEnd(text[i:])
			ws = append(ws, promptWord{text: text[i : i+n]})
		default:
			ws = append(ws, promptWord{text: text[i : i+n]})
		}
		i += n
	}
	return ws
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

func wordEnd(s string) int {
	end, prev := 0, rune(0)
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if !wordRune(r) {
			next, _ := utf8.DecodeRuneInString(s[end+n:])
			if !wordRune(next) || !joins(r, prev, next) {
				return end
			}
		}
		end, prev = end+n, r
	}
	return end
}

// joins says whether a mark between two letters or digits is part of the word. A colon is so between digits alone, as in a time.
func joins(r, before, after rune) bool {
	if r == ':' {
		return unicode.IsDigit(before) && unicode.IsDigit(after)
	}
	return strings.ContainsRune("-.@/+'’", r)
}

// drawn says that a word by itself names a run, a moment or a person: an id, a time, a date, an address, a long number.
func drawn(w string) bool {
	digits := strings.Count(w, "@") // an address needs no digit
	for i := range len(w) {
		if w[i] >= '0' && w[i] <= '9' {
			digits++
		}
	}
	switch {
	case digits == 0:
		return false
	case strings.Contains(w, "@"):
		return true
	case digits >= 5 && strings.IndexFunc(w, isDigit) >= 0:
		return true // ORD-00017, 1764498000, 2026-11-30T10:14Z, 192.168.17.4
	case shapedTime(w), shapedDate(w), isYear(w):
		return true
	case digits == 4 && strings.ContainsAny(w, "-_") && w[len(w)-1] >= '0' && w[len(w)-1] <= '9':
		return true // cust-8271
	}
	return ScrubIDs(w) != w
}

// shapedTime: 10:14, 10:14:05, 9:30am.
func shapedTime(w string) bool {
	hour, rest, ok := strings.Cut(w, ":")
	return ok && isDigits(hour) && len(hour) <= 2 && len(rest) >= 2 && isDigits(rest[:2])
}

// shapedDate: 30.11.26, 11/30/26, 30-11-26: three numbers of which the first two are a day and a month. 1.4.2 is a version.
func shapedDate(w string) bool {
	for _, mark := range []string{"-", "/", "."} {
		parts := strings.Split(w, mark)
		if len(parts) != 3 || slices.ContainsFunc(parts, func(p string) bool { return !isDigits(p) || len(p) > 4 }) {
			continue
		}
		return mark != "." || len(parts[2]) == 4 || len(parts[0])+len(parts[1])+len(parts[2]) >= 5
	}
	return false
}

func isYear(w string) bool { return len(w) == 4 && isDigits(w) && (w[:2] == "19" || w[:2] == "20") }

var (
	months = wordSet("january february march april may june july august september october november december " +
		"jan feb mar apr jun jul aug sep sept oct nov dec")
	weekdays = wordSet("monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun")
	zones    = wordSet("am pm utc gmt cet cest est edt cst cdt mst mdt pst pdt bst ist jst z")
	// subjects are whom or what a label speaks of, so that its value is of one run alone; details may follow them.
	subjects = wordSet("user customer client member caller guest patient tenant visitor employee username userid account session conversation thread " +
		"request trace correlation recipient subscriber user_name user_id customer_name customer_id account_id session_id conversation_id " +
		"thread_id request_id tenant_id trace_id")
	details = wordSet("id name email e-mail phone number no mobile address city country location region locale language timezone zone birthday age gender " +
		"plan tier segment currency since balance company title key ref reference uuid")
	// labels stand by themselves; the value of a moment may be longer than a name.
	labels  = wordSet("name username email e-mail phone mobile address birthday login hostname cwd")
	moments = wordSet("date time datetime today now timestamp tomorrow yesterday current_date current_time current_datetime")
	callers = wordSet("talking speaking chatting assisting helping behalf logged signed")
	numbers4 = wordSet("id no nr number ref reference order ticket case account invoice customer user session build")
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// in says whether a word, in any case, is of a set. No word of a set is longer than 24 bytes.
func in(set map[string]bool, w string) bool {
	return len(w) <= 24 && set[strings.ToLower(w)]
}

// dated leaves out the words and small numbers of a date: "Monday, 30 November 2026", "Nov 30", "Today is Monday", and what follows a time.
func dated(ws []promptWord, i int) {
	w := ws[i].text
	switch {
	case in(months, w):
		before, after := near(ws, i, -1), near(ws, i, 1)
		for _, j := range []int{before, after} {
			if j >= 0 && isDay(ws[j].text) || j >= 0 && isYear(ws[j].text) {
				leaveOut(ws, i, j)
			}
		}
	case in(weekdays, w):
		if j := near(ws, i, 1); j >= 0 && (ws[j].out || in(months, ws[j].text) || isDay(ws[j].text) && in(months, word(ws, near(ws, j, 1)))) {
			ws[i].out = true
		}
		if j := near(ws, i, -1); j >= 0 && (strings.EqualFold(ws[j].text, "is") || strings.EqualFold(ws[j].text, "today's")) && in(moments, word(ws, near(ws, j, -1))) || j >= 0 && ws[j].out {
			ws[i].out = true
		}
	case in(zones, w), w == "GMT+1", w == "GMT+2":
		if i > 0 && ws[i-1].out {
			ws[i].out = true
		}
	case isDigits(w) && i > 0:
		if j := near(ws, i, -1); j >= 0 && in(numbers4, ws[j].text) && len(w) > 2 || ws[i-1].text == "#" {
			ws[i].out = true
		}
	}
}

// isDay: 30, 1st, 22nd.
func isDay(w string) bool {
	n := 0
	for n < len(w) && w[n] >= '0' && w[n] <= '9' {
		n++
	}
	return n >= 1 && n <= 2 && (n == len(w) || slices.Contains([]string{"st", "nd", "rd", "th"}, strings.ToLower(w[n:])))
}

// near is the next word in a direction on the same line, across one mark such as a comma; -1 when there is none.
func near(ws []promptWord, i, step int) int {
	for n := 0; n < 2; n++ {
		i += step
		if i < 0 || i >= len(ws) || ws[i].text == "\n" {
			return -1
		}
		if r, _ := utf8.DecodeRuneInString(ws[i].text); wordRune(r) {
			return i
		}
	}
	return -1
}

func word(ws []promptWord, i int) string {
	if i < 0 {
		return ""
	}
	return ws[i].text
}

func leaveOut(ws []promptWord, i, j int) {
	for k := min(i, j); k <= max(i, j); k++ {
		ws[k].out = true
	}
}

// The longest values that a label is believed to give, in words: more is a sentence.
const (
	maxName4  = 3
	maxMoment = 10
)

// labelled leaves out the value after a label: "User: ana, id 8271", "user_id=8271", "<user>ana</user>", "The user's name is Ana."
func labelled(ws []promptWord, i int) {
	value := i + 1
	for value < len(ws) && (ws[value].text == `"` || ws[value].text == "'" || ws[value].text == "*" || ws[value].text == "`") {
		value++
	}
	if value >= len(ws) {
		return
	}
	named := strings.EqualFold(ws[value].text, "is")
	if !named && !slices.Contains([]string{":", "=", ">", "："}, ws[value].text) {
		return
	}
	limit := 0
	switch w := ws[i].text; {
	case in(moments, w):
		limit = maxMoment
	case in(labels, w) || in(details, w) && i > 0 && ofSubject(ws[i-1].text):
		limit = maxName4
	case in(subjects, w) && !named:
		limit = maxName4
	}
	if limit > 0 {
		leaveValue(ws, value+1, limit, named && limit == maxMoment)
	}
}

func ofSubject(w string) bool {
	w, _, _ = strings.Cut(strings.TrimSuffix(w, "s"), "'")
	w, _, _ = strings.Cut(w, "’")
	return in(subjects, w)
}

// leaveValue leaves out the words from i on to the end of the value, unless there are more than a value has. With datesOnly it leaves out nothing
// that does not hold a date already: "the time is short" says no time.
func leaveValue(ws []promptWord, i, limit int, datesOnly bool) {
	for i < len(ws) && slices.Contains([]string{`"`, "'", "*", "`"}, ws[i].text) {
		i++
	}
	end, dates := i, false
	for end < len(ws) && !endsValue(ws[end].text, limit) {
		dates = dates || ws[end].out
		end++
	}
	if end == i || end-i > limit || datesOnly && !dates {
		return
	}
	for k := i; k < end; k++ {
		ws[k].out = true
	}
}

func endsValue(w string, limit int) bool {
	switch w {
	case "\n", ";", ".", "|", "<", `"`, "{", "}", "[", "]", "`", "*":
		return true
	case ",", "(", ")":
		return limit == maxName4
	}
	return false
}

// addressed leaves out the names in "You are talking to Ana Müller": up to three words that begin with a capital letter.
func addressed(ws []promptWord, i int) {
	if !in(callers, ws[i].text) {
		return
	}
	i++
	for i < len(ws) && slices.Contains([]string{"to", "with", "of", "in", "as", "the", "user", "customer"}, strings.ToLower(ws[i].text)) {
		i++
	}
	for k := i; k < min(i+maxName4, len(ws)); k++ {
		r, _ := utf8.DecodeRuneInString(ws[k].text)
		if !unicode.IsUpper(r) {
			return
		}
		ws[k].out = true
	}
}
