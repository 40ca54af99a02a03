package redact

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names and addresses that nobody introduces. A word with a capital may be anything; only where a given name that is nothing else stands before a family
// name, and where a street with its number stands before a town with its postal code, does the form alone tell. Either is bounded: a given name that is also a
// word, a month, a place or a brand (Will, April, Charlotte, Mercedes) is not in the list, and a name in small letters is not seen.

// fullName finds a given name of the list's form and up to two family names after it.
var fullName = regexp.MustCompile(`(?:^|[^\pL\pN_@./\\#-])((\p{Lu}\p{Ll}{2,14})(?: \p{Lu}\.)?(?: (?:von|van|de|der|den|del|della|di|da|dos|bin|al))*((?: \p{Lu}[\pL\pM'’]*\p{Ll}(?:-\p{Lu}\p{Ll}+)?){1,2}))(?:$|[^\pL\pN_@/\\(=:-])`)

// greeted finds a given name after the words that people open with. Such words say too little by themselves: "I'm Sure", "This is Berlin".
var greeted = regexp.MustCompile(`(?:^|[^\pL])(?:I(?:'|’)m|I am|[Tt]his is|[Ii]ch bin|[Hh]ier ist|[Jj]e suis|[Yy]o soy|[Ss]ono|[Hh]i|[Hh]ello|[Hh]ey|[Hh]allo|[Dd]ear|[Ll]ieber?|[Bb]onjour|[Cc]her|[Hh]ola|[Cc]iao),? (\p{Lu}\p{Ll}{2,14})(?:$|[^\pL\pN_@/\\(=-])`)

// placeBefore are words with which a given name is a part of a place's or of another thing's name: San Francisco, St. James.
var placeBefore = regexp.MustCompile(`\b(?:San|Santa|Santo|São|Saint|St\.?|Sainte|Fort|Port|Mount|Cape|Lake|New|North|South|East|West|Hotel|Villa) $`)

// postal is a street with a number, a town and a postal code.
var postal = regexp.MustCompile(`(?:^|[^\pL\pN])([0-9]{1,5}[a-zA-Z]? (?:\p{Lu}[\pL.'’-]* ){1,3}` + streetWord + `\.?(?:,? (?i:flat|apt\.?|apartment|unit|suite|#) ?[0-9A-Z]{1,5})?,? (?:in )?\p{Lu}[\pL.'’-]*(?: \p{Lu}[\pL.'’-]*){0,2},? (?:[A-Z]{2},? [0-9]{5}(?:-[0-9]{4})?|[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2})\b|` +
	`(?:\p{Lu}[\pL.'’-]*[ -]){0,3}(?:\p{Lu}[\pL.'’-]*)?(?i:straße|strasse|str\.|weg|allee|gasse|platz|straat|laan|gracht) [0-9]{1,4}[a-z]?,? (?:[A-Z]{1,2}-)?[0-9]{4,5}(?: [A-Z]{2})? \p{Lu}[\pL'’-]+)`)

// named finds names and addresses by their form.
func named(text string, add addFunc) {
	for from := 0; from < len(text); {
		m := fullName.FindStringSubmatchIndex(text[from:])
		if m == nil {
			break
		}
		start, end := from+m[2], from+m[3]
		if !givenNames[strings.ToLower(text[from+m[4]:from+m[5]])] || placeBefore.MatchString(text[max(0, start-10):start]) {
			from = start + len("X")
			for from < end && text[from] != ' ' { // the next word may be the given name
				from++
			}
			continue
		}
		if end = start + len(familyOnly(text[start:end])); strings.IndexByte(text[start:end], ' ') > 0 {
			add(Name, start, end)
		}
		from = max(end, start+1)
	}
	for _, m := range greeted.FindAllStringSubmatchIndex(text, -1) {
		if givenNames[strings.ToLower(text[m[2]:m[3]])] {
			add(Name, m[2], m[3])
		}
	}
	if countDigits(text) < 4 {
		return
	}
	for _, m := range postal.FindAllStringSubmatchIndex(text, -1) {
		add(Address, m[2], m[3])
	}
}

// familyOnly cuts a name before a word that is no family name.
func familyOnly(v string) string {
	v = nameOnly(v)
	for _, s := range []string{"'s ", "’s "} {
		v, _, _ = strings.Cut(v, s)
	}
	at := 0
	for i, w := range strings.Fields(v) {
		if first, _ := utf8.DecodeRuneInString(w); i > 0 && unicode.IsUpper(first) && noFamily[strings.ToLower(w)] {
			if i == 1 {
				return ""
			}
			break
		}
		at += strings.Index(v[at:], w) + len(w)
	}
	return v[:at]
}

func wordSet(lists ...string) map[string]bool {
	out := map[string]bool{}
	for _, l := range lists {
		for w := range strings.FieldsSeq(l) {
			out[w] = true
		}
	}
	return out
}

// noFamily are words with a capital that follow a given name in the names of other things.
var noFamily = wordSet(`street road avenue lane drive court place square way university college school hospital clinic church cathedral airport station park island islands river lake mountain
	bay beach bridge tower house hotel hall museum library center centre stadium theatre theater award prize cup medal foundation institute company corporation corp inc ltd llc gmbh group bank
	law theorem method model effect equation principle constant number scale test series show film movie album song book band day week month year night morning county city town state province
	country district region valley hill hills field garden gardens market store shop cafe bar restaurant airlines air version edition project team club fc united league order account ticket
	parcel product item invoice booking reservation flight policy plan type size color colour shirt jacket shoes mug hat set kit pro max mini plus case tool agent rule trace session user customer
	wants asked asks says said called bought ordered has had is was will would can could should may might needs lives works went got made did does new old north south east west best
	before story oil map arts kart half god language programming american british german french english indian chinese
	japanese korean taken cheers stanford oxford cambridge natural family trench awards finalists biography
	profiles photography presidential publisher chairman`)

// givenNames are given names that are hardly ever anything else.
var givenNames = wordSet(
	`aarav anya arun ava ayaan daiki deepika ethan haruto kenji lena mia minh noah rohan sanya yara aaron abdul abdullah abigail adam adriana agnieszka ahmed aisha aiko akira albert alejandra alejandro aleksander aleksandra alessandra alessandro alexander alexandra alexandre alexis alfred
	alice alicia alina amanda amelia amina amir amit amy ana anastasia andrea andreas andrei andrew andrzej angela anika anita anja anna anneliese annette anthony antoine anton antonia antonio
	arjun arthur ashley astrid ayesha barbara bartosz beatrice beatriz benjamin bernd bernhard bettina birgit bjorn boris brandon brenda brian bruno camille carla carlos carmen caroline
	catherine cecilia celine chiara christian christina christine christoph christopher claire clara claudia claudio claus colin connor cristina cynthia daniel daniela daniele danielle david deborah
	denise dennis deepak diana diego dieter dmitri dominik donald dorothea douglas eduardo edward ekaterina elena eleanor elias elif elisabeth elizabeth ella ellen elodie emilia emilie emily emma
	enrique eric erik ernesto esther eugene eva evelyn fatima federica federico felipe felix fernanda fernando filip fiona florian francesca francesco francisco franz frederic frida friedrich
	gabriel gabriela gabriele georg george gerald gerhard giovanni giulia giuseppe gloria gonzalo gregor gregory guillaume gunther gustavo hamza hana hannah hans harald hassan heather heidi heike
	heinrich helen helena helga helmut henrik henry hiroshi holger hugo ian ibrahim ines ingrid irene irina isabel isabella isabelle ismail ivan jacek jacob jacqueline jakob jakub james janet
	javier jean jeffrey jennifer jens jeremy jessica joan joana joanna jochen johan johann johanna johannes jonas jonathan jorge jose josef joseph joshua juan judith julia julian juliana julie
	julien jurgen justyna karen karin karina karl karolina katarina katarzyna kateryna katharina katherine kathleen kathryn kathrin katja keiko keith kenneth kevin kimberly klara klaus kristina
	krzysztof lars laura lauren laurent leonardo leonie leticia liam lidia lina linda lisa lorenzo louis louise luca lucia lucas ludwig luis luisa lukas magdalena malgorzata manuel manuela
	marcel marcin marco marcos marcus margaret margarita maria mariana marie marina marion marta martha martin martina mary mateusz mathias mathieu matteo matthew matthias maurice maya megan
	mehmet melanie melissa michael michal michel michele michelle miguel mikhail mohamed mohammed monica monika monique muhammad mustafa nadia nadine natalia natalie natasha nathan nicholas nicola
	nicolas nicole niklas nikolai nina nora norbert oleksandr olga oliver olivia omar oscar otto pablo pamela patricia patrick paula pauline pavel pedro peter petra philipp philippe piotr priya
	rachel rafael rahul rainer rajesh ralf ramon ravi raymond rebecca reinhard renate ricardo richard rita robert roberto rodrigo roger roland ronald ruth ryan sabine sabrina samantha
	samuel sandra sandro sanjay santiago sara sarah sebastian sergei sergio sharon silke silvia simon simone sofia sonja sophia sophie stefan stefania stefano stephanie stephen steven sunil susan
	susanne suzanne svetlana sven takashi tanja tatiana teresa theresa thomas timothy tobias tomas tomasz torsten ulrich ulrike ursula valentina valerie vanessa vera veronica veronika victoria
	vijay viktor vincent vincenzo virginie vladimir walter werner wilhelm william wojciech wolfgang xavier yannick yasmin yolanda youssef yuki yusuf yvonne zainab zoe zofia`)
