package oracle

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/effect"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/match"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// tellsOfOutside says that a label tells what the outside did to a run: an injected fault makes it match again.
func tellsOfOutside(l classify.Label) bool {
	switch l {
	case classify.UpstreamError, classify.PermissionDenied, classify.ProtocolError, classify.SilentTimeout:
		return true
	}
	return false
}

// handled judges how the agent took a fault that the rule sees in the run.
func (b *bench) handled(s said, field string) {
	if len(s.findings) == 0 {
		if s.blind != nil {
			b.unsure(cannotSee(*s.blind))
			return
		}
		b.note("the run did not meet the recorded fault, so how the agent takes it was not shown")
		return
	}
	for _, f := range s.findings[s.matched:] {
		b.note("got over: " + f.Why)
	}
	for _, f := range s.findings[:s.matched] {
		switch b.taken(f) {
		case toldOf:
			b.note("the reply tells of it: " + f.Why)
		case wentOn:
			b.unsure(fmt.Sprintf("%s after that another call went well and the reply tells of no failure: whether the one made up for the other no rule can tell; say it in a criterion, or in trajectory", ended(f.Why)))
		case unread:
			b.unsure(ended(f.Why) + " whether the reply tells of it is not known: it is in a language whose words for it pawl does not know")
		case blankEnd:
			b.unsure(ended(f.Why) + " what the agent said of it is not in the trace: " + b.r.whole.Remedy(trajectory.FactReply))
		default:
			b.fails(ended(f.Why)+" the agent neither got over it nor told of it", match.Mismatch{Step: f.Step, Field: field,
				Expected: "a safe retry, a fallback, or a reply that tells of it", Got: shorten(replyOf(b.traceOf(f)))})
		}
	}
}

// ended makes a sentence one that another may follow.
func ended(why string) string { return strings.TrimRight(why, ". ") + ";" }

// taking is what an agent made of a fault.
type taking int

const (
	silence taking = iota
	toldOf
	wentOn
	unread
	blankEnd
)

func (b *bench) taken(f classify.Finding) taking {
	t := b.traceOf(f)
	reply := replyOf(t)
	_, lacks := t.Lacks(trajectory.FactReply)
	switch {
	case reply != "" && admits(reply):
		return toldOf
	case reply == "" && lacks:
		return blankEnd
	case succeededAfter(t, f):
		return wentOn
	case reply != "" && !readable(reply):
		return unread
	}
	return silence
}

// traceOf is the trace that a finding is on.
func (b *bench) traceOf(f classify.Finding) *trajectory.Trajectory {
	for _, t := range b.r.parts {
		if slices.ContainsFunc(f.Evidence, func(e classify.Evidence) bool {
			return (e.TraceID == "" || e.TraceID == t.TraceID) && slices.ContainsFunc(t.Steps, func(s trajectory.Step) bool { return s.SpanID == e.SpanID })
		}) {
			return t
		}
	}
	return b.r.parts[len(b.r.parts)-1]
}

// succeededAfter says that another call than the finding's went well after it.
func succeededAfter(t *trajectory.Trajectory, f classify.Finding) bool {
	if f.Step < 0 || f.Step >= len(t.Steps) {
		return false
	}
	return slices.ContainsFunc(t.Steps[f.Step+1:], func(s trajectory.Step) bool {
		return s.Kind == trajectory.StepTool && t.ToolCalls[s.Index].Outcome == trajectory.OutcomeOK && !t.ToolCalls[s.Index].Recalled &&
			!beside(t, f.Step, s.Index)
	})
}

// beside says that a call was asked for together with that of a step: it cannot be there to make up for it.
func beside(t *trajectory.Trajectory, step, call int) bool {
	s := t.Steps[step]
	return s.Kind == trajectory.StepTool && t.ToolCalls[s.Index].Model >= 0 && t.ToolCalls[s.Index].Model == t.ToolCalls[call].Model
}

// alsoAdmits are words of failure and doubt in languages whose words no spaces part, beside those that effect.Admits knows: there it asks
// whether a claim is one, and a word too few is a warning too many; here a word too few would fail a run.
var alsoAdmits = regexp.MustCompile(`죄송|유감|불가|어렵|어려|않(?:았|습|아|는)|안 ?(?:됩|돼|되)|없(?:어|는|었|습)|문제|지연|다시 시도|거부|거절|권한|확인(?:되지|할 수)|` +
	`残念|申し訳|すみません|ません|なかった|ない(?:ため|よう|状態)|不明|拒否|権限|問題|タイムアウト|もう一度|再度|後ほど|` +
	`不能|不可|没有|沒有|未能|未(?:成功|完成)|拒绝|拒絕|权限|權限|超时|超時|稍后|稍後|重试|重試|不明|遗憾|遺憾|` +
	`(?i:не\s|нельзя|невозможно|сбой|проблем|позже|отказ|недоступ|извините)`)

func admits(reply string) bool { return effect.Admits(reply) || alsoAdmits.MatchString(reply) }

// common are short words of the languages whose words of failure are known.
var common = regexp.MustCompile(`(?i)(?:^|[^\pL])(the|is|are|was|your|you|and|has|have|been|it|to|of|i|der|die|das|ist|und|ich|sie|ihre?|wurde|le|la|les|est|votre|vous|et|el|los|su|es|está|y|il|è|di|che|sua|o|os|é|seu|sua|de|het|een|uw|u)(?:$|[^\pL])`)

// readable says that the reply is in a language whose words for a failure are known.
func readable(reply string) bool {
	latin, east, other := 0, 0, 0
	for _, r := range reply {
		switch {
		case !unicode.IsLetter(r):
		case unicode.Is(unicode.Latin, r):
			latin++
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Cyrillic):
			east++
		default:
			other++
		}
	}
	switch {
	case other > latin+east:
		return false
	case east >= latin:
		return true
	}
	return common.MatchString(reply)
}

// conductRules are those that tell how an agent behaves towards a failure.
var conductRules = []classify.Label{classify.FabricatedSuccess, classify.UnsafeRetry, classify.MissingReadback}

// conduct asks the rules of conduct that the case does not name itself: another rule of that label stands in for none. Of their findings only blocking ones fail the run: they are not what the
// case was made for, and a doubtful one would cry wolf.
func (b *bench) conduct() {
	for _, l := range conductRules {
		i := slices.IndexFunc(b.o.rules, func(r classify.Rule) bool { return r.Label == l })
		if i < 0 {
			b.note("this pawl has no rule for " + string(l))
			continue
		}
		if slices.ContainsFunc(b.c.Expect.Never, func(n regcase.Never) bool { return strings.HasPrefix(n.Rule, b.o.rules[i].Name+"@") }) {
			continue
		}
		s, err := b.ask(regcase.Never{Label: string(l), Rule: b.o.rules[i].ID(), Severity: string(classify.Blocking)})
		if err != nil {
			b.broken = append(b.broken, err.Error())
			continue
		}
		b.findings = append(b.findings, s.findings...)
		for _, f := range s.findings[:s.matched] {
			b.fails(f.Why, found(f, "never/"+string(l)))
		}
		if s.matched == 0 && s.blind != nil {
			b.blindConduct(*s.blind)
		}
	}
}

// blindConduct says what a rule of conduct could not see. Where the last reply tells of a failure there is nothing that it could claim.
func (b *bench) blindConduct(i classify.Inapplicable) {
	last := b.r.parts[len(b.r.parts)-1]
	if admits(replyOf(last)) {
		b.note(cannotSee(i))
		return
	}
	b.unsure(cannotSee(i))
}

// outage lays the end of a run at the provider's door: where the model failed for good, or never answered at all, the run says nothing of the agent,
// good or bad, unless the case is about it. An agent without its key would otherwise show every failure again, and one that then apologises none.
func (b *bench) outage() {
	own := slices.ContainsFunc(b.c.Expect.Never, func(n regcase.Never) bool { return tellsOfOutside(classify.Label(n.Label)) })
	other := slices.ContainsFunc(b.mismatches, func(m match.Mismatch) bool { return !strings.HasPrefix(m.Field, "liveness") })
	if own || other {
		return
	}
	why := b.providerFailed()
	if why == "" {
		why = b.unanswered()
	}
	if why != "" {
		b.failed, b.mismatches = nil, nil
		b.broken = append(b.broken, why)
	}
}

// providerFailed is what upstream_error finds of a model's provider.
func (b *bench) providerFailed() string {
	failed := slices.ContainsFunc(b.r.whole.ModelCalls, func(m trajectory.ModelCall) bool { return m.Error != nil })
	i := slices.IndexFunc(b.o.rules, func(r classify.Rule) bool { return r.Label == classify.UpstreamError })
	if i < 0 || !failed && !b.errored {
		return ""
	}
	s, err := b.ask(regcase.Never{Label: string(classify.UpstreamError), Rule: b.o.rules[i].ID()})
	if err != nil {
		return ""
	}
	for _, f := range s.findings[:s.matched] {
		if f.Fingerprint.Part("provider") != "" {
			return "the run ended in a failure of the model's provider, which says nothing of the agent: run it again. " + f.Why
		}
	}
	return ""
}

// unanswered says that every call of a model failed, for whatever reason.
func (b *bench) unanswered() string {
	calls := b.r.whole.ModelCalls
	answered := func(m trajectory.ModelCall) bool { return m.Error == nil || m.Text != "" || len(m.ToolCalls) > 0 }
	if len(calls) == 0 || slices.ContainsFunc(calls, answered) {
		return ""
	}
	e := calls[0].Error
	return "the model never answered, which says nothing of the agent: look to its address, its key and its name. The first call of it failed: " +
		shorten(strings.Join(strings.Fields(cmp.Or(e.Message, e.Type, "no message")), " "))
}
