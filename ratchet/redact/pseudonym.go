package redact

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nyaruka/phonenumbers"
)

// seriesOf names the counter that numbers a value. Kinds whose pseudonyms are digits share one, lest two of them collide.
func seriesOf(kind Kind, original string) string {
	switch kind {
	case Phone, Card, NationalID, IBAN:
		return "digits"
	case IP:
		if strings.Contains(original, ":") {
			return "ipv6"
		}
		return "ipv4"
	}
	if strings.HasPrefix(string(kind), numeralMark) {
		return "digits"
	}
	return string(kind)
}

// identity is what makes two spellings of a value the same: +49 170 1234567 and +491701234567.
func (r *Redactor) identity(kind Kind, original string) string {
	series := seriesOf(kind, original)
	switch kind {
	case Email:
		return "email:" + strings.ToLower(original)
	case IP:
		if a, err := netip.ParseAddr(original); err == nil {
			return series + ":" + a.String()
		}
	case Phone:
		if n, ok := r.parsePhone(original); ok {
			return series + ":" + strings.TrimPrefix(phonenumbers.Format(n, phonenumbers.E164), "+")
		}
	}
	if series == "digits" {
		return series + ":" + alnum(original)
	}
	return series + ":" + original
}

// alnum keeps ASCII letters (as capitals) and digits.
func alnum(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return -1
	}, s)
}

func countDigits(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			n++
		}
	}
	return n
}

// shape writes the n-th pseudonym of a kind in the layout of the original.
func (r *Redactor) shape(kind Kind, original string, n int) string {
	p, ok := "", false
	switch kind {
	case Email:
		return fmt.Sprintf("email-%d@example.com", n)
	case IP:
		return documentationIP(original, n)
	case Phone:
		p, ok = zeroed(original, r.countryDigits(original), 0, n)
	case Card, numeralMark + Card:
		if p, ok = zeroed(original, 1, 1, n); ok {
			p = withLuhn(p)
		}
	case IBAN:
		p, ok = shapedIBAN(original, n)
	case NationalID:
		p, ok = zeroed(original, 0, 0, n)
	case User:
		p, ok = shapedUser(original, n)
	case BirthDate:
		p, ok = shapedDate(original, n)
	}
	if ok {
		return p
	}
	if rest, numeral := strings.CutPrefix(string(kind), numeralMark); numeral {
		_ = rest
		return "9" + pad(n, len(original)-1)
	}
	return fmt.Sprintf("%s-%d", kind, n)
}

func pad(n, width int) string { return fmt.Sprintf("%0*d", width, n) }

// zeroed keeps the layout of s, its first keep and last tail digits; other digits become zeros that end in n, letters
// become X. It fails if n does not fit into the last half of the digits.
func zeroed(s string, keep, tail, n int) (string, bool) {
	free := countDigits(s) - keep - tail
	num := strconv.Itoa(n)
	if free < 2 || len(num) > free/2 {
		return "", false
	}
	num = pad(n, free)
	out := []byte(s)
	seen := 0
	for i, c := range out {
		switch {
		case c >= '0' && c <= '9':
			if seen >= keep && seen < keep+free {
				out[i] = num[seen-keep]
			}
			seen++
		case c >= 'a' && c <= 'z':
			out[i] = 'x'
		case c >= 'A' && c <= 'Z' || c >= 0x80:
			out[i] = 'X'
		}
	}
	return string(out), true
}

// isZeroed says that s could be a result of zeroed.
func isZeroed(s string, keep, tail int) bool {
	free := countDigits(s) - keep - tail
	if free < 2 {
		return false
	}
	seen, zeros := 0, true
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9':
			if i := seen - keep; i >= 0 && i < free-free/2 && c != '0' {
				zeros = false
			}
			seen++
		case c >= 'a' && c <= 'z' && c != 'x', c >= 'A' && c <= 'Z' && c != 'X', c >= 0x80:
			return false
		}
	}
	return zeros
}

// countryDigits counts the digits of s that are its country code.
func (r *Redactor) countryDigits(s string) int {
	if !strings.HasPrefix(strings.TrimSpace(s), "+") {
		return 0
	}
	digits := alnum(s)
	for n := 1; n <= 3 && n < len(digits); n++ {
		if cc, err := strconv.Atoi(digits[:n]); err == nil && phonenumbers.GetRegionCodeForCountryCode(cc) != phonenumbers.UNKNOWN_REGION {
			return n
		}
	}
	return 1
}

// withLuhn sets the last digit so that the number passes the Luhn check.
func withLuhn(s string) string {
	out := []byte(s)
	at := strings.LastIndexAny(s, "0123456789")
	for c := byte('0'); c <= '9'; c++ {
		out[at] = c
		if luhn(alnum(string(out))) {
			break
		}
	}
	return string(out)
}

func shapedIBAN(original string, n int) (string, bool) {
	compact := alnum(original)
	if !validIBAN(compact) {
		return zeroed(original, 0, 0, n)
	}
	body, ok := zeroed(compact[4:], 0, 0, n)
	if !ok {
		return "", false
	}
	check := pad(98-mod97(body+compact[:2]+"00"), 2)
	compact = compact[:2] + check + strings.ToUpper(body)
	out := []byte(original)
	at := 0
	for i, c := range out {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			out[i] = compact[at]
			at++
		}
	}
	return string(out), true
}

var (
	userPrefix = regexp.MustCompile(`^((?i:cust|customer|user|usr|u|uid|acct|account|client|member|c|id|person)[-_:|])([0-9]{3,})$`)
	uuidForm   = regexp.MustCompile(`^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`)
)

func shapedUser(original string, n int) (string, bool) {
	if uuidForm.MatchString(original) {
		return "00000000-0000-4000-8000-" + pad(n, 12), true
	}
	if m := userPrefix.FindStringSubmatch(original); m != nil {
		digits, ok := zeroed(m[2], 0, 0, n)
		return m[1] + digits, ok
	}
	if len(original) >= 4 && countDigits(original) == len(original) {
		return zeroed(original, 0, 0, n)
	}
	return "", false
}

func isShapedUser(s string) bool {
	if strings.HasPrefix(s, "00000000-0000-4000-8000-") {
		return true
	}
	if m := userPrefix.FindStringSubmatch(s); m != nil {
		return isZeroed(m[2], 0, 0)
	}
	return len(s) >= 4 && countDigits(s) == len(s) && isZeroed(s, 0, 0)
}

func shapedDate(original string, n int) (string, bool) {
	if _, err := time.Parse(time.DateOnly, original); err != nil {
		return "", false
	}
	return time.Date(1900, 1, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), true
}

// documentationIP numbers addresses of the ranges that stand for no machine; the few cases with more than 762 go on in
// the reserved 240.0.0.0/4.
func documentationIP(original string, n int) string {
	if strings.Contains(original, ":") {
		return fmt.Sprintf("2001:db8::%x", n)
	}
	if nets := []string{"192.0.2", "198.51.100", "203.0.113"}; n <= 3*254 {
		return fmt.Sprintf("%s.%d", nets[(n-1)/254], (n-1)%254+1)
	}
	n -= 3 * 254
	return fmt.Sprintf("240.%d.%d.%d", n>>16&255, n>>8&255, n&255)
}

var (
	emailPseudonym = regexp.MustCompile(`^email-[1-9][0-9]*@example\.com$`)
	wordPseudonym  = regexp.MustCompile(`^([a-z][a-z0-9_]*)-[1-9][0-9]*$`)
)

// isPseudonym says that a value of a kind is one that this package gave (or could have given), so that it stays.
func (r *Redactor) isPseudonym(kind Kind, v string) bool {
	if emailPseudonym.MatchString(v) {
		return true
	}
	if m := wordPseudonym.FindStringSubmatch(v); m != nil && r.kinds[Kind(m[1])] {
		return true
	}
	switch kind {
	case Phone:
		return isZeroed(v, r.countryDigits(v), 0)
	case Card:
		return isZeroed(v, 1, 1) || isZeroed(v, 0, 0)
	case IBAN:
		c := alnum(v)
		return validIBAN(c) && isZeroed(c[4:], 0, 0) || isZeroed(v, 0, 0)
	case NationalID:
		return isZeroed(v, 0, 0)
	case User:
		return isShapedUser(v)
	case BirthDate:
		return strings.HasPrefix(v, "1900-")
	case IP:
		return harmlessIP(v)
	}
	return false
}

// givenBefore says that a value under a personal key is a pseudonym of any kind: the same value may have been another kind
// where it stood first. Under a secret's key only a form counts that nobody would choose as a password.
func (r *Redactor) givenBefore(kind Kind, v string) bool {
	if r.isPseudonym(kind, v) {
		return true
	}
	if kind == Secret && len(alnum(v)) < 9 && !strings.HasPrefix(v, "2001:db8::") && !strings.HasPrefix(v, "192.0.2.") {
		return false
	}
	for _, other := range []Kind{Phone, Card, IBAN, NationalID, User, IP, BirthDate} {
		if r.isPseudonym(other, v) && (other != BirthDate || kind != Secret) {
			return true
		}
	}
	return false
}

var numeralPseudonym = regexp.MustCompile(`^90+[1-9][0-9]*$`)

func isNumeralPseudonym(v string) bool {
	return numeralPseudonym.MatchString(v) || cardNumber(v) && isZeroed(v, 1, 1)
}
