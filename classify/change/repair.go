package change

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Trajectory and Finding are short for what every repair and twin is a function of.
type (
	Trajectory = trajectory.Trajectory
	Finding    = classify.Finding
)

// Repair makes a repair of an edit: edit changes a clone in place and says whether it could.
func Repair(name, does string, edit func(*Trajectory, Finding) bool) classify.Repair {
	return classify.Repair{Name: name, Does: does, Apply: onClone(edit)}
}

// Twin makes a twin of an edit, as Repair does a repair.
func Twin(name, does string, edit func(*Trajectory, Finding) bool) classify.Twin {
	return classify.Twin(Repair(name, does, edit))
}

func onClone(edit func(*Trajectory, Finding) bool) func(*Trajectory, Finding) (*Trajectory, bool) {
	return func(t *Trajectory, f Finding) (*Trajectory, bool) {
		c := t.Clone()
		if !edit(c, f) {
			return nil, false
		}
		return c, true
	}
}

// OfCall makes a repair of an edit of the tool call that the finding stands on.
func OfCall(name, does string, edit func(t *Trajectory, call int) bool) classify.Repair {
	return Repair(name, does, func(t *Trajectory, f Finding) bool {
		i, ok := CallOf(t, f)
		return ok && edit(t, i)
	})
}

// OfModel makes a repair of an edit of the model call that the finding stands on.
func OfModel(name, does string, edit func(t *Trajectory, model int) bool) classify.Repair {
	return Repair(name, does, func(t *Trajectory, f Finding) bool {
		m, ok := ModelOf(t, f)
		return ok && edit(t, m)
	})
}

// All makes one repair of several, applied one after the other; those that cannot heal the finding are left out, as long as one can.
func All(name, does string, repairs ...classify.Repair) classify.Repair {
	return classify.Repair{Name: name, Does: does, Apply: func(t *Trajectory, f Finding) (*Trajectory, bool) {
		healed := false
		for _, r := range repairs {
			if c, ok := r.Apply(t, f); ok {
				t, healed = c, true
			}
		}
		return t, healed
	}}
}

// WithoutCall repairs what is wrong with a tool call by its not being made.
func WithoutCall() classify.Repair {
	return OfCall("drop-call", "the call was never made", func(t *Trajectory, i int) bool { DropCall(t, i); return true })
}

// WithoutStep repairs by taking the finding's step out: a hand-off, a reply, a model call with what it asked for.
func WithoutStep() classify.Repair {
	return Repair("drop-step", "the step was never taken", func(t *Trajectory, f Finding) bool {
		if f.Step < 0 || f.Step >= len(t.Steps) {
			return false
		}
		DropStep(t, f.Step)
		return true
	})
}

// Answered repairs what follows from a call without a good answer: it gets one. The text is JSON, or what the tool says.
func Answered(text string) classify.Repair {
	return OfCall("give-result", "the call got a good answer", func(t *Trajectory, i int) bool {
		Answer(t, i, text)
		t.ToolCalls[i].Executed = true
		return true
	})
}

// CallingOffered repairs a call of a tool that does not exist: it goes to the offered tool whose name is nearest, else to the first, with
// arguments that this one takes.
func CallingOffered() classify.Repair {
	return OfCall("call-offered", "the call went to a tool that was offered", func(t *Trajectory, i int) bool {
		c := &t.ToolCalls[i]
		if c.Model < 0 || t.ModelCalls[c.Model].Offered == nil {
			return false
		}
		d, ok := nearest(t.ModelCalls[c.Model].Offered, c.Name)
		if !ok {
			return false
		}
		Rename(t, i, d.Name)
		if fit, ok := Fit(d.Schema, c.Arguments.JSON); ok {
			Argue(t, i, fit)
		}
		Answer(t, i, `{"status":"ok"}`)
		return true
	})
}

// nearest returns the offered tool of the team's own whose name is nearest, else the first.
func nearest(set *trajectory.ToolSet, name string) (trajectory.ToolDef, bool) {
	var names []string
	byName := map[string]trajectory.ToolDef{}
	for _, d := range set.Tools {
		if !d.Builtin {
			names, byName[d.Name] = append(names, d.Name), d
		}
	}
	if len(names) == 0 {
		return trajectory.ToolDef{}, false
	}
	if near, ok := classify.Nearest(catalog.Normalise(name), names); ok {
		return byName[near], true
	}
	return byName[names[0]], true
}

// Fitting repairs arguments that break the schema which the call was offered: as little of them as can be is changed, and the tool is content.
func Fitting() classify.Repair {
	return OfCall("fit-arguments", "the arguments are what the offered schema says", func(t *Trajectory, i int) bool {
		c := &t.ToolCalls[i]
		d, ok := definition(t, c)
		if !ok {
			return false
		}
		fit, ok := Fit(d.Schema, c.Arguments.JSON)
		if !ok {
			return false
		}
		Argue(t, i, fit)
		Answer(t, i, `{"status":"ok"}`)
		return true
	})
}

// definition returns the tool with its schema, as this call was offered it, else as any was.
func definition(t *Trajectory, c *trajectory.ToolCall) (trajectory.ToolDef, bool) {
	sets := []*trajectory.ToolSet{{Tools: t.ToolsOffered}}
	if c.Model >= 0 && t.ModelCalls[c.Model].Offered != nil {
		sets = append([]*trajectory.ToolSet{t.ModelCalls[c.Model].Offered}, sets...)
	}
	for _, set := range sets {
		for _, d := range set.Tools {
			if d.Schema != nil && catalog.Normalise(d.Name) == catalog.Normalise(c.Name) {
				return d, true
			}
		}
	}
	return trajectory.ToolDef{}, false
}

// AskingElse repairs a repetition: the call asks for something that no call of its tool asked for before.
func AskingElse() classify.Repair {
	return OfCall("ask-else", "the call asked for something new", func(t *Trajectory, i int) bool {
		args := fmt.Sprintf(`{"asked_anew":%d}`, i)
		Argue(t, i, jsontext.Value(args))
		return true
	})
}

// Leaner repairs what was too much: every model call used a share of the tokens and of the money that it did, at least one token of each kind.
func Leaner(share float64) classify.Repair {
	return Repair("use-less", "the model calls used less", func(t *Trajectory, _ Finding) bool {
		for i := range t.ModelCalls {
			lean(&t.ModelCalls[i].Usage, share)
		}
		for i := range t.AgentTotals {
			lean(&t.AgentTotals[i].Usage, share)
		}
		return len(t.ModelCalls)+len(t.AgentTotals) > 0
	})
}

func lean(u *trajectory.Usage, share float64) {
	for _, n := range []*int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning, u.AudioIn, u.AudioOut} {
		if n != nil && *n > 0 {
			*n = max(1, int64(float64(*n)*share))
		}
	}
	if u.CostUSD != nil {
		*u.CostUSD *= share
	}
}

// Untroubled repairs what an error of the run or of its model calls stands for: there was none, and calls that went well tell what they used.
func Untroubled() classify.Repair {
	return Repair("no-error", "no model call, and not the run, ended in an error", func(t *Trajectory, _ Finding) bool {
		changed := t.RootError != nil
		t.RootError = nil
		for s := len(t.Steps) - 1; s >= 0; s-- {
			if t.Steps[s].Kind == trajectory.StepError {
				DropStep(t, s)
				changed = true
			}
		}
		for i := range t.ModelCalls {
			changed = calm(&t.ModelCalls[i]) || changed
		}
		return changed
	})
}

// calm makes a model call that ended badly one that ended well.
func calm(m *trajectory.ModelCall) bool {
	well := m.FinishReason == trajectory.FinishStop || m.FinishReason == trajectory.FinishToolCalls || m.FinishReason == "" && m.FinishRaw == ""
	if m.Error == nil && well {
		return false
	}
	m.Error, m.FinishReason, m.FinishRaw = nil, trajectory.FinishStop, "stop"
	if m.Usage.Input == nil && m.Usage.Output == nil {
		m.Usage.Input, m.Usage.Output = new(int64(1)), new(int64(1))
	}
	return true
}

// Preceded repairs a step that was skipped: call says which tool call had to come before the finding's step.
func Preceded(call func(*Trajectory, Finding) (Call, bool)) classify.Repair {
	return Repair("do-before", "the call that had to come before was made, and was answered", func(t *Trajectory, f Finding) bool {
		c, ok := call(t, f)
		if !ok || f.Step < 0 || f.Step >= len(t.Steps) {
			return false
		}
		step := f.Step
		if s := t.Steps[step]; s.Kind == trajectory.StepTool { // before the model call that asked for it
			for k := range step {
				if m := t.Steps[k]; m.Kind == trajectory.StepModel && m.Index == t.ToolCalls[s.Index].Model {
					step = k
				}
			}
		}
		Insert(t, step, c)
		return true
	})
}
