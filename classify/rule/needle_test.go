package rule

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

func TestNeedles(t *testing.T) {
	for pattern, want := range map[string][]string{
		`unknown tool:`:                    {"unknown tool:"},
		`^(error: )?unknown tool name`:     {"unknown tool name"},
		`tool [^ ]{1,100} not found`:       {" not found"},
		`no such tool|unknown (tool|name)`: {"no such tool", "unknown "},
		`ab`:                               nil,
		`(abcdef)?x`:                       nil,
		`(?i)Unknown`:                      {"unknown"},
		`abc|[0-9]+`:                       nil,
		`(loud){2,3}er`:                    {"loud"},
	} {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := needles(tree.Simplify()); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}

// The words never keep a pattern from a text that it matches.
func TestNeedlesSpareOnlyWhatDoesNotMatch(t *testing.T) {
	lists := [][]says{refusals, unknownTool, tooLong, {
		{"person", personSays}, {"request", requestSays}, {"model", modelSays}, {"policy", policySays}, {"hidden", hiddenWords}, {"rpc", rpcWords},
		{"unknown", unknownThing}, {"invalid", invalidThing}, {"elsewhere", notItsFault}, {"empty", emptyAnswer},
	}}
	for _, list := range [][]words{troubleWords, wholeWords} {
		for _, w := range list {
			lists = append(lists, []says{{string(w.is), w.finder}})
		}
	}
	texts := []string{""}
	for _, f := range fixtures(t) {
		text, _ := f.section("trajectory")
		texts = append(texts, strings.ToLower(text))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, list := range lists {
		for _, s := range list {
			tree, _ := syntax.Parse(s.re.String(), syntax.Perl)
			for range 40 {
				var b strings.Builder
				write(&b, tree.Simplify(), r)
				texts = append(texts, strings.ToLower(b.String()))
			}
		}
	}
	matched := 0
	for _, list := range lists {
		for _, s := range list {
			plain := regexp.MustCompile(s.re.String())
			for _, text := range texts {
				if plain.MatchString(text) {
					matched++
					if !s.in(text) {
						t.Errorf("%s: %s is not looked for in %q", s.who, s.re, text)
					}
				}
			}
		}
	}
	if matched < 1000 {
		t.Errorf("only %d texts matched", matched)
	}
}

// write writes a text that a pattern may match.
func write(b *strings.Builder, re *syntax.Regexp, r *rand.Rand) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		i := 2 * r.IntN(len(re.Rune)/2)
		b.WriteRune(re.Rune[i] + rune(r.IntN(int(min(re.Rune[i+1]-re.Rune[i], 90)+1))))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte("ab 1"[r.IntN(4)])
	case syntax.OpCapture:
		write(b, re.Sub[0], r)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			write(b, sub, r)
		}
	case syntax.OpAlternate:
		write(b, re.Sub[r.IntN(len(re.Sub))], r)
	case syntax.OpPlus, syntax.OpStar, syntax.OpQuest:
		n := r.IntN(2)
		if re.Op == syntax.OpPlus {
			n++
		}
		for range n {
			write(b, re.Sub[0], r)
		}
	}
}
