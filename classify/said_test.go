package classify

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func TestSaidOf(t *testing.T) {
	for text, want := range map[string]string{
		"still wrong": "push", "Continue": "push", "That did not help.": "push", "weiter": "push", "toujours faux": "push", "还是不对": "push", "No.": "bare", "ok": "bare",
		"check again": "again", "Any news?": "again", "And now?": "again", "Please look once more.": "again", "noch einmal": "again", "de nuevo por favor": "again", "再试一次": "again",
		"What is your return policy for shoes?": "", "Thanks!": "", "My number is 4711": "", "": "",
	} {
		s := SaidOf(text)
		got := ""
		switch {
		case s.Again:
			got = "again"
		case s.Push:
			got = "push"
		case s.Bare:
			got = "bare"
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
	if a := SaidOf("Where is my parcel, please?"); !a.Near(SaidOf("please: where is my parcel")) || a.Near(SaidOf("Where can I send the shoes back?")) {
		t.Error("nearly the same words are not, or others are")
	}
	if s := SaidOf("I mean the order A-10231"); !s.Names(trajectory.ParseValue(`{"id":"A-10231"}`)) || s.Names(trajectory.ParseValue(`{"id":"A-10232"}`)) {
		t.Error("the thing's name is not found, or another's is")
	}
}

// FuzzSaid: what a sketch holds of a message, an argument and an answer tells what they themselves tell.
func FuzzSaid(f *testing.F) {
	for _, text := range []string{"still wrong", "check A-10231 again", "[]", `{"hits":[],"total":0}`, `{"id":"A-10231","n":12.5}`, "Error: no such thing", "none", "再试", strings.Repeat("long ", 900), "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := SaidOf(text)
		if got := SaidOf(spoken(text)); !reflect.DeepEqual(got, want) && text != "" {
			t.Errorf("the sketch says %+v, want %+v", got, want)
		}
		v := trajectory.ParseValue(text)
		if a, b := want.Names(v), want.Names(arguments(v)); a != b && v.JSON != nil && Steady(v.JSON, false) != "{}" && !onlyPages(v) {
			t.Errorf("names %v, in the sketch %v", a, b)
		}
		for _, o := range []trajectory.Outcome{trajectory.OutcomeOK, trajectory.OutcomeError} {
			c := trajectory.ToolCall{Result: v, HasResult: true, Outcome: o}
			d := c
			d.Result = result(&c)
			if a, b := VainOf(&c), VainOf(&d); a != b {
				t.Errorf("%s: the answer is %q, in the sketch %q", o, a, b)
			}
		}
	})
}

// onlyPages says that arguments hold nothing but the page that is asked for: of those a sketch keeps no names.
func onlyPages(v trajectory.Value) bool {
	rest, paging := Unpaged(Steady(v.JSON, false))
	return paging && rest == "{}"
}
