package github

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	gh "github.com/google/go-github/v66/github"
)

// narrow gives each call of an App a token that is good for the call's repository alone: what leaks of one repository's work is no key to another.
type narrow struct {
	fresh func(*gh.InstallationTokenOptions) http.RoundTripper

	mu sync.Mutex
	of map[string]*renewing // by what the token is good for
}

// RoundTrip sends the request with the token of its repository.
func (n *narrow) RoundTrip(req *http.Request) (*http.Response, error) {
	return n.forRepo(req.URL.Path).RoundTrip(req)
}

func (n *narrow) forRepo(path string) *renewing {
	key, o := scope(path)
	n.mu.Lock()
	defer n.mu.Unlock()
	r, ok := n.of[key]
	if !ok {
		fresh := func() http.RoundTripper { return n.fresh(o) }
		r = &renewing{fresh: fresh, now: fresh()}
		n.of[key] = r
	}
	return r
}

// scope reads the repository from the path of a call: .../repos/OWNER/NAME/..., .../repositories/ID/.... A call about none has the installation's own scope.
func scope(path string) (key string, o *gh.InstallationTokenOptions) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		switch {
		case p == "repos" && i+2 < len(parts):
			return strings.ToLower(parts[i+1] + "/" + parts[i+2]), &gh.InstallationTokenOptions{Repositories: []string{parts[i+2]}}
		case p == "repositories" && i+1 < len(parts):
			if id, err := strconv.ParseInt(parts[i+1], 10, 64); err == nil {
				return parts[i+1], &gh.InstallationTokenOptions{RepositoryIDs: []int64{id}}
			}
			return "", nil
		}
	}
	return "", nil
}
