package triage

import (
	"net/http"
	"slices"

	"github.com/pawl-dev/pawl/ratchet"
)

// judge answers GET /v1/judge: where the model stands that is asked of what no rule explains, with what it said, every vote of it.
func (h *handler) judge(w http.ResponseWriter, r *http.Request) {
	if h.src.Jury == nil {
		h.answer(w, nil, ErrNotFound)
		return
	}
	report, ok, err := h.src.Jury(r.Context())
	if err == nil && !ok {
		err = ErrNotFound
	}
	t := callerOf(r.Context())
	report.Judgements = slices.DeleteFunc(report.Judgements, func(j ratchet.Asked) bool { return !t.Sees(j.Service) })
	h.answer(w, report, err)
}
