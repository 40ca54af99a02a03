package ghpr

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ownersFiles are where GitHub looks for code owners; the first that is there counts.
var ownersFiles = []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"}

// Missing says, a sentence each, what keeps a branch's rules from holding what is at the paths: a required check whose name has one of the words, and a review
// by code owners of each path. It reads only; without a credential it knows nothing and says nothing.
func (r *Reconciler) Missing(ctx context.Context, repo, base string, words, paths []string) (out []string, err error) {
	if r.gh == nil {
		return nil, nil
	}
	if base, err = r.branch(ctx, repo, base); err != nil {
		return nil, err
	}
	g, err := r.gh.Guard(ctx, repo, base)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(g.Checks, func(c string) bool { return has(c, words) }) {
		out = append(out, fmt.Sprintf("no check named like %s is required on %s", strings.Join(words, " or "), base))
	}
	owners, err := r.owners(ctx, repo, base)
	if err != nil {
		return nil, err
	}
	var free []string
	for _, p := range paths {
		if !Owned(owners, p) {
			free = append(free, p)
		}
	}
	if len(free) > 0 {
		out = append(out, "no code owner for "+strings.Join(free, ", "))
	}
	if !g.Owners && len(free) < len(paths) {
		out = append(out, fmt.Sprintf("the rules of %s do not ask for a review by code owners", base))
	}
	return out, nil
}

func has(s string, words []string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

func (r *Reconciler) owners(ctx context.Context, repo, base string) (string, error) {
	for _, file := range ownersFiles {
		text, err := r.gh.Text(ctx, repo, file, base)
		if err == nil || !isAbsent(err) {
			return text, err
		}
	}
	return "", nil
}

// Owned says whether a CODEOWNERS text names somebody for a path; a path that ends in "/" stands for a directory. The last line that matches counts.
func Owned(text, path string) bool {
	owned := false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) > 0 && ownerPattern(f[0]).MatchString(path) {
			owned = len(f) > 1
		}
	}
	return owned
}

// ownerPattern is a line's pattern as gitignore reads it: with a "/" before its end it begins at the root, and a directory means all in it.
func ownerPattern(p string) *regexp.Regexp {
	root := strings.Contains(strings.TrimSuffix(p, "/"), "/")
	dir := strings.HasSuffix(p, "/")
	p = regexp.QuoteMeta(strings.Trim(p, "/"))
	p = strings.ReplaceAll(p, `\*\*/`, `(.*/)?`)
	p = strings.ReplaceAll(p, `\*\*`, `.*`)
	p = strings.ReplaceAll(p, `\*`, `[^/]*`)
	p = strings.ReplaceAll(p, `\?`, `[^/]`)
	start, end := "^", "(/.*)?$"
	if !root {
		start = "^(.*/)?"
	}
	if dir {
		end = "/.*$"
	}
	re, err := regexp.Compile(start + p + end)
	if err != nil { // quoted text and our own pieces: cannot happen
		return regexp.MustCompile(`$^`)
	}
	return re
}
