package match

import "github.com/pawl-dev/pawl/ratchet/regcase"

// DefaultThreshold is the least similarity of meaning.
const DefaultThreshold = 0.93

// Response compares a reply with the expected one.
func (m Matcher) Response(e *regcase.Response, reply string) Answer {
	t, why := m.meaning(e.Text, reply, e.Threshold)
	switch t {
	case yes:
		return Answer{}
	case unknown:
		return Answer{Undecided: []string{why}}
	}
	return Answer{Mismatches: []Mismatch{{-1, "text", short(e.Text), short(reply)}}}
}

func (m Matcher) meaning(want, got string, threshold float64) (truth, string) {
	if want == got {
		return yes, ""
	}
	return unknown, "the words differ"
}
