package match_test

import (
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/ratchet/match"
)

func TestFollows(t *testing.T) {
	for _, x := range []struct{ recorded, answer, next, says string }{
		{"Your order is on its way.", "It was sent today.", "Thanks!", ""},
		{"What is your order number?", "Which order do you mean?", "A-1789", ""},
		{"Which one do you mean?", "I have sent it.", "The blue one", "did not ask this time"},
		{"Which one do you mean?", "I have sent it. Is there anything else I can help you with?", "The blue one", "did not ask this time"},
		{"I have sent it.", "I have sent it. Can I help you with anything else?", "And the other?", ""},
		{"What is your order number?", "What is your e-mail address?", "A-1789", "asks for an e-mail address this time, and it gives an order number"},
		{"Wie lautet Ihre Bestellnummer?", "Wie lautet Ihre E-Mail-Adresse?", "A-1789", "asks for an e-mail address"},
		{"주문 번호가 무엇인가요?", "이메일 주소가 무엇인가요?", "A-1789", "asks for an e-mail address"},
		{"Your order is on its way.", "What is your e-mail address?", "Then cancel it.", "asks for an e-mail address this time, and it gives none"},
		{"Your order is on its way.", "What is your e-mail address?", "I am a@example.com, cancel it.", ""},
		{"Your order is on its way.", "Why do you want to cancel?", "Because it is late.", ""},
		{"I found AB-1234 and AB-9999.", "I found AB-1234.", "Cancel AB-9999", "speaks of ab-9999, which the agent did not name"},
		{"I found AB-9999.", "I found nothing.", "But I have AB-5555 here", ""},
		{"", "", "", ""},
	} {
		if got := match.Follows(x.recorded, x.answer, x.next, []string{"hello"}); (x.says == "") != (got == "") || !strings.Contains(got, x.says) {
			t.Errorf("%q / %q / %q: %q", x.recorded, x.answer, x.next, got)
		}
	}
	if got := match.Follows("I found AB-9999.", "Found.", "Cancel AB-9999", []string{"Where is AB-9999?"}); got != "" {
		t.Error(got)
	}
}

func FuzzFollows(f *testing.F) {
	f.Add("What is your order number?", "What is your e-mail?", "A-1789")
	f.Fuzz(func(t *testing.T, recorded, answer, next string) {
		if got := match.Follows(recorded, recorded, next, nil); len(recorded) < 200 && got != "" {
			t.Errorf("an equal answer: %s", got)
		}
		match.Follows(recorded, answer, next, nil)
	})
}
