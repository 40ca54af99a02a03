package redact

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What people tell of themselves in prose, by the words that they tell it with. A name or an address alone is a word among words: only what follows such
// words counts, and only in the form that it has. A name told once is then known to the session and replaced wherever it stands.

// name is one to four words with a capital, also in scripts without capitals. A word of two letters or an initial may be among them.
const (
	word    = `(?:\p{Lu}\.|\p{Lu}[\pL\pM'’]*(?:-\p{Lu}[\pL\pM'’]*)*|\p{Lo}[\pL\pM]*)`
	between = `(?: (?:von|van|de|der|den|del|della|di|da|dos|du|la|le|el|bin|ibn|al|zu|ter|y|e))*`
	name    = `(` + word + `(?:` + between + ` ` + word + `){0,3})`
	date    = `([0-3]?[0-9](?:st|nd|rd|th|er|º)?[-./ ]{1,2}(?:[01]?[0-9]|(?:de )?\pL{3,10}\.?)[-./, ]{1,2}(?:de )?(?:19|20)?[0-9]{2}|(?:19|20)[0-9]{2}[-./](?:0?[1-9]|1[0-2])[-./][0-3]?[0-9]|\pL{3,10}\.? [0-3]?[0-9](?:st|nd|rd|th)?,? (?:19|20)[0-9]{2})`
)

// tellings are the words, in English, German, French, Spanish, Italian, Portuguese, Dutch and Polish, and for names in Russian, Chinese, Japanese and Korean.
var tellings = []struct {
	kind  Kind
	marks []string // one of them stands in the text in lower case
	re    *regexp.Regexp
	ok    func(string) bool
}{
	{Name, []string{"name", "nom ", "nome", "nazywam", "nombre", "chiamo", "chamo", "imi", "heiß", "heiss", "heet", "appelle", "llamo", "speaking", "называ", "зовут"}, told1(
		`my (?:full |first |last |legal )?name(?:'s| is|:)`, `name (?:on the (?:card|account|order|booking)|of the (?:patient|customer|account holder|card ?holder|passenger|guest|tenant|insured))(?: is|:)?`,
		`the name'?s`, `mein (?:vor|nach|voller )?name (?:ist|lautet)`, `ich hei(?:ß|ss)e`, `je m'appelle`, `je m’appelle`, `mon nom est`, `au nom de`, `me llamo`, `mi nombre (?:completo )?es`,
		`mi chiamo`, `il mio nome è`, `(?:eu )?me chamo`, `chamo-me`, `(?:o )?meu nome (?:completo )?é`, `ik heet`, `mijn naam is`, `nazywam się`, `mam na imię`, `меня зовут`, `my name, `), personal},
	{Name, []string{"regards", "sincerely", "thanks", "cheers", "grüße", "grüßen", "grüsse", "gruß", "cordialement", "saludos", "saluti", "groet"}, regexp.MustCompile(
		`(?m)(?i:(?:best|kind|warm|many)? ?regards|yours (?:sincerely|truly|faithfully)|sincerely|many thanks|cheers|(?:mit )?(?:freundlichen|viele|liebe|beste|herzliche) gr(?:ü|ue)(?:ß|ss)en?|cordialement|bien à vous|un saludo|saludos(?: cordiales)?|(?:cordiali|distinti) saluti|met vriendelijke groet(?:en)?)[,!.]?[ \t]*\r?\n[ \t\r\n]*` + name + `[ \t]*\r?$`), personal},
	{Name, []string{"mr", "mrs", "ms", "dr", "herr", "frau", "mme", "señor", "sig", "prof", "mevrouw"}, regexp.MustCompile(
		`\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Herrn?|Frau|Mme|Mlle|Monsieur|Madame|Señora?|Sra?|Sig|Signora?|Mevrouw|Dhr)\b\.? ` + name), personal},
	{Name, []string{"我叫", "名字", "名前", "申します", "이름", "입니다"}, regexp.MustCompile(`(?:我叫|我的名字是|名前は|氏名[は:：]|이름은 ?|성함은 ?)([\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}·・]{2,12}?)(?:です|と申します|입니다|이에요|예요|[,，。.\s]|$)`), nil},
	{Address, []string{" live ", " lives ", "living at", "address", "ship", "deliver", "send it to", "wohn", "anschrift", "adresse", "liefer", "habite", "vivo", "dirección", "direccion", "abito", "indirizzo", "moro", "endereço", "woon", "adres", "mieszkam", "moved to"},
		regexp.MustCompile(`(?i:\b(?:i(?:'m)? liv(?:e|ing) (?:at|in)|(?:he|she|we|they) lives? at|my (?:home |new |old |current |postal |shipping |billing |delivery )?address is(?: now)?|(?:home|shipping|billing|delivery|postal|mailing|street) address(?: is|:)|address:|ship (?:it|them|this|that|the order) to|deliver (?:it|them|this) to|send (?:it|them|this) to|i(?:'ve)? (?:just )?moved to|ich wohne (?:in|im|am|an|auf)(?: der| dem)?|(?:meine|die|neue) (?:neue |lieferadresse |liefer)?(?:adresse|anschrift) (?:ist|lautet)|(?:liefer)?(?:adresse|anschrift):|liefern sie (?:es )?(?:nach|an)|j'habite(?: au| à)?|mon adresse(?: est|:)|adresse:|vivo en(?: la| el)?|mi dirección es|dirección:|abito (?:in|a)|il mio indirizzo è|indirizzo:|moro na|meu endereço é|endereço:|ik woon (?:op|in|aan)(?: de)?|mijn adres is|adres:|mieszkam (?:przy|na))) *` + address), placed},
	{BirthDate, []string{"born", "birth", "dob", "d.o.b", "gebor", "geb.", "naissance", "né le", "née le", "naci", "nacimiento", "nato il", "nata il", "nascita", "nasc", "urodz"},
		regexp.MustCompile(`(?i:\b(?:born(?: on)?|date of birth(?: is)?|birth ?dat?e?y?(?: is)?|d\.?o\.?b\.?|geboren(?: am| op)?|geburtsdatum(?: ist)?|geb\.|née? le|date de naissance(?: est)?|nac(?:í|i|ido|ida) el|fecha de nacimiento(?: es)?|nat[oa] il|data di nascita(?: è)?|nasci(?:do|da)?(?: em| no dia)?|data de nascimento(?: é)?|geboortedatum(?: is)?|urodz\pL+))[ :,=-]{0,3}(?i:is |on |the |am |el |il |le )?` + date), nil},
	{NationalID, []string{"passport", "passeport", "pasaporte", "passaport", "reisepass", "ausweis", "paspoort", "paszport", "driv", "führerschein", "licen", "identity card", "id card"},
		regexp.MustCompile(`(?i:\b(?:passports?|passeport|pasaporte|passaporto|passaporte|reisepass|personalausweis|ausweis|paspoort|paszport|driver'?s? licen[sc]e|driving licen[sc]e|führerschein|(?:national )?identity card|id card)(?:[ -]?(?:number|no|nr|nummer|número|numero|numéro|num|#))?\.?)[ :#=]{0,3}(?i:is |ist |es |est |è |é |number |no\.? )?((?:[A-Z]{1,3} ?)?[0-9][A-Z0-9]{5,11}|[A-Z][A-Z0-9]{6,11})\b`), manyDigits},
	{Plate, []string{"plate", "kennzeichen", "matrícula", "matricula", "immatricul", "targa", "placa", "kenteken", "rejestrac"},
		regexp.MustCompile(`(?i:\b(?:(?:licen[sc]e|number|registration|car) plates?|plates?(?: number)?|kennzeichen|matrícula|matricula|immatricul\pL+|plaque|targa|placa|kenteken|rejestracyjn\pL*)(?: number| no\.?)?)[ :=]{0,3}(?i:is |ist |est |es |è |é |lautet |on my car is )?([A-ZÄÖÜ]{1,3}[ -]?[A-Z]{0,3}[ -]?[0-9]{1,4}(?:[ -]?[A-Z]{1,3}[0-9]{0,2})?|[0-9]{1,4}[ -]?[A-Z]{2,3}[ -]?[0-9]{0,3})\b`), digitAndLetter},
}

// address is a street with a number, in the orders in which they are written, and what follows up to a town.
const address = `((?:(?:(?i:flat|apt\.?|apartment|unit) [0-9A-Z]{1,5},? )?[0-9]{1,5}[a-zA-Z]?(?:,|(?i:bis|ter))? (?:\pL[\pL\pM.'’-]*[ ,]{1,2}){0,5}?` + streetWord + `\b\.?(?: (?:NE|NW|SE|SW|N|S|E|W)\b)?(?: (?:(?:de|du|des|la|le|les|di|del|della|da|do|dos|das) ){0,2}\p{Lu}[\pL\pM.'’-]*){0,2}|` +
	`(?:\p{Lu}[\pL\pM.'’-]*[ -]){0,4}?\p{Lu}?[\pL\pM.'’-]*` + streetWord + `\.?(?: (?:\pL[\pL\pM.'’-]*)){0,4}?,? (?:n[º°.]? ?)?[0-9]{1,5}[a-zA-Z]?\b)` +
	`(?:,? (?i:flat|apt\.?|apartment|unit|#|piso) ?[0-9A-Z]{1,5}\b)?(?:,? (?:in )?[0-9]{4,5}(?:-[0-9]{3,4})?(?: \p{Lu}[\pL\pM.'-]*){1,3}|,? (?:in )?\p{Lu}[\pL\pM.'-]*(?: \p{Lu}[\pL\pM.'-]*){0,2}(?:,? [A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}\b|,? [A-Z]{2}\b,? [0-9]{5}(?:-[0-9]{4})?|,? [0-9]{5}(?:-[0-9]{4})?|\b))?)`

const streetWord = `(?i:street|st|road|rd|avenue|ave|boulevard|blvd|lane|ln|drive|dr|court|ct|place|pl|square|sq|terrace|way|close|crescent|highway|hwy|parkway|straße|strasse|str|weg|platz|allee|gasse|ring|damm|ufer|rue|quai|chemin|impasse|cours|calle|avenida|plaza|paseo|carrera|via|viale|piazza|corso|vicolo|rua|travessa|praça|alameda|straat|laan|plein|gracht|kade|ulica|ul\.)`

// told1 joins openings that a name follows.
func told1(openings ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i:(?:^|[^\pL])(?:` + strings.Join(openings, "|") + `)) *` + name)
}

// told finds what people tell of themselves.
func told(text string, add addFunc) {
	lower := strings.ToLower(text)
	if len(lower) != len(text) { // a letter whose capital has another length: places would not be the same
		lower = text
	}
	for _, t := range tellings {
		for _, w := range around(text, lower, t.marks) {
			part := text[w[0]:w[1]]
			for _, m := range t.re.FindAllStringSubmatchIndex(part, -1) {
				start, end := group(m)
				for end > start && strings.IndexByte(" .,;'", part[end-1]) >= 0 {
					end--
				}
				if t.kind == Name {
					end = start + len(nameOnly(part[start:end]))
				}
				if v := part[start:end]; v != "" && (t.ok == nil || t.ok(v)) {
					add(t.kind, w[0]+start, w[0]+end)
				}
			}
		}
	}
}

// around are the parts of a text about the marks, which begin and end between words.
func around(text, lower string, marks []string) (out [][2]int) {
	const before, after = 40, 240
	next := make([]int, len(marks))
	for from := 0; from < len(text); {
		at := first(lower, from, marks, next)
		if at < 0 {
			break
		}
		start, end := max(0, at-before), min(len(text), at+after)
		for start > 0 && (!utf8.RuneStart(text[start]) || idByte(text[start-1])) {
			start--
		}
		for end < len(text) && (!utf8.RuneStart(text[end]) || idByte(text[end])) {
			end++
		}
		if n := len(out); n > 0 && start <= out[n-1][1] {
			out[n-1][1] = end
		} else {
			out = append(out, [2]int{start, end})
		}
		from = at + 1
	}
	return out
}

// nameOnly cuts a name where a word follows that is none: "Maya Lind I need", "Maya And".
func nameOnly(v string) string {
	at := 0
	for i, w := range strings.Fields(v) {
		if first, _ := utf8.DecodeRuneInString(w); i > 0 && !unicode.IsLower(first) && notName[strings.ToLower(strings.Trim(w, ".'’"))] {
			break
		}
		at += strings.Index(v[at:], w) + len(w)
	}
	v = strings.TrimRight(v[:at], " .,'’")
	return strings.TrimSuffix(strings.TrimSuffix(v, "'s"), "’s")
}

// personal says that a word after such words is a person's name, and no word of the language or of a program.
func personal(v string) bool {
	first := strings.ToLower(strings.Trim(strings.Fields(v)[0], ".,'’"))
	return utf8.RuneCountInString(v) >= 2 && !notName[first] && !everyday[strings.ToLower(v)] && strings.IndexFunc(v, unicode.IsDigit) < 0 && v != strings.ToUpper(v)
}

// notName are words with a capital that stand where a name might.
var notName = map[string]bool{
	"i": true, "the": true, "a": true, "an": true, "and": true, "or": true, "but": true, "not": true, "my": true, "your": true, "is": true, "it": true, "please": true, "can": true,
	"could": true, "would": true, "what": true, "how": true, "when": true, "where": true, "why": true, "who": true, "which": true, "this": true, "that": true, "there": true,
	"here": true, "yes": true, "no": true, "also": true, "order": true, "customer": true, "user": true, "agent": true, "assistant": true, "support": true, "claude": true,
	"gpt": true, "chatgpt": true, "gemini": true, "llama": true, "alexa": true, "siri": true, "copilot": true, "bot": true, "team": true, "sales": true, "service": true,
	"admin": true, "manager": true, "president": true, "doctor": true, "sir": true, "madam": true, "damen": true, "herren": true, "und": true, "ich": true, "sie": true, "das": true, "der": true,
	"die": true, "et": true, "je": true, "et al": true, "y": true, "e": true, "hello": true, "hi": true, "thanks": true, "thank": true, "none": true, "null": true, "unknown": true,
	"json": true, "api": true, "sql": true, "url": true, "on": true, "in": true, "at": true, "of": true, "for": true, "with": true, "from": true, "to": true, "do": true, "does": true,
	"monday": true, "tuesday": true, "wednesday": true, "thursday": true, "friday": true, "saturday": true, "sunday": true, "today": true, "now": true, "one": true, "we": true,
	"you": true, "he": true, "she": true, "they": true, "our": true, "their": true, "his": true, "her": true, "ai": true, "if": true, "so": true, "as": true, "by": true,
}

// placed says that an address has a number.
func placed(v string) bool { return countDigits(v) > 0 && len(v) > 6 }

func manyDigits(v string) bool { return countDigits(v) >= 4 }

func digitAndLetter(v string) bool {
	return countDigits(v) > 0 && countDigits(v) < len(alnum(v)) && len(alnum(v)) >= 4
}
