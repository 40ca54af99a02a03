package redact

import (
	"strings"
	"testing"
)

// TestTold: what people tell of themselves in prose, in several languages.
func TestTold(t *testing.T) {
	r := newRedactor(t, Options{})
	for _, tt := range []struct{ in, want string }{
		{"Hi, my name is Maya Lindqvist and I need help.", "Hi, my name is name-1 and I need help."},
		{"my name's Maya. Maya Lind. Can you", "my name's name-1. name-2. Can you"},
		{"The name on the card is Jean-Luc O’Neill, thanks", "The name on the card is name-1, thanks"},
		{"Ich heiße Jürgen von der Heide und warte", "Ich heiße name-1 und warte"},
		{"Mein Name ist Ana Kühn.", "Mein Name ist name-1."},
		{"Je m'appelle Zoé Lefèvre, bonjour", "Je m'appelle name-1, bonjour"},
		{"Me llamo María de la Cruz.", "Me llamo name-1."},
		{"Mi chiamo Luca Rossi", "Mi chiamo name-1"},
		{"Meu nome é João da Silva", "Meu nome é name-1"},
		{"Ik heet Jan de Vries", "Ik heet name-1"},
		{"Nazywam się Łukasz Żak", "Nazywam się name-1"},
		{"Меня зовут Анна Петрова.", "Меня зовут name-1."},
		{"我叫王小明，请帮我", "我叫name-1，请帮我"},
		{"名前は山田太郎です", "名前はname-1です"},
		{"제 이름은 김민수입니다", "제 이름은 name-1입니다"},
		{"Please call Mrs. Olga Brandt back", "Please call Mrs. name-1 back"},
		{"It does not work.\n\nBest regards,\nTom Falk", "It does not work.\n\nBest regards,\nname-1"},
		{"Viele Grüße\nInes Falk\n", "Viele Grüße\nname-1\n"},
		{"I live at 221B Baker Street, London NW1 6XE, and", "I live at address-1, and"},
		{"ship it to 1600 Pennsylvania Avenue NW, Washington, DC 20500 please", "ship it to address-1 please"},
		{"My new address is 12 Elm St, Springfield, IL 62704.", "My new address is address-1."},
		{"Ich wohne in der Lindenstraße 14, 10969 Berlin.", "Ich wohne in der address-1."},
		{"J'habite au 12 rue de la Paix, 75002 Paris", "J'habite au address-1"},
		{"Vivo en la Calle de Alcalá 45, 28014 Madrid", "Vivo en la address-1"},
		{"Abito in Via Roma 7, 20121 Milano", "Abito in address-1"},
		{"I was born on March 3, 1984 in a village", "I was born on birth_date-1 in a village"},
		{"DOB: 03/14/1984", "DOB: birth_date-1"},
		{"geboren am 3. März 1984", "geboren am birth_date-1"},
		{"date of birth is 1984-02-29", "date of birth is 1900-01-02"},
		{"née le 4 mai 1990", "née le birth_date-1"},
		{"my passport number is C01X00T47", "my passport number is X00X00X01"},
		{"Reisepass Nr. L8989 0C3", "Reisepass Nr. L8989 0C3"},
		{"my license plate is B-AB 1234", "my license plate is plate-1"},
		{"Kennzeichen: M-XY 123", "Kennzeichen: plate-1"},
		{"number plate AB12 CDE", "number plate plate-1"},
	} {
		s := r.Session()
		got := s.Text(tt.in)
		if got != tt.want {
			t.Errorf("\n in   %s\n got  %s\n want %s", tt.in, got, tt.want)
		}
		if again := r.Session().Text(got); again != got {
			t.Errorf("redacting again changed it:\n%s\n%s", got, again)
		}
		if err := s.Verify([]byte(got)); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}

// TestToldLeaves holds words that stand where a person's would.
func TestToldLeaves(t *testing.T) {
	r := newRedactor(t, Options{})
	for _, in := range strings.Split(strings.TrimSpace(cleanProse), "\n") {
		s := r.Session()
		if got := s.Text(in); got != in {
			t.Errorf("\n in  %s\n got %s", in, got)
		}
		if err := s.Verify([]byte(in)); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

const cleanProse = `
What is your name? Please tell me the name on the order.
The tool name is get_order and the model name is gpt-4.1.
My name is not on the list, is it?
The name is required. The name is Order Total.
Please provide your full name, address and date of birth.
I live in a small town and I am moving next week.
She lives at home. They live in Berlin.
Ship it to the store. Ship them to my address on file.
Deliver this to the front desk, second floor.
The address is missing a street number.
My address is wrong, can you fix it?
Send it to customer support, please.
The product was born on a whiteboard in 2019.
The feature was born in March 2020.
Passport holders only. Do you need my passport?
Your passport application takes 6 weeks. The passport fee is 130 dollars.
The plate is hot. A set of 12 plates costs 49.90.
License plate recognition model v2, accuracy 0.98.
Driving directions take 25 minutes. The driver is 3 stops away.
Best regards,
Kind regards, The Shop Team
Thanks, that is all.
Mr. and Mrs. are titles. Dr is short for doctor.
Ich heiße Sie willkommen.
Mein Name ist falsch geschrieben, und mein name ist egal.
Wie ist Ihre Adresse? Die Adresse ist unvollständig.
Ich wohne in einer Wohnung im dritten Stock.
Quelle est votre adresse ?
Vivo en una casa. ¿Cuál es su dirección?
Il mio indirizzo è cambiato.
The 42 Street Fighter figures ship on May 3.
Order 1234 was placed on 2024-03-01 and shipped by 2024-03-04.
Call validate_product before upsert_product with price 12.50.
The customer said: my name, my rules.
Total: 3 items, 2 coupons, 1 gift card. Deliver to: pickup.
Address: 0x7ffee4b2 is out of range. address: 127.0.0.1:4318
My name is Claude. My name is GPT and I am an assistant.
born, birth, date of birth: required
id card: optional; passport number: string
placa base B450, tarjeta de video RTX 3060
`
