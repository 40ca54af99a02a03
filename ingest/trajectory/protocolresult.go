package trajectory

// protocolResult takes what a tool answered out of the result of a call over the Model Context Protocol, {"content": [...], "isError": true}, or
// out of the bare list of its text blocks, whichever dialect recorded it: what the tool said is inside.
func (f *Facts) protocolResult() {
	list := string(f.Result.JSON)
	if kindOf(list) == '{' {
		o := readObject(list)
		if list = o.get("content"); list == "" || !o.hasOnly("content", "isError", "is_error", "structuredContent", "_meta") {
			return
		}
		if f.ToolError == "" && (o.isTrue("isError") || o.isTrue("is_error")) && textBlocks(list) {
			f.ToolError = "tool_error"
		}
	}
	if !textBlocks(list) {
		return
	}
	v, _ := blockText(list, 0)
	if v.JSON == nil {
		v.JSON = appendString(nil, v.Raw)
	}
	f.Result = Value{Raw: f.Result.Raw, JSON: v.JSON, Parsed: ParsedWrap, Truncated: f.Result.Truncated || v.Truncated}
}

// textBlocks says whether a list holds text blocks and nothing else.
func textBlocks(list string) bool {
	if kindOf(list) != '[' {
		return false
	}
	n := 0
	for e := range elements(list) {
		if o := readObject(e); o.str("type") != "text" || !o.has("text") {
			return false
		}
		n++
	}
	return n > 0
}

// hasOnly says whether an object has no other members than these.
func (o object) hasOnly(names ...string) bool {
	for _, m := range o {
		if !isAnyOf(m.name, names...) {
			return false
		}
	}
	return true
}
