package leaks

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Planted is a value and the words around it by which a reader knows what it is.
type Planted struct {
	Kind, Value, Text string
}

// Secret makes one value of a kind that pawl says it finds.
func Secret(r *rand.Rand) Planted {
	k := kinds[r.IntN(len(kinds))]
	v := k.value(r)
	return Planted{k.name, v, fmt.Sprintf(k.text[r.IntN(len(k.text))], v)}
}

var kinds = []struct {
	name  string
	value func(*rand.Rand) string
	text  []string
}{
	{"email", func(r *rand.Rand) string {
		return given(r) + "." + family(r) + fmt.Sprint(r.IntN(1000)) + "@" + letters(r, 7) + ".org"
	}, []string{"%s", "write to %s"}},
	{"phone", func(r *rand.Rand) string { return fmt.Sprintf("+49 30 9%05d", r.IntN(1e5)) }, []string{"%s", "call me at %s"}},
	{"card", func(r *rand.Rand) string { return card(r) }, []string{"%s", "my card is %s"}},
	{"iban", func(r *rand.Rand) string { return iban(r) }, []string{"%s", "the account is %s"}},
	{"ip", func(r *rand.Rand) string {
		return fmt.Sprintf("%d.%d.%d.%d", 11+r.IntN(80), r.IntN(255), r.IntN(255), 1+r.IntN(250))
	}, []string{"from %s"}},
	{"ssn", func(r *rand.Rand) string {
		return fmt.Sprintf("%03d-%02d-%04d", 100+r.IntN(500), 10+r.IntN(80), 1000+r.IntN(8000))
	}, []string{"SSN %s"}},
	{"github token", func(r *rand.Rand) string { return "ghp_" + token(r, 36) }, []string{"%s", "use %s for it"}},
	{"api key", func(r *rand.Rand) string { return "sk-proj-" + token(r, 32) }, []string{"%s", "key: %s"}},
	{"aws key", func(r *rand.Rand) string { return "AKIA" + strings.ToUpper(letters(r, 12)) + "2345" }, []string{"%s"}},
	{"password", func(r *rand.Rand) string { return letters(r, 6) + fmt.Sprint(1000+r.IntN(9000)) + "!" }, []string{"my password is %s"}},
	{"bearer", func(r *rand.Rand) string { return token(r, 30) }, []string{"Authorization: Bearer %s"}},
	{"url password", func(r *rand.Rand) string { return "app:" + token(r, 12) }, []string{"postgres://%s@db.test/shop"}},
	{"name", func(r *rand.Rand) string { return given(r) + " " + family(r) + letters(r, 4) }, []string{"my name is %s", "Hello, me llamo %s", "Mein Name ist %s"}},
	{"address", func(r *rand.Rand) string { return fmt.Sprintf("%d %s Street", 10+r.IntN(900), family(r)+letters(r, 3)) }, []string{"I live at %s"}},
	{"name alone", func(r *rand.Rand) string {
		return []string{"Maya", "Ines", "Olga", "Joana", "Ravi", "Thomas"}[r.IntN(6)] + " " + family(r) + letters(r, 4)
	}, []string{"%s wants a refund", "it is for %s", "%s"}},
	{"address alone", func(r *rand.Rand) string {
		return fmt.Sprintf("%d %s Street, London NW%d %dXE", 10+r.IntN(900), family(r)+letters(r, 3), 1+r.IntN(9), 1+r.IntN(9))
	}, []string{"it went to %s", "%s"}},
	{"birth date", func(r *rand.Rand) string {
		return fmt.Sprintf("%04d-%02d-%02d", 1930+r.IntN(70), 1+r.IntN(12), 1+r.IntN(28))
	}, []string{"born on %s"}},
	{"plate", func(r *rand.Rand) string {
		return fmt.Sprintf("B-%s %d", strings.ToUpper(letters(r, 2)), 1000+r.IntN(9000))
	}, []string{"my license plate is %s"}},
}

func token(r *rand.Rand, n int) string {
	const abc = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	b := []byte("a7K2")
	for len(b) < n {
		b = append(b, abc[r.IntN(len(abc))])
	}
	return string(b)
}

func letters(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

func given(r *rand.Rand) string {
	return []string{"Maya", "Tom", "Ines", "Olga", "Luca", "Joana", "Ravi", "Chen"}[r.IntN(8)]
}

func family(r *rand.Rand) string {
	return []string{"Lind", "Falk", "Brandt", "Rossi", "Silva", "Patel", "Novak", "Okoye"}[r.IntN(8)]
}

func card(r *rand.Rand) string {
	d := fmt.Sprintf("4%014d", r.Int64N(1e14))
	sum := 0
	for i := range d {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 0 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	d += fmt.Sprint((10 - sum%10) % 10)
	return d[:4] + " " + d[4:8] + " " + d[8:12] + " " + d[12:]
}

func iban(r *rand.Rand) string {
	body := fmt.Sprintf("%018d", r.Int64N(1e18))
	rest := 0
	for _, c := range body + "131400" { // DE00
		rest = (rest*10 + int(c-'0')) % 97
	}
	return fmt.Sprintf("DE%02d%s", 98-rest, body)
}

// Clean makes one of the things that traces are full of and that are no person's.
func Clean(r *rand.Rand) string {
	hexes := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "0123456789abcdef"[r.IntN(16)]
		}
		return string(b)
	}
	n := r.IntN
	return []func() string{
		func() string { return fmt.Sprintf("ORD-%05d", n(1e5)) }, func() string { return fmt.Sprintf("order %d of %d", n(1e6), 2000+n(30)) },
		func() string { return hexes(32) }, func() string { return hexes(16) }, func() string { return "sha256:" + hexes(64) },
		func() string { return hexes(8) + "-" + hexes(4) + "-4" + hexes(3) + "-a" + hexes(3) + "-" + hexes(12) },
		func() string { return "call_" + token(r, 24) }, func() string { return "chatcmpl-" + token(r, 29) }, func() string { return "toolu_01" + token(r, 22) },
		func() string {
			return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:%02d.%03dZ", 1+n(12), 1+n(28), n(24), n(60), n(60), n(1000))
		},
		func() string { return fmt.Sprintf("%d", 1_790_000_000_000_000_000+r.Int64N(1e15)) }, func() string { return fmt.Sprintf("%d", 1_700_000_000_000+r.Int64N(1e11)) },
		func() string { return fmt.Sprintf("EUR %d.%02d", n(10000), n(100)) }, func() string { return fmt.Sprintf("v%d.%d.%d", n(20), n(20), n(20)) },
		func() string { return fmt.Sprintf("gpt-4.1-mini-2025-%02d-%02d", 1+n(12), 1+n(28)) }, func() string { return fmt.Sprintf("SKU-%06d-%s", n(1e6), strings.ToUpper(letters(r, 2))) },
		func() string { return fmt.Sprintf("/app/src/%s.ts:%d:%d", letters(r, 6), n(900), n(80)) }, func() string {
			return fmt.Sprintf("https://shop.test/%s?page=%d&sort=%s", letters(r, 8), n(50), letters(r, 4))
		},
		func() string { return fmt.Sprintf("%s_%s(%d)", letters(r, 5), letters(r, 7), n(100)) }, func() string { return fmt.Sprintf("%.6f", r.Float64()*100-50) },
		func() string {
			return "The parcel " + letters(r, 6) + " will arrive in " + fmt.Sprint(2+n(9)) + " days, between 8:30 and 17:00."
		},
		func() string {
			return fmt.Sprintf(`{"items":[{"sku":"%s","qty":%d}],"total":%d.%02d}`, strings.ToUpper(letters(r, 6)), n(9), n(999), n(100))
		},
		func() string { return fmt.Sprintf("1Z%s%d", strings.ToUpper(letters(r, 6)), 1000000000+n(1e9)) }, func() string { return fmt.Sprintf("arn:aws:sqs:eu-west-1:%012d:%s", r.Int64N(1e12), letters(r, 6)) },
		func() string { return "Please tell me your order number, then I look it up." }, func() string { return fmt.Sprintf("row %d, column %d, ratio %.3f", n(1e4), n(40), r.Float64()) },
		func() string { return b64([]byte("the quick " + letters(r, 6) + " jumps over " + letters(r, 9))) }, func() string { return fmt.Sprintf("@%s/%s@%d.%d.%d", letters(r, 6), letters(r, 8), n(9), n(20), n(9)) },
	}[n(28)]()
}
