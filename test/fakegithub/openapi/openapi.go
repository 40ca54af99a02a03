// Package openapi holds the stand-in for GitHub, and who speaks to it, to GitHub's own description of its REST API.
//
// Purpose: a test that uses the stand-in calls Watch; from then on every request and every answer is checked against a cut of the description
// (github.json, made by the command cut from npm's @octokit/openapi; its MIT notice lies beside it), and what breaks it fails that test.
// A field or a query parameter that the description does not know breaks it too: the stand-in must not invent, and a client that sends one is
// mistaken.
//
// Invariant: what the description gets wrong, or leaves out, is in the tables of known.go with its reason; nothing else is forgiven.
// Answers are checked as the stand-in decided them: what a fault then does to the bytes is the fault's business.
//
// The package is apart from fakegithub, so that `pawl demo`, which uses the stand-in too, carries no validator.
package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/pawl-dev/pawl/test/fakegithub"
)

//go:embed github.json
var description []byte

// Check says what in an exchange breaks GitHub's description: one line for each fault, none if it is sound.
func Check(x fakegithub.Exchange) []string {
	c, err := contract()
	if err != nil {
		return []string{err.Error()}
	}
	if strayed(x) {
		return basicError(x)
	}
	op, found := c.find(x)
	if !found {
		return []string{"the description has no such operation"}
	}
	return op.sound(x, append(op.request(x), op.answer(x)...))
}

// api is the description, ready for use.
type api struct {
	doc        *openapi3.T
	operations []operation
}

type operation struct {
	route  routers.Route
	path   *regexp.Regexp
	params []string // names in the path, in order
	plain  int      // characters of the path that are no parameter: more is nearer
}

var contract = sync.OnceValues(load)

func load() (*api, error) {
	doc, err := openapi3.NewLoader().LoadFromData(description)
	if err != nil {
		return nil, fmt.Errorf("openapi: github.json: %w", err)
	}
	c := &api{doc: doc}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			o := operation{route: routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: op}}
			o.compile(path)
			c.operations = append(c.operations, o)
		}
	}
	slices.SortFunc(c.operations, func(a, b operation) int { return b.plain - a.plain })
	return c, nil
}

var paramRE = regexp.MustCompile(`\{(\w+)\}`)

// compile turns a path's template into an expression. These parameters take slashes; the description has no word for that.
func (o *operation) compile(path string) {
	expr := strings.NewReplacer(`\{`, `{`, `\}`, `}`).Replace(regexp.QuoteMeta(path))
	for _, m := range paramRE.FindAllStringSubmatch(path, -1) {
		o.params = append(o.params, m[1])
		part := `([^/]+)`
		if slices.Contains([]string{"ref", "path", "basehead", "branch"}, m[1]) {
			part = `(.*)`
		}
		expr = strings.Replace(expr, m[0], part, 1)
	}
	o.path, o.plain = regexp.MustCompile("^"+expr+"$"), len(paramRE.ReplaceAllString(path, ""))
}

func (c *api) find(x fakegithub.Exchange) (operation, bool) {
	path := described(x.URL.Path)
	for _, o := range c.operations {
		if o.route.Method == x.Method && o.path.MatchString(path) {
			return o, true
		}
	}
	return operation{}, false
}

// request gives the faults of what was asked.
func (o operation) request(x fakegithub.Exchange) []string {
	in, err := o.input(x)
	if err != nil {
		return []string{"request: " + err.Error()}
	}
	var out []string
	if err := openapi3filter.ValidateRequest(in.Request.Context(), in); err != nil {
		out = append(out, "request: "+brief(err))
	}
	for name := range in.Request.URL.Query() {
		if o.parameter(name) == nil {
			out = append(out, fmt.Sprintf("request: unknown query parameter %q", name))
		}
	}
	if body := o.route.Operation.RequestBody; body != nil && len(x.Body) > 0 {
		for _, p := range unknown(schemaOf(body.Value.Content), decode(x.Body), "") {
			out = append(out, "request: unknown field "+p)
		}
	}
	return out
}

func (o operation) parameter(name string) *openapi3.Parameter {
	if p := o.route.Operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, name); p != nil {
		return p
	}
	return o.route.PathItem.Parameters.GetByInAndName(openapi3.ParameterInQuery, name)
}

// input makes the request anew, since a check reads its body.
func (o operation) input(x fakegithub.Exchange) (*openapi3filter.RequestValidationInput, error) {
	u := *x.URL
	u.Path, u.RawPath = described(u.Path), ""
	req, err := http.NewRequest(x.Method, "http://github.test/", bytes.NewReader(x.Body))
	if err != nil {
		return nil, err
	}
	req.URL = &url.URL{Scheme: "http", Host: "github.test", Path: u.Path, RawQuery: u.RawQuery}
	if len(x.Body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	vars := map[string]string{}
	for i, v := range o.path.FindStringSubmatch(u.Path)[1:] {
		vars[o.params[i]] = v
	}
	return &openapi3filter.RequestValidationInput{Request: req, PathParams: vars, Route: &o.route, Options: options()}, nil
}

func options() *openapi3filter.Options {
	return &openapi3filter.Options{MultiError: true, IncludeResponseStatus: true, SkipSettingDefaults: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
}

// answer gives the faults of what was answered.
func (o operation) answer(x fakegithub.Exchange) []string {
	if x.Status == 0 {
		return nil
	}
	if o.route.Operation.Responses.Status(x.Status) == nil {
		if _, forgiven := everywhere[x.Status]; !forgiven {
			return []string{fmt.Sprintf("answer: status %d is not described", x.Status)}
		}
		return basicError(x)
	}
	in, err := o.input(x)
	if err != nil {
		return []string{"answer: " + err.Error()}
	}
	res := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: x.Status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(x.Answer)), Options: options()}
	var out []string
	if err := openapi3filter.ValidateResponse(in.Request.Context(), res); err != nil {
		out = append(out, "answer: "+brief(err))
	}
	for _, p := range unknown(schemaOf(o.route.Operation.Responses.Status(x.Status).Value.Content), decode(x.Answer), "") {
		out = append(out, "answer: unknown field "+p)
	}
	return out
}

// basicError holds an answer that the operation does not describe to the form that all of GitHub's errors have.
func basicError(x fakegithub.Exchange) []string {
	if x.Status == 0 { // the connection broke: there was no answer
		return nil
	}
	c, err := contract()
	if err != nil {
		return []string{err.Error()}
	}
	if err := c.doc.Components.Schemas["basic-error"].Value.VisitJSON(decode(x.Answer)); err != nil {
		return []string{"answer: " + brief(err)}
	}
	return nil
}

func schemaOf(content openapi3.Content) *openapi3.Schema {
	if m := content.Get("application/json"); m != nil && m.Schema != nil {
		return m.Schema.Value
	}
	return nil
}

func decode(raw []byte) any {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return v
}

// unknown finds fields that a schema does not name, wherever the schema names any and leaves no choice.
func unknown(s *openapi3.Schema, v any, at string) []string {
	if s == nil || len(s.OneOf)+len(s.AnyOf)+len(s.AllOf) > 0 {
		return nil
	}
	var out []string
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			if s.Items != nil {
				out = append(out, unknown(s.Items.Value, x, fmt.Sprintf("%s/%d", at, i))...)
			}
		}
	case map[string]any:
		if len(s.Properties) == 0 || s.AdditionalProperties.Has != nil && *s.AdditionalProperties.Has || s.AdditionalProperties.Schema != nil {
			return nil
		}
		for k, x := range v {
			if p := s.Properties[k]; p != nil {
				out = append(out, unknown(p.Value, x, at+"/"+k)...)
			} else if !undescribed[k] {
				out = append(out, at+"/"+k)
			}
		}
	}
	slices.Sort(out)
	return out
}

var errorAt = regexp.MustCompile(`Error at "[^"]*": [^\n]*`)

// brief keeps of an error where and why, not the schema and the value. With a choice of schemas it is the first ones' errors.
func brief(err error) string {
	at := errorAt.FindAllString(err.Error(), 12)
	if len(at) == 0 {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return line
	}
	slices.Sort(at)
	return strings.Join(slices.Compact(at), "; ")
}
