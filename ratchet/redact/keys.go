package redact

import (
	"net/netip"
	"regexp"
	"strings"
	"unicode"
)

// keySuffixes maps the last words of a key to the kind of its value. "customer.home_phone" ends in "phone".
var keySuffixes = map[string]Kind{
	"email": Email, "e_mail": Email, "emails": Email, "email_address": Email, "emailaddress": Email, "mail_address": Email,
	"phone": Phone, "phone_number": Phone, "phonenumber": Phone, "phones": Phone, "mobile": Phone, "mobile_number": Phone, "telephone": Phone,
	"msisdn": Phone, "whatsapp": Phone, "cell_phone": Phone, "fax": Phone, "fax_number": Phone,
	"card_number": Card, "cardnumber": Card, "credit_card": Card, "creditcard": Card, "cc_number": Card, "debit_card": Card,
	"iban": IBAN, "bank_account": IBAN, "account_iban": IBAN,
	"ip_address": IP, "ipaddress": IP, "client_ip": IP, "remote_ip": IP, "remote_addr": IP, "client_address": IP, "peer_ip": IP, "x_forwarded_for": IP, "user_ip": IP,
	"ssn": NationalID, "social_security_number": NationalID, "national_id": NationalID, "tax_id": NationalID, "tin": NationalID, "nino": NationalID,
	"passport": NationalID, "passport_number": NationalID, "passport_no": NationalID, "driver_license": NationalID, "drivers_license": NationalID,
	"driving_licence": NationalID, "cpf": NationalID, "pesel": NationalID, "bsn": NationalID, "dni": NationalID, "nie": NationalID, "nif": NationalID,
	"aadhaar": NationalID, "aadhar": NationalID, "codice_fiscale": NationalID, "rrn": NationalID, "steuer_id": NationalID, "insee": NationalID,
	"password": Secret, "passwd": Secret, "pwd": Secret, "passphrase": Secret, "passcode": Secret, "secret": Secret, "client_secret": Secret,
	"api_key": Secret, "apikey": Secret, "x_api_key": Secret, "access_token": Secret, "refresh_token": Secret, "id_token": Secret, "auth_token": Secret,
	"bearer_token": Secret, "session_token": Secret, "csrf_token": Secret, "xsrf_token": Secret, "api_token": Secret, "private_key": Secret, "access_key": Secret,
	"secret_key": Secret, "secret_access_key": Secret, "access_key_id": Secret, "signing_key": Secret, "encryption_key": Secret, "authorization": Secret, "cookie": Secret,
	"set_cookie": Secret, "cookies": Secret, "credentials": Secret, "cvv": Secret, "cvc": Secret, "otp": Secret, "connection_string": Secret,
	"full_name": Name, "fullname": Name, "first_name": Name, "firstname": Name, "last_name": Name, "lastname": Name, "surname": Name, "given_name": Name,
	"family_name": Name, "middle_name": Name, "maiden_name": Name, "customer_name": Name, "cardholder": Name, "cardholder_name": Name,
	"recipient_name": Name, "contact_name": Name, "account_holder": Name, "patient_name": Name, "employee_name": Name,
	"user_id": User, "enduser_id": User, "end_user_id": User, "username": User, "user_name": User, "user_account_uuid": User, "user_account_id": User,
	"enduser_pseudo_id": User, "request_user": User, "user_full_name": Name,
	"street": Address, "street_address": Address, "address_line": Address, "address_line1": Address, "address_line2": Address, "address_line_1": Address, "address_line_2": Address,
	"postal_address": Address, "home_address": Address, "shipping_address": Address, "billing_address": Address, "delivery_address": Address,
	"home_street": Address, "mailing_address": Address, "residential_address": Address, "full_address": Address, "anschrift": Address, "adresse": Address, "wohnort": Address,
	"direccion": Address, "indirizzo": Address, "endereco": Address, "adres": Address, "strasse": Address,
	"vorname": Name, "nachname": Name, "prenom": Name, "nombre_completo": Name, "apellido": Name, "apellidos": Name, "cognome": Name, "nome_completo": Name, "sobrenome": Name,
	"achternaam": Name, "nazwisko": Name, "geburtsdatum": BirthDate, "date_de_naissance": BirthDate, "fecha_nacimiento": BirthDate, "fecha_de_nacimiento": BirthDate,
	"data_nascita": BirthDate, "data_di_nascita": BirthDate, "data_nascimento": BirthDate, "geboortedatum": BirthDate, "born_on": BirthDate,
	"license_plate": Plate, "licence_plate": Plate, "number_plate": Plate, "plate_number": Plate, "registration_plate": Plate, "kennzeichen": Plate, "matricula": Plate, "targa": Plate,
	"reisepass": NationalID, "passnummer": NationalID, "pasaporte": NationalID, "passeport": NationalID, "id_card_number": NationalID, "identity_number": NationalID,
	"date_of_birth": BirthDate, "dob": BirthDate, "birth_date": BirthDate, "birthdate": BirthDate, "birthday": BirthDate,
}

// normalKey spells a key in lower case with single underscores: "x-API.keyName" -> "x_api_key_name".
func normalKey(key string) string {
	var b strings.Builder
	lower := false
	for _, r := range key {
		switch {
		case unicode.IsUpper(r):
			if lower {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
			lower = false
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
			lower = true
		default:
			if b.Len() > 0 {
				b.WriteByte('_')
			}
			lower = false
		}
	}
	return b.String()
}

// keyKind returns the kind of the values under a key, or "".
func (r *Redactor) keyKind(key string) Kind {
	if key == "" || len(key) > 128 {
		return ""
	}
	key = normalKey(key)
	if kind, ok := r.keys[key]; ok {
		return kind
	}
	for rest := key; ; {
		if kind, ok := keySuffixes[rest]; ok {
			return kind
		}
		cut := strings.IndexByte(rest, '_')
		if cut < 0 {
			break
		}
		rest = rest[cut+1:]
	}
	if key == "token" || strings.HasSuffix(key, "_token") && !strings.HasSuffix(key, "page_token") {
		return tokenKey
	}
	return ""
}

// tokenKey marks keys that hold a secret if the value is long: "token", but not a page token.
const tokenKey Kind = "token?"

// everyday values under a personal key say nothing of a person.
var everyday = map[string]bool{
	"string": true, "number": true, "integer": true, "boolean": true, "object": true, "array": true, "null": true, "none": true, "true": true, "false": true,
	"undefined": true, "unknown": true, "anonymous": true, "guest": true, "user": true, "default": true, "admin": true, "root": true, "test": true, "n/a": true,
	"assistant": true, "system": true, "tool": true, "required": true, "optional": true, "redacted": true, "[redacted]": true, "<redacted>": true, "__redacted__": true,
	"email": true, "phone": true, "name": true, "password": true, "token": true, "customer": true, "authorization": true, "bearer": true, "basic": true,
	"home": true, "work": true, "mobile": true, "yes": true, "text": true, "content": true, "value": true,
}

var authScheme = regexp.MustCompile(`(?i)^\s*(?:bearer|basic|token|digest|apikey|negotiate)\s+`)

// keyed decides on the value of a personal key. ok means that the decision is made: replace the hit, or (protect) leave it.
func (r *Redactor) keyed(text, key string) (h hit, ok bool) {
	kind := r.keyKind(key)
	trimmed := strings.TrimSpace(text)
	if kind == "" || everyday[strings.ToLower(trimmed)] || strings.Trim(trimmed, "*x•.- ") == "" {
		return hit{}, false
	}
	if kind == tokenKey {
		if len(trimmed) < 16 || strings.ContainsAny(trimmed, " \n") {
			return hit{}, false
		}
		kind = Secret
	}
	start := 0
	if kind == Secret {
		start = len(authScheme.FindString(text))
	}
	kind = r.fitting(kind, text[start:])
	if kind == "" {
		return hit{}, false
	}
	return hit{start: start, end: len(text), kind: kind, protect: r.givenBefore(kind, text[start:])}, true
}

// fitting turns the kind of a key into the kind of the value that stands there: a value that is not of the key's kind must
// not become one, or a recorded schema violation would vanish.
func (r *Redactor) fitting(kind Kind, v string) Kind {
	if r.givenBefore(kind, v) {
		return kind
	}
	switch kind {
	case Email:
		if !wholeEmail(v) {
			return Value
		}
	case Phone, Card, IBAN, NationalID:
		if countDigits(v) < 4 || len(v) > 40 || strings.ContainsAny(v, "@{}\n") {
			return Value
		}
	case IP:
		if _, err := netip.ParseAddr(v); err != nil {
			return ""
		}
	}
	return kind
}

// numeral decides on a JSON number: a card number or one already learnt anywhere, or a long number under a personal key.
func (s *Session) numeral(literal string, start int, key string) []span {
	if len(literal) < 5 || countDigits(literal) != len(literal) || s.r.keep[literal] {
		return nil
	}
	kind := s.r.keyKind(key)
	switch kind {
	case Phone, Card, NationalID, User, Secret, IBAN:
	default:
		if kind = s.exact[literal]; kind == "" && cardNumber(literal) {
			kind = Card
		}
		if kind == "" {
			return nil
		}
	}
	if isNumeralPseudonym(literal) {
		s.reserve(literal)
		return nil
	}
	return []span{{start: start, end: start + len(literal), kind: numeralMark + kind}}
}

// numeralMark before a kind tells that the value is a number literal and has to stay one.
const numeralMark = "#"
