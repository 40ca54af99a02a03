package match

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// quantity is a number of a text with what it counts.
type quantity struct {
	values []float64 // more than one where the spelling leaves it open: 1.500 is one and a half, or fifteen hundred
	unit   string    // of a closed list (usd, %, s, ...); "" where it is bare
	noun   string    // the stem of the word after it, where there is no unit
	raw    string
	about  bool // it says itself that it is not exact
}

// measure is what a word after a number makes of it.
type measure struct {
	unit   string
	factor float64
}

// units by their spellings; factors make one unit of several. Months and years have no fixed length in days.
var units = unitsOf([]unitName{
	{"usd", 1, "$ usd us$ dollar dollars dólar dólares 달러 ドル"},
	{"eur", 1, "€ eur euro euros 유로 ユーロ"},
	{"gbp", 1, "£ gbp pound pounds pfund libras"},
	{"krw", 1, "₩ krw won 원"},
	{"jpy", 1, "¥ jpy yen 円 엔"},
	{"chf", 1, "chf franken"},
	{"cent", 1, "cent cents centavos"},
	{"%", 1, "% percent prozent pct 퍼센트 パーセント"},
	{"s", 1, "s sec secs second seconds sekunde sekunden segundo segundos 초 秒"},
	{"s", 60, "min mins minute minutes minuten minuto minutos 분 分 分間"},
	{"s", 3600, "h hr hrs hour hours stunde stunden hora horas 시간 時間"},
	{"s", 86400, "d day days tag tage tagen día días dia dias 일 日 日間"},
	{"s", 604800, "week weeks woche wochen semana semanas 주 週間"},
	{"month", 1, "month months monat monate monaten mes meses 개월 달 か月 ヶ月"},
	{"month", 12, "year years jahr jahre jahren año años 년 年"},
	{"g", 1, "g gram grams gramm gramos"},
	{"g", 1000, "kg kilo kilos kilogram kilograms"},
	{"m", 1000, "km kilometer kilometers kilómetros"},
	{"m", 1, "m meter meters metros"},
	{"m", 0.01, "cm"},
	{"m", 0.001, "mm"},
	{"b", 1, "bytes"},
	{"b", 1e3, "kb"},
	{"b", 1e6, "mb"},
	{"b", 1e9, "gb"},
	{"b", 1e12, "tb"},
})

type unitName struct {
	unit      string
	factor    float64
	spellings string
}

func unitsOf(names []unitName) map[string]measure {
	out := map[string]measure{}
	for _, n := range names {
		for _, s := range strings.Fields(n.spellings) {
			out[s] = measure{n.unit, n.factor}
		}
	}
	return out
}

var multipliers = map[string]float64{"k": 1e3, "thousand": 1e3, "tausend": 1e3, "mil": 1e3, "million": 1e6, "millions": 1e6, "millionen": 1e6, "mio": 1e6, "millones": 1e6, "millón": 1e6,
	"billion": 1e9, "billions": 1e9, "milliarden": 1e9, "mrd": 1e9, "천": 1e3, "만": 1e4, "억": 1e8, "千": 1e3, "万": 1e4, "億": 1e8}

// numerals are the small numbers in words. Articles are none.
var numerals = numeralsOf(map[string]int{
	"two three four five six seven eight nine ten eleven twelve": 2,
	"zwei drei vier fünf sechs sieben acht neun zehn elf zwölf":  2,
	"dos tres cuatro cinco seis siete ocho nueve diez once doce": 2,
	"deux trois quatre cinq six sept huit neuf dix onze douze":   2,
	"한 두 세 네 다섯 여섯 일곱 여덟 아홉 열":                                   1,
	"一 二 三 四 五 六 七 八 九 十":                                        1,
})

// numeralsOf counts the words of each list on from its first number.
func numeralsOf(lists map[string]int) map[string]float64 {
	out := map[string]float64{}
	for words, from := range lists {
		for i, w := range strings.Fields(words) {
			out[w] = float64(from + i)
		}
	}
	return out
}

var (
	figure = regexp.MustCompile(`(?P<cur>(?:us)?[$€£¥₩])?\s?(?P<num>[-+]?\d[\d.,' ]*\d|[-+]?\d)(?P<mul>\s?(?:thousand|tausend|millionen|millions?|millones|millón|mio\.?|mrd\.?|milliarden|billions?|k\b|천|만|억|千|万|億))?\s?-?(?P<unit>[$€£¥₩%]|\pL+)?`)
	spelt  = regexp.MustCompile(`(?:^|[^\pL])(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze) (\pL+)|` +
		`(?:^|[^\p{Hangul}])(한|두|세|네|다섯|여섯|일곱|여덟|아홉|열) ?(개월|개|명|시간|달|번|주|장|건|곳|대)|(一|二|三|四|五|六|七|八|九|十)(つ|個|件|人|名|週間|時間|日間|か月|回|枚)`)
	between = regexp.MustCompile(`^\s?(?:-|~|to|and|bis|und|a|y|から|부터|에서)\s?$`)
	half    = regexp.MustCompile(`^\s?(?:반|半|and a half|½|y media|einhalb)`)
	joint   = regexp.MustCompile(`^\s*(?:,|and|und|y|et)?\s*$`)
	roughly = regexp.MustCompile(`(?:about|around|approximately|approx\.?|roughly|nearly|almost|over|more than|at least|up to|less than|under|~|ca\.|etwa|rund|ungefähr|über|mindestens|bis zu|unos|unas|aproximadamente|casi|más de|al menos|hasta|environ|약|대략|최대|최소|約|およそ|最大)\s*$`)
)

// quantitiesOf finds the numbers of a text in lower case from which ids are taken out. Dates and times of day are quantities of a unit of their own.
func quantitiesOf(text string) []quantity {
	text, out := datesOf(text)
	out = append(out, figuresOf(text)...)
	for _, at := range spelt.FindAllStringSubmatchIndex(text, -1) {
		part := func(i int) string { return text[max(0, at[2*i]):max(0, at[2*i+1])] }
		w, noun := part(1)+part(3)+part(5), part(2)+part(4)+part(6)
		q := quantity{values: []float64{numerals[w]}, raw: strings.TrimSpace(part(0)), about: half.MatchString(text[at[1]:min(len(text), at[1]+24)])}
		q.counts(noun)
		out = append(out, q)
	}
	return slices.DeleteFunc(out, func(q quantity) bool { return len(q.values) == 0 })
}

func figuresOf(text string) (out []quantity) {
	ends, whole := 0, 0 // of the last number, and of the last number with its unit
	for _, at := range figure.FindAllStringSubmatchIndex(text, -1) {
		part := func(name string) string {
			if i := 2 * figure.SubexpIndex(name); at[i] >= 0 {
				return text[at[i]:at[i+1]]
			}
			return ""
		}
		begin := at[2*figure.SubexpIndex("num")]
		q := quantity{values: spellings(part("num")), raw: strings.TrimSpace(text[at[0]:at[1]]), about: roughly.MatchString(text[max(0, at[0]-24):at[0]]) || half.MatchString(text[at[1]:min(len(text), at[1]+24)])}
		if f, ok := multipliers[strings.Trim(part("mul"), " .")]; ok {
			q.times(f)
		}
		if c := part("cur"); c != "" {
			q.unit = units[c].unit
		} else {
			q.counts(part("unit"))
		}
		if n := len(out) - 1; n >= 0 && out[n].unit == "" && between.MatchString(text[ends:max(ends, begin)]) {
			out[n].unit, out[n].noun = q.unit, q.noun // 3 to 5 days are days both
			if f := factorOf(part("unit")); f != 1 {
				out[n].times(f)
			}
		}
		if n := len(out) - 1; n >= 0 && q.unit == "s" && out[n].unit == "s" && joint.MatchString(text[whole:max(whole, begin)]) && q.continues(out[n]) {
			out[n].values[0] += q.values[0] // 1 hour 30 minutes are one time
		} else {
			out = append(out, q)
		}
		ends, whole = at[2*figure.SubexpIndex("num")+1], at[1]
	}
	return out
}

// continues says that a time is the smaller part of the one that it follows.
func (q quantity) continues(o quantity) bool {
	return len(q.values) == 1 && len(o.values) == 1 && q.values[0] < o.values[0] && (o.values[0] >= 86400 || q.values[0] < 3600)
}

func factorOf(spelling string) float64 {
	if u, ok := lookUnit(spelling); ok {
		return u
	}
	return 1
}

func lookUnit(s string) (float64, bool) {
	u, ok := units[s]
	return u.factor, ok
}

// counts reads the word after a number.
func (q *quantity) counts(next string) {
	for _, s := range []string{next, firstRune(next, 2), firstRune(next, 1)} { // 3시간이 and 5万円で go on after the unit
		u, ok := units[s]
		if !ok || s != next && !eastern(s) {
			continue
		}
		q.unit = u.unit
		q.times(u.factor)
		return
	}
	if f, ok := multipliers[next]; ok {
		q.times(f)
		return
	}
	if next != "" {
		q.noun = stem(next)
	}
}

func firstRune(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}

func eastern(s string) bool { return s != "" && []rune(s)[0] >= 0x3000 }

func (q *quantity) times(f float64) {
	q.values = slices.Clone(q.values)
	for i := range q.values {
		q.values[i] *= f
	}
}

// spellings are the numbers that figures may stand for.
func spellings(s string) []float64 {
	s = strings.NewReplacer("'", "", " ", "").Replace(s)
	dot, comma := strings.LastIndexByte(s, '.'), strings.LastIndexByte(s, ',')
	var texts []string
	switch {
	case dot >= 0 && comma >= 0 && dot > comma:
		texts = []string{strings.ReplaceAll(s, ",", "")}
	case dot >= 0 && comma >= 0:
		texts = []string{strings.Replace(strings.ReplaceAll(s, ".", ""), ",", ".", 1)}
	case dot >= 0:
		texts = separated(s, ".")
	case comma >= 0:
		texts = separated(s, ",")
	default:
		texts = []string{s}
	}
	var out []float64
	for _, t := range texts {
		if f, err := strconv.ParseFloat(t, 64); err == nil && !math.IsInf(f, 0) {
			out = append(out, f)
		}
	}
	return out
}

// separated reads figures with one kind of mark: of thousands where it stands before each three figures, else of a fraction.
func separated(s, mark string) []string {
	parts := strings.Split(s, mark)
	joined := strings.Join(parts, "")
	thousands := len(parts[0]) <= 4 && !strings.HasPrefix(strings.TrimLeft(parts[0], "+-"), "0")
	for _, p := range parts[1:] {
		thousands = thousands && len(p) == 3
	}
	switch {
	case thousands && len(parts) == 2:
		return []string{joined, parts[0] + "." + parts[1]}
	case thousands:
		return []string{joined}
	case len(parts) == 2:
		return []string{parts[0] + "." + parts[1]}
	}
	return nil // a version, or an address: nothing to count
}

// equal says whether two quantities may be one.
func (q quantity) equal(o quantity) bool {
	if q.unit != "" && o.unit != "" && q.unit != o.unit {
		return false
	}
	return slices.ContainsFunc(q.values, func(v float64) bool {
		return slices.ContainsFunc(o.values, func(w float64) bool {
			if q.unit == dateUnit {
				return sameDate(v, w)
			}
			return math.Abs(v-w) <= 1e-9*math.Max(math.Abs(v), math.Abs(w))
		})
	})
}

// near says that one may be the other, rounded.
func (q quantity) near(o quantity) bool {
	v, w := q.values[0], o.values[0]
	d, most := math.Abs(v-w), math.Max(math.Abs(v), math.Abs(w))
	whole := func(f float64) bool { return f == math.Trunc(f) }
	return (q.about || o.about) && d <= most/4 || whole(v) != whole(w) && d < 1
}
