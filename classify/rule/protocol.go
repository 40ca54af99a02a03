package rule

import (
	"fmt"

	"github.com/pawl-dev/pawl/classify"
)

// ProtocolError finds exchanges with tool servers and agents that failed by the protocol's own word.
var ProtocolError = add(classify.Rule{
	Name: "protocol_error", Version: 1, Label: classify.ProtocolError, Severity: classify.Warning, Form: classify.FormFault,
	Doc: classify.Doc{
		Title: "an exchange of MCP, A2A or JSON-RPC failed",
		Why: "Client and server do not understand each other, or the server went away: no other argument of the agent's would have helped. Decided by JSON-RPC codes, -32700 to -32600 " +
			"and -32000 to -32099, and by the protocol's own phrases. Arguments that the tool refuses are tool_args_schema_violation, tools that do not exist are hallucinated_tool, and what " +
			"a code only wraps (a timeout, a refusal, an outage) is that.",
		Fix:     "Look at the versions of client and server, at the session's start, and at whether the server process lives.",
		Example: "MCP error -32000: Connection closed",
	},
	Check:   checkProtocol,
	Repairs: []classify.Repair{answeredWell(), providerWell(), notCalled()},
})

func checkProtocol(in *classify.Input) classify.Result {
	return outsideResult(in, classify.ProtocolError, func(b blow, n int) string {
		if b.tool >= 0 {
			return fmt.Sprintf("the exchange with %s failed %s by the protocol's own word: %s%s.", b.name, times(n), b.says(), b.ending())
		}
		return fmt.Sprintf("an exchange of %s failed %s by the protocol's own word: %s%s.", b.name, times(n), b.says(), b.ending())
	})
}
