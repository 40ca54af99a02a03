package triage

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
)

// maxBody bounds the body of a decision, in bytes.
const maxBody = 16 << 10

// sent reads the JSON object that a request brings into v, and says whether the request can go on. What is too large or not as v wants it is answered here; form is
// what to send instead.
func (h *handler) sent(w http.ResponseWriter, r *http.Request, limit int64, v any, form string) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		h.fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("what is sent here has at most %d bytes", limit))
		return false
	}
	if err == nil {
		err = json.Unmarshal(body, v, json.RejectUnknownMembers(true))
	}
	if err != nil {
		h.fail(w, http.StatusBadRequest, form+": "+clipped(err.Error()))
		return false
	}
	return true
}
