// Package webhook turns what monitoring tools post into flags: claims by outsiders that a trace, or a window of traces, is bad.
//
// Invariants: the sender is proven over the raw bytes, in constant time, before anything is made of them; an empty secret is refused when the service
// starts; a flag is in the stream before its sender hears 202; a sender hears an error only for what it could do better, since some switch a
// webhook off after a few; the words of a sender are kept as a quotation and never become a label.
//
// One file a sender: what proves a delivery (scheme.go), and which flags it makes. Those of templates go through one generic reader (generic.go).
package webhook
