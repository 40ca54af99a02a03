package github

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	nameRE   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)
	branchRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
	shaRE    = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// SplitRepo takes "owner/name" apart. go-github pastes both into the path unescaped, so "../../user" or "a/b?x=1#" would reach
// another endpoint: anything but letters, digits, "_", "." and "-" is refused, and so are "." and "..".
func SplitRepo(full string) (owner, name string, err error) {
	owner, name, ok := strings.Cut(full, "/")
	if !ok || !validName(owner) || !validName(name) {
		return "", "", fmt.Errorf("repository %q: want owner/name of letters, digits, '_', '.', '-'", full)
	}
	return owner, name, nil
}

func validName(s string) bool { return nameRE.MatchString(s) && s != "." && s != ".." }

// CheckBranch refuses a branch name that git would refuse, that is longer than 200 bytes, or that holds a character outside
// letters, digits and "._/-".
func CheckBranch(b string) error {
	bad := !branchRE.MatchString(b) || len(b) > 200 || strings.HasSuffix(b, "/") || strings.HasSuffix(b, ".")
	for part := range strings.SplitSeq(b, "/") {
		bad = bad || part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") || strings.Contains(part, "..")
	}
	if bad {
		return fmt.Errorf("branch %q: not a legal name of letters, digits, '.', '_', '-' and '/'", clip(b, 80))
	}
	return nil
}

// CheckPath refuses a file path that is not clean, relative and free of control characters, or that goes through ".git".
func CheckPath(p string) error {
	bad := p == "" || len(p) > 500 || strings.ContainsAny(p, "\\\x7f")
	for part := range strings.SplitSeq(p, "/") {
		bad = bad || part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git")
	}
	for _, r := range p {
		bad = bad || r < ' '
	}
	if bad {
		return fmt.Errorf("path %q: want a clean relative path with '/'", clip(p, 80))
	}
	return nil
}

// IsSHA reports whether s is a full git object id: 40 lower-case hex digits.
func IsSHA(s string) bool { return shaRE.MatchString(s) }

// CheckLabel refuses a label that is empty, longer than GitHub's 50 characters, or that would leave its place in a path.
func CheckLabel(s string) error {
	bad := s == "" || len(s) > 50 || s == "." || s == ".." || strings.ContainsAny(s, "/?#%\\,")
	for _, r := range s {
		bad = bad || r < ' ' || r == 0x7f
	}
	if bad {
		return fmt.Errorf("label %q: want 1 to 50 characters without '/', '?', '#', '%%', '\\' and ','", clip(s, 60))
	}
	return nil
}

// pathSegment escapes a checked label for go-github, which does not.
func pathSegment(s string) string { return strings.ReplaceAll(s, " ", "%20") }
