package match

import (
	"regexp"
	"strings"
	"unicode"
)

// fillers say nothing by themselves. Pronouns, prepositions, words of time and of quantity are none: they tell statements apart.
var fillers = set("a an the is are was were be been being has have had do does did just please also so then " +
	"der die das den dem des ein eine einen einem einer ist sind war waren wurde wurden worden wird hat haben hatte bitte auch " +
	"el la los las un una unos unas es son está están fue fueron ha han sido por favor también " +
	"le les des une est sont a ont été il ce c'est")

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// Negations, after idioms are taken out that hold one and deny nothing.
var (
	idioms = regexp.MustCompile(`not only|not just|why not|no later than|no sooner than|nothing but|not least|no doubt|nicht nur|keine sorge|no solo|no sólo|sin duda|cuanto antes|` +
		`かもしれません|かもしれない|すみません|すいません|申し訳(?:ありません|ございません|ない)|ませんか|間違いな(?:い|く)|しかない|なければな(?:らない|りません)|少な(?:い|く)|` +
		`이 아니라|뿐만 아니라|안녕하\S*|틀림없\S*|문제없이|하지 않을까요`)
	denials = regexp.MustCompile(`(?:^|[^\pL'])(?:not|no|never|none|nothing|nobody|neither|nor|without|cannot|can't|[a-z]+n't|unable|` +
		`nicht|kein(?:e[nrms]?)?|nie|niemals|nichts|ohne|weder|` +
		`nunca|jamás|sin|ningún|ninguna?|nada|tampoco|` +
		`pas|jamais|aucune?|sans|rien)(?:$|[^\pL'])|` +
		`지 ?(?:않|못|말)[가-힣]*|(?:^|[\s])안 ?(?:되|돼|됩|된|됐)[가-힣]*|(?:^|\s)(?:안|못)\s|못 ?(?:했|합|하|한)[가-힣]*|없[가-힣]*|아닙니다|아니[에예다라]\pL*|불가능|불가|미(?:완료|발송|결제|지급|승인|등록)|` +
		`ません(?:でした)?|(?:では|じゃ|て|は|が|か|さ|け|め|れ|え|し|き|ら|わ|た)な(?:い|かった|く)|不可能?|未(?:完了|発送|払い|承認|登録)|できな\pL*`)
)

// apart are words that stand within others where no blanks part them.
var apart = strings.NewReplacer("不可能", " 不可 ", "不可", " 不可 ", "可能", " 可能 ", "불가능", " 불가 ", "가능", " 가능 ")

// sentenceOf reads one sentence, in lower case.
func sentenceOf(text string, question bool) sentence {
	s := sentence{text: text, question: question}
	bare := apart.Replace(idioms.ReplaceAllString(text, " "))
	s.answer, bare = answerOf(bare)
	n := 0
	for { // neighbours share the blank between them, so that one pass may miss the second
		hit := false
		bare = denials.ReplaceAllStringFunc(bare, func(m string) string {
			n, hit = n+1, true
			return positive(m)
		})
		if !hit {
			break
		}
	}
	s.denials = n
	for _, w := range wordsOf(bare) {
		if x, ok := sideOf(w); ok {
			s.sides = append(s.sides, x)
		}
		s.words = append(s.words, w)
	}
	return s
}

// positive is what is left of a word that denies: of the opposite of able there is able.
func positive(m string) string {
	switch {
	case strings.HasPrefix(m, "불가"):
		return " 가능"
	case strings.HasPrefix(m, "不可"):
		return " 可能 "
	case strings.HasPrefix(m, "未"), strings.HasPrefix(m, "미"):
		return " " + strings.TrimLeft(m, "未미")
	case strings.HasPrefix(m, "없"):
		return " 있"
	case strings.Contains(m, "unable"):
		return " able "
	case strings.Contains(m, "cannot") || strings.Contains(m, "can't"):
		return " can "
	case strings.Contains(m, "won't"):
		return " will "
	case strings.Contains(m, "n't"):
		before, _, _ := strings.Cut(m, "n't")
		return " " + strings.TrimLeftFunc(before, func(r rune) bool { return !unicode.IsLetter(r) }) + " "
	}
	return " "
}

var answers = regexp.MustCompile(`^(yes|yep|yeah|no|nope|ja|nein|sí|si|oui|non|네|예|아니요|아니오|はい|いいえ)(?:$|[,.!:;、。\s]\s*-?)`)

// answerOf takes a yes or no off the front of a sentence.
func answerOf(text string) (string, string) {
	m := answers.FindStringSubmatch(text)
	if m == nil {
		return "", text
	}
	rest := text[len(m[0]):]
	if m[1] == "no" && rest != "" && !strings.ContainsAny(m[0], ",.!:;") || m[1] == "si" && rest != "" { // "no order was found"; "si" is if
		return "", text
	}
	switch m[1] {
	case "no", "nope", "nein", "non", "아니요", "아니오", "いいえ":
		return "no", rest
	}
	return "yes", rest
}

var (
	word      = regexp.MustCompile(`[\p{Latin}\p{Cyrillic}\p{Greek}\p{Arabic}\p{Hebrew}\p{Thai}\p{Devanagari}0-9@][\p{L}\p{M}0-9'@._:/%+-]*|\p{Hangul}+|\p{Katakana}[\p{Katakana}ー]*|\p{Han}+|[0-9]+|[$€£¥₩%]`)
	particles = []string{"에서는", "으로는", "에게는", "이라고", "에서", "으로", "에게", "까지", "부터", "은", "는", "이", "가", "을", "를", "의", "에", "도", "로", "와", "과"}
)

// wordsOf are the stems of what is said, fillers left out.
func wordsOf(text string) (out []string) {
	for _, w := range word.FindAllString(text, -1) {
		w = strings.TrimRight(w, ".:/-'_")
		if w == "" || fillers[w] {
			continue
		}
		out = append(out, stem(w))
	}
	return out
}

// stem takes off what bends a word. Of Korean words two syllables are kept, which tells what they are about and not in which voice.
func stem(w string) string {
	r := []rune(w)
	if unicode.Is(unicode.Hangul, r[0]) {
		if r[0] == '있' {
			return "있"
		}
		for _, p := range particles {
			if rest := strings.TrimSuffix(w, p); rest != w && len([]rune(rest)) >= 2 {
				r = []rune(rest)
				break
			}
		}
		return string(r[:min(2, len(r))])
	}
	if !unicode.Is(unicode.Latin, r[0]) || strings.ContainsAny(w, "0123456789@") {
		return w
	}
	for _, end := range []string{"ing", "ed", "es", "s", "en", "e"} {
		if rest := strings.TrimSuffix(w, end); rest != w && len(rest) >= 4 {
			return rest
		}
	}
	return w
}

// side is a word that has an opposite: which pair it belongs to, and on which side of it.
type side struct {
	pair  int
	right bool
}

// opposites are pairs of words, by the beginnings of their stems.
var opposites = [][2][]string{
	{{"approv", "accept", "grant", "genehmig", "angenomm", "aprob", "acept", "approuv", "승인", "수락", "承認", "承諾"}, {"reject", "declin", "deni", "refus", "abgelehn", "rechaz", "deneg", "rejet", "거절", "거부", "반려", "却下", "拒否"}},
	{{"success", "succeed", "pass", "bestand", "erfolgreich", "exitos", "éxito", "réuss", "성공", "成功"}, {"fail", "unsuccess", "fehlgeschlag", "gescheit", "falló", "fallid", "fracas", "échou", "실패", "失敗"}},
	{{"availabl", "verfügbar", "disponib"}, {"unavailabl", "nichtverfügbar", "indisponib"}},
	{{"enabl", "activ", "aktiv", "activat", "활성", "有効"}, {"disabl", "inactiv", "inaktiv", "deaktiv", "desactiv", "deactiv", "비활", "無効"}},
	{{"open", "geöffn", "offen", "abiert", "ouvert"}, {"clos", "geschloss", "cerrad", "ferm"}},
	{{"valid", "gültig", "válid"}, {"invalid", "ungültig", "inválid", "expir", "abgelauf"}},
	{{"possibl", "möglich", "posibl", "가능", "可能"}, {"impossibl", "unmöglich", "imposibl"}},
	{{"increas", "rais", "rose", "rise", "risen", "erhöh", "gestieg", "aument", "sub", "증가", "인상", "増加"}, {"decreas", "lower", "reduc", "drop", "fell", "fall", "sank", "gefall", "gesenk", "gesunk", "reduz", "dismin", "baj", "감소", "인하", "減少"}},
	{{"higher", "more", "mehr", "höher", "más", "mayor"}, {"less", "fewer", "weniger", "niedrig", "menos", "menor"}},
	{{"before", "vor", "antes", "전에", "이전"}, {"after", "nach", "despu", "후에", "이후"}},
	{{"early", "früh", "tempran"}, {"late", "spät", "verspät", "tard"}},
	{{"allow", "permit", "erlaub", "permit", "허용", "許可"}, {"forbid", "forbidd", "prohib", "verbot", "prohíb", "금지", "禁止"}},
	{{"includ", "inklusiv", "enthalt", "incluy", "inclu", "포함", "含"}, {"exclud", "exklusiv", "excluy", "제외", "除"}},
	{{"paid", "bezahl", "pagad", "결제", "지불", "支払"}, {"unpaid", "unbezahl", "impag", "미납", "未払"}},
	{{"eligibl", "berechtig", "elegibl"}, {"ineligibl", "unberechtig", "inelegibl"}},
	{{"correct", "right", "richtig", "korrekt", "정확"}, {"incorrect", "wrong", "falsch", "inkorrekt", "잘못"}},
	{{"true", "wahr", "verdader"}, {"fals"}},
	{{"add", "hinzugefüg", "añad", "agreg", "추가", "追加"}, {"remov", "delet", "entfern", "gelösch", "elimin", "삭제", "제거", "削除"}},
	{{"buy", "bought", "gekauf", "compr"}, {"sell", "sold", "verkauf", "vend"}},
	{{"start", "begin", "began", "begonn", "gestarte", "empez", "comenz", "시작", "開始"}, {"stop", "end", "finish", "beende", "gestopp", "termin", "종료", "중지", "終了"}},
	{{"won", "win", "gewonn", "gan"}, {"lost", "los", "verlor", "perd"}},
	{{"onlin"}, {"offlin"}},
	{{"public", "öffentlich", "públic"}, {"privat", "privad"}},
	{{"alway", "immer", "siempre", "항상", "常"}, {"never", "nie"}},
	{{"above", "over", "über", "encima", "이상", "以上"}, {"below", "under", "unter", "debajo", "이하", "미만", "以下", "未満"}},
	{{"maximum", "höchsten", "máxim", "최대", "最大"}, {"minimum", "mindesten", "mínim", "최소", "最小"}},
	{{"left", "link", "izquierd", "왼쪽", "左"}, {"recht", "derech", "오른", "右"}},
	{{"send", "sent", "gesende", "enviad"}, {"receiv", "empfang", "erhalt", "recibid"}},
	{{"confirm", "bestätig", "확인", "확정", "確定"}, {"cancel", "canceled", "stornier", "취소", "キャンセル"}},
	{{"refundabl", "erstattbar", "reembolsabl"}, {"nonrefundabl", "non-refundabl"}},
	{{"with", "mit", "con", "avec"}, {"without", "ohne", "sin", "sans"}},
	{{"full", "voll", "llen"}, {"empty", "leer", "vací"}},
	{{"free", "kostenlos", "kostenfrei", "gratis", "gratuit", "무료", "無料"}, {"charge", "kostenpflichtig", "유료", "有料"}},
	{{"hot", "warm", "heiß", "caliente"}, {"cold", "cool", "kalt", "frío", "fría"}},
	{{"high", "hoch", "alt"}, {"low", "niedrig", "baj"}},
	{{"long", "lang", "larg"}, {"short", "kurz", "cort"}},
	{{"fast", "quick", "schnell", "rápid"}, {"slow", "langsam", "lent"}},
	{{"first", "erst", "primer"}, {"last", "letzt", "últim"}},
	{{"best"}, {"worst"}}, {{"good", "gut", "buen"}, {"bad", "schlecht", "mal"}},
	{{"all", "every", "alle", "todo", "todos"}, {"none", "some", "few", "einige", "algunos"}},
	{{"must", "required", "requir", "muss", "müss", "debe"}, {"may", "optional", "optional", "darf", "dürf", "puede"}},
	{{"up"}, {"down"}}, {{"on", "an"}, {"off", "aus"}},
	{{"visibl", "shown", "sichtbar"}, {"hidden", "versteckt", "ocult"}},
	{{"safe", "sicher", "segur"}, {"dangerous", "gefährlich", "peligros"}},
	{{"strong"}, {"weak"}}, {{"present"}, {"absent"}}, {{"import"}, {"export"}}, {{"upload"}, {"download"}}, {{"accelerat"}, {"decelerat"}},
	{{"gain", "profit", "gewinn", "ganancia"}, {"loss", "verlust", "pérdida"}}, {{"deposit"}, {"withdraw", "withdrawal", "withdrew"}}, {{"login", "log-in"}, {"logout"}},
	{{"same", "gleich", "mism"}, {"different", "ander", "verschied", "distint", "diferent"}},
}

// whole are sides that are short words by themselves: another word may begin like them.
var whole = set("vor nach sub fall fell sank pass gan baj con mit sin sans end los win won add true ferm link over under more less open nie send sent 含 除 常 左 右 late free full hot warm cool cold high hoch alt low baj long lang larg short fast erst last best worst good gut bad mal all every alle todo none some few must may up down on off an aus safe loss muss")

// sides finds the side of a word: by itself, or by how it begins.
var sides, begins = indexed(opposites)

type beginning struct {
	word string
	side side
}

func indexed(pairs [][2][]string) (map[string]side, []beginning) {
	byWord, byBegin := map[string]side{}, []beginning{}
	for i, p := range pairs {
		for j, list := range p {
			for _, w := range list {
				x := side{i, j == 1}
				for _, spelt := range []string{w, stem(w)} {
					if _, taken := byWord[spelt]; !taken {
						byWord[spelt] = x
					}
				}
				if !whole[w] {
					byBegin = append(byBegin, beginning{stem(w), x})
				}
			}
		}
	}
	return byWord, byBegin
}

func sideOf(w string) (side, bool) {
	if x, ok := sides[w]; ok {
		return x, true
	}
	for _, b := range begins {
		if strings.HasPrefix(w, b.word) {
			return b.side, true
		}
	}
	return side{}, false
}
