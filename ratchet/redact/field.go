package redact

// Field redacts the text of a field whose name says what it may hold: an attribute, a header, an object's key. An empty key is no name.
func (s *Session) Field(key, text string) string {
	n := s.text(text, key, 0)
	for s.learn(n) {
		n = s.text(text, key, 0)
	}
	s.number(n)
	return string(s.render(nil, n))
}

// LearnField is Learn for the text of a named field.
func (s *Session) LearnField(key, text string) { s.learn(s.text(text, key, 0)) }
