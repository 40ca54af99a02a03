package match

import (
	"testing"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// pairs of texts, and how a comparison by their words ends. What is undecided here may be decided by an Embedder; what fails may not.
var pairs = []struct {
	lang, a, b string
	want       truth
}{
	// The same words in another spelling.
	{"en", "Your order has shipped.", "Your order has shipped", yes},
	{"en", "Your order has shipped.", "**Your order** has shipped!", yes},
	{"en", "The order was cancelled.", "the order is cancelled.", yes},
	{"en", "Hello! Your order ORD-10231 was sent.", "Your order ORD-10231 was sent.", yes},
	{"de", "Ihre Bestellung wurde versandt.", "Ihre Bestellung ist versandt", yes},
	{"ko", "주문이 발송되었습니다.", "주문이 발송되었습니다", yes},
	{"ja", "注文は発送されました。", "注文は発送されました", yes},
	{"es", "El pedido fue enviado.", "El pedido ha sido enviado", yes},

	// Negations.
	{"en", "The order was cancelled.", "The order was not cancelled.", no},
	{"en", "You can return the item.", "You cannot return the item.", no},
	{"en", "You can return the item.", "You can't return the item.", no},
	{"en", "Refunds are available for this ticket.", "Refunds are unavailable for this ticket.", no},
	{"en", "Your card will be charged.", "Your card won't be charged.", no},
	{"en", "Yes.", "No.", no},
	{"en", "Yes, it is covered.", "No.", no},
	{"en", "The payment succeeded.", "The payment failed.", no},
	{"en", "Your request was approved.", "Your request was rejected.", no},
	{"en", "The store is open on holidays.", "The store is closed on holidays.", no},
	{"en", "I found the booking. It is refundable.", "I found the booking. It is not refundable.", no},
	{"de", "Die Bestellung wurde storniert.", "Die Bestellung wurde nicht storniert.", no},
	{"de", "Eine Rückgabe ist möglich.", "Eine Rückgabe ist nicht möglich.", no},
	{"de", "Sie haben Anspruch auf Rückerstattung.", "Sie haben keinen Anspruch auf Rückerstattung.", no},
	{"ko", "주문이 취소되었습니다.", "주문이 취소되지 않았습니다.", no},
	{"ko", "배송이 가능합니다.", "배송이 불가능합니다.", no},
	{"ko", "재고가 있습니다.", "재고가 없습니다.", no},
	{"ko", "환불 요청이 승인되었습니다.", "환불 요청이 거절되었습니다.", no},
	{"ko", "결제에 성공했습니다.", "결제에 실패했습니다.", no},
	{"ja", "注文はキャンセルされました。", "注文はキャンセルされていません。", no},
	{"ja", "返品できます。", "返品できません。", no},
	{"ja", "支払いは成功しました。", "支払いは失敗しました。", no},
	{"es", "El pedido fue cancelado.", "El pedido no fue cancelado.", no},
	{"es", "Su solicitud fue aprobada.", "Su solicitud fue rechazada.", no},
	{"es", "Puede devolver el artículo.", "No puede devolver el artículo.", no},
	{"fr", "La commande est annulée.", "La commande n'est pas annulée.", no},

	// Numbers, amounts, dates, names, ids.
	{"en", "The total is $40.", "The total is $45.", no},
	{"en", "The total is $40.", "The total is €40.", no},
	{"en", "Your refund of 40 USD is on its way.", "A refund of $45.00 was issued to you.", no},
	{"en", "You have 2 items in the cart.", "There are 3 items in your cart.", no},
	{"en", "Order ORD-10231 was shipped.", "Order ORD-10232 was shipped.", no},
	{"en", "It will arrive on May 3.", "It will arrive on May 4.", no},
	{"en", "It will arrive on 2026-05-03.", "Expect it on 4 May 2026.", no},
	{"en", "The meeting is at 14:00.", "The meeting is at 3 pm.", no},
	{"en", "The meeting is on Monday.", "The meeting is on Tuesday.", no},
	{"en", "The discount is 10%.", "The discount is 15 percent.", no},
	{"en", "Your appointment is with Dr. Miller.", "Your appointment is with Dr. Smith.", no},
	{"en", "Your flight leaves from Berlin.", "Your flight leaves from Munich.", no},
	{"en", "Write to help@example.com.", "Write to sales@example.com.", no},
	{"de", "Der Betrag ist 1.500,50 €.", "Der Betrag ist 1.600,50 €.", no},
	{"de", "Die Lieferung kommt am 3. Mai.", "Die Lieferung kommt am 5. Mai.", no},
	{"de", "Die Lieferung dauert 3 Tage.", "Die Lieferung dauert 5 Tage.", no},
	{"ko", "총액은 5만원입니다.", "총액은 6만원입니다.", no},
	{"ko", "5월 3일에 도착합니다.", "5월 4일에 도착합니다.", no},
	{"ko", "김민수님이 예약했습니다.", "이영희님이 예약했습니다.", no},
	{"ja", "合計は5000円です。", "合計は6000円です。", no},
	{"ja", "5月3日に届きます。", "5月4日に届きます。", no},
	{"ja", "会議は月曜日です。", "会議は火曜日です。", no},
	{"es", "El total es de 40 euros.", "El total es de 45 euros.", no},
	{"es", "Llega el 3 de mayo.", "Llega el 4 de mayo.", no},

	// Two phrasings of one fact: never a failure.
	{"en", "Your order has shipped.", "We have sent your package.", unknown},
	{"en", "The total is $1,000.", "You pay 1000 dollars in all.", unknown},
	{"en", "The meeting is at 14:00.", "We meet at 2 pm.", unknown},
	{"en", "It will arrive on May 3.", "Expect it on 2026-05-03.", unknown},
	{"en", "It takes 90 minutes.", "It takes 1 hour 30 minutes.", unknown},
	{"en", "It takes 24 hours.", "It takes 1 day.", unknown},
	{"en", "You have 2 orders.", "You have two orders.", unknown},
	{"en", "The total is $40.", "Two items at $20 each.", unknown},
	{"en", "The total is $40.", "Item: $35, shipping: $5.", unknown},
	{"en", "It costs about 13 dollars.", "It costs $12.99.", unknown},
	{"en", "We cannot accept returns.", "Returns are not accepted.", unknown},
	{"en", "The payment failed.", "The payment did not succeed.", unknown},
	{"en", "This is not possible.", "This is impossible.", unknown},
	{"en", "Yes, there is no fee.", "No, there is no fee.", unknown},
	{"en", "No, the order has not shipped.", "The order has not shipped.", yes},
	{"en", "No problem! Your order has shipped.", "Your order has shipped.", yes},
	{"en", "Alice paid Bob.", "Bob paid Alice.", unknown},
	{"en", "The transfer goes from Alice to Bob.", "The transfer goes to Alice from Bob.", unknown},
	{"en", "Is the order shipped?", "The order is shipped.", unknown},
	{"en", "Delivery takes 3-5 days.", "Delivery takes three to five days.", unknown},
	{"en", "Your flight leaves from Munich.", "Ihr Flug geht ab München.", unknown},
	{"de", "Ihre Bestellung wurde versandt.", "Wir haben Ihr Paket auf den Weg gebracht.", unknown},
	{"de", "Der Betrag ist 1.500 €.", "Der Betrag ist 1500 Euro.", unknown},
	{"de", "Das Paket liegt im Lager.", "Die Sendung liegt im Depot.", unknown},
	{"ko", "주문이 발송되었습니다.", "주문하신 상품을 보내드렸어요.", unknown},
	{"ko", "총액은 5만원입니다.", "총 50,000원입니다.", unknown},
	{"ko", "환불이 완료되었습니다.", "환불 처리를 마쳤습니다.", unknown},
	{"ko", "재고가 없습니다.", "품절되었습니다.", unknown},
	{"ko", "오후 2시에 시작합니다.", "14:00에 시작합니다.", unknown},
	{"ko", "배송은 3일 걸립니다.", "배송에는 사흘이 걸립니다.", unknown},
	{"ko", "고객님의 예약이 확인되었습니다.", "예약이 확정되었습니다.", unknown},
	{"ja", "注文は発送されました。", "商品をお送りしました。", unknown},
	{"ja", "合計は5000円です。", "お支払いは5千円になります。", unknown},
	{"ja", "雨が降るかもしれません。", "雨の可能性があります。", unknown},
	{"ja", "在庫がありません。", "品切れです。", unknown},
	{"es", "Su pedido fue enviado.", "Hemos despachado su paquete.", unknown},
	{"es", "El total es de 1.000 euros.", "Son 1000 € en total.", unknown},
	{"es", "La reunión es a las 14:00.", "Nos vemos a las 2 pm.", unknown},
}

func TestPairs(t *testing.T) {
	names := map[truth]string{yes: "holds", unknown: "undecided", no: "fails"}
	for _, p := range pairs {
		for _, d := range [][2]string{{p.a, p.b}, {p.b, p.a}} {
			v := Matcher{}.compare(d[0], d[1], 0)
			if v.truth != p.want {
				t.Errorf("%s: %q and %q: %s (%s %+v), want %s", p.lang, d[0], d[1], names[v.truth], v.why, v.mismatch, names[p.want])
			}
		}
		for _, s := range []string{p.a, p.b} {
			if v := (Matcher{}).compare(s, s, 0); v.truth != yes {
				t.Errorf("%q is not itself: %s", s, v.why)
			}
		}
	}
}

// TestReversedNeverPasses gives an Embedder that takes everything for the same: what contradicts or is turned round does not pass all the same.
func TestReversedNeverPasses(t *testing.T) {
	same := func(texts ...string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i := range out {
			out[i] = []float32{1, 2, 3}
		}
		return out, nil
	}
	m := Matcher{Embed: same}
	for _, p := range pairs {
		a := m.Response(&regcase.Response{Text: p.a}, p.b)
		if p.want == no && a.Holds() {
			t.Errorf("%q passes for %q", p.b, p.a)
		}
		if p.want != no && len(a.Mismatches) > 0 {
			t.Errorf("%q fails for %q: %v", p.b, p.a, a.Mismatches)
		}
	}
	for _, p := range [][2]string{{"Alice paid Bob.", "Bob paid Alice."}, {"Is it shipped?", "It is shipped."}, {"Move it from Berlin to Paris.", "Move it from Paris to Berlin."}} {
		if m.Response(&regcase.Response{Text: p[0]}, p[1]).Holds() {
			t.Errorf("%q passes for %q", p[1], p[0])
		}
	}
	if !m.Response(&regcase.Response{Text: "Your order has shipped."}, "We have sent your package.").Holds() {
		t.Error("a paraphrase does not pass with vectors that agree")
	}
}
