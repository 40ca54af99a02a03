package redact

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// nationalRule finds the identity number of one country. valid gets it as alnum spells it. A rule with a word needs that
// word before the number, unless the number stands in its own layout: digits alone are too often order numbers.
type nationalRule struct {
	re     *regexp.Regexp
	word   *regexp.Regexp
	layout *regexp.Regexp
	valid  func(id string) bool
}

func words(alternatives string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` + alternatives + `)(?:[^\pL]|$)[^0-9]{0,24}$`)
}

var nationalRules = []nationalRule{
	// United States, social security number
	{re: regexp.MustCompile(`[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}`), layout: regexp.MustCompile(`^[0-9]{3}-[0-9]{2}-[0-9]{4}$`),
		word: words(`ssn|social[ _-]security|itin|tin`), valid: validSSN},
	// United Kingdom, national insurance number
	{re: regexp.MustCompile(`(?i)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]`), layout: regexp.MustCompile(`^[A-Z]{2} [0-9]{2} [0-9]{2} [0-9]{2} [A-D]$`),
		word: words(`nino|national[ _-]insurance|ni[ _-](?:number|no)`), valid: validNINO},
	// Germany, tax id and social insurance number
	{re: regexp.MustCompile(`[1-9][0-9] ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}`), word: words(`steuer[ _-]?(?:id|identifikationsnummer|nummer)|steuerliche[ _-]\pL+|id[ -]?nr|idnr|tax[ _-]?id|tin`), valid: validGermanTax},
	{re: regexp.MustCompile(`[0-9]{2} ?[0-9]{6} ?[A-Z] ?[0-9]{3}`), valid: validGermanInsurance},
	// France, INSEE number
	{re: regexp.MustCompile(`[1-478] ?[0-9]{2} ?[0-9]{2} ?(?:[0-9]{2}|2[AB]) ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}`), valid: validINSEE},
	// Spain, DNI and NIE
	{re: regexp.MustCompile(`(?:[0-9]{8}|[XYZ]-?[0-9]{7})-?[A-HJ-NP-TV-Z]`), valid: validDNI},
	// Italy, codice fiscale
	{re: regexp.MustCompile(`(?i)[A-Z]{6}[0-9LMNPQRSTUV]{2}[A-EHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]`), valid: validCodiceFiscale},
	// Korea, resident registration number (its old checksum does not hold since 2020)
	{re: regexp.MustCompile(`[0-9]{6}-[1-8][0-9]{6}`), valid: func(id string) bool { return shortDate(id[:6]) }},
	// Netherlands, BSN
	{re: regexp.MustCompile(`[0-9]{8,9}`), word: words(`bsn|burgerservicenummer|sofi(?:nummer)?`), valid: validBSN},
	// Poland, PESEL
	{re: regexp.MustCompile(`[0-9]{11}`), word: words(`pesel`), valid: validPESEL},
	// Brazil, CPF
	{re: regexp.MustCompile(`[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}-?[0-9]{2}`), layout: regexp.MustCompile(`^[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}$`), word: words(`cpf`), valid: validCPF},
	// India, Aadhaar
	{re: regexp.MustCompile(`[2-9][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}`), layout: regexp.MustCompile(`^[0-9]{4} [0-9]{4} [0-9]{4}$`), word: words(`aadha+r|uidai|uid`), valid: func(id string) bool { return len(id) == 12 && verhoeff(id) }},
	// Switzerland, AHV number
	{re: regexp.MustCompile(`756\.?[0-9]{4}\.?[0-9]{4}\.?[0-9]{2}`), layout: regexp.MustCompile(`\.`), word: words(`ahv|avs|avhn`), valid: validEAN},
	// Sweden, personnummer
	{re: regexp.MustCompile(`(?:19|20)?[0-9]{6}[-+][0-9]{4}`), valid: func(id string) bool { return shortDate(id[len(id)-10:len(id)-4]) && luhn(id[len(id)-10:]) }},
	// Canada, SIN
	{re: regexp.MustCompile(`[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{3}`), word: words(`sin|social[ _-]insurance|nas`), valid: luhn},
}

func nationals(text string, context func(int) string, add addFunc) {
	for _, rule := range nationalRules {
		for _, m := range rule.re.FindAllStringIndex(text, -1) {
			v := text[m[0]:m[1]]
			if !apart(text, m[0], m[1]) || !rule.valid(alnum(v)) {
				continue
			}
			if rule.word != nil && !(rule.layout != nil && rule.layout.MatchString(v)) && !rule.word.MatchString(context(m[0])) {
				continue
			}
			add(NationalID, m[0], m[1])
		}
	}
}

func validSSN(id string) bool {
	return id[:3] != "000" && id[:3] != "666" && id[3:5] != "00" && id[5:] != "0000" && (id[0] != '9' || id[3] >= '5')
}

func validNINO(id string) bool {
	switch id[:2] {
	case "BG", "GB", "KN", "NK", "NT", "TN", "ZZ":
		return false
	}
	return true
}

// validGermanTax: one digit of the first ten stands two or three times; check digit by ISO 7064, mod 11,10.
func validGermanTax(id string) bool {
	var count [10]int
	product := 10
	for _, c := range []byte(id[:10]) {
		count[c-'0']++
		sum := (int(c-'0') + product) % 10
		if sum == 0 {
			sum = 10
		}
		product = sum * 2 % 11
	}
	repeated := 0
	for _, n := range count {
		if n > 3 {
			return false
		}
		if n >= 2 {
			repeated++
		}
	}
	return repeated == 1 && (11-product)%10 == int(id[10]-'0')
}

func validGermanInsurance(id string) bool {
	day, _ := strconv.Atoi(id[2:4])
	month, _ := strconv.Atoi(id[4:6])
	if day%50 < 1 || day%50 > 31 || month < 1 || month > 12 {
		return false
	}
	letter := int(id[8]-'A') + 1
	digits := id[:8] + pad(letter, 2) + id[9:11]
	sum := 0
	for i, f := range []int{2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1} {
		p := int(digits[i]-'0') * f
		sum += p/10 + p%10
	}
	return sum%10 == int(id[11]-'0')
}

func validINSEE(id string) bool {
	month, err := strconv.Atoi(id[3:5])
	if err != nil || month < 1 || month > 12 && month < 20 {
		return false
	}
	number := strings.NewReplacer("2A", "19", "2B", "18").Replace(id[:13])
	key, _ := strconv.Atoi(id[13:])
	return len(number) == 13 && int64(key) == 97-remainder(number, 97)
}

func validDNI(id string) bool {
	number := strings.NewReplacer("X", "0", "Y", "1", "Z", "2").Replace(id[:1]) + id[1:len(id)-1]
	rest := remainder(number, 23)
	return rest >= 0 && "TRWAGMYFPDXBNJZSQVHLCKE"[rest] == id[len(id)-1]
}

// validCodiceFiscale: characters at odd places count by their own table.
func validCodiceFiscale(id string) bool {
	odd := [...]int{1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23}
	sum := 0
	for i, c := range []byte(id[:15]) {
		v := int(c - 'A')
		if c <= '9' {
			v = int(c - '0')
		}
		if i%2 == 0 {
			v = odd[v]
		}
		sum += v
	}
	return byte('A'+sum%26) == id[15]
}

func validBSN(id string) bool {
	if len(id) == 8 {
		id = "0" + id
	}
	sum := -int(id[8] - '0')
	for i := range 8 {
		sum += int(id[i]-'0') * (9 - i)
	}
	return sum != 0 && sum%11 == 0
}

func validPESEL(id string) bool {
	sum := 0
	for i, f := range []int{1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1} {
		sum += int(id[i]-'0') * f
	}
	return sum%10 == 0 && strings.Trim(id, "0") != ""
}

func validCPF(id string) bool {
	if strings.Count(id, id[:1]) == 11 {
		return false
	}
	for n := 9; n <= 10; n++ {
		sum := 0
		for i := range n {
			sum += int(id[i]-'0') * (n + 1 - i)
		}
		if sum*10%11%10 != int(id[n]-'0') {
			return false
		}
	}
	return true
}

func validEAN(id string) bool {
	sum := 0
	for i := range len(id) {
		sum += int(id[i]-'0') * (1 + i%2*2)
	}
	return sum%10 == 0
}

// shortDate says that six digits are a date as year, month, day.
func shortDate(d string) bool {
	_, err := time.Parse("060102", d)
	return err == nil
}

var (
	verhoeffMultiply = [10][10]int{
		{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4, 0, 6, 7, 8, 9, 5}, {2, 3, 4, 0, 1, 7, 8, 9, 5, 6}, {3, 4, 0, 1, 2, 8, 9, 5, 6, 7}, {4, 0, 1, 2, 3, 9, 5, 6, 7, 8},
		{5, 9, 8, 7, 6, 0, 4, 3, 2, 1}, {6, 5, 9, 8, 7, 1, 0, 4, 3, 2}, {7, 6, 5, 9, 8, 2, 1, 0, 4, 3}, {8, 7, 6, 5, 9, 3, 2, 1, 0, 4}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
	}
	verhoeffPermute = [8][10]int{
		{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 5, 7, 6, 2, 8, 3, 0, 9, 4}, {5, 8, 0, 3, 7, 9, 6, 1, 4, 2}, {8, 9, 1, 6, 0, 4, 3, 5, 2, 7},
		{9, 4, 5, 3, 1, 2, 6, 8, 7, 0}, {4, 2, 8, 6, 5, 7, 3, 9, 0, 1}, {2, 7, 9, 3, 8, 0, 6, 4, 1, 5}, {7, 0, 4, 6, 9, 1, 3, 2, 5, 8},
	}
)

func verhoeff(d string) bool {
	c := 0
	for i := range len(d) {
		c = verhoeffMultiply[c][verhoeffPermute[i%8][d[len(d)-1-i]-'0']]
	}
	return c == 0
}
