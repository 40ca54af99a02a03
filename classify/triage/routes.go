package triage

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet"
)

// route is one line of the table below: it routes a request, says who may ask, and is what /v1/openapi.json is made of, so that the three cannot differ.
type route struct {
	pattern string // METHOD PATH, as http.ServeMux has it
	name    string // of the operation, for whoever makes a client of the document
	role    Role   // the least that may ask
	doing   string // what a role that may not is told: merging
	person  bool   // a named person has to ask: it is recorded under that name
	summary string
	query   []param
	paged   bool // the answer's Link header leads to the next page
	body    any  // zero value of what is sent; nil: nothing
	answer  any  // zero value of what is answered
	code    int  // of success; 0: 200
	refuses []int
	serve   http.HandlerFunc
}

// param is a parameter in the query.
type param struct {
	name, doc string
	enum      []string
	number    bool
}

func words[T ~string](ws ...T) (out []string) {
	for _, w := range ws {
		out = append(out, string(w))
	}
	return out
}

var (
	limitParam  = param{name: "limit", doc: fmt.Sprintf("entries of a page, at most %d", largestPage), number: true}
	cursorParam = param{name: "cursor", doc: "where the page begins, as the Link header of the one before says"}
)

// routes is the API.
func (h *handler) routes() []route {
	return append(h.caseRoutes(), []route{
		{pattern: "GET /v1/groups", name: "listGroups", role: RoleViewer, summary: "The groups, each the findings of one failure. All of them where no limit is given.", serve: h.groups, answer: []group{}, paged: true,
			refuses: []int{http.StatusBadRequest}, query: []param{
				{name: "life", doc: "where the failure stands in its life", enum: words(ratchet.Lives...)}, {name: "status", doc: "the word before the colon of status: waits, due, preview, open, merged"},
				{name: "label", doc: "its label; unclassified: no rule explains it"}, {name: "service", doc: "its service"}, {name: "verdict", doc: "of its traces", enum: []string{"failing", "unclassified"}},
				{name: "q", doc: "text in id, title, why, service or agent, or the beginning of a trace's id"}, {name: "sort", doc: "greatest first; last, if it is not said", enum: sorts}, limitParam, cursorParam}},
		{pattern: "GET /v1/groups/{id}", name: "getGroup", role: RoleViewer, summary: "One group, also by the id of what was merged or moved into it.", serve: h.group, answer: group{}, refuses: []int{http.StatusNotFound}},
		{pattern: "POST /v1/groups/{id}/decisions", name: "decide", role: RoleTriager, doing: "deciding", person: true, summary: "A decision on a group, by the person whose token is shown. Asked twice it is made once.", serve: h.decide,
			body: ratchet.Ask{}, answer: decision{}, refuses: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict}},
		{pattern: "POST /v1/groups/{id}/merge", name: "mergeGroup", role: RoleTriager, doing: "merging", person: true, summary: "The group becomes an alias of another, for good.", serve: h.merge,
			body: mergeAsk{}, answer: mergeAnswer{}, refuses: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict}},
		{pattern: "GET /v1/audit", name: "listAudit", role: RoleViewer, summary: "What was decided, by whom and when, the latest first.", serve: h.audit, answer: []ratchet.Told{}, paged: true,
			refuses: []int{http.StatusBadRequest, http.StatusNotFound}, query: []param{{name: "group", doc: "id of a group, with what it was before"}, {name: "who", doc: "the person's name"}, limitParam, cursorParam}},
		{pattern: "GET /v1/judgements", name: "listJudgements", role: RoleViewer, summary: "What people say of the groups that no rule explains: what a judge is measured by.", serve: h.judgements, answer: []judgement{}},
		{pattern: "GET /v1/judge", name: "getJudge", role: RoleViewer, summary: "The model that is asked of what no rule explains: what it said, what it cost, how it agrees with people. Absent where none is asked.", serve: h.judge,
			answer: ratchet.JuryReport{}, refuses: []int{http.StatusNotFound}},
		{pattern: "GET /v1/rules", name: "listRules", role: RoleViewer, summary: "The rules: how often each is right, what it found, where it is blind, whether it may open pull requests.", serve: h.rules, answer: []shownRule{}},
		{pattern: "POST /v1/open", name: "openRepo", role: RoleTriager, doing: "opening", person: true, summary: "A repository's warm-up ends, or what stopped after too many new failures goes on.", serve: h.open,
			body: openAsk{}, answer: openAnswer{}, refuses: []int{http.StatusBadRequest, http.StatusNotFound}},
		{pattern: "POST /v1/erase", name: "erase", role: RoleAdmin, doing: "erasing", summary: "A person's value is blanked wherever pawl keeps it.", serve: h.erase,
			body: eraseAsk{}, answer: Erasure{}, refuses: []int{http.StatusBadRequest, http.StatusNotImplemented}},
		{pattern: "GET /v1/batches", name: "listBatches", role: RoleViewer, summary: "The batches, each one pull request, the latest first.", serve: h.batches, answer: []batch{}},
		{pattern: "GET /v1/batches/{id}", name: "getBatch", role: RoleViewer, summary: "A batch, by its id or by its number in the order of the list, from 0.", serve: h.batch, answer: batch{}, refuses: []int{http.StatusNotFound}},
		{pattern: "GET /v1/batches/{id}/plan", name: "getPlan", role: RoleViewer, summary: "What a batch writes.", serve: h.plan, answer: ghpr.Plan{}, refuses: []int{http.StatusNotFound}},
		{pattern: "GET /v1/services", name: "listServices", role: RoleViewer, summary: "What was seen of each service, and what it does not send.", serve: h.services, answer: []ratchet.Service{}},
		{pattern: "GET /v1/flags", name: "listFlags", role: RoleViewer, summary: "What outsiders say of traces, the latest first.", serve: h.flags, answer: []flagged{}},
		{pattern: "POST /v1/flags", name: "flag", role: RoleTriager, doing: "flagging", summary: "Says that a trace, or a window of them, is bad.", serve: h.flag,
			body: jsontext.Value(nil), answer: flagAnswer{}, code: http.StatusAccepted, refuses: []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}},
		{pattern: "GET /v1/traces", name: "listTraces", role: RoleViewer, summary: "The kept traces, those of the latest hour first.", serve: h.kept, answer: KeptPage{}, refuses: []int{http.StatusBadRequest, http.StatusNotFound},
			query: []param{{name: "service"}, {name: "verdict", enum: []string{"failing", "unclassified", "incomplete", "passing"}}, {name: "label"}, {name: "since", doc: "a time: with a record received since then"},
				{name: "q", doc: "text in its id or its session's"}, limitParam, {name: "cursor", doc: "next of the page before"}}},
		{pattern: "GET /v1/traces/{id}", name: "getTrace", role: RoleViewer, summary: "A kept trace in the normal form, with what the rules say of it.", serve: h.trace, answer: traceAnswer{}, refuses: []int{http.StatusNotFound}},
		{pattern: "GET /v1/traces/{id}/spans", name: "getSpans", role: RoleViewer, summary: "A kept trace as it was received, as OTLP JSON.", serve: h.spans, answer: jsontext.Value(nil), refuses: []int{http.StatusBadRequest, http.StatusNotFound},
			query: []param{{name: "hour", doc: "where the list says that it is kept: it is found sooner with it"}}},
		{pattern: "GET /v1/me", name: "getMe", role: RoleViewer, summary: "Who asks, and what they may do.", serve: h.whoami, answer: me{}},
		{pattern: "GET /v1/openapi.json", name: "getOpenAPI", role: RoleViewer, summary: "This document.", serve: h.openapi, answer: jsontext.Value(nil)},
	}...)
}

// may serves a route to who may ask.
func (h *handler) may(r route) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		caller := callerOf(req.Context())
		switch {
		case r.role == RoleAdmin && !caller.Admin:
			h.fail(w, http.StatusForbidden, fmt.Sprintf("this token may not do that: %s needs one whose role in pawl.yaml is admin", r.doing))
		case r.role == RoleTriager && !caller.Decides:
			h.fail(w, http.StatusForbidden, fmt.Sprintf("this token reads: %s needs one whose role in pawl.yaml is triager or admin", r.doing))
		case r.person && caller.Name == "":
			h.fail(w, http.StatusForbidden, fmt.Sprintf("%s is recorded under a person's name: send yours in the header %s, or a token of auth.tokens", r.doing, PersonHeader))
		default:
			r.serve(w, req)
		}
	}
}
