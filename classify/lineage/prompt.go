package lineage

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/classify"
)

// PromptDigest is a digest, of 12 hex digits, over the words of instructions with what differs from run to run left out: dates, times, ids, addresses,
// telephone numbers, long numbers, and what is said of the user after a label ("User: ana") or in the usual phrases ("You are talking to Ana").
// White space does not count. Small numbers do, for "at most 3 questions" is an instruction. Of an empty text it is "".
func PromptDigest(text string) string {
	words := promptWords(text)
	if len(words) == 0 {
		return ""
	}
	kept := make([]byte, 0, len(text))
	gap := false // what was left out last counts once, however many words it had
	for _, w := range words {
		switch {
		case w.text == "\n", w.out && gap:
			continue
		case w.out:
			kept = append(kept, '#')
		default:
			kept = append(kept, w.text...)
		}
		gap, kept = w.out, append(kept, 0)
	}
	sum := sha256.Sum256(kept)
	return hex.EncodeToString(sum[:6])
}

// promptWord is a word of a prompt, or a mark between words; out says that it is left out of the digest.
type promptWord struct {
	text string
	kind promptKind
	out  bool
}

// promptWords takes a text apart and marks what differs from run to run.
func promptWords(text string) []promptWord {
	ws := splitPrompt(text)
	for i := range ws {
		ws[i].kind, ws[i].out = kindOf(ws[i].text), drawn(ws[i].text)
	}
	for i := range ws {
		dated(ws, i)
		counted(ws, i)
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
	digits := 0
	for i := range len(w) {
		if w[i] >= '0' && w[i] <= '9' {
			digits++
		}
	}
	switch {
	case strings.Contains(w, "@"):
		return true
	case digits == 0:
		return false
	case digits >= 5:
		return true // ORD-00017, 1764498000, 2026-11-30T10:14Z, 192.168.17.4
	case shapedTime(w), shapedDate(w), isYear(w):
		return true
	case digits == 4 && strings.ContainsAny(w, "-_") && w[len(w)-1] >= '0' && w[len(w)-1] <= '9':
		return true // cust-8271
	}
	return len(w) >= 8 && classify.ScrubIDs(w) != w // shorter ones are left alone
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

// promptKind is what sort of words a word is among, as a set of bits.
type promptKind uint16

const (
	month    promptKind = 1 << iota
	weekday             // may stand beside a date
	moment              // "today is"
	zone                // may follow a time
	numbered            // a number after it is a name: "order 27"
	subject             // whom or what a label speaks of, so that its value is of one run alone; a detail may follow it
	detail              // "customer location:"
	label               // stands without a subject
	caller              // "talking to"
)

var promptKinds = kindsOf(map[promptKind]string{
	month: "january february march april may june july august september october november december " +
		"jan feb mar apr jun jul aug sep sept oct nov dec",
	weekday:  "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun",
	moment:   "date time day datetime today today's now",
	zone:     "am pm utc gmt cet cest est edt cst cdt mst mdt pst pdt bst ist jst z",
	numbered: "id ref reference order ticket account invoice customer user session",
	subject: "user customer client member caller guest patient tenant visitor employee recipient subscriber account session conversation " +
		"thread request trace correlation user_name user_id userid customer_name customer_id account_id session_id conversation_id thread_id " +
		"request_id tenant_id trace_id",
	detail: "id name email e-mail phone number no mobile address city country location region locale language timezone zone birthday age gender " +
		"plan tier segment currency since balance company title key ref reference uuid",
	label:  "name username email e-mail phone mobile address birthday login hostname cwd",
	caller: "talking speaking chatting assisting helping behalf logged signed",
})

// maxKindWord is longer than every word that has a kind, in bytes.
const maxKindWord = 24

func kindsOf(words map[promptKind]string) map[string]promptKind {
	kinds := map[string]promptKind{}
	for kind, list := range words {
		for w := range strings.FieldsSeq(list) {
			kinds[w] |= kind
		}
	}
	return kinds
}

// kindOf looks a word up, in any case.
func kindOf(w string) promptKind {
	var low [maxKindWord]byte
	if len(w) > len(low) {
		return 0
	}
	for i := range len(w) {
		if low[i] = w[i]; 'A' <= w[i] && w[i] <= 'Z' {
			low[i] += 'a' - 'A'
		}
	}
	return promptKinds[string(low[:len(w)])]
}

// dated leaves out the words and small numbers of a moment: "Monday, 30 November 2026", "Nov 30", "Today is Monday", "10:14 UTC+2".
func dated(ws []promptWord, i int) {
	w := &ws[i]
	if w.kind&(month|weekday|zone) == 0 && !strings.HasPrefix(w.text, "UTC+") && !strings.HasPrefix(w.text, "GMT+") {
		return
	}
	before, after := near(ws, i, -1), near(ws, i, 1)
	switch {
	case w.kind&month != 0:
		for _, j := range []int{before, after} {
			if j >= 0 && (isDay(ws[j].text) || isYear(ws[j].text)) {
				leaveOut(ws, i, j)
			}
		}
	case w.kind&weekday != 0:
		if before >= 0 && strings.EqualFold(ws[before].text, "is") {
			before = near(ws, before, -1)
		}
		w.out = before >= 0 && (ws[before].kind&moment != 0 || ws[before].out) || after >= 0 && (ws[after].out || dayOfMonth(ws, after))
	default:
		w.out = i > 0 && ws[i-1].out
	}
}

// dayOfMonth says whether a word and the next are a day and a month, in either order.
func dayOfMonth(ws []promptWord, i int) bool {
	j := near(ws, i, 1)
	return j >= 0 && (isDay(ws[i].text) && ws[j].kind&month != 0 || ws[i].kind&month != 0 && isDay(ws[j].text))
}

// counted leaves out numbers that are names ("order 27", "#27") and telephone numbers.
func counted(ws []promptWord, i int) {
	if c := ws[i].text[0]; i == 0 || c < '0' || c > '9' || !isDigits(ws[i].text) {
		return
	}
	if ws[i-1].text == "#" || follows(ws, i, numbered) {
		ws[i].out = true
	}
	if ws[i-1].text != "+" {
		return
	}
	end, digits := i, 0
	for end < len(ws) && strings.Trim(ws[end].text, "0123456789()-/") == "" {
		digits += len(strings.Trim(ws[end].text, "()-/"))
		end++
	}
	if digits >= 7 {
		leaveOut(ws, i, end-1)
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

// follows says whether the word before is of a kind.
func follows(ws []promptWord, i int, kind promptKind) bool {
	j := near(ws, i, -1)
	return j >= 0 && ws[j].kind&kind != 0
}

func leaveOut(ws []promptWord, i, j int) {
	for k := min(i, j); k <= max(i, j); k++ {
		ws[k].out = true
	}
}

// maxValue is the longest value that a label is believed to give, in words: more is a sentence.
const maxValue = 3

// labelled leaves out the value after a label: "User: ana", "user_id=8271", "<user>ana</user>", "The user's name is Ana."
func labelled(ws []promptWord, i int) {
	kind := ws[i].kind
	if kind&(label|detail|subject) == 0 || i > 0 && ws[i-1].text == "/" {
		return
	}
	value := i + 1
	for value < len(ws) && quotes(ws[value].text) {
		value++
	}
	if value >= len(ws) {
		return
	}
	named := strings.EqualFold(ws[value].text, "is")
	if !named && !slices.Contains([]string{":", "=", ">"}, ws[value].text) || named && i > 0 && strings.EqualFold(ws[i-1].text, "your") { // the agent's own
		return
	}
	if kind&label != 0 || kind&detail != 0 && i > 0 && ofSubject(ws[i-1].text) || kind&subject != 0 && !named {
		leaveValue(ws, value+1)
	}
}

func quotes(w string) bool { return len(w) == 1 && strings.Contains("\"'`*", w) }

// ofSubject: user, users, user's.
func ofSubject(w string) bool {
	w, _, _ = strings.Cut(strings.TrimSuffix(w, "s"), "'")
	w, _, _ = strings.Cut(w, "’")
	return kindOf(w)&subject != 0
}

// leaveValue leaves out the words from i on to the end of the value, unless there are more than a value has.
func leaveValue(ws []promptWord, i int) {
	for i < len(ws) && quotes(ws[i].text) {
		i++
	}
	end := i
	for end < len(ws) && !strings.Contains("\n;.|<{}[](),\"`*", ws[end].text) {
		end++
	}
	if end > i && end-i <= maxValue {
		leaveOut(ws, i, end-1)
	}
}

// addressed leaves out the names in "You are talking to Ana Müller": up to three words that begin with a capital letter.
func addressed(ws []promptWord, i int) {
	if ws[i].kind&caller == 0 {
		return
	}
	i++
	for i < len(ws) && slices.Contains([]string{"to", "with", "of", "in", "as", "the", "user", "customer"}, strings.ToLower(ws[i].text)) {
		i++
	}
	for k := i; k < min(i+maxValue, len(ws)); k++ {
		r, _ := utf8.DecodeRuneInString(ws[k].text)
		if !unicode.IsUpper(r) {
			return
		}
		ws[k].out = true
	}
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
