// Command cut makes the cut of GitHub's OpenAPI description that the contract tests use: the operations of the stand-in for GitHub, and the
// parts that they refer to, without prose and examples.
//
//	npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-23.0.2.tgz
//	go run ./test/fakegithub/openapi/cut package/generated/api.github.com.json > test/fakegithub/openapi/github.json
//
// The description is MIT licensed; its notice lies beside the cut and must stay there.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// operations are what is kept: everything that the stand-in answers.
var operations = map[string][]string{
	"/app":                                 {"get"},
	"/app/installations/{installation_id}": {"get"},
	"/app/installations/{installation_id}/access_tokens": {"post"},
	"/rate_limit":           {"get"},
	"/user":                 {"get"},
	"/repos/{owner}/{repo}": {"get"},
	"/repos/{owner}/{repo}/branches/{branch}":            {"get"},
	"/repos/{owner}/{repo}/commits/{commit_sha}/pulls":   {"get"},
	"/repos/{owner}/{repo}/compare/{basehead}":           {"get"},
	"/repos/{owner}/{repo}/contents/{path}":              {"get"},
	"/repos/{owner}/{repo}/git/blobs":                    {"post"},
	"/repos/{owner}/{repo}/git/blobs/{file_sha}":         {"get"},
	"/repos/{owner}/{repo}/git/commits":                  {"post"},
	"/repos/{owner}/{repo}/git/commits/{commit_sha}":     {"get"},
	"/repos/{owner}/{repo}/git/ref/{ref}":                {"get"},
	"/repos/{owner}/{repo}/git/refs":                     {"post"},
	"/repos/{owner}/{repo}/git/refs/{ref}":               {"patch", "delete"},
	"/repos/{owner}/{repo}/git/trees":                    {"post"},
	"/repos/{owner}/{repo}/git/trees/{tree_sha}":         {"get"},
	"/repos/{owner}/{repo}/issues/{issue_number}":        {"get"},
	"/repos/{owner}/{repo}/issues/{issue_number}/events": {"get"},
	"/repos/{owner}/{repo}/issues/{issue_number}/labels": {"get", "post"},
	"/repos/{owner}/{repo}/labels":                       {"post"},
	"/repos/{owner}/{repo}/labels/{name}":                {"get"},
	"/repos/{owner}/{repo}/pulls":                        {"get", "post"},
	"/repos/{owner}/{repo}/pulls/{pull_number}":          {"get", "patch"},
	"/repos/{owner}/{repo}/pulls/{pull_number}/commits":  {"get"},
	"/repos/{owner}/{repo}/pulls/{pull_number}/reviews":  {"get"},
	"/repos/{owner}/{repo}/rules/branches/{branch}":      {"get"},
}

// prose are the keys that say nothing a validator uses.
var prose = map[string]bool{"description": true, "summary": true, "externalDocs": true, "x-github": true, "x-octokit": true, "example": true,
	"examples": true, "tags": true, "x-multi-segment": true}

type object = map[string]any

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("want one argument: the path of api.github.com.json")
	}
	raw, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var whole object
	if err := json.Unmarshal(raw, &whole); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	small, err := cut(whole)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out) // sorts keys: the same input gives the same bytes
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(small)
}

func cut(whole object) (object, error) {
	all, _ := whole["paths"].(object)
	paths := object{}
	for path, methods := range operations {
		item, _ := all[path].(object)
		kept := object{}
		for _, m := range methods {
			if item[m] == nil {
				return nil, fmt.Errorf("the description has no %s %s", m, path)
			}
			kept[m] = bare(item[m], false)
		}
		paths[path] = kept
	}
	info, _ := whole["info"].(object)
	small := object{"openapi": whole["openapi"], "info": object{"title": info["title"], "version": info["version"], "license": info["license"]}, "paths": paths}
	parts := object{}
	if err := collect(paths, whole, parts); err != nil {
		return nil, err
	}
	small["components"] = parts
	return small, nil
}

// bare drops prose. The keys of properties are names, not keywords.
func bare(v any, names bool) any {
	switch v := v.(type) {
	case object:
		kept := object{}
		for k, x := range v {
			if names || !prose[k] {
				kept[k] = bare(x, !names && k == "properties")
			}
			if responses, is := kept[k].(object); is && k == "responses" && !names {
				for _, r := range responses {
					describe(r)
				}
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, x := range v {
			kept[i] = bare(x, false)
		}
		return kept
	}
	return v
}

// describe gives a response the description that it must have.
func describe(response any) {
	if r, is := response.(object); is && r["$ref"] == nil {
		r["description"] = ""
	}
}

// collect copies what v refers to, and what that refers to.
func collect(v any, whole, parts object) error {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if err := collect(x, whole, parts); err != nil {
				return err
			}
		}
	case object:
		if ref, is := v["$ref"].(string); is {
			return follow(ref, whole, parts)
		}
		for _, x := range v {
			if err := collect(x, whole, parts); err != nil {
				return err
			}
		}
	}
	return nil
}

func follow(ref string, whole, parts object) error {
	kind, name, ok := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
	into, _ := parts[kind].(object)
	if into == nil {
		into = object{}
		parts[kind] = into
	}
	if into[name] != nil {
		return nil
	}
	from, _ := whole["components"].(object)
	of, _ := from[kind].(object)
	if !ok || of[name] == nil {
		return fmt.Errorf("nothing is behind %s", ref)
	}
	if kind == "examples" {
		return nil
	}
	into[name] = bare(of[name], false)
	if kind == "responses" {
		describe(into[name])
	}
	return collect(into[name], whole, parts)
}
