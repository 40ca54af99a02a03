package trajectory

import "cmp"

// modelBodies reads a call of a model that is recorded as the request's and the response's body, of any provider or of LangChain. What the
// span states of it elsewhere is read first and stands.
func modelBodies(in, out string, f *Facts) {
	in = callArguments(in)
	if kindOf(in) == '{' {
		o := readObject(in)
		f.ModelRequested = cmp.Or(f.ModelRequested, o.str("model", "modelId", "model_name"))
		f.OfferedText = cmp.Or(f.OfferedText, o.get("tools", "functions", "toolConfig"))
		f.Streamed = f.Streamed || o.isTrue("stream")
	}
	var system string
	f.Input, system = bodyHistory(in)
	f.System = cmp.Or(f.System, system)
	if kindOf(in) == '"' {
		f.Input = History{Messages: withRole(ParseMessages(in), "user")}
	}
	f.Output = asAssistant(ParseMessages(out))
	answer := readAnswerBody(out)
	f.ModelResponded = cmp.Or(f.ModelResponded, answer.Model)
	f.ResponseID = cmp.Or(f.ResponseID, answer.ID)
	f.FinishRaw = cmp.Or(f.FinishRaw, answer.Finish)
	f.InputExcludes = f.InputExcludes || answer.CacheApart && (f.Usage.Input == nil || answer.Usage.Input != nil && *f.Usage.Input == *answer.Usage.Input)
	f.Usage = f.Usage.or(answer.Usage)
	if kindOf(out) == '[' { // the alternatives alone
		f.FinishRaw = cmp.Or(f.FinishRaw, readObject(firstElement(out)).str("finish_reason", "stop_reason"))
	}
}

// tracedArguments takes a tool's arguments out of the input of a traced function: an object of its parameters, {args, kwargs}, or the list of
// what was given by position.
func tracedArguments(v Value) Value {
	if list := string(v.JSON); kindOf(list) == '[' {
		if sole := soleElement(list); kindOf(sole) == '{' {
			v.JSON, v.Parsed = canonical(sole), ParsedArgs
		}
	}
	return v
}

// tracedResult reads what a traced tool returned, also where that is the message that LangChain made of it.
func tracedResult(text string, v Value, f *Facts) {
	m, ok := readToolMessage(text)
	if !ok {
		f.Result = v
		return
	}
	f.CallID = cmp.Or(f.CallID, m.ID)
	f.Result, f.ToolError = m.result(v), cmp.Or(f.ToolError, m.Error)
}
