package ghpr

import (
	"encoding/json"
	"strings"
)

// Marker is our identity in a pull request's body, hidden in an HTML comment. Whoever may edit the body can forge it, so it counts only
// together with author, head repository, branch prefix and base.
type Marker struct {
	Version    int      `json:"v"`
	Intent     string   `json:"intent"`
	Key        string   `json:"key"`
	Identities []string `json:"ids,omitempty"`
	Labels     []string `json:"labels,omitempty"` // the ones we set: another's removal of one is respected
	Hash       string   `json:"hash"`             // of the text between begin and end
	Length     int      `json:"n"`                // its bytes
}

const (
	beginMark = "<!-- pawl:begin "
	markTail  = " -->\n"
	endMark   = "\n<!-- pawl:end -->"
)

// RenderMarker puts the marker around a body. Hash and Length are filled in. JSON's escaping of < and > keeps the comment closed.
func RenderMarker(m Marker, body string) string {
	m.Hash, m.Length = hashText(body), len(body)
	head, err := json.Marshal(m)
	if err != nil { // strings and integers only: cannot happen
		return body
	}
	return beginMark + string(head) + markTail + body + endMark
}

// ParseMarker finds the marker and our part of the body, with people's text before and after left aside. Our part as we wrote it wins
// over every look-alike; if people edited it, the first marker and the next end count, and the hash tells (Marker.Hash). Line ends that
// a browser turned into CRLF do not matter.
func ParseMarker(text string) (m Marker, body string, ok bool) {
	if m, body, ok = exact(text); ok {
		return m, body, true
	}
	plain := strings.ReplaceAll(text, "\r\n", "\n")
	if m, body, ok = exact(plain); ok {
		return m, body, true
	}
	for rest := plain; ; {
		var found bool
		if m, rest, found = nextMarker(rest); !found {
			return Marker{}, "", false
		}
		if end := strings.Index(rest, endMark); end >= 0 {
			return m, rest[:end], true
		}
	}
}

// exact finds a marker whose text has its length and hash.
func exact(text string) (Marker, string, bool) {
	for rest := text; ; {
		m, after, found := nextMarker(rest)
		if !found {
			return Marker{}, "", false
		}
		if n := m.Length; n >= 0 && n <= len(after) && strings.HasPrefix(after[n:], endMark) && hashText(after[:n]) == m.Hash {
			return m, after[:n], true
		}
		rest = after
	}
}

// nextMarker finds the next sound begin and gives the text after it.
func nextMarker(text string) (m Marker, rest string, ok bool) {
	for {
		_, after, found := strings.Cut(text, beginMark)
		if !found {
			return Marker{}, "", false
		}
		head, rest, closed := strings.Cut(after, markTail)
		m = Marker{}
		if closed && json.Unmarshal([]byte(head), &m) == nil && m.Version > 0 && m.Intent != "" {
			return m, rest, true
		}
		text = after
	}
}
