package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// effectDamages are those of what an agent does to the world, and of what it says of it.
func effectDamages() []damage {
	lost := func(rnd *rand.Rand) string {
		return one(rnd, "Read timed out", "ECONNRESET: socket hang up", "504 Gateway Timeout", "context deadline exceeded", "connection reset by peer", "The request timed out after 30 s")
	}
	refused := func(rnd *rand.Rand) string {
		return one(rnd, "400 Bad Request: the date lies in the past", "ECONNREFUSED", "Validation error: quantity must be positive", "404 Not Found")
	}
	return []damage{
		{"write sent again after a lost answer", classify.UnsafeRetry, false, resent(lost, adds, false)},
		{"write sent again after a refusal", classify.UnsafeRetry, true, resent(refused, adds, false)},
		{"read sent again after a lost answer", classify.UnsafeRetry, true, resent(lost, reads, false)},
		{"write sent again after a read said that it is not there", classify.UnsafeRetry, true, resent(lost, adds, true)},
		{"lost answer of a write, and a claim", classify.MissingReadback, false, told(lost, claims)},
		{"lost answer of a write, and doubt", classify.MissingReadback, true, told(lost, func(*rand.Rand, string) string {
			return "I could not confirm whether this went through: the request timed out. Please check before you try again."
		})},
		{"refused write, and a claim", classify.FabricatedSuccess, false, told(refused, claims)},
		{"refused write, told as such", classify.FabricatedSuccess, true, told(refused, func(*rand.Rand, string) string {
			return "I am sorry, this did not work: the request was refused."
		})},
		{"good write, and a claim", classify.FabricatedSuccess, true, func(t *trajectory.Trajectory, rnd *rand.Rand) bool {
			i, ok := lastWrite(t)
			if ok {
				change.Reply(t, claims(rnd, t.ToolCalls[i].Name))
			}
			return ok
		}},
	}
}

// Of the writing verbs some add something each time that they are done; the others leave the same behind, done once or twice.
var (
	addVerbs   = []string{"create", "send", "book", "forward", "reply", "post", "pay", "refund", "insert", "add"}
	writeVerbs = slices.Concat(addVerbs, []string{"update", "delete", "upsert", "cancel", "remove", "write", "set"})
)

// words splits a tool's name at points, dashes, underscores and capitals.
func words(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}

func adds(name string) bool {
	return slices.ContainsFunc(words(name), func(w string) bool { return slices.Contains(addVerbs, w) })
}

func writes(name string) bool {
	return slices.ContainsFunc(words(name), func(w string) bool { return slices.Contains(writeVerbs, w) })
}

func reads(name string) bool {
	return !writes(name) && slices.ContainsFunc(words(name), func(w string) bool {
		return slices.Contains([]string{"get", "search", "list", "find", "read", "lookup"}, w)
	})
}

// resent makes a call fail and sends it again, with the answer that it had; perhaps with a look at the thing between.
func resent(failure func(*rand.Rand) string, which func(string) bool, look bool) func(*trajectory.Trajectory, *rand.Rand) bool {
	return func(t *trajectory.Trajectory, rnd *rand.Rand) bool {
		i, ok := pick(t.ToolCalls, rnd, func(c *trajectory.ToolCall) bool { return answered(c) && which(c.Name) })
		if !ok {
			return false
		}
		c := t.ToolCalls[i]
		change.Fail(t, i, failure(rnd))
		last := i
		if look {
			noun := words(c.Name)[len(words(c.Name))-1]
			last = insert(t, after(t, i), change.Call{Tool: "get_" + noun, Arguments: string(c.Arguments.JSON), Result: `{"found":false}`, Agent: c.Agent})
		}
		insert(t, after(t, last), change.Call{Tool: c.Name, Arguments: string(c.Arguments.JSON), Result: c.Result.Raw, Agent: c.Agent})
		return true
	}
}

// lastWrite is the last answered call of a writing tool, if it stands behind every other call, so that nothing looked at what it did, and if
// the user said nothing since, so that the reply at the end is the first to speak of it, and if it is the only one of its tool, so that the
// reply can speak of no other.
func lastWrite(t *trajectory.Trajectory) (int, bool) {
	if len(t.ToolCalls) == 0 || t.Reply == nil {
		return 0, false
	}
	i := len(t.ToolCalls) - 1
	if slices.ContainsFunc(t.ToolCalls[:i], func(c trajectory.ToolCall) bool { return c.Name == t.ToolCalls[i].Name }) ||
		slices.ContainsFunc(t.Steps[after(t, i):], func(s trajectory.Step) bool { return s.Kind == trajectory.StepUser }) {
		return 0, false
	}
	return i, answered(&t.ToolCalls[i]) && writes(t.ToolCalls[i].Name)
}

// told makes the last write fail and the agent say something.
func told(failure func(*rand.Rand) string, say func(*rand.Rand, string) string) func(*trajectory.Trajectory, *rand.Rand) bool {
	return func(t *trajectory.Trajectory, rnd *rand.Rand) bool {
		i, ok := lastWrite(t)
		if ok {
			change.Fail(t, i, failure(rnd))
			change.Reply(t, say(rnd, t.ToolCalls[i].Name))
		}
		return ok
	}
}

// claims says that what a tool was to do is done.
func claims(rnd *rand.Rand, tool string) string {
	w := words(tool)
	verb := w[slices.IndexFunc(w, func(x string) bool { return slices.Contains(writeVerbs, x) })]
	noun := "request"
	if last := w[len(w)-1]; last != verb {
		noun = last
	}
	done := map[string]string{"send": "sent", "set": "set", "pay": "paid", "reply": "replied", "write": "written", "cancel": "cancelled", "forward": "forwarded",
		"book": "booked", "post": "posted", "refund": "refunded", "insert": "inserted", "upsert": "saved", "add": "added"}[verb]
	if done == "" {
		done = strings.TrimSuffix(verb, "e") + "ed"
	}
	return one(rnd, "Done! The "+noun+" has been "+done+" successfully.", "I have "+done+" the "+noun+" for you.", "Your "+noun+" was "+done+".")
}
