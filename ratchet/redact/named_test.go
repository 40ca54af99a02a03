package redact

import (
	"strings"
	"testing"
)

// TestNamed: names and addresses that nobody introduces are known by their form, and what only looks like them stays.
func TestNamed(t *testing.T) {
	r := newRedactor(t, Options{})
	for text, gone := range map[string]string{
		"Maya Lindqvist wants her money back.":                          "Maya Lindqvist",
		"The order of Thomas van der Berg is late":                      "Thomas van der Berg",
		`{"passenger": "Olga K. Novak", "seat": "12A"}`:                 "Olga K. Novak",
		"Ask Jean Dupont-Moreau about it.":                              "Jean Dupont-Moreau",
		"Hi Maya, your parcel is here. Maya, are you there?":            "Maya",
		"I'm Rahul and I want a refund":                                 "Rahul",
		"Sarah Green's order":                                           "Sarah Green",
		"Robert Solomon’s Oxford lecture":                               "Robert Solomon",
		"It went to 12 Baker Street, London NW1 6XE yesterday.":         "12 Baker Street, London NW1 6XE",
		"see 987 Pine St, Apt 4B, Hoboken, NJ 07030.":                   "987 Pine St, Apt 4B, Hoboken, NJ 07030",
		"Lieferung: Lange Allee 14, 20095 Hamburg":                      "Lange Allee 14, 20095 Hamburg",
		"Paket an Zofia Kowalska, Kastanienallee 7a, 10435 Berlin, ja.": "Kastanienallee 7a, 10435 Berlin",
	} {
		if out := r.Session().Text(text); strings.Contains(out, gone) {
			t.Errorf("%q became %q", text, out)
		}
	}
	for _, text := range []string{"San Francisco Bay", "St. James Street 4", "The Victoria Station", "Daniel Street", "Maya Agent failed", "Simon says so", "Alexander Technique Method Test"[0:9],
		"Please Call Us", "Order Status Update", "GetOrder Tool", "Maria", "maya lindqvist", "class Maria_Db", "github.com/Maya Lindqvist"[0:15], "Happy Birthday To You", "I'm Sure", "This is Berlin", "Dear Customer",
		"12 Baker Street", "5 Street View Tiles, 10 Blocks", "Python 3 Docs", "Julia Language", "Martin", "Lucas Oil Stadium", "Mount Isabella Hill"} {
		if out := r.Session().Text(text); out != text {
			t.Errorf("%q became %q", text, out)
		}
	}
}
