package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// document is one JSON object or protobuf message as it stood in the file.
type document struct {
	body   []byte
	line   int
	offset int64
}

// badDocument is one that is not whole; the splitter has already gone on to the next.
type badDocument struct {
	line   int
	offset int64
	err    error
}

func (b *badDocument) Error() string { return b.err.Error() }

// splitter finds the top-level JSON objects of a stream without decoding them: one a line, pretty-printed, side by side,
// the elements of a list, or of the list that an object of another tool's export begins with. It resumes after a damaged object at the next line that begins one.
type splitter struct {
	r      *bufio.Reader
	limit  int
	chunk  []byte // what is read and not yet used, at most a line
	line   int    // of the first byte of chunk
	offset int64  // of the first byte of chunk
	inList bool
	outer  *document // the object whose list is being read, if any
	doc    []byte
}

func newSplitter(r *bufio.Reader, limit int) *splitter {
	return &splitter{r: r, limit: limit, line: 1}
}

// fill makes chunk non-empty, or returns io.EOF or the fault of the stream.
func (s *splitter) fill() error {
	if len(s.chunk) > 0 {
		return nil
	}
	chunk, err := s.r.ReadSlice('\n')
	s.chunk = chunk
	if len(chunk) > 0 || err == bufio.ErrBufferFull {
		return nil
	}
	return err
}

func (s *splitter) take(n int) []byte {
	b := s.chunk[:n]
	s.chunk = s.chunk[n:]
	s.offset += int64(n)
	s.line += bytes.Count(b, []byte{'\n'})
	return b
}

// next returns the next object; its body is valid until the following call. The error is io.EOF at the end, a
// *badDocument for one that is damaged, or the stream's fault.
func (s *splitter) next() (document, error) {
	for {
		err := s.fill()
		if err == io.EOF && s.outer != nil {
			err = cutOff(*s.outer)
			s.outer = nil
		}
		if err != nil {
			return document{}, err
		}
		switch c := s.chunk[0]; {
		case c == '{' && s.outer == nil && !s.inList:
			if opened, err := s.openOuter(); opened || err != nil && err != io.EOF {
				if err != nil {
					return document{}, err
				}
				continue
			}
			return s.object()
		case c == '{':
			s.doc = s.doc[:0]
			return s.object()
		case c == ']' && s.outer != nil:
			s.take(1)
			if err := s.closeOuter(); err != nil {
				return document{}, err
			}
			continue
		case c == '[' && !s.inList:
			s.inList = true
		case c == ']' && s.inList:
			s.inList = false
		case c == ',' && (s.inList || s.outer != nil):
		case c == ' ', c == '\t', c == '\r', c == '\n':
			s.take(len(s.chunk) - len(bytes.TrimLeft(s.chunk, " \t\r\n")))
			continue
		case s.offset == 0 && bytes.HasPrefix(s.chunk, utf8BOM):
			s.take(len(utf8BOM) - 1)
		default:
			return document{}, s.skipLine(s.line, s.offset, fmt.Errorf("want a JSON object, got %.20q", s.chunk))
		}
		s.take(1)
	}
}

// skipLine passes over the rest of the line and reports what was wrong with what began at line and offset.
func (s *splitter) skipLine(line int, offset int64, why error) error {
	for s.fill() == nil {
		if b := s.take(len(s.chunk)); b[len(b)-1] == '\n' {
			break
		}
	}
	return &badDocument{line, offset, why}
}

func cutOff(start document) error {
	return &badDocument{start.line, start.offset, errors.New("the JSON object is not closed before the end of the file; it was cut off")}
}

// openOuter takes the beginning of an object up to the first element of a list of objects that it begins with, where the
// list has a name under which other tools keep documents that each stand for themselves. Otherwise what it took is in doc.
func (s *splitter) openOuter() (bool, error) {
	start := document{line: s.line, offset: s.offset}
	s.doc = s.doc[:0]
	if ok, err := s.accept(`{"`); !ok {
		return false, err
	}
	name := s.letters()
	if s.fill() != nil || s.chunk[0] != '"' || name != "data" && name != "runs" {
		return false, nil
	}
	if ok, err := s.accept(`":[`); !ok {
		return false, err
	}
	if c, err := s.peek(); err != nil || c != '{' {
		return false, err
	}
	s.outer = &start
	return true, nil
}

// accept takes the given bytes, with white space between them, as far as they are there.
func (s *splitter) accept(marks string) (bool, error) {
	for i := range len(marks) {
		if c, err := s.peek(); err != nil || c != marks[i] {
			return false, err
		}
		s.doc = append(s.doc, s.take(1)...)
	}
	return true, nil
}

// peek returns the next byte that is no white space, which goes into doc.
func (s *splitter) peek() (byte, error) {
	for {
		if err := s.fill(); err != nil {
			return 0, err
		}
		n := len(s.chunk) - len(bytes.TrimLeft(s.chunk, " \t\r\n"))
		if len(s.doc)+n > s.limit {
			return 0, nil
		}
		s.doc = append(s.doc, s.take(n)...)
		if len(s.chunk) > 0 {
			return s.chunk[0], nil
		}
	}
}

// letters takes the letters of a short name.
func (s *splitter) letters() string {
	from := len(s.doc)
	for len(s.doc)-from < 8 && s.fill() == nil && 'a' <= s.chunk[0] && s.chunk[0] <= 'z' {
		s.doc = append(s.doc, s.take(1)...)
	}
	return string(s.doc[from:])
}

// closeOuter passes over what follows the list, to the end of its object.
func (s *splitter) closeOuter() error {
	start := *s.outer
	s.outer = nil
	scan := scanner{depth: 1}
	for {
		err := s.fill()
		if err == io.EOF {
			return cutOff(start)
		}
		if err != nil {
			return err
		}
		n, closed, broken := scan.run(s.chunk)
		s.take(n)
		switch {
		case closed:
			return nil
		case broken:
			return s.skipLine(start.line, start.offset, errors.New("the JSON object is cut off: the line ends within a string"))
		}
	}
}

// object takes one object to the brace that closes it. What doc holds of it is already taken.
func (s *splitter) object() (document, error) {
	start := document{line: s.line - bytes.Count(s.doc, []byte{'\n'}), offset: s.offset - int64(len(s.doc))}
	var scan scanner
	scan.run(s.doc)
	for {
		err := s.fill()
		if err == io.EOF {
			err = cutOff(start)
		}
		if err != nil {
			return document{}, err
		}
		if s.newRecord(scan) {
			return document{}, &badDocument{start.line, start.offset, errors.New("the JSON object is cut off: the next line begins another")}
		}
		n, closed, broken := scan.run(s.chunk)
		s.doc = append(s.doc, s.take(n)...)
		switch {
		case len(s.doc) > s.limit:
			s.doc = nil
			return document{}, s.skipLine(start.line, start.offset, fmt.Errorf("%w: a JSON object of more than %d bytes", ErrTooLarge, s.limit))
		case closed:
			start.body = s.doc
			return start, nil
		case broken:
			return document{}, s.skipLine(start.line, start.offset, errors.New("the JSON object is cut off: the line ends within a string"))
		}
	}
}

// newRecord tells that a line within an open object begins with another export request: the open one was cut off. Nested
// requests do not exist, so nothing whole is lost by this.
func (s *splitter) newRecord(scan scanner) bool {
	if len(s.doc) == 0 || s.doc[len(s.doc)-1] != '\n' || scan.inString {
		return false
	}
	for _, head := range []string{`{"resourceSpans"`, `{"resourceLogs"`, `{"resource_spans"`, `{"resource_logs"`, `{"batches"`} {
		if bytes.HasPrefix(s.chunk, []byte(head)) {
			return true
		}
	}
	return false
}

// scanner follows braces and strings.
type scanner struct {
	depth    int
	inString bool
	escaped  bool
}

// run reads b up to the brace that closes the object (closed), a line end within a string (broken, not consumed), or its
// end, and returns how many bytes it used.
func (s *scanner) run(b []byte) (n int, closed, broken bool) {
	for i, c := range b {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			switch c {
			case '"':
				s.inString = false
			case '\\':
				s.escaped = true
			case '\n':
				return i, false, true
			}
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			if s.depth--; s.depth == 0 {
				return i + 1, true, false
			}
		}
	}
	return len(b), false, false
}
