package match

import (
	"slices"
	"strings"
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

// phrasings say one thing each, twice; written without looking at what the comparison does with them.
var phrasings = [][2]string{
	{"Your refund of $25.50 will reach your account within 5-7 business days.", "You'll get $25.50 back in five to seven working days."},
	{"I've booked a table for 4 at 7:30 PM on Friday.", "Table for four confirmed: Friday, 19:30."},
	{"No orders were found for this email address.", "I couldn't find any orders under that email."},
	{"Your subscription ends on December 31, 2026.", "The subscription is valid until 31.12.2026."},
	{"The flight departs at 6:05.", "Departure is at 06:05."},
	{"Shipping is free for orders over $50.", "Orders above 50 dollars ship at no charge."},
	{"You can't change the address after the order has shipped.", "Once shipped, the address can no longer be changed."},
	{"The weather in Seoul will be sunny, 25 degrees.", "Sunny in Seoul, around 25°C."},
	{"We are open from 9 am to 5 pm.", "Opening hours: 09:00-17:00."},
	{"Your balance is 1,234.56 EUR.", "Balance: €1234.56"},
	{"There are 12 months in a year.", "A year has 12 months."},
	{"It takes half an hour.", "It takes 30 minutes."},
	{"The price went up by 10%.", "There was a 10 percent increase in price."},
	{"I was unable to process the payment.", "The payment could not be processed."},
	{"Your password must not be shared.", "Never share your password."},
	{"The item is out of stock.", "The item is not available right now."},
	{"Only members can book.", "Non-members cannot book."},
	{"The order is not yet paid.", "The order is still unpaid."},
	{"Ms. Tanaka will call you tomorrow.", "You'll receive a call from Tanaka tomorrow."},
	{"The room has two beds and one desk.", "There's one desk and two beds in the room."},
	{"We don't charge a cancellation fee.", "Cancellation is free of charge."},
	{"The parcel weighs 1.5 kg.", "The parcel weighs 1500 grams."},
	{"Delivery on 05/03/2026.", "Delivery on March 5, 2026."},
	{"You have until Friday to return it.", "Please return it by Friday at the latest."},
	{"Your ticket number is 4711-22.", "Ticket: 4711-22"},
	{"Approximately 1.2 million users are affected.", "About 1,200,000 users are affected."},
	{"The meeting moved from 3 pm to 4 pm.", "The meeting is now at 16:00 instead of 15:00."},
	{"Die Rechnung über 49,90 € wurde bezahlt.", "Ihre Zahlung von 49,90 Euro ist eingegangen."},
	{"Der Termin ist am 5. Juni um 14 Uhr.", "Wir sehen uns am 05.06.2026 um 14:00 Uhr."},
	{"Es wurde keine Bestellung gefunden.", "Ich konnte leider keine Bestellung finden."},
	{"Die Lieferung dauert zwei bis drei Werktage.", "Lieferzeit: 2-3 Werktage."},
	{"Der Artikel ist nicht vorrätig.", "Der Artikel ist leider ausverkauft."},
	{"Sie können bis zum 31. Januar kündigen.", "Eine Kündigung ist bis 31. Januar möglich."},
	{"Ihr Guthaben beträgt 12,50 €.", "Sie haben noch 12,50 € Guthaben."},
	{"주문 번호는 ORD-55021입니다.", "ORD-55021 주문이 맞습니다."},
	{"환불은 3~5일 정도 걸립니다.", "환불까지 3일에서 5일이 소요됩니다."},
	{"예약은 6월 5일 오후 3시입니다.", "6월 5일 15:00에 예약되어 있습니다."},
	{"결제 금액은 12,000원입니다.", "총 1만 2천원이 결제됩니다."},
	{"해당 상품은 현재 구매할 수 없습니다.", "지금은 그 상품을 살 수 없어요."},
	{"주문 내역을 찾을 수 없습니다.", "주문 내역이 없습니다."},
	{"비밀번호가 변경되었습니다.", "비밀번호를 바꿨습니다."},
	{"배송비는 무료입니다.", "배송비가 없습니다."},
	{"고객센터는 오전 9시부터 오후 6시까지 운영합니다.", "고객센터 운영 시간은 09:00~18:00입니다."},
	{"쿠폰 두 장이 있습니다.", "쿠폰이 2장 있습니다."},
	{"서울에서 부산까지 2시간 30분 걸립니다.", "부산까지 서울에서 두 시간 반이 걸립니다."},
	{"회의는 내일로 연기되었습니다.", "회의가 내일로 미뤄졌습니다."},
	{"ご注文番号はORD-55021です。", "ORD-55021のご注文ですね。"},
	{"返金には3〜5日かかります。", "返金まで3日から5日ほどお待ちください。"},
	{"予約は6月5日の午後3時です。", "6月5日15:00にご予約いただいています。"},
	{"合計12,000円です。", "お会計は1万2000円になります。"},
	{"該当する注文は見つかりませんでした。", "ご注文が見つかりません。"},
	{"送料は無料です。", "送料はかかりません。"},
	{"現在ご利用いただけません。", "今は使えません。"},
	{"2名様で予約しました。", "二名で予約が完了しました。"},
	{"Su reembolso de 25,50 € llegará en 5 días.", "Recibirá 25,50 euros dentro de cinco días."},
	{"No encontré ningún pedido.", "No hay pedidos a su nombre."},
	{"La cita es el 5 de junio a las 15:00.", "Le esperamos el 5 de junio a las 3 pm."},
	{"El envío es gratis.", "El envío no tiene costo."},
	{"Tiene dos mensajes nuevos.", "Hay 2 mensajes nuevos."},
	{"El artículo está agotado.", "El artículo no está disponible."},
	{"The red line is after the blue line on the map.", "On the map, the blue line comes before the red line."},
	{"Send the file to Alice, not to Bob.", "Alice, and not Bob, should get the file."},
	{"The total was $120, of which $20 is tax.", "$100 plus $20 tax."},
	{"Do you want me to proceed?", "Shall I go ahead?"},
	{"Your order of 3 items ships in 2 boxes.", "We ship your 3 items in two packages."},
	{"Step 1: open settings. Step 2: click save.", "Open the settings, then click save."},
	{"I found 3 flights. The cheapest is $240.", "Three flights are available, the lowest fare being $240."},
	{"The first 100 customers get 20% off.", "20% discount for the first hundred customers."},
	{"You were charged $30 on May 2 and $30 on June 2.", "Two charges of $30: 2 May and 2 June."},
}

// longer ones, of the second look: 1 of 33 failed at first, by a version spelt with a v.
var longer = [][2]string{
	{"I checked your order ORD-88121. It left our warehouse on June 3 and should arrive by June 6. You don't need to do anything else.", "Your order ORD-88121 shipped on 3 June; delivery is expected by 6 June. No further action is needed."},
	{"I've cancelled your reservation for 2 people on July 10. You won't be charged, and the $50 deposit will be refunded within 3 days.", "Your July 10 reservation for two is cancelled. The 50 dollar deposit comes back to you in up to three days, and there is no charge."},
	{"Unfortunately, I can't process this refund because the 30-day window has passed. You may contact support at help@shop.com.", "The refund isn't possible: more than 30 days have passed. Please write to help@shop.com."},
	{"Here are the results:\n1. Item A - $10\n2. Item B - $20\n3. Item C - $30\nTotal: $60", "Items: A ($10), B ($20) and C ($30), $60 in all."},
	{"Die Buchung wurde erfolgreich storniert. Sie erhalten 120 € innerhalb von 5 Werktagen zurück. Es fallen keine Gebühren an.", "Ihre Buchung ist storniert; die 120,00 Euro werden kostenlos innerhalb von fünf Tagen erstattet."},
	{"Leider konnte ich keinen freien Tisch am Samstag um 19 Uhr finden. Am Sonntag ist noch etwas frei.", "Samstag 19:00 Uhr ist leider ausgebucht, aber Sonntag wäre noch ein Tisch frei."},
	{"고객님, 주문하신 상품은 6월 3일에 발송되었으며 3일 이내에 도착할 예정입니다. 추가로 하실 일은 없습니다.", "상품이 6월 3일 출고되었고 사흘 안에 받으실 수 있습니다. 별도로 하실 일은 없어요."},
	{"죄송합니다. 환불 기간 30일이 지나서 환불이 불가능합니다.", "30일이 경과하여 환불해 드릴 수 없습니다."},
	{"申し訳ございませんが、30日を過ぎているため返金できません。", "返金期限の30日を過ぎておりますので、返金は承れません。"},
	{"ご注文は6月3日に発送され、6月6日までに届く予定です。", "6月3日に発送済みです。6月6日までにお届けします。"},
	{"Lo siento, no puedo procesar el reembolso porque han pasado más de 30 días.", "No es posible reembolsarle: el plazo de 30 días ya venció."},
	{"He reservado una mesa para 4 personas el viernes a las 20:30.", "Mesa reservada: viernes, 8:30 pm, cuatro personas."},
	{"The meeting with Anna was moved to Tuesday because Bob is away on Monday.", "As Bob isn't there on Monday, your meeting with Anna is on Tuesday now."},
	{"Your plan includes 5 GB of data; you've used 3.2 GB, so 1.8 GB remain.", "You have 1.8 GB left of your 5 GB."},
	{"The server was down for 45 minutes, from 10:15 to 11:00.", "There was an outage between 10:15 and 11:00."},
	{"You have no unread messages.", "All messages are read."},
	{"There is no charge for returns.", "Returns are free."},
	{"I didn't find any issues with the account.", "The account looks fine."},
	{"The door is not locked.", "The door is unlocked."},
	{"Neither Alice nor Bob is available.", "Alice and Bob are both unavailable."},
	{"Prices start at $99 and go up to $299.", "Plans range from $99 to $299."},
	{"Please do not reply to this email.", "This mailbox is not monitored, so don't reply."},
	{"Order #4521 contains 3 books.", "3 books are in order #4521."},
	{"Your appointment on 12/05/2026 at 9:00 is confirmed.", "Confirmed: 12 May 2026, 9 am."},
	{"The package could not be delivered on Monday. A new attempt will be made on Tuesday.", "Delivery failed Monday; we'll try again Tuesday."},
	{"The first result is from 2019, the second from 2021.", "One paper was published in 2019 and another in 2021."},
	{"Bitte melden Sie sich nicht ab.", "Melden Sie sich bitte nicht ab."},
	{"The ticket costs 1.200,50 EUR.", "Ticket price: 1,200.50 EUR"},
	{"It's 5 km away.", "The distance is 5000 m."},
	{"Turn left after the bridge.", "After the bridge, take a left."},
	{"It will be ready in a week.", "It will be ready in 7 days."},
	{"You need 2 more points.", "You're two points short."},
	{"Version 2.3.1 fixes the bug.", "The bug is fixed in v2.3.1."},
}

// opposites of a kind each, written likewise.
var opposed = [][2]string{
	{"Your refund was approved.", "Your refund was not approved."},
	{"The device is connected.", "The device isn't connected."},
	{"You are eligible for the discount.", "You are not eligible for the discount."},
	{"We ship to Canada.", "We don't ship to Canada."},
	{"Delivery takes 3 days.", "Delivery takes 4 days."},
	{"The price is $19.99.", "The price is $29.99."},
	{"Your seat is 12A.", "Your seat is 14C."},
	{"Meet at 9 am.", "Meet at 10 am."},
	{"Invoice INV-2041 is overdue.", "Invoice INV-2042 is overdue."},
	{"The alarm is enabled.", "The alarm is disabled."},
	{"Temperature rose by 5%.", "Temperature fell by 5%."},
	{"The test passed.", "The test failed."},
	{"Your visit is on Thursday.", "Your visit is on Wednesday."},
	{"The package was delivered to Hamburg.", "The package was delivered to Berlin."},
	{"It's included in the price.", "It's not included in the price."},
	{"Das Ticket ist gültig.", "Das Ticket ist ungültig."},
	{"Die Zahlung war erfolgreich.", "Die Zahlung ist fehlgeschlagen."},
	{"Der Preis beträgt 20 €.", "Der Preis beträgt 30 €."},
	{"Sie dürfen parken.", "Sie dürfen nicht parken."},
	{"Das Treffen ist am Montag.", "Das Treffen ist am Freitag."},
	{"쿠폰을 사용할 수 있습니다.", "쿠폰을 사용할 수 없습니다."},
	{"가격은 3만원입니다.", "가격은 4만원입니다."},
	{"예약이 확정되었습니다.", "예약이 취소되었습니다."},
	{"회의는 월요일입니다.", "회의는 금요일입니다."},
	{"주문번호 ORD-1001이 발송되었습니다.", "주문번호 ORD-1002가 발송되었습니다."},
	{"상품이 도착했습니다.", "상품이 도착하지 않았습니다."},
	{"ご利用いただけます。", "ご利用いただけません。"},
	{"価格は300円です。", "価格は500円です。"},
	{"予約は10時です。", "予約は11時です。"},
	{"この商品は返品可能です。", "この商品は返品不可です。"},
	{"在庫があります。", "在庫がありません。"},
	{"El pago fue exitoso.", "El pago falló."},
	{"Hay habitaciones disponibles.", "No hay habitaciones disponibles."},
	{"Cuesta 20 euros.", "Cuesta 30 euros."},
	{"La reunión es el lunes.", "La reunión es el martes."},
}

// reversedPairs are statements and what turns them round: by a prefix, by an opposite, known or not, or by who did what to whom.
var reversedPairs = [][2]string{
	{"The file is locked.", "The file is unlocked."},
	{"The list is complete.", "The list is incomplete."},
	{"Your data is encrypted.", "Your data is unencrypted."},
	{"The coffee is hot.", "The coffee is cold."},
	{"All seats are taken.", "Some seats are taken."},
	{"You must bring your passport.", "You may bring your passport."},
	{"The light is on.", "The light is off."},
	{"Your stock value went up.", "Your stock value went down."},
	{"The plan has a gain of 5%.", "The plan has a loss of 5%."},
	{"Alice sent the file to Bob.", "Bob sent the file to Alice."},
	{"The cat chased the dog.", "The dog chased the cat."},
	{"A is greater than B.", "B is greater than A."},
	{"Refunds take longer than exchanges.", "Exchanges take longer than refunds."},
	{"The server connected.", "The server disconnected."},
	{"The contract is legal.", "The contract is illegal."},
	{"You agreed to the terms.", "You disagreed with the terms."},
	{"I recommend plan A over plan B.", "I recommend plan B over plan A."},
	{"Profit exceeded costs.", "Costs exceeded profit."},
	{"The kettle is red.", "The kettle is blue."},
	{"The meeting is tomorrow.", "The meeting is today."},
	{"Call the doctor.", "Call the lawyer."},
	{"Das Gerät ist eingeschaltet.", "Das Gerät ist ausgeschaltet."},
	{"문이 열려 있습니다.", "문이 닫혀 있습니다."},
	{"온도가 높습니다.", "온도가 낮습니다."},
	{"ドアが開いています。", "ドアが閉まっています。"},
	{"温度が高いです。", "温度が低いです。"},
	{"La puerta está abierta.", "La puerta está cerrada."},
	{"Only adults can enter.", "Only children can enter."},
	{"The patient is alive.", "The patient is dead."},
	{"Payment is due before delivery.", "Payment is due after delivery."},
	{"The package is heavier than 5 kg.", "The package is lighter than 5 kg."},
}

// TestHeldOut holds both promises on further pairs: two phrasings never fail for lack of an endpoint, a reversed statement does. At first sight 2 of
// 69 phrasings failed and 4 of 35 opposites did not; both were mended, so the pairs are held out no more.
func TestHeldOut(t *testing.T) {
	for _, p := range slices.Concat(phrasings, longer) {
		for _, d := range [][2]string{p, {p[1], p[0]}} {
			if v := (Matcher{}).compare(d[0], d[1], 0); v.truth == no {
				t.Errorf("%q fails for %q: %+v", d[1], d[0], v.mismatch)
			}
		}
	}
	for _, p := range opposed {
		for _, d := range [][2]string{p, {p[1], p[0]}} {
			if v := (Matcher{}).compare(d[0], d[1], 0); v.truth != no {
				t.Errorf("%q does not fail for %q: %s", d[1], d[0], v.why)
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
	for _, p := range slices.Concat(opposed, reversedPairs) {
		if m.Response(&regcase.Response{Text: p[0]}, p[1]).Holds() {
			t.Errorf("%q passes for %q", p[1], p[0])
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

// TestLongTexts ends in time, and takes no text for its own beginning.
func TestLongTexts(t *testing.T) {
	for _, s := range []string{"1 2 3,4 5.6 ", "no. yes? ", "a@b.c ORD-10231 ", "word ", "The order 5 was not shipped on May 3. ", "5월 3일에 도착하지 않았습니다. "} {
		long := strings.Repeat(s, 16000/len(s))
		if v := (Matcher{}).compare(long, long[:len(s)*(8000/len(s))], 0); v.truth == yes {
			t.Errorf("%q often is %q less often", s, s)
		}
	}
	if v := (Matcher{}).compare(strings.Repeat("a ", maxText), "a", 0); v.truth != unknown {
		t.Errorf("got %+v", v)
	}
}
