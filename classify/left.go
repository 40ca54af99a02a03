package classify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Left is how a user left a conversation that no rule finds anything wrong with: what its last trace shows, if nothing comes after it.
type Left string

// The ways to leave. Each is a sign that the user did not get what was wanted; none says why.
const (
	NotLeft    Left = ""
	GaveUp     Left = "gave_up"    // with words that give up
	AfterFault Left = "fault"      // right after calls of tools that all failed
	Unanswered Left = "unanswered" // with a message, or a call of a tool, that nobody answered
)

// maxGiveUp is the longest message that gives up, in bytes: a longer one asks for something, whatever words are in it.
const maxGiveUp = 160

// How people give up, in the languages that are written most. It is a short list on purpose: what may be said in passing is not on it.
var givesUp = regexp.MustCompile(`(?i)\b(i give up|i('m| am) giving up|forget (it|about it|this)|never ?mind|this is (useless|hopeless|pointless|going nowhere|a waste of time)|you('re| are) (useless|no help)|(what a )?waste of (my )?time|i('ll| will) (just )?(do it myself|go elsewhere|call (you|them|support))|` +
	`ich gebe? (es )?auf|vergiss es|vergessen sie es|das hat keinen (sinn|zweck)|laisse[zr]? tomber|j'abandonne|olv[ií]d(alo|elo|ate)|me rindo|d[ée]jalo|esque[çc]e|desisto|deixa (para l[áa]|pra l[áa])|lascia (stare|perdere)|mi arrendo|laat maar|ik geef het op)\b|` +
	`забудь|я сдаюсь|算了|放弃了|不用了|もういい|諦め|됐어|됐습니다|포기`)

// What tells that it ended well, after all.
var endedWell = regexp.MustCompile(`(?i)\b(thank|thx|danke|merci|gracias|obrigad|grazie|bedankt|found (it|one|them)|got it|solved|(it|that) work|worked|figured|all good|gefunden|erledigt|trouv[ée]|encontr)|谢|謝|ありがと|감사|спасибо`)

// leftBy says how the user left, as far as the trace shows it. It is for the last trace of a conversation; of any other it means nothing.
func leftBy(t *trajectory.Trajectory) Left {
	said := len(t.UserMessages)
	if said == 0 || t.SessionID == "" || t.RootError != nil || !whole(t) {
		return NotLeft
	}
	last := strings.TrimSpace(t.UserMessages[said-1])
	switch {
	case len(last) <= maxGiveUp && givesUp.MatchString(last) && !endedWell.MatchString(last):
		return GaveUp
	case allFailed(callsOfTurn(t)):
		return AfterFault
	case unanswered(t):
		return Unanswered
	}
	return NotLeft
}

// callsOfTurn are the calls of tools since the user spoke last.
func callsOfTurn(t *trajectory.Trajectory) (out []*trajectory.ToolCall) {
	for _, s := range slices.Backward(t.Steps) {
		if s.Kind == trajectory.StepUser {
			break
		}
		if s.Kind == trajectory.StepTool && s.Index >= 0 && s.Index < len(t.ToolCalls) {
			out = append(out, &t.ToolCalls[s.Index])
		}
	}
	return out
}

// allFailed says that several calls were made and every one of them failed. A single one that fails is an answer, too: there is no such order.
func allFailed(calls []*trajectory.ToolCall) bool {
	return len(calls) > 1 && !slices.ContainsFunc(calls, func(c *trajectory.ToolCall) bool { return !Failed(c) })
}

// unanswered says that the agent stopped as it waited for something, and gave no reply: what Silent leaves open, since another trace might go on with it.
func unanswered(t *trajectory.Trajectory) bool {
	if _, lacks := t.Lacks(trajectory.FactReply); lacks || t.GoesOn || len(t.ModelCalls) == 0 || t.EndsBlank() {
		return false
	}
	return (t.Reply == nil || strings.TrimSpace(*t.Reply) == "") && !answeredByOther(t)
}

// Left says how the user left, if nothing comes after the trace for LeftAfter. It is NotLeft where the engine was not asked to look, and where a report says
// already that something is wrong.
func (e *Engine) Left(t *trajectory.Trajectory, r Report) Left {
	if e.leftAfter <= 0 || r.Verdict != Passing && r.Verdict != Incomplete {
		return NotLeft
	}
	return leftBy(t)
}

// LeftFinding groups a trace that a user left so with others that were left in the same way.
func LeftFinding(t *trajectory.Trajectory, how Left) Finding {
	why := map[Left]string{
		GaveUp:     "the user gave up: %q, and did not come back",
		AfterFault: "every call of a tool failed, and the user did not come back",
		Unanswered: "the user got no answer, and did not come back",
	}[how]
	if how == GaveUp {
		why = fmt.Sprintf(why, strings.TrimSpace(t.UserMessages[len(t.UserMessages)-1]))
	}
	s := sign{kind: "abandoned", title: "abandoned by the user", why: why, parts: []Part{Word("how", string(how))}}
	f := s.finding(t)
	for i := range f.Evidence {
		f.Evidence[i].TraceID = t.TraceID
	}
	return f
}
