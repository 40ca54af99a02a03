package rule

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func TestReadNumber(t *testing.T) {
	for text, want := range map[string][]float64{
		"42": {42}, "42.50": {42.5}, "42,50": {42.5}, "1,234.50": {1234.5}, "1.234,50": {1234.5}, "1'234.50": {1234.5}, "1 234,50": {1234.5},
		"1.234": {1234, 1.234}, "1,234,567": {1234567}, "0.5": {0.5},
	} {
		if got := readNumber(text).values; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestAmounts(t *testing.T) {
	for text, want := range map[string]float64{
		"It costs 42.00 EUR.": 42, "€42": 42, "$ 1,234.56 in all": 1234.56, "USD 17": 17, "1.234,56 € gesamt": 1234.56, "12 dollars": 12, "R$ 5,90": 5.9,
	} {
		if got := amountsIn(text); len(got) != 1 || !got[0].near(want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if got := amountsIn("order 42 of 2026, room 12, eurovision 9"); len(got) != 0 {
		t.Errorf("no amounts, yet %v", got)
	}
}

// What follows from told amounts is explained; what does not, is not.
func TestExplain(t *testing.T) {
	f := &figures{}
	f.addText("it costs 24.00 EUR, shipping 4.95 EUR, VAT 19, 3 of them", false)
	f.groups = [][]float64{{19.9, 45.5, 12.25}}
	for _, v := range []string{"24", "28.95", "19.05", "72", "4.56", "28.56", "76.95", "57.75", "77.65"} {
		if !f.explain(readNumber(v)) {
			t.Errorf("%s follows", v)
		}
	}
	for _, v := range []string{"42.00", "87.15", "13.37", "1000.01"} {
		if f.explain(readNumber(v)) {
			t.Errorf("%s does not follow", v)
		}
	}
}

func TestDays(t *testing.T) {
	want := day{2026, 3, 5}
	for _, text := range []string{"2026-03-05", "2026-03-05T10:00:00Z", "March 5, 2026", "5 March 2026", "5th of March, 2026", "Mar 5", "05.03.2026", "3/5/2026", "the 5. march"} {
		if !slices.ContainsFunc(daysIn(text), want.same) {
			t.Errorf("%s: %v", text, daysIn(text))
		}
	}
	if n := (day{0, 3, 5}).daysAfter(day{2026, 2, 28}); n != 5 {
		t.Errorf("%d days after", n)
	}
}

func TestKeyWords(t *testing.T) {
	for key, want := range map[string]string{"order_id": "order id", "orderId": "order id", "orderID": "order id", "userid": "user id", "payment-method.ref": "payment method ref", "to": "to", "URL": "url", "": ""} {
		if got := strings.Join(keyWords(key), " "); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func TestRejection(t *testing.T) {
	call := func(o trajectory.Outcome, text string) *trajectory.ToolCall {
		return &trajectory.ToolCall{Name: "get_order", HasResult: true, Outcome: o, Result: trajectory.ParseValue(text)}
	}
	for _, text := range []string{
		"Order not found.", `{"error":"no such order"}`, `{"status":404}`, "Error: user_not_found", `{"message":"Customer with id 7 does not exist"}`, "NoSuchKey",
		"invalid order id", "Invalid e-mail address", `{"code":"resource_missing"}`, "Bestellung nicht gefunden", "commande introuvable", "找不到订单", "Could not find an order with that number",
	} {
		if rejection(call(trajectory.OutcomeOK, text)) == "" {
			t.Errorf("%s is a rejection", text)
		}
	}
	for _, text := range []string{
		"No orders found.", `{"orders":[]}`, "Error: function get_order not found", "bash: foo: command not found", "ModuleNotFoundError: No module named 'x'", "timed out",
		`{"order_id":"ORD-1","status":"sent"}`, "getaddrinfo ENOTFOUND shop.test", strings.Repeat("A long text about things. ", 20) + "not found",
	} {
		if got := rejection(call(trajectory.OutcomeOK, text)); got != "" {
			t.Errorf("%s is none", text)
		}
	}
}

func FuzzTexts(f *testing.F) {
	f.Add("The total is 1.234,56 EUR on March 5, 2026; a@b.test ORD-10231", `{"order_id":"ORD-1","n":1e400,"a":[{"to":"x@y.test"}]}`)
	f.Fuzz(func(t *testing.T, text, doc string) {
		for _, n := range amountsIn(text) {
			for _, v := range n.values {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("%q holds %v", text, v)
				}
			}
		}
		daysIn(text)
		subjects(text)
		withoutNames(text)
		keyWords(text)
		known := &figures{}
		known.addText(text, true)
		for _, d := range dataIn(jsontext.Value(doc)) {
			if d.value == "" || d.kind == "" {
				t.Errorf("%q gives %+v", doc, d)
			}
			_ = d.nouns()
		}
		eachLeaf(jsontext.Value(doc), func(p []string, v, beside string) { isNumber(v); valueIn(v) })
	})
}
