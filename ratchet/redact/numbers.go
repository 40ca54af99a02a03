package redact

import (
	"math/big"
	"net/netip"
	"regexp"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// numbers finds what is made of digits: addresses of machines, cards, bank accounts, national ids, phones. The rules run
// over windows around digits only, since most text has none.
func (r *Redactor) numbers(text, key string, add addFunc) {
	if plainID(text) {
		return
	}
	for _, w := range digitWindows(text) {
		part := text[w[0]:w[1]]
		sub := func(kind Kind, start, end int) { add(kind, w[0]+start, w[0]+end) }
		context := func(start int) string {
			return key + " " + strings.ToLower(text[max(0, w[0]+start-contextBytes):w[0]+start])
		}
		ips(part, context, sub)
		if countDigits(part) < 6 {
			continue
		}
		cards(part, sub)
		ibans(part, sub)
		nationals(part, context, sub)
		r.phones(part, context, sub)
	}
}

// contextBytes is how far before a number a word may stand that says what the number is.
const contextBytes = 40

// plainID is a whole text that is a hexadecimal id, a digest or a UUID: half of the strings in a trace.
func plainID(text string) bool {
	if len(text) < 16 || len(text) > 80 {
		return false
	}
	letters := 0
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'f':
			letters++
		case c >= '0' && c <= '9' || c == '-':
		default:
			return false
		}
	}
	return letters > 0
}

// digitWindows are the parts of a text around its digits, joined where they are close.
func digitWindows(text string) [][2]int {
	const near = 24
	var out [][2]int
	for i := 0; i < len(text); i++ {
		if c := text[i]; (c < '0' || c > '9') && !(c == ':' && i+1 < len(text) && text[i+1] == ':') {
			continue
		}
		start, end := max(0, i-near), min(len(text), i+near)
		if n := len(out); n > 0 && start <= out[n-1][1] {
			out[n-1][1] = end
		} else {
			out = append(out, [2]int{start, end})
		}
	}
	for i, w := range out { // do not cut through a word
		for w[0] > 0 && idByte(text[w[0]-1]) {
			w[0]--
		}
		for w[1] < len(text) && idByte(text[w[1]]) {
			w[1]++
		}
		out[i] = w
	}
	return out
}

func idByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// apart says that text[start:end] is no piece of a longer id, number, path or version.
func apart(text string, start, end int) bool {
	if start > 0 {
		switch c := text[start-1]; {
		case idByte(c), c == '.' && start > 1 && idByte(text[start-2]), c == '-' && start > 1 && idByte(text[start-2]), c == '#', c == '$', c == '+', c == '\\':
			return false
		}
	}
	if end < len(text) {
		switch c := text[end]; {
		case idByte(c), (c == '.' || c == '-' || c == ',' || c == ':') && end+1 < len(text) && text[end+1] >= '0' && text[end+1] <= '9':
			return false
		case c == '-' && end+1 < len(text) && idByte(text[end+1]):
			return false
		}
	}
	return true
}

var cardRun = regexp.MustCompile(`[2-6][0-9]{3}[ -]?[0-9]{2,6}[ -]?[0-9]{2,5}(?:[ -]?[0-9]{1,7})?`)

// cards finds payment cards: a known prefix with its length, and the Luhn check.
func cards(text string, add addFunc) {
	for _, m := range cardRun.FindAllStringIndex(text, -1) {
		if apart(text, m[0], m[1]) && cardNumber(alnum(text[m[0]:m[1]])) {
			add(Card, m[0], m[1])
		}
	}
}

// cardNumber says that digits are a payment card's number.
func cardNumber(d string) bool {
	if len(d) < 14 || len(d) > 16 || countDigits(d) != len(d) || !luhn(d) {
		return false
	}
	two, three, four := d[:2], d[:3], d[:4]
	switch len(d) {
	case 14:
		return two == "36" || two == "38" || three >= "300" && three <= "305"
	case 15:
		return two == "34" || two == "37"
	}
	return d[0] == '4' || two >= "51" && two <= "55" || four >= "2221" && four <= "2720" || four == "6011" || two == "65" ||
		three >= "644" && three <= "649" || two == "62" || four >= "3528" && four <= "3589" || four == "5018" || four == "5020" || four == "5038" || four == "6304"
}

func luhn(d string) bool {
	sum := 0
	for i := range len(d) {
		v := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// ibanLength is the length of an IBAN per country.
var ibanLength = map[string]int{
	"AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24,
	"DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28,
	"HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25,
	"MC": 27, "MD": 24, "ME": 22, "MK": 19, "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29,
	"RO": 24, "RS": 22, "RU": 33, "SA": 24, "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29,
	"VA": 22, "VG": 24, "XK": 20, "YE": 30,
}

var ibanStart = regexp.MustCompile(`(?i)\b[A-Z]{2}[0-9]{2}[ -]?[A-Z0-9]{2}`)

// ibans finds bank accounts: the length of the country, and the remainder 1 by 97.
func ibans(text string, add addFunc) {
	for _, m := range ibanStart.FindAllStringIndex(text, -1) {
		start := m[0]
		want := ibanLength[strings.ToUpper(text[start:start+2])]
		end, n := start, 0
		for end < len(text) && n < want {
			if c := text[end]; idByte(c) && c != '_' && c < 0x80 {
				n++
			} else if c != ' ' && c != '-' {
				break
			}
			end++
		}
		if want > 0 && n == want && apart(text, start, end) && validIBAN(alnum(text[start:end])) {
			add(IBAN, start, end)
		}
	}
}

// validIBAN takes an IBAN without spaces, in capitals.
func validIBAN(c string) bool {
	return len(c) > 4 && ibanLength[c[:2]] == len(c) && mod97(c[4:]+c[:4]) == 1
}

// mod97 is the remainder by 97 of a text whose letters stand for 10 to 35.
func mod97(s string) int {
	rest := 0
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest
}

var (
	ipv4Run     = regexp.MustCompile(`[0-9]{1,3}(?:\.[0-9]{1,3}){3}`)
	ipv6Run     = regexp.MustCompile(`[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:\.[0-9]{1,3}){0,3}`)
	versionWord = regexp.MustCompile(`(?:version|release|build|ver|rev|v|assembly|chrome|safari)["':= _/-]*$`)
)

// ips finds addresses of machines, save those that stand for none or for the machine itself, and version numbers.
func ips(text string, context func(int) string, add addFunc) {
	for _, m := range ipv4Run.FindAllStringIndex(text, -1) {
		a, err := netip.ParseAddr(text[m[0]:m[1]])
		product := m[0] > 1 && text[m[0]-1] == '/' && idByte(text[m[0]-2])
		ahead := m[1]+1 < len(text) && text[m[1]] == '.' && idByte(text[m[1]+1])
		if err != nil || product || ahead || !apartIP(text, m[0], m[1]) || a.As4()[3] == 0 || versionWord.MatchString(context(m[0])) {
			continue
		}
		add(IP, m[0], m[1])
	}
	if strings.Count(text, ":") < 2 {
		return
	}
	for _, m := range ipv6Run.FindAllStringIndex(text, -1) {
		part := text[m[0]:m[1]]
		a, err := netip.ParseAddr(part)
		if err == nil && a.Is6() && apartIP(text, m[0], m[1]) && likelyIPv6(part) {
			add(IP, m[0], m[1])
		}
	}
}

// apartIP is apart for addresses, which a port, a path or a word may follow.
func apartIP(text string, start, end int) bool {
	if start > 0 && (idByte(text[start-1]) || text[start-1] == '.' || text[start-1] == ':' && strings.Contains(text[start:end], ":")) {
		return false
	}
	return end >= len(text) || !idByte(text[end]) && !(text[end] == ':' && strings.Contains(text[start:end], ":"))
}

// likelyIPv6 keeps out what code writes with double colons: a::b.
func likelyIPv6(s string) bool {
	groups := strings.FieldsFunc(s, func(c rune) bool { return c == ':' })
	return countDigits(s) > 0 && len(groups) >= 2 && len(groups[0]) >= 3
}

// harmlessIP says that an address is one for documentation, this machine itself, or none.
func harmlessIP(v string) bool {
	a, err := netip.ParseAddr(v)
	if err != nil {
		return false
	}
	if a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() {
		return true
	}
	for _, p := range documentation {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

var documentation = []netip.Prefix{
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("2001:db8::/32"),
}

var (
	phoneRun     = regexp.MustCompile(`(?:\+|\(?\b0|\(?\b[1-9])[0-9]*(?:[ ./()-]{0,2}[0-9]+){1,7}`)
	phoneContext = regexp.MustCompile(`(?:phone|tel|telefon|telephone|mobile|mobil|cell|handy|whatsapp|sms|fax|msisdn|call|anruf|ring|numero|número|teléfono|móvil|téléphone|portable|celular|hotline)[^a-z0-9]{0,4}(?:(?:me|us|him|her|number|no|nr|is|at|on|to|ist|unter|back|my|the|a)[^a-z0-9]{1,3}){0,4}$`)
	dateLike     = regexp.MustCompile(`^\(?(?:(?:19|20)[0-9]{2}[-./ ](?:0?[1-9]|1[0-2])[-./ ](?:0?[1-9]|[12][0-9]|3[01])\b|(?:0?[1-9]|[12][0-9]|3[01])[-./ ](?:0?[1-9]|1[0-2])[-./ ](?:(?:19|20)[0-9]{2})\b)`)
	nanpLayout   = regexp.MustCompile(`^(?:1[ .-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}$`)
)

// phones finds phone numbers: with a country code; or without one in a layout that only phones have; or after a word that
// says so. Each has to be a number that its country could have given out.
func (r *Redactor) phones(text string, context func(int) string, add addFunc) {
	for _, m := range phoneRun.FindAllStringIndex(text, -1) {
		start, end := m[0], m[1]
		for end > start && (text[end-1] < '0' || text[end-1] > '9') {
			end--
		}
		v := text[start:end]
		if n := countDigits(v); n < 7 || n > 15 || !apartPhone(text, start, end) || dateLike.MatchString(v) {
			continue
		}
		named := phoneContext.MatchString(context(start))
		if !named && !phoneLayout(v) {
			continue
		}
		if _, ok := r.parsePhone(v); ok {
			add(Phone, start, end)
		}
	}
}

func apartPhone(text string, start, end int) bool {
	if text[start] == '+' {
		return (start == 0 || !idByte(text[start-1])) && (end == len(text) || !idByte(text[end]))
	}
	return apart(text, start, end) && (start == 0 || strings.IndexByte("/:-.=", text[start-1]) < 0 || start == 1 || !idByte(text[start-2]) || text[start-1] == ':' || text[start-1] == '=')
}

// phoneLayout says that digits are written as phone numbers are: with a country code, a trunk zero and separators, or 3-3-4.
func phoneLayout(v string) bool {
	if v[0] == '+' {
		return true
	}
	if nanpLayout.MatchString(v) {
		return true
	}
	trunk := strings.TrimPrefix(v, "(")
	if !strings.HasPrefix(trunk, "0") || strings.HasPrefix(trunk, "0.") {
		return false
	}
	if strings.HasPrefix(trunk, "00") && countDigits(v) >= 10 && strings.ContainsAny(v, " -/") {
		return true
	}
	return strings.ContainsAny(v, " /(") && countDigits(v) >= 9
}

// parsePhone reads a number with its country code, or as a national number of one of the regions.
func (r *Redactor) parsePhone(v string) (*phonenumbers.PhoneNumber, bool) {
	v = strings.TrimSpace(v)
	if strings.HasPrefix(v, "00") {
		v = "+" + v[2:]
	}
	if strings.HasPrefix(v, "+") {
		n, err := phonenumbers.Parse(v, "ZZ")
		return n, err == nil && phonenumbers.IsValidNumber(n)
	}
	for _, region := range r.regions {
		if n, err := phonenumbers.Parse(v, region); err == nil && phonenumbers.IsValidNumber(n) {
			return n, true
		}
	}
	return nil, false
}

// remainder is the remainder of a decimal number of any length.
func remainder(digits string, by int64) int64 {
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return -1
	}
	return n.Mod(n, big.NewInt(by)).Int64()
}
