package fakegithub

import (
	"crypto/sha256"
	"fmt"
	"net/http"
)

// answer writes an answer. A read has a tag; who names it again gets 304 and is not charged.
func (f *Fake) answer(w http.ResponseWriter, r *http.Request, out reply) {
	if r.Method != http.MethodGet || out.status != http.StatusOK {
		write(w, out)
		return
	}
	tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(out.encode()))
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") != tag {
		write(w, out)
		return
	}
	f.mu.Lock()
	f.rate.used--
	f.unchanged++
	f.mu.Unlock()
	w.WriteHeader(http.StatusNotModified)
}

// Unchanged is how many reads were answered with 304.
func (f *Fake) Unchanged() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unchanged
}
