package fakegithub

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
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
}

// Installed is a token of an installation.
type Installed struct {
	Token   string    `json:"token"`
	Slug    string    `json:"slug"`
	Expires time.Time `json:"expires"`
}

// AddApp makes an App known; its tokens may write and live for an hour.
func (f *Fake) AddApp(a App) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := a.key(); err != nil {
		return fmt.Errorf("fakegithub: app %s: %w", a.Slug, err)
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
		"permissions": object{"contents": "write", "pull_requests": "write", "metadata": "read"}, "events": []string{}})
}

func createToken(c *call) reply {
	a, known := c.app()
	if !known {
		return fail(401, "A JSON web token could not be decoded")
	}
	if c.arg("id") != strconv.FormatInt(a.InstallationID, 10) {
		return fail(404, "Not Found")
	}
	t := Installed{Token: fmt.Sprintf("ghs_fake%d", c.nextID()), Slug: a.Slug, Expires: time.Now().Add(time.Hour).UTC()}
	c.s.Tokens = append(c.s.Tokens, t)
	return ok(201, object{"token": t.Token, "expires_at": t.Expires.Format(time.RFC3339),
		"permissions": object{"contents": "write", "pull_requests": "write", "metadata": "read"}, "repository_selection": "all"})
}

// installed finds the bot behind an installation's token.
func (c *call) installed(token string) (User, bool) {
	for _, t := range c.s.Tokens {
		if t.Token == token && time.Now().Before(t.Expires) {
			return User{Login: t.Slug + "[bot]", Right: "write", Bot: true}, true
		}
	}
	return User{}, false
}
