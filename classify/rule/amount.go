package rule

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// number is one number in a text and what it may mean: 1.234 is a thousand to some and hardly more than one to others.
type number struct {
	at       int // bytes from the text's beginning
	values   []float64
	decimals int
}

const currency = `(?:US\$|A\$|C\$|R\$|[$€£¥₹₩₽₺]|\b(?:EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|TRY|BRL|MXN|ZAR|SGD|HKD|KRW|AED|ILS|euros?|dollars?|pounds?|francs?|yen|rupees?|kronor|kroner|zł)\b)`

const digitsOf = `\d{1,3}(?:[.,'’ \x{00a0}\x{202f}]\d{3})+(?:[.,]\d{1,2})?|\d+(?:[.,]\d+)?`

var (
	money     = regexp.MustCompile(`(?i)` + currency + `\s?(` + digitsOf + `)|(` + digitsOf + `)\s?` + currency)
	anyNumber = regexp.MustCompile(digitsOf)
)

// amountsIn lists the amounts of money in a text.
func amountsIn(text string) []number {
	var out []number
	for _, m := range money.FindAllStringSubmatchIndex(text, 50) {
		from, to := m[2], m[3]
		if from < 0 {
			from, to = m[4], m[5]
		}
		n := readNumber(text[from:to])
		n.at = from
		out = append(out, n)
	}
	return out
}

var grouping = strings.NewReplacer("'", "", "’", "", " ", "", "\u00a0", "", "\u202f", "")

// readNumber reads digits with separators in all ways in which people write them.
func readNumber(s string) number {
	s = grouping.Replace(s)
	n := number{}
	add := func(s string) {
		if v, err := strconv.ParseFloat(s, 64); err == nil && !slices.Contains(n.values, v) {
			n.values = append(n.values, v)
		}
	}
	last := strings.LastIndexAny(s, ".,")
	if last < 0 {
		add(s)
		return n
	}
	whole, rest := strings.NewReplacer(".", "", ",", "").Replace(s[:last]), s[last+1:]
	if len(rest) == 3 {
		add(whole + rest)
	}
	if len(rest) != 3 || strings.Count(s, string(s[last])) == 1 {
		n.decimals = len(rest)
		add(whole + "." + rest)
	}
	return n
}

// valueIn reads the first number of a text, in the likeliest way.
func valueIn(text string) (float64, bool) {
	n := readNumber(anyNumber.FindString(text))
	if len(n.values) == 0 {
		return 0, false
	}
	return n.values[0], true
}

// near says that two numbers are the same as far as this one is written out.
func (n number) near(v float64) bool {
	half := 0.5*math.Pow10(-n.decimals) + 1e-9
	return slices.ContainsFunc(n.values, func(x float64) bool { return math.Abs(x-v) <= half })
}

// figures are the numbers that an agent knew: all of them, those that may be money, and the groups that stand under one key.
type figures struct {
	all    []float64
	money  []float64
	groups [][]float64
}

// maxFigures is how many numbers there may be: of more, everything can be computed. maxParts is the same for the parts of a sum.
const (
	maxFigures = 150
	maxParts   = 14
)

// addText adds every number of a text; of what a user says each may be money, else those with a currency or a fraction.
func (f *figures) addText(text string, user bool) {
	for _, s := range anyNumber.FindAllString(text, 4*maxFigures) {
		n := readNumber(s)
		for _, v := range n.values {
			f.all = with(f.all, v)
			if user || n.decimals > 0 {
				f.money = with(f.money, v)
			}
		}
	}
	for _, n := range amountsIn(text) {
		for _, v := range n.values {
			f.money = with(f.money, v)
		}
	}
}

func with(list []float64, v float64) []float64 {
	if slices.Contains(list, v) || len(list) > maxFigures {
		return list
	}
	return append(list, v)
}

// explain says that the number is known, or follows from known ones: by rounding, in cents, as a sum or a difference of amounts, as a product, a
// quotient or a share of one, or as the sum of some of what stands under one key.
func (f *figures) explain(n number) bool {
	if len(f.all) > maxFigures {
		return true
	}
	if slices.ContainsFunc(f.all, func(a float64) bool { return n.near(a) || n.near(a/100) }) {
		return true
	}
	for _, a := range f.money {
		if n.near(a/2) || n.near(a/3) || n.near(a/4) || n.near(a/12) || n.near(a*12) || slices.ContainsFunc(f.all, func(b float64) bool { return f.scaled(n, a, b) }) ||
			slices.ContainsFunc(f.money, func(b float64) bool { return f.summed(n, a, b) }) {
			return true
		}
	}
	return slices.ContainsFunc(f.groups, func(g []float64) bool { return someSum(n, g) })
}

// scaled: so many of it, or a part of it, perhaps with another amount on top.
func (f *figures) scaled(n number, a, b float64) bool {
	if n.near(a*b) || n.near(a*b/100) || n.near(a*(1+b/100)) || n.near(a*(1-b/100)) || b != 0 && (n.near(a/b) || n.near(100*a/b)) || a != 0 && n.near(b/a) {
		return true
	}
	return slices.ContainsFunc(f.money, func(c float64) bool { return n.near(a*b+c) || n.near(a*b-c) || n.near((a+c)*b) || n.near((a-c)*b) })
}

func (f *figures) summed(n number, a, b float64) bool {
	if n.near(a+b) || n.near(a-b) {
		return true
	}
	return slices.ContainsFunc(f.money, func(c float64) bool { return n.near(a+b+c) || n.near(a+b-c) || n.near(a-b-c) })
}

// someSum says that the number is the sum of some of the parts; of many parts nobody can say.
func someSum(n number, parts []float64) bool {
	if len(parts) > maxParts {
		return true
	}
	for set := 1; set < 1<<len(parts); set++ {
		sum := 0.0
		for i, p := range parts {
			if set>>i&1 == 1 {
				sum += p
			}
		}
		if n.near(sum) {
			return true
		}
	}
	return false
}
