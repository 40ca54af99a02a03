// Package github is pawl's one way to GitHub's REST API: some twenty calls of go-github behind a transport of our own.
//
// Purpose: go-github v66 follows redirects of writes, does not escape owners, forgets base_tree when it is empty, takes an empty
// answer for success and reads limits its own way. Here every call is validated before it leaves, paced, capped and timed, and every
// failure becomes an Error whose Kind says what it proves about the remote state.
//
// Invariants: a write is sent at most once per call; the writes to a repository leave one at a time with Options.Pace between them, and no two writes leave
// within that time of each other, so that a repository whose writes hang holds up no other; no call leaves for a
// host other than the configured one; no call leaves before the time that GitHub named; an empty, cut or non-JSON success is Unknown.
package github

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v66/github"
)

// DefaultBaseURL is the API of github.com. A GitHub Enterprise Server has https://HOST/api/v3/.
const DefaultBaseURL = "https://api.github.com/"

// Options say where the API is and who we are. Exactly one of Token and App is set.
type Options struct {
	BaseURL   string            // default DefaultBaseURL; plain http only on loopback
	Token     string            // a personal access token
	App       App               // or a GitHub App's installation
	Transport http.RoundTripper // the network; default: a plain transport that honours HTTPS_PROXY
	Pace      time.Duration     // between two writes; default 1 s; negative means none, on loopback only
	Timeout   time.Duration     // of one call; default 30 s; under 12 s would cut off calls that succeed
	// Outgoing says of the address and the body of every request that carries any what in it must not leave; then not a byte of it does. Default: nothing.
	Outgoing func(final []byte) error
}

// App names a GitHub App's installation.
type App struct {
	ID             int64
	InstallationID int64
	PrivateKey     []byte // PEM
}

// Client makes the calls. It is safe for concurrent use; the writes to a repository queue up.
type Client struct {
	lg             *slog.Logger
	gh             *gh.Client
	app            *gh.Client // authenticated as the App itself; nil with a token
	wire           *wire
	turns          turns
	kind           CredentialKind
	installationID int64 // of the App; 0 with a token
	timeout        time.Duration
}

// New checks the options and makes a client. It makes no call.
func New(lg *slog.Logger, o Options) (*Client, error) {
	base, err := parseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Pace < 0 && !IsLoopback(base) {
		return nil, fmt.Errorf("github: pace %v: writes without a pause are for a loopback host only", o.Pace)
	}
	if o.Transport == nil {
		if o.Transport, err = Network(nil, ""); err != nil {
			return nil, err
		}
	}
	c := &Client{lg: lg, wire: &wire{base: base, next: o.Transport, kept: newKept(), outgoing: o.Outgoing},
		turns: turns{pace: max(0, cmp.Or(o.Pace, time.Second)), of: map[string]chan time.Time{}}, timeout: cmp.Or(o.Timeout, 30*time.Second)}
	return c, c.authenticate(o)
}

func parseBase(s string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimRight(cmp.Or(s, DefaultBaseURL), "/") + "/")
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("github: base URL: want https://HOST/ or https://HOST/api/v3/, without user or query")
	}
	if base.Scheme != "https" && !(base.Scheme == "http" && IsLoopback(base)) {
		return nil, fmt.Errorf("github: base URL %s: want https (plain http is for a loopback host only)", base)
	}
	return base, nil
}

// IsLoopback reports whether the URL's host is this machine, by its literal name: nothing is looked up.
func IsLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Loopback reports whether the client speaks to this machine.
func (c *Client) Loopback() bool { return IsLoopback(c.wire.base) }

// Host is the API's host, for messages.
func (c *Client) Host() string { return c.wire.base.Host }

func (c *Client) authenticate(o Options) error {
	hasApp := o.App.ID != 0 || o.App.InstallationID != 0 || len(o.App.PrivateKey) > 0
	switch {
	case o.Token != "" && hasApp:
		return errors.New("github: a token and an App are both set: choose one")
	case o.Token != "":
		c.gh, c.kind = c.goGitHub(bearer{o.Token, c.wire}), tokenKind(o.Token)
		if w := c.kind.Warning(); w != "" {
			c.lg.Warn("ghpr.token: " + w)
		}
	case hasApp:
		return c.authenticateApp(o.App)
	default:
		return errors.New("github: no credential: set a token, or an App's id, installation id and private key")
	}
	return nil
}

func (c *Client) authenticateApp(a App) error {
	if a.ID <= 0 || a.InstallationID <= 0 {
		return errors.New("github: App: id and installation id must both be set")
	}
	apps, err := ghinstallation.NewAppsTransport(c.wire, a.ID, bytes.TrimSpace(a.PrivateKey))
	if err != nil {
		return errors.New("github: App: the private key is not an RSA key in PEM form")
	}
	root := strings.TrimRight(c.wire.base.String(), "/")
	apps.BaseURL = root
	fresh := func(o *gh.InstallationTokenOptions) http.RoundTripper {
		inst := ghinstallation.NewFromAppsTransport(apps, a.InstallationID)
		inst.BaseURL, inst.InstallationTokenOptions = root, o
		return inst
	}
	granted := func(ctx context.Context) (map[string]string, error) {
		var out Credential
		err := c.installation(ctx, &out)
		return out.Rights, err
	}
	c.gh, c.app = c.goGitHub(&narrow{lg: c.lg, fresh: fresh, granted: granted, of: map[string]*renewing{}}), c.goGitHub(apps)
	c.kind, c.installationID = KindApp, a.InstallationID
	return nil
}

func (c *Client) goGitHub(t http.RoundTripper) *gh.Client {
	out := gh.NewClient(&http.Client{Transport: t, CheckRedirect: c.wire.follow})
	out.BaseURL, out.UserAgent = c.wire.base, "pawl"
	return out
}

// bearer adds a token. It sits above the wire, which is where it is checked that the host is ours.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip sends the request with the token.
func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(out)
}

// read makes one call that changes nothing.
func (c *Client) read(ctx context.Context, op string, fn func(context.Context) error) error {
	return c.call(ctx, op, false, fn)
}

// write makes one call that changes something in a repository, when its turn has come.
func (c *Client) write(ctx context.Context, op, repo string, fn func(context.Context) error) error {
	done, err := c.turns.take(ctx, strings.ToLower(repo))
	if err != nil {
		return &Error{Op: op, Kind: Invalid, Message: "not sent: " + err.Error(), cause: err}
	}
	defer done()
	return c.call(ctx, op, true, fn)
}

func (c *Client) call(ctx context.Context, op string, write bool, fn func(context.Context) error) error {
	if e := c.wire.open(write); e != nil {
		e.Op = op
		return e
	}
	timed, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	err := fn(timed)
	if err == nil {
		c.lg.Debug("github", "op", op)
		return nil
	}
	e := asError(op, err)
	c.lg.Debug("github", "op", op, "kind", e.Kind, "status", e.Status, "request_id", e.RequestID)
	return e
}

// Sleep waits for d or until the context ends, whichever is first; the error is the context's.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// invalid is the error of a request that we do not send.
func invalid(op string, err error) error {
	return &Error{Op: op, Kind: Invalid, Message: err.Error(), cause: err}
}

// odd is the error of an answer that decoded and still cannot be believed.
func odd(text string) error { return &Error{Kind: Unknown, Message: "odd answer: " + text} }
