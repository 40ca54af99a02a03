// Package match compares what a run did with what a case expects of it: the sequence of its tool calls, their arguments field by field, and the
// words of its reply. It is pure, save for an Embedder that somebody supplies.
//
// Every comparison has three ends: it holds, it does not (with mismatches that name step, field, expected and got), or the data does not decide
// it: a value that was cut, a reply in other words and no way to compare meaning. Undecided never passes and never fails.
//
// # Sequences
//
//	exact      the same calls in the same order
//	ordered    the expected calls in this order, others in between allowed
//	unordered  the same calls in any order
//	superset   the expected calls are among those made
//	subset     every call made is among the expected ones
//
// So exact implies ordered and unordered, each of them implies superset, and unordered implies subset. Each call stands for one expected call at
// most, and of all ways to pair them the best counts. Calls that a model asked for in one answer have no order among themselves. Calls that
// only a history tells of are not the run's. Distance allows so many edits: in exact an insertion, a deletion or a replacement; in ordered and
// superset a missing call; in subset one too many; in unordered either, or one in the place of another.
//
// # Arguments
//
// An expected call names fields by JSON pointer and how each must match; its mode says what of the rest: exact (the call has these fields and no
// others), superset (others are allowed), subset (fields may be missing, none may be added), ignore (others do not matter, and an empty list
// compares nothing but the tool). What differs from call to call without meaning another call (request ids, times of the request, an empty
// member) is normalised on both sides, as the rules do.
package match

import (
	"strings"
	"unicode/utf8"
)

// Mismatch is one thing that is not as expected.
type Mismatch struct {
	Step     int    `json:"step"`     // index into the trajectory's steps, -1 where none is meant
	Field    string `json:"field"`    // what of it: tool, arguments/<pointer>, call, text, ...
	Expected string `json:"expected"` // values are shortened
	Got      string `json:"got"`
}

// Answer is what a comparison gives. With neither it holds.
type Answer struct {
	Mismatches []Mismatch
	Undecided  []string // sentences: what is not known, and what would tell
}

// Holds says that all is as expected.
func (a Answer) Holds() bool { return len(a.Mismatches)+len(a.Undecided) == 0 }

// Matcher compares. The zero value compares texts by their words alone.
type Matcher struct {
	Embed Embedder
}

// Embedder gives a vector of meaning for each text, all of one length.
type Embedder func(texts ...string) ([][]float32, error)

// maxShown bounds a value in a mismatch, in bytes.
const maxShown = 120

// Shorten cuts a text after at most n bytes, between runes, and marks it as cut; what is no valid text is made so, and lines become one.
func Shorten(s string, n int) string {
	if len(s) > 4*n {
		s = s[:4*n]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func short(s string) string { return Shorten(s, maxShown) }

// truth is the end of a comparison of two things.
type truth int8

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}
