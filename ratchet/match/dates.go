package match

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// The units of times. A date is a number yyyymmdd, with the year 0 where none is told; a time of day counts minutes; a day of the week is 1 to 7.
const (
	dateUnit    = "date"
	clockUnit   = "clock"
	weekdayUnit = "weekday"
)

func sameDate(v, w float64) bool {
	year := func(f float64) float64 { return math.Trunc(f / 1e4) }
	return math.Mod(v, 1e4) == math.Mod(w, 1e4) && (year(v) == year(w) || year(v) == 0 || year(w) == 0)
}

// months by their names.
var months = monthsOf(
	"january jan januar jänner enero janvier",
	"february feb februar febrero février",
	"march mar märz marzo mars",
	"april apr abril avril",
	"may mai mayo",
	"june jun juni junio juin",
	"july jul juli julio juillet",
	"august aug agosto août",
	"september sep sept septiembre septembre",
	"october oct oktober okt octubre octobre",
	"november nov noviembre novembre",
	"december dec dezember dez diciembre décembre")

func monthsOf(names ...string) map[string]int {
	out := map[string]int{}
	for i, all := range names {
		for _, n := range strings.Fields(all) {
			out[n] = i + 1
		}
	}
	return out
}

const monthNames = `(january|jan|januar|jänner|enero|janvier|february|feb|februar|febrero|février|march|mar|märz|marzo|mars|april|apr|abril|avril|may|mai|mayo|june|jun|juni|junio|juin|july|jul|juli|julio|juillet|` +
	`august|aug|agosto|août|september|sept|sep|septiembre|septembre|october|oct|oktober|okt|octubre|octobre|november|nov|noviembre|novembre|december|dec|dezember|dez|diciembre|décembre)`

var weekdays = [7]string{
	`monday|mondays|montags?|lunes|lundi|월요일|月曜日?`, `tuesdays?|dienstags?|martes|mardi|화요일|火曜日?`, `wednesdays?|mittwochs?|miércoles|mercredi|수요일|水曜日?`,
	`thursdays?|donnerstags?|jueves|jeudi|목요일|木曜日?`, `fridays?|freitags?|viernes|vendredi|금요일|金曜日?`, `saturdays?|samstags?|sonnabends?|sábados?|samedi|토요일|土曜日?`, `sundays?|sonntags?|domingos?|dimanche|일요일|日曜日?`,
}

// shape is one way to write a time.
type shape struct {
	re   *regexp.Regexp
	unit string
	read func(m []string) []float64
}

var shapes = []shape{
	{regexp.MustCompile(`(\d{4})-(\d{1,2})-(\d{1,2})(?:t|\b)`), dateUnit, func(m []string) []float64 { return date(m[1], m[2], m[3]) }},
	{regexp.MustCompile(`(?:(\d{4})\s?[年년]\s?)?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]`), dateUnit, func(m []string) []float64 { return date(m[1], m[2], m[3]) }},
	{regexp.MustCompile(`\b(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4}|\d{2})\b`), dateUnit, func(m []string) []float64 { return date(m[3], m[2], m[1]) }},
	{regexp.MustCompile(`\b(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b`), dateUnit, func(m []string) []float64 { return append(date(m[3], m[1], m[2]), date(m[3], m[2], m[1])...) }},
	{regexp.MustCompile(`\b(\d{1,2})(?:st|nd|rd|th|\.|º)?\s(?:of |de )?` + monthNames + `\b\.?(?:,?\s(?:de |of )?(\d{4})\b)?`), dateUnit, func(m []string) []float64 {
		return date(m[3], strconv.Itoa(months[m[2]]), m[1])
	}},
	{regexp.MustCompile(`\b` + monthNames + `\.?\s(?:the )?(\d{1,2})(?:st|nd|rd|th)?\b(?:,?\s(\d{4})\b)?`), dateUnit, func(m []string) []float64 {
		return date(m[3], strconv.Itoa(months[m[1]]), m[2])
	}},
	{regexp.MustCompile(`\b(\d{1,2})[:.](\d{2})(?::\d{2})?\s?(am|pm|a\.m\.|p\.m\.|uhr)`), clockUnit, func(m []string) []float64 { return timeOfDay(m[1], m[2], m[3]) }},
	{regexp.MustCompile(`\b(\d{1,2}):(\d{2})(?::\d{2})?\b`), clockUnit, func(m []string) []float64 { return timeOfDay(m[1], m[2], "") }},
	{regexp.MustCompile(`\b(\d{1,2})\s?(am\b|pm\b|a\.m\.|p\.m\.|uhr\b)`), clockUnit, func(m []string) []float64 { return timeOfDay(m[1], "0", m[2]) }},
	{regexp.MustCompile(`(오전|오후|午前|午後)\s?(\d{1,2})\s?[시時](?:\s?(\d{1,2})\s?[분分])?`), clockUnit, func(m []string) []float64 {
		half := "am"
		if m[1] == "오후" || m[1] == "午後" {
			half = "pm"
		}
		return timeOfDay(m[2], m[3], half)
	}},
}

// datesOf takes dates, times of day and days of the week out of a text.
func datesOf(text string) (string, []quantity) {
	var out []quantity
	for _, s := range shapes {
		text = s.re.ReplaceAllStringFunc(text, func(hit string) string {
			values := s.read(s.re.FindStringSubmatch(hit))
			if len(values) == 0 {
				return hit
			}
			out = append(out, quantity{values: values, unit: s.unit, raw: strings.TrimSpace(hit)})
			return " ; "
		})
	}
	for _, m := range weekday.FindAllStringSubmatch(text, -1) {
		for i := range weekdays {
			if m[i+1] != "" {
				out = append(out, quantity{values: []float64{float64(i + 1)}, unit: weekdayUnit, raw: m[i+1]})
			}
		}
	}
	return text, out
}

var weekday = regexp.MustCompile(`(?:^|[^\p{Latin}])(?:(` + strings.Join(weekdays[:], ")|(") + `))(?:$|[^\p{Latin}])`)

func date(year, month, day string) []float64 {
	y, m, d := figureOf(year), figureOf(month), figureOf(day)
	if len(year) == 2 {
		y += 2000
	}
	if m < 1 || m > 12 || d < 1 || d > 31 {
		return nil
	}
	return []float64{float64(y*10000 + m*100 + d)}
}

func figureOf(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// timeOfDay is one, or two where nothing tells morning from afternoon.
func timeOfDay(hour, minute, half string) []float64 {
	h, m := figureOf(hour), figureOf(minute)
	if h > 24 || m > 59 {
		return nil
	}
	switch {
	case strings.HasPrefix(half, "p") && h < 12:
		h += 12
	case strings.HasPrefix(half, "a") && h == 12:
		h = 0
	case half == "" && h >= 1 && h <= 11 && len(hour) == 1:
		return []float64{float64(h*60 + m), float64((h+12)*60 + m)}
	}
	return []float64{float64(h*60 + m)}
}
