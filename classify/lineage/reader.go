package lineage

import (
	"strings"
	"sync"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Reader takes contexts and remembers the digests of prompts and tools: the runs of a service repeat theirs. It is safe for concurrent use; what it returns
// does not depend on what it has met.
type Reader struct {
	mu      sync.Mutex
	prompts map[string]string     // digests, by text
	tools   map[string][]ToolMark // by the set's digest
	held    int                   // bytes of texts, and some for each set
}

// maxHeld bounds what a Reader remembers, in bytes: then it begins again.
const maxHeld = 1 << 20

func (r *Reader) prompt(text string) string {
	r.mu.Lock()
	digest, ok := r.prompts[text]
	r.mu.Unlock()
	if ok {
		return digest
	}
	digest = PromptDigest(text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold(len(text))
	r.prompts[strings.Clone(text)] = digest // it may be part of a far longer one
	return digest
}

// marks are not to be changed.
func (r *Reader) marks(s *trajectory.ToolSet) []ToolMark {
	if s.Digest == "" {
		return toolMarks(s)
	}
	r.mu.Lock()
	marks, ok := r.tools[s.Digest]
	r.mu.Unlock()
	if ok {
		return marks
	}
	marks = toolMarks(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold(200 * len(marks))
	r.tools[s.Digest] = marks
	return marks
}

// hold makes room.
func (r *Reader) hold(size int) {
	if r.held += size; r.held > maxHeld || r.prompts == nil {
		r.prompts, r.tools, r.held = map[string]string{}, map[string][]ToolMark{}, size
	}
}
