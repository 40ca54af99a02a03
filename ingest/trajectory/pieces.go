package trajectory

import "slices"

// pieces completes the answers of calls with what spans inside them tell of them piece by piece, as chunks of a stream: a request that the
// answer leaves out because the run stopped at it, and arguments as the model wrote them where the answer has only what could be made of them.
func (b *builder) pieces() {
	for _, n := range b.nodes {
		piece, ok := mastraChunk(n)
		if !ok {
			continue
		}
		for p := range n.above {
			if p.facts.Role == RoleModel {
				p.stands().takePiece(piece)
				break
			}
		}
	}
}

// mastraChunk is the request in a chunk of Mastra's stream of an answer: {"toolName", "toolCallId", "toolInput"}.
func mastraChunk(n *node) (Part, bool) {
	if n.facts.Role != RoleInner || n.span.Attrs.Text("mastra.span.type") != "model_chunk" {
		return Part{}, false
	}
	o := readObject(n.span.Attrs.jsonText("mastra.model_chunk.output"))
	p := Part{Kind: PartToolCall, ID: o.str("toolCallId"), Name: o.str("toolName"), Value: valueOfJSON(o.get("toolInput"))}
	return p, p.ID != "" && p.Name != "" && o.has("toolInput")
}

func (n *node) takePiece(p Part) {
	switch i, j := requestIn(n.facts.Output, p.ID); {
	case i < 0:
		n.facts.Output = append(slices.Clip(n.facts.Output), Message{Role: "assistant", Parts: []Part{p}})
	case p.Value.Parsed == ParsedBroken:
		n.facts.Output[i].Parts[j].Value = p.Value
	}
}

// requestIn finds the request with that id: the message's index and the part's, -1 and -1 when there is none.
func requestIn(ms []Message, id string) (int, int) {
	for i, m := range ms {
		for j, p := range m.Parts {
			if p.Kind == PartToolCall && p.ID == id {
				return i, j
			}
		}
	}
	return -1, -1
}
