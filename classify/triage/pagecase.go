package triage

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/pawl-dev/pawl/ratchet"
)

// caseData is the case of a group as its page shows it: what the pull request would bring, after redaction, and the expectation to be edited.
type caseData struct {
	ratchet.Preview
	GroupID string
	Body    string
	Files   []caseFile
	Expect  string // as it stands in the form: what was refused, too
	Rows    int
	Dialogs dialogs
	Edits   bool // it may be edited, by this caller and now
	Bad     *saidOnce
}

func (d caseData) saying() *saidOnce { return d.Bad }

// caseFile is a file with its lines that redaction changed marked.
type caseFile struct {
	Path  string
	Bytes int
	Lines []caseLine
	Cut   int // lines that are not shown
}

type caseLine struct {
	N     int
	Text  string
	Blank bool // redaction put a stand-in here
}

const maxCaseLines = 1500

// casePage answers GET /groups/{id}/case.
func (h *handler) casePage(w http.ResponseWriter, r *http.Request) {
	h.caseWith(w, r, http.StatusOK, nil, "")
}

func (h *handler) caseWith(w http.ResponseWriter, r *http.Request, code int, bad *saidOnce, wrote string) {
	if h.src.Case == nil {
		h.problem(w, r, http.StatusNotFound, "This process makes no cases: ask the one that plays the role absorb.")
		return
	}
	p, err := h.src.Case(r.Context(), r.PathValue("id"))
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	d := showCase(p)
	d.Bad, d.Dialogs = bad, h.dialogs(r, nil)
	d.Edits = h.src.Edit != nil && d.Dialogs.Decides && d.Dialogs.Named && p.Case != "" && !p.Sent
	if wrote != "" {
		d.Expect = wrote
	}
	d.Rows = min(40, 3+strings.Count(d.Expect, "\n"))
	h.pageCode(w, r, code, "case.html", "Case of "+d.GroupID, d)
}

func showCase(p ratchet.Preview) caseData {
	d := caseData{Preview: p, GroupID: p.Group, Expect: p.Expect}
	if p.Pull != nil {
		d.Body = bodyOf(p.Pull.Body)
	}
	blank := map[string]map[int]bool{}
	for _, r := range p.Redacts {
		for _, at := range r.Places {
			if blank[at.Path] == nil {
				blank[at.Path] = map[int]bool{}
			}
			for _, n := range at.Lines {
				blank[at.Path][n] = true
			}
		}
	}
	for _, f := range p.Files {
		out := caseFile{Path: f.Path, Bytes: len(f.Content)}
		n := 0
		for line := range strings.Lines(f.Content) {
			if n++; n > maxCaseLines {
				out.Cut++
				continue
			}
			out.Lines = append(out.Lines, caseLine{n, strings.TrimSuffix(line, "\n"), blank[f.Path][n]})
		}
		d.Files = append(d.Files, out)
	}
	return d
}

// editForm answers POST /groups/{id}/case, which the form of the expectation sends.
func (h *handler) editForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxEdit)
	if err := r.ParseForm(); err != nil {
		h.problem(w, r, http.StatusRequestEntityTooLarge, "What a case expects has at most 64 KiB.")
		return
	}
	c := callerOf(r.Context())
	here := "/groups/" + r.PathValue("id") + "/case"
	switch {
	case h.src.Edit == nil:
		h.problem(w, r, http.StatusNotFound, "This process makes no cases: ask the one that plays the role absorb.")
		return
	case !c.Decides:
		h.problem(w, r, http.StatusForbidden, fmt.Sprintf("Your role, %s, reads. Editing needs triager or admin.", c.Role()))
		return
	case c.Name == "":
		http.Redirect(w, r, "/name?next="+url.QueryEscape(here), http.StatusSeeOther)
		return
	}
	wrote := strings.ReplaceAll(r.PostForm.Get("expect"), "\r\n", "\n")
	if r.PostForm.Get("drop") != "" {
		wrote = ""
	} else if strings.TrimSpace(wrote) == "" {
		h.caseWith(w, r, http.StatusBadRequest, &saidOnce{Text: "A case has to expect something.", Error: true}, "")
		return
	}
	_, err := h.src.Edit(r.Context(), r.PathValue("id"), c.Name, r.PostForm.Get("digest"), []byte(wrote))
	if no, ok := errors.AsType[*ratchet.Refused](err); ok {
		h.caseWith(w, r, http.StatusConflict, &saidOnce{Text: sentence(no.Reason), Error: true}, wrote)
		return
	}
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	text := "The case was made and tried anew with what you wrote."
	if wrote == "" {
		text = "The case expects again what pawl wrote."
	}
	h.sayNext(w, r, saidOnce{Text: text})
	http.Redirect(w, r, here, http.StatusSeeOther)
}

// maxEdit bounds the form of an edit, in bytes.
const maxEdit = 64 << 10
