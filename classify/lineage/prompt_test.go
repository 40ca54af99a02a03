package lineage

import (
	"strings"
	"testing"
)

// Prompts that one template made on two runs: all of a row must have one digest.
var samePrompts = [][]string{
	{"Today is Monday, 30 November 2026, 10:14. User: ana, id 8271. Be brief.", "Today is Tuesday, 1 December 2026, 09:02. User: ben, id 27. Be brief."},
	{"The current date and time is 2026-11-30T10:14:05.123Z.", "The current date and time is 2027-01-02T00:00:00Z."},
	{"Date: 30.11.2026", "Date: 01.12.26"},
	{"Today is Nov 30th, 2026 (Mon).", "Today is Dec 1st, 2026 (Tue)."},
	{"It is Monday, November 30, 2026 at 9:30 PM UTC.", "It is Friday, December 4, 2026 at 10:05 AM UTC."},
	{"Now: 10:14 UTC+2\nHelp.", "Now: 23:59 UTC+2\nHelp."},
	{"Today is Monday. Help.", "Today is Sunday. Help."},
	{"<user>ana</user> Answer in English.", "<user>Ben Müller</user> Answer in English."},
	{`{"user": "ana", "user_id": 8271, "locale": "en"}`, `{"user": "benedikt.o", "user_id": 12, "locale": "en"}`},
	{"You are talking to Ana Müller. Never promise a refund.", "You are talking to Ben. Never promise a refund."},
	{"The user's name is Ana.", "The user's name is Jean-Luc Picard."},
	{"Customer location: Berlin\nCustomer plan: gold", "Customer location: New York\nCustomer plan: free"},
	{"Reach them at ana@example.com or +49 170 1234567.", "Reach them at ben.o@example.org or +1 (555) 765-4321."},
	{"session_id=5f3c2a9e-1111-4a4a-9c9c-0123456789ab", "session_id=0d9f0000-2222-4b4b-8d8d-ba9876543210"},
	{"Thread call_Ab3dEf6hIj9kLm is open for order ORD-00017.", "Thread call_Zz9xYy8wVv7uTt is open for order ORD-48213."},
	{"You help  shoppers.\n\nBe brief. ", "You help shoppers.\nBe brief."},
	{"Ticket #81", "Ticket #12044"},
}

// Prompts that somebody changed: all of a row must differ from each other.
var otherPrompts = [][]string{
	{"You are a support agent.", "You are a sales agent.", "You are a support agent. Be brief.", "You are support agent a."},
	{"Ask at most 3 questions.", "Ask at most 5 questions."},
	{"We are closed on Monday.", "We are closed on Sunday."},
	{"Free shipping above 50 EUR.", "Free shipping above 80 EUR."},
	{"User: ana. Never promise a refund.", "User: ana. Always promise a refund."},
	{"User: Where is my parcel today?\nCall track.", "User: Where did my parcel go?\nCall track."},
	{"Your name is Shoppy.", "Your name is Parcelina."},
	{"</user> Be brief.", "</user> Be kind."},
	{"Use v1.4.2 of the manual.", "Use v1.4.3 of the manual."},
	{"Today is {date}.", "Today is {date}. You may cancel orders."},
	{"The time is short.", "The time is over."},
	{"Customer service: answer politely, always.", "Customer service: answer shortly, always."},
	{"", "a"},
}

func TestPromptDigest(t *testing.T) {
	for _, row := range samePrompts {
		for _, p := range row[1:] {
			if PromptDigest(p) != PromptDigest(row[0]) {
				t.Errorf("one template, two digests:\n%q\n%q\n%v\n%v", row[0], p, promptWords(row[0]), promptWords(p))
			}
		}
	}
	for _, row := range otherPrompts {
		seen := map[string]string{}
		for _, p := range row {
			if first, ok := seen[PromptDigest(p)]; ok {
				t.Errorf("two prompts, one digest:\n%q\n%q", first, p)
			}
			seen[PromptDigest(p)] = p
		}
	}
}

// What was inserted stands where it stands: the words around it still count.
func TestPromptDigestAround(t *testing.T) {
	base := "You are {0} for the shop.\nToday is Monday, 30 November 2026, 10:14.\nUser: ana, id 8271\n{1}\nConversation id: 5f3c2a9e-1111-4a4a-9c9c-0123456789ab"
	other := strings.NewReplacer("Monday, 30 November 2026, 10:14", "Friday, 4 December 2026, 23:01", "ana, id 8271", "Maria del Mar, id 3", "5f3c2a9e-1111-4a4a-9c9c-0123456789ab", "77777777-1111-4a4a-9c9c-0123456789ab").Replace(base)
	fill := func(s, a, b string) string { return strings.NewReplacer("{0}", a, "{1}", b).Replace(s) }
	if x, y := PromptDigest(fill(base, "a clerk", "Never cancel.")), PromptDigest(fill(other, "a clerk", "Never cancel.")); x != y {
		t.Errorf("same template: %s and %s", x, y)
	}
	for _, c := range [][2]string{{"a robot", "Never cancel."}, {"a clerk", "Always cancel."}, {"a clerk", ""}} {
		if PromptDigest(fill(base, "a clerk", "Never cancel.")) == PromptDigest(fill(other, c[0], c[1])) {
			t.Errorf("%v is not seen", c)
		}
	}
}

func FuzzPromptDigest(f *testing.F) {
	for _, row := range append(samePrompts, otherPrompts...) {
		for _, p := range row {
			f.Add(p)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		d := PromptDigest(s)
		if len(d) != 12 && (d != "" || strings.TrimSpace(s) != "") {
			t.Errorf("%q: %q", s, d)
		}
		if spaced := strings.ReplaceAll(s, " ", "  "); PromptDigest(spaced) != d {
			t.Errorf("%q: white space counts", s)
		}
	})
}

func BenchmarkPromptDigest(b *testing.B) {
	s := strings.Repeat("You help shoppers of parcel-desk. Today is Monday, 30 November 2026. User: ana, id 8271. Ask at most 3 questions.\n", 100)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		PromptDigest(s)
	}
}
