package openapi

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/test/fakegithub"
)

// everywhere are the answers that GitHub gives to any operation and describes in prose, not operation by operation. Their body must still be
// GitHub's basic error.
var everywhere = map[int]string{
	301: "a renamed repository: described for all endpoints in the guide on redirects",
	307: "a renamed repository, for a write: the same guide",
	401: "a bad credential: the guide on authentication",
	403: "a right that is missing, or a limit: the guides on authentication and on limits",
	404: "what may not be seen is not there: the guide on troubleshooting",
	422: "validation failed: the guide on troubleshooting says so of every request with a body",
	429: "a limit: the guide on limits",
	500: "GitHub failed",
	502: "GitHub's proxy failed",
}

// undescribed are fields that GitHub sends or takes and that the description lacks in places.
var undescribed = map[string]bool{
	"status": true, // of a validation error: GitHub sends the code in every error's body, the schema has it in basic-error alone
}

var byNumber = regexp.MustCompile(`^/repositories/\d+(/|$)`)

// described gives the path under which the description knows an operation: it says nothing of /repositories/{id}, where GitHub's own redirects
// of renamed repositories lead and where the number of a repository is its lasting name.
func described(path string) string { return byNumber.ReplaceAllString(path, "/repos/by/number$1") }

// strayed says that a client followed the fault Redirect, which leads nowhere: what it asks there is the fault's doing.
func strayed(x fakegithub.Exchange) bool { return strings.HasSuffix(x.URL.Path, "-elsewhere") }

// contradiction is a fault that is none: of one operation, and where the body or the answer has a text.
type contradiction struct {
	method, path string // the path as the description has it
	where        *regexp.Regexp
	fault        *regexp.Regexp
	reason       string
}

var contradictions = []contradiction{
	{"POST", "/app/installations/{installation_id}/access_tokens", regexp.MustCompile(`^null\s*$`), regexp.MustCompile(`^request: .*not nullable`),
		"ghinstallation sends null where nothing is to be narrowed; the description makes the body optional, and GitHub takes null for none"},
	{"GET", "/repos/{owner}/{repo}/rules/branches/{branch}", regexp.MustCompile(`"type":"brand_new_rule"`), regexp.MustCompile(`^answer: `),
		"kinds of rule are added without a new version of the API: a test plays one that the description does not know"},
}

// sound leaves the contradictions out of the faults of an exchange.
func (o operation) sound(x fakegithub.Exchange, faults []string) []string {
	return slices.DeleteFunc(faults, func(fault string) bool {
		return slices.ContainsFunc(contradictions, func(c contradiction) bool {
			return o.route.Method == c.method && o.route.Path == c.path && c.fault.MatchString(fault) && (c.where.Match(x.Body) || c.where.Match(x.Answer))
		})
	})
}
