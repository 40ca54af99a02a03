package rule

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// day is a calendar day in a text. Year is 0 where the text leaves it out.
type day struct {
	year, month, day int
}

const monthNames = `jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?`

var (
	isoDay   = regexp.MustCompile(`\b(\d{4})-(\d{2})-(\d{2})`)
	dayFirst = regexp.MustCompile(`(?i)\b(\d{1,2})(?:st|nd|rd|th|\.)?(?: of)? (` + monthNames + `)\.?(?:,? (\d{4}))?\b`)
	monFirst = regexp.MustCompile(`(?i)\b(` + monthNames + `)\.? (\d{1,2})(?:st|nd|rd|th)?\b(?:,? (\d{4})\b)?`)
	numeric  = regexp.MustCompile(`\b(\d{1,2})[./](\d{1,2})[./](\d{4})\b`)
)

// daysIn lists the days that a text may name: of 3/4/2026 both.
func daysIn(text string) []day {
	var out []day
	add := func(y, m, d int) {
		if m >= 1 && m <= 12 && d >= 1 && d <= 31 {
			out = append(out, day{y, m, d})
		}
	}
	for _, m := range isoDay.FindAllStringSubmatch(text, 400) {
		add(atoi(m[1]), atoi(m[2]), atoi(m[3]))
	}
	for _, m := range dayFirst.FindAllStringSubmatch(text, 400) {
		add(atoi(m[3]), monthOf(m[2]), atoi(m[1]))
	}
	for _, m := range monFirst.FindAllStringSubmatch(text, 400) {
		add(atoi(m[3]), monthOf(m[1]), atoi(m[2]))
	}
	for _, m := range numeric.FindAllStringSubmatch(text, 400) {
		add(atoi(m[3]), atoi(m[1]), atoi(m[2]))
		add(atoi(m[3]), atoi(m[2]), atoi(m[1]))
	}
	return out
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

func monthOf(name string) int {
	return 1 + slices.Index([]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}, strings.ToLower(name)[:3])
}

// same says that two days may be one.
func (d day) same(o day) bool {
	return d.month == o.month && d.day == o.day && (d.year == o.year || d.year == 0 || o.year == 0)
}

// after says whether this day is n days after the other, in the other's year where it has none.
func (d day) daysAfter(o day) int {
	year := o.year
	if d.year != 0 {
		year = d.year
	}
	at := func(y int, d day) time.Time { return time.Date(y, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC) }
	from := o.year
	if from == 0 {
		from = year
	}
	return int(at(year, d).Sub(at(from, o)).Hours() / 24)
}

// dateWords end the keys of days.
var dateWords = wordSet(`date day eta due delivery delivered arrival arrives arriving departure departs expires expiry expiration deadline start starts end ends until renewal renews scheduled appointment checkin checkout birthday dob shipped ships datum lieferdatum fecha data`)

// dateClaim finds a day that nobody told, that is no number of told days away from a told one, and that the result's one day of that name contradicts.
func (m *maker) dateClaim(step int, text, sentence string, known func() []field) (claim, bool) {
	days := daysIn(sentence)
	if len(days) == 0 || slices.ContainsFunc(days, func(d day) bool { return !d.same(days[0]) && !(d.month == days[0].day && d.day == days[0].month) }) {
		return claim{}, false
	}
	low, fields := strings.ToLower(sentence), known()
	var named []field
	for _, f := range about(fields, sentence) {
		if len(daysIn(f.text)) == 0 || len(f.text) > 40 {
			continue
		}
		if slices.ContainsFunc(f.words, func(w string) bool {
			return dateWords[w] && len(w) > 2 && w != "date" && w != "day" && strings.Contains(low, stem(w))
		}) {
			named = append(named, f)
		}
	}
	by, ok := single(named)
	if !ok || slices.ContainsFunc(daysIn(text), func(d day) bool { return slices.ContainsFunc(daysIn(by.text), d.same) }) {
		return claim{}, false
	}
	if m.explainsDay(step, fields, days) {
		return claim{}, false
	}
	return claim{step: step, kind: "date", field: by, sure: 0.75}, true
}

// stem is the beginning of a word that its other forms share: deliver of delivery.
func stem(w string) string {
	for _, end := range []string{"ation", "ure", "ery", "als", "al", "ed", "es", "ing", "s", "y"} {
		if s, ok := strings.CutSuffix(w, end); ok && len(s) >= 4 {
			return s
		}
	}
	return w
}

// explainsDay says that a day was told, or is a told number of days, weeks or months away from a told one.
func (m *maker) explainsDay(step int, fields []field, days []day) bool {
	known := &figures{}
	var told []day
	for x := range m.told().before(step, nil) {
		told = append(told, daysIn(x.text)...)
		known.addText(withoutNames(x.text), true)
	}
	if len(told) > 400 || len(known.all) > maxFigures {
		return true
	}
	for _, d := range days {
		for _, o := range told {
			n := d.daysAfter(o)
			if d.same(o) || n >= -1 && n <= 1 || d.day == o.day || n%7 == 0 {
				return true
			}
			for _, v := range known.all {
				if k := int(v); v == float64(k) && k > 0 && k < 400 && (n == k || n == -k || n == 7*k) {
					return true
				}
			}
		}
	}
	return false
}
