// Package webhook turns what monitoring tools post into flags: claims by outsiders that a trace, or a window of traces, is bad.
//
// Invariants: nothing is decoded before the sender is proven over the raw bytes, in constant time; an empty secret is refused when the
// service starts; a flag is in the stream before its sender hears 202; the words of a sender are kept as a quotation and never become a label.
package webhook
