package rule

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// datum is one value in arguments that names something of the world outside: whoever passes it must have it from somewhere.
type datum struct {
	pointer []string
	words   []string // of its key, and of the keys above it
	value   string
	kind    string // identifier, email, phone or url
}

const (
	maxData      = 100 // of one call
	maxDatumSize = 120 // bytes: longer texts name nothing
)

var (
	emailShape = regexp.MustCompile(`(?i)[a-z0-9._%+-]+@[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}`)
	urlShape   = regexp.MustCompile(`(?i)^https?://[^\s]+$`)
	phoneShape = regexp.MustCompile(`^\+?\(?\d[\d ().\-/]{5,20}\d$`)
	codeShape  = regexp.MustCompile(`^([A-Z]{2,6}[-_]?\d{3,}[A-Z0-9-]*|[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[a-z]{2,8}_[A-Za-z0-9]{10,})$`)
)

// idWords end the keys of identifiers; nameWords do where the value looks like one too.
var (
	idWords = wordSet(`id ids identifier identifiers uuid uuids guid guids oid uid uids kennung identifiant identificador identificativo`)
	// keys that are written as one word with id or ids behind it
	joined = wordSet(`order user customer account product item event email message ticket invoice payment booking reservation transaction project task issue document doc file page thread channel
		team org record object entity contact lead case device patient member employee vendor store subscription charge`)
	nameWords = wordSet(`number no nr num ref reference key sku isbn iban vin ean upc asin ticket account order invoice tracking reservation booking confirmation
		handle code nummer numero número codigo código numéro référence customer user member shipment parcel license plate case`)
	mailWords    = wordSet(`email mail emails recipient recipients to cc bcc attendee attendees participant participants assignee assignees invitee invitees correo adresse courriel`)
	phoneWords   = wordSet(`phone telephone tel mobile cell fax msisdn telefon telefono teléfono téléphone handy whatsapp`)
	pageWords    = wordSet(`page line row column port size limit offset count total quantity qty version year month day step index level max min zip postal country currency language locale status error exit`)
	requestWords = wordSet(`request trace span correlation idempotency nonce invocation call message_call dedup client tool`)
	// standing names that stand for something without being its identifier
	aliases = wordSet(`me self my own default current all any none null nil undefined unknown na root main master latest head primary true false auto system admin anonymous guest public`)
)

func wordSet(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}

// dataIn lists the data of a call's arguments, in order of their places.
func dataIn(args jsontext.Value) []datum {
	var doc any
	if args == nil || json.Unmarshal(args, &doc) != nil {
		return nil
	}
	var out []datum
	collect(doc, nil, nil, &out)
	return out
}

func collect(v any, pointer, words []string, out *[]datum) {
	if len(*out) >= maxData || len(pointer) > 12 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			collect(v[k], append(slices.Clone(pointer), k), append(slices.Clone(words), keyWords(k)...), out)
		}
	case []any:
		for i, e := range v {
			collect(e, append(slices.Clone(pointer), strconv.Itoa(i)), words, out)
		}
	case string:
		*out = append(*out, dataOf(v, pointer, words)...)
	case float64:
		if s := strconv.FormatFloat(v, 'f', -1, 64); len(s) >= 3 && v == float64(int64(v)) {
			*out = append(*out, dataOf(s, pointer, words)...)
		}
	}
}

// keyWords splits a key at separators and at changes of case.
func keyWords(key string) []string {
	var out []string
	var w []rune
	flush := func() {
		if len(w) > 0 {
			out = append(out, strings.ToLower(string(w)))
			w = w[:0]
		}
	}
	runes := []rune(key)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(runes[i-1]) {
			flush()
		}
		w = append(w, r)
	}
	flush()
	if n := len(out); n > 0 {
		if thing, ok := strings.CutSuffix(strings.TrimSuffix(out[n-1], "s"), "id"); ok && joined[thing] {
			out = append(out[:n-1], thing, "id")
		}
	}
	return out
}

// dataOf reads one text. A list of addresses is several data.
func dataOf(value string, pointer, words []string) []datum {
	value = strings.TrimSpace(value)
	if value == "" || len(value) > maxDatumSize || strings.ContainsAny(value, "\n\r\t") || len(words) == 0 || aliases[flat(value)] {
		return nil
	}
	d := datum{pointer: pointer, words: words, value: value}
	last := words[len(words)-1]
	var mails []string
	if strings.Contains(value, "@") {
		mails = emailShape.FindAllString(value, -1)
	}
	switch {
	case urlShape.MatchString(value):
		d.kind = "url"
	case len(mails) > 0 && len(strings.Join(mails, ""))*2 >= len(value):
		var out []datum
		for _, m := range mails {
			out = append(out, datum{pointer, words, m, "email"})
		}
		return out
	case phoneWords[last] && phoneShape.MatchString(value):
		d.kind = "phone"
	case requested(words) || len(flat(value)) < 4:
		return nil
	case idWords[last], codeShape.MatchString(value), nameWords[last] && looksNamed(value, words):
		d.kind = "identifier"
	case mailWords[last] && !strings.Contains(value, " "):
		d.kind = "email"
	default:
		return nil
	}
	return []datum{d}
}

// looksNamed says that a value under a loose key looks like a name that somebody gave: without blanks, with digits, and not a plain small number.
func looksNamed(value string, words []string) bool {
	if strings.ContainsAny(value, " ") || strings.IndexFunc(value, unicode.IsDigit) < 0 || len(value) < 4 {
		return false
	}
	return !slices.ContainsFunc(words, func(w string) bool { return pageWords[w] })
}

// requested says that a key names the request and not a thing.
func requested(words []string) bool {
	return len(words) > 1 && requestWords[words[len(words)-2]]
}

// nouns are the words of a datum's key that tell what it names: order of order_id.
func (d datum) nouns() []string {
	var out []string
	for _, w := range d.words {
		w = strings.TrimSuffix(w, "s")
		if len(w) >= 3 && !idWords[w] && !slices.Contains([]string{"number", "key", "code", "ref", "reference", "the", "new", "old", "by"}, w) {
			out = append(out, w)
		}
	}
	if d.kind == "email" {
		out = append(out, "mail", "recipient", "address", "user")
	}
	if d.kind == "phone" {
		out = append(out, "phone", "number")
	}
	if d.kind == "url" {
		out = append(out, "url", "page", "404")
	}
	return out
}

// parts of an address that say little: everybody's.
var commonHost = regexp.MustCompile(`^(www|com|org|net|http|https|html|htm|php|index|en|de|api|io|co|uk|gov|edu|wiki)$`)

// unheardAddress says that most of what a URL names was never told: one that is put together from what was asked for is a guess, not an invention.
func unheardAddress(h *hearsay, url string, step int, skip func(heard) bool) bool {
	if h.holds(url, step, skip) {
		return false
	}
	known, unknown := 0, 0
	for _, w := range strings.FieldsFunc(url, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		switch {
		case len(w) < 3 || commonHost.MatchString(strings.ToLower(w)):
		case h.holds(w, step, skip):
			known++
		default:
			unknown++
		}
	}
	return unknown > known
}
