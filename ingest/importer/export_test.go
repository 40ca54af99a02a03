package importer

import "bufio"

// ShapeName tells what the first document of a file is recognised as.
func ShapeName(r *bufio.Reader) string {
	doc, err := newSplitter(r, 64<<20).next()
	if err != nil {
		return err.Error()
	}
	s, _, _ := recognise(doc.body)
	switch {
	case s.inner != nil:
		return "wrapped OTLP"
	case s.traces, s.logs:
		return "OTLP"
	case s.read != nil:
		return s.name
	}
	return "nothing"
}
