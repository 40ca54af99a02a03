package trajectory

import (
	"slices"
	"strings"
)

// noFailure says whether what a span reports as an error is none: the run waits for a person, or a queue was closed that nobody writes to any
// more.
func (n *node) noFailure() bool { return n.waits() || n.closedQueue() }

// waits says whether a span ended in a framework's way to wait for a person or for a tool that runs elsewhere.
func (n *node) waits() bool {
	if n.span.Status != StatusError && len(n.span.Events) == 0 && n.facts.Error == nil {
		return false
	}
	words := []string{n.span.StatusMessage, n.span.Attrs.Text("error.type")}
	if e := n.exception(); e != nil {
		words = append(words, e.Type, e.Message)
	}
	if e := n.facts.Error; e != nil {
		words = append(words, e.Type, e.Message)
	}
	return slices.ContainsFunc(words, func(s string) bool { return isPause(s) || strings.Contains(s, "ToolInterruptError") })
}

// closedQueue says whether a span is a read of a2a-python's event queue that ended as the server closed it, which it does with every request.
// Some exporters lose the scope, so the span's name tells.
func (n *node) closedQueue() bool {
	if !strings.HasPrefix(n.span.Name, "a2a.") || !strings.Contains(n.span.Name, "queue") && !strings.Contains(n.span.Name, "Queue") {
		return false
	}
	e := n.exception()
	if e == nil {
		return strings.HasSuffix(n.span.Attrs.Text("error.type"), "CancelledError") || strings.HasPrefix(n.span.StatusMessage, "CancelledError")
	}
	return strings.HasSuffix(e.Type, "CancelledError")
}
