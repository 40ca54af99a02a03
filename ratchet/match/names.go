package match

import (
	"regexp"
	"slices"
	"strings"
)

var (
	idShapes = regexp.MustCompile(`https?://[^\s)>\]]+|[\pL0-9._%+-]+@[\pL0-9-]+(?:\.[\pL0-9-]+)+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|` +
		`\b[a-z]{1,12}[-_#/]?[0-9]{3,}[a-z0-9_-]*\b|#[0-9]{2,}\b|\bv?[0-9]+\.[0-9]+\.[0-9]+(?:\.[0-9]+)*\b|\b[0-9]{9,}\b|\+[0-9][0-9 ()-]{6,}[0-9]\b`)
	letters = regexp.MustCompile(`^[a-z]+`)
)

// idsOf takes what names one thing out of a text in lower case: order numbers, addresses, versions, telephone numbers.
func idsOf(text string) (string, []string) {
	var out []string
	rest := idShapes.ReplaceAllStringFunc(text, func(id string) string {
		if _, money := units[letters.FindString(id)]; money && !strings.ContainsAny(id, "@/") {
			return id
		}
		id = strings.TrimRight(id, ".,;:")
		if id[0] == '+' {
			id = strings.NewReplacer(" ", "", "(", "", ")", "", "-", "").Replace(id)
		}
		if kindOfID(id) == "a version" {
			id = strings.TrimPrefix(id, "v")
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
		return " ; "
	})
	return rest, out
}

// kindOfID is what two ids must share for one to be there in place of the other; "" where nothing tells.
func kindOfID(id string) string {
	switch {
	case strings.HasPrefix(id, "http"):
		return ""
	case strings.Contains(id, "@"):
		return "an address"
	case id[0] == '#', id[0] == '+':
		return id[:1]
	case strings.Count(id, "-") == 4 && len(id) == 36:
		return "a uuid"
	case strings.Count(id, ".") >= 2:
		return "a version"
	}
	if prefix := letters.FindString(id); prefix != "" && prefix != "v" {
		return prefix
	}
	return "a number of " + strings.Repeat("9", len(id))
}

// name is a person or a place.
type name struct{ kind, word string }

var (
	titled = regexp.MustCompile(`\b(?:Mr|Mrs|Ms|Dr|Prof|Herrn?|Frau|Señora?|Sr|Sra|Monsieur|Madame)\.? (\p{Lu}[\p{L}'-]+)|([가-힣]{2,4}) ?(?:님|씨)|([\p{Han}\p{Katakana}ー]{1,8})(?:さん|様)`)
	proper = regexp.MustCompile(`\p{Lu}\p{Ll}+|[가-힣]{2,3}|[\p{Katakana}ー]{2,}|\p{Han}{2,3}`)
	nobody = set("고객 회원 선생 손님 여러분 사장 담당자 客 皆 お客 神 仏 王 何")
	people = set("alice bob carol carlos dave david emma eva hannah henry ivan jack james jane jennifer john jose juan julia karen kevin laura lena leo linda lisa lucas lucia luis " +
		"maria martin mary maya mia michael miguel mohammed nina noah oliver olivia omar pablo paul pedro peter rachel robert sam sara sarah sofia sophie steve susan thomas tim tom victor william yuki anna ana ben chloe daniel elena")
)

// places by their spellings, each under the first.
var places = spelled(map[string]string{
	"berlin":      "베를린 ベルリン",
	"munich":      "münchen 뮌헨",
	"hamburg":     "",
	"cologne":     "köln",
	"frankfurt":   "",
	"vienna":      "wien viena",
	"zurich":      "zürich",
	"geneva":      "genf",
	"paris":       "파리 パリ",
	"london":      "londres 런던 ロンドン",
	"madrid":      "",
	"barcelona":   "",
	"lisbon":      "lissabon lisboa",
	"rome":        "rom roma",
	"milan":       "mailand milán",
	"amsterdam":   "",
	"brussels":    "brüssel bruselas",
	"dublin":      "",
	"oslo":        "",
	"stockholm":   "",
	"copenhagen":  "kopenhagen",
	"helsinki":    "",
	"warsaw":      "warschau",
	"prague":      "prag",
	"boston":      "",
	"chicago":     "",
	"seattle":     "",
	"denver":      "",
	"houston":     "",
	"miami":       "",
	"toronto":     "",
	"sydney":      "",
	"melbourne":   "",
	"singapore":   "singapur",
	"tokyo":       "tokio 東京 도쿄",
	"osaka":       "大阪 오사카",
	"kyoto":       "京都 교토",
	"seoul":       "서울 ソウル",
	"busan":       "부산 釜山",
	"incheon":     "인천",
	"beijing":     "peking pekín 北京",
	"shanghai":    "上海",
	"germany":     "deutschland alemania 독일 ドイツ",
	"france":      "frankreich francia 프랑스 フランス",
	"spain":       "spanien españa 스페인",
	"italy":       "italien italia",
	"japan":       "japón 일본 日本",
	"korea":       "한국 韓国",
	"canada":      "kanada",
	"mexico":      "mexiko méxico",
	"brazil":      "brasilien brasil",
	"austria":     "österreich",
	"switzerland": "schweiz suiza",
})

func spelled(by map[string]string) map[string]string {
	out := map[string]string{}
	for name, others := range by {
		out[name] = name
		for _, o := range strings.Fields(others) {
			out[o] = name
		}
	}
	return out
}

// namesOf finds people and places in a text as it is spelt: those with a title, and those on two short lists. Any other word that begins large may
// be a noun, a brand or the start of a sentence, and is left alone.
func namesOf(text string) (out []name) {
	add := func(kind, word string) {
		if word != "" && !nobody[word] && !slices.Contains(out, name{kind, word}) {
			out = append(out, name{kind, word})
		}
	}
	for _, m := range titled.FindAllStringSubmatch(text, -1) {
		add("person", strings.ToLower(m[1])+m[2]+m[3])
	}
	for _, w := range proper.FindAllString(text, -1) {
		low := strings.ToLower(w)
		if people[low] {
			add("person", low)
		}
		if p, ok := places[low]; ok {
			add("place", p)
		}
	}
	return out
}
