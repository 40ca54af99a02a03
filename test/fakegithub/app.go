package fakegithub

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// App is a GitHub App that is installed once.
type App struct {
	ID             int64  `json:"id"`
	Slug           string `json:"slug"`
	InstallationID int64  `json:"installation_id"`
	PublicKey      []byte `json:"public_key"` // PEM, PKIX
	// Permissions are what the installation was granted; default: contents and pull_requests write, metadata read.
	Permissions map[string]string `json:"permissions"`
}

// Installed is a token of an installation.
type Installed struct {
	Token   string    `json:"token"`
	Slug    string    `json:"slug"`
	Expires time.Time `json:"expires"`
	Repos   []int64   `json:"repos"` // empty: all
	// Permissions are what it may do, by permission.
	Permissions map[string]string `json:"permissions"`
}

// AddApp makes an App known; its tokens may write and live for an hour.
func (f *Fake) AddApp(a App) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := a.key(); err != nil {
		return fmt.Errorf("fakegithub: app %s: %w", a.Slug, err)
	}
	if a.Permissions == nil {
		a.Permissions = map[string]string{"contents": "write", "pull_requests": "write", "metadata": "read"}
	}
	f.s.Apps = append(f.s.Apps, a)
	return f.persist()
}

func (a App) key() (*rsa.PublicKey, error) {
	block, _ := pem.Decode(a.PublicKey)
	if block == nil {
		return nil, errors.New("the public key is not PEM")
	}
	k, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, isRSA := k.(*rsa.PublicKey)
	if !isRSA {
		return nil, errors.New("the public key is not RSA")
	}
	return key, nil
}

// app checks the JWT of the call: an App's signature, and a lifetime of at most ten minutes around now.
func (c *call) app() (App, bool) {
	_, jwt, _ := strings.Cut(c.req.Header.Get("Authorization"), " ")
	part := strings.Split(jwt, ".")
	if len(part) != 3 {
		return App{}, false
	}
	raw, err1 := base64.RawURLEncoding.DecodeString(part[1])
	sig, err2 := base64.RawURLEncoding.DecodeString(part[2])
	var claims struct {
		Iss string
		Exp int64
		Iat int64
	}
	if err1 != nil || err2 != nil || json.Unmarshal(raw, &claims) != nil {
		return App{}, false
	}
	now := time.Now().Unix()
	if claims.Exp < now || claims.Exp > now+600 || claims.Iat > now+60 {
		return App{}, false
	}
	sum := sha256.Sum256([]byte(part[0] + "." + part[1]))
	for _, a := range c.s.Apps {
		key, err := a.key()
		if err == nil && strconv.FormatInt(a.ID, 10) == claims.Iss && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], sig) == nil {
			return a, true
		}
	}
	return App{}, false
}

func getApp(c *call) reply {
	a, known := c.app()
	if !known {
		return fail(401, "A JSON web token could not be decoded")
	}
	return ok(200, object{"id": a.ID, "slug": a.Slug, "name": a.Slug, "node_id": "A_" + a.Slug, "owner": c.userObject("somebody"),
		"description": nil, "external_url": c.host, "html_url": c.host + "/apps/" + a.Slug, "created_at": began, "updated_at": began,
		"permissions": a.Permissions, "events": []string{}})
}

func createToken(c *call) reply {
	a, known := c.app()
	if !known {
		return fail(401, "A JSON web token could not be decoded")
	}
	if c.arg("id") != strconv.FormatInt(a.InstallationID, 10) {
		return fail(404, "Not Found")
	}
	var asked struct {
		Repositories []string
		IDs          []int64 `json:"repository_ids"`
		Permissions  map[string]string
	}
	if len(c.body) > 0 && !c.decode(&asked) {
		return fail(400, "Problems parsing JSON")
	}
	repos, found := c.named(asked.Repositories, asked.IDs)
	if !found {
		return fail(422, "There is at least one repository that does not exist or is not accessible to the parent installation.")
	}
	rights := a.Permissions
	if len(asked.Permissions) > 0 {
		rights = asked.Permissions
		for name, level := range rights {
			if !covers(a.Permissions[name], level) {
				return fail(422, "The permissions requested are not granted to this installation.")
			}
		}
	}
	t := Installed{Token: fmt.Sprintf("ghs_fake%d", c.nextID()), Slug: a.Slug, Expires: time.Now().Add(time.Hour).UTC(), Repos: repos, Permissions: rights}
	c.s.Tokens = append(c.s.Tokens, t)
	selection := "all"
	if len(repos) > 0 {
		selection = "selected"
	}
	return ok(201, object{"token": t.Token, "expires_at": t.Expires.Format(time.RFC3339), "permissions": rights, "repository_selection": selection})
}

// named are the repositories that a token is asked for, by their numbers.
func (c *call) named(names []string, ids []int64) (out []int64, found bool) {
	for _, r := range c.s.Repos {
		if slices.Contains(ids, r.ID) || slices.Contains(names, r.Name) {
			out = append(out, r.ID)
		}
	}
	return out, len(out) >= len(names)+len(ids)
}

// covers says that a right holds another one of the same permission.
func covers(has, level string) bool { return has == level || has == "write" && level == "read" }

func getInstallation(c *call) reply {
	a, known := c.app()
	if !known {
		return fail(401, "A JSON web token could not be decoded")
	}
	if c.arg("id") != strconv.FormatInt(a.InstallationID, 10) {
		return fail(404, "Not Found")
	}
	return ok(200, object{"id": a.InstallationID, "app_id": a.ID, "app_slug": a.Slug, "target_id": 1, "target_type": "Organization", "account": c.userObject("somebody"),
		"permissions": a.Permissions, "events": []string{}, "repository_selection": "all", "created_at": began, "updated_at": began, "single_file_name": nil,
		"access_tokens_url": c.host + "/app/installations/" + c.arg("id") + "/access_tokens", "repositories_url": c.host + "/installation/repositories",
		"html_url": c.host + "/settings/installations/" + c.arg("id"), "suspended_by": nil, "suspended_at": nil})
}

// installed finds the bot behind an installation's token.
func (c *call) installed(token string) (User, bool) {
	for _, t := range c.s.Tokens {
		if t.Token == token && time.Now().Before(t.Expires) {
			c.token = &t
			return User{Login: t.Slug + "[bot]", Right: "write", Bot: true}, true
		}
	}
	return User{}, false
}

// permits checks an installation's token: its repositories, and the permission that the operation takes.
func (c *call) permits(op, right string) (reply, bool) {
	if c.token == nil {
		return reply{}, true
	}
	if len(c.token.Repos) > 0 && !slices.Contains(c.token.Repos, c.repo.ID) {
		return fail(404, "Not Found"), false
	}
	needs := permissionOf(op)
	if !covers(c.token.Permissions[needs], right) {
		out := fail(403, "Resource not accessible by integration")
		out.header = http.Header{"X-Accepted-Github-Permissions": {needs + "=" + right}}
		return out, false
	}
	if op == "create-tree" && bytes.Contains(c.body, []byte(`".github/workflows/`)) && c.token.Permissions["workflows"] != "write" {
		return fail(403, "refusing to allow a GitHub App to create or update workflow without `workflows` permission"), false
	}
	return reply{}, true
}

// permissionOf is what an operation takes, as GitHub's pages on permissions have it.
func permissionOf(op string) string {
	switch op {
	case "get-repo", "get-rules":
		return "metadata"
	case "commit-pulls", "list-pulls", "create-pull", "get-pull", "edit-pull", "pull-commits", "pull-reviews", "pull-events", "get-issue", "list-labels", "add-labels", "get-label", "create-label":
		return "pull_requests"
	}
	return "contents"
}

// Grant gives the App of an installation other permissions; tokens that are out keep theirs.
func (f *Fake) Grant(installation int64, permissions map[string]string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.s.Apps {
		if f.s.Apps[i].InstallationID == installation {
			f.s.Apps[i].Permissions = permissions
			return f.persist()
		}
	}
	return fmt.Errorf("fakegithub: no installation %d", installation)
}

// Tokens are the installations' tokens that were given out, the oldest first.
func (f *Fake) Tokens() []Installed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.s.Tokens)
}
