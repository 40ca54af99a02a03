package rule

import (
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// PermissionDenied finds calls that were refused because the caller may not make them.
var PermissionDenied = add(classify.Rule{
	Name: "permission_denied", Version: 2, Label: classify.PermissionDenied, Severity: classify.Warning, Form: classify.FormFault,
	Doc: classify.Doc{
		Title: "a call was refused: the caller may not make it",
		Why: "The agent cannot do what it was deployed for, or tries what it should not. Decided by status and error codes (401 and 403, AccessDenied, PERMISSION_DENIED, " +
			"EACCES and their like), else by whole phrases of services and frameworks in the message of what failed; a document that speaks of permissions is none. " +
			"A policy of the team that refused a call does its work, and a call that later went well was got over: both are information. What a person refuses is no failure; " +
			"that nobody was there to approve is. " +
			"A provider that does not accept the run's own key is upstream_error.",
		Fix:     "Give the credentials the missing scope, or take the tool away from the agent; have it say that it may not, and not try again.",
		Example: "get_order answers 403 Forbidden: caller lacks scope",
	},
	Check:   checkPermission,
	Repairs: []classify.Repair{answeredWell(), providerWell(), notCalled()},
})

func checkPermission(in *classify.Input) classify.Result {
	res := outsideResult(in, classify.PermissionDenied, func(b blow, n int) string {
		who := b.name
		if b.tool < 0 {
			who = "a model call of " + b.name
		}
		return fmt.Sprintf("%s was refused %s: %s%s.", who, times(n), b.says(), b.ending())
	})
	if byPolicy := policyFindings(in); len(byPolicy) > 0 {
		return classify.Match(merged(append(res.Findings, byPolicy...))...)
	}
	return res
}

// policyFindings tells, as information, which calls a policy of the team refused. Where nobody says that it was a policy, it was a person.
func policyFindings(in *classify.Input) []classify.Finding {
	t := in.Trajectory
	var out []classify.Finding
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		if c.Outcome != trajectory.OutcomeDenied || c.Recalled || !deniedByPolicy(c) {
			continue
		}
		name, alone := classify.SafeName(c.Name), nobodySays.in(refusalOf(c))
		code := "policy"
		if alone {
			code = "unapproved"
		}
		f := in.Finding(c.Agent, classify.Name("tool", c.Name), classify.Word("code", code))
		f.Severity, f.Confidence, f.Step = classify.Info, 0.7, stepOf(t, trajectory.StepTool, i)
		if statedPolicy(c) {
			f.Confidence = 0.95
		}
		f.Title = name + " refused by a policy"
		f.Why = fmt.Sprintf("the call of %s did not run, since a policy refused it, as it says itself; that is the policy at work.", name)
		f.Evidence = []classify.Evidence{{SpanID: firstOf(c.SpanID, c.RequestSpanID), What: name + ": refused by a policy before it ran"}}
		if alone {
			f = nobodyApproved(f, name)
		}
		out = append(out, f)
	}
	return out
}

// nobodyApproved turns what a policy refused into what it refused for want of a person: the agent waits for an approval that cannot come.
func nobodyApproved(f classify.Finding, name string) classify.Finding {
	f.Severity = classify.Warning
	f.Title = name + " refused: nobody was there to approve it"
	f.Why = fmt.Sprintf("the call of %s did not run, since it wants an approval and nobody was there to give it, as it says itself.", name)
	f.Evidence[0].What = name + ": refused before it ran, since nobody could approve it"
	return f
}

// deniedByPolicy says that it was a policy: by the emitter's own account, else by the words of the refusal.
func deniedByPolicy(c *trajectory.ToolCall) bool {
	low := refusalOf(c)
	return statedPolicy(c) || !personSays.in(low) && (policySays.in(low) || nobodySays.in(low))
}

func statedPolicy(c *trajectory.ToolCall) bool {
	return c.Error != nil && c.Error.Type == trajectory.ErrDeniedByPolicy
}

// refusalOf is what a refused call says, in lower case.
func refusalOf(c *trajectory.ToolCall) string {
	text := c.Result.Raw
	if c.Error != nil {
		text += " " + c.Error.Type + " " + c.Error.Message
	}
	return strings.ToLower(text[:min(len(text), phraseWindow)])
}
