package trajectory

// maxIndex caps the indexes in flattened keys ("llm.input_messages.7.message.role"). A larger one is an accident or an attack.
const maxIndex = 10_000

// indexed collects the attributes under prefix ("llm.tools.") by the index that follows it, in index order, each with the keys that are
// left after the index.
func (a Attrs) indexed(prefix string) []Attrs { return a.flat(prefix).items() }

// requestedCall makes the part for a call whose pieces came in keys of their own.
func requestedCall(id, name, arguments string) Part {
	return Part{Kind: PartToolCall, ID: callID(id), Name: name, Value: ParseValue(arguments)}
}

// firstText returns the first of the keys that is there, and whether any is, be it an empty text.
func (a Attrs) firstText(keys ...string) (string, bool) {
	for _, k := range keys {
		if a.Has(k) {
			return a.Text(k), true
		}
	}
	return "", false
}
