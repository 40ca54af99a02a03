package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify/triage"
	"github.com/pawl-dev/pawl/config"
)

// tokenVariable holds the token to show to a service whose pawl.yaml is not at hand.
const tokenVariable = "PAWL_TOKEN"

// running is a pawl serve that a command asks through its API.
type running struct {
	base  string // http://HOST:PORT
	at    string // as people name it
	file  string // whose auth.tokens it was asked with
	token string
}

// errOtherToken says that a service answers and does not let the command in.
var errOtherToken = errors.New("asks for another token")

// absent is the service's answer that it has no such thing.
type absent struct{ error }

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 20

// runningAt is the service at an address, a URL or HOST:PORT; "" is that of listen.http.
func (a *app) runningAt(server string, cfg config.Config) (*running, error) {
	r := &running{at: cmp.Or(server, string(cfg.Listen.HTTP)), file: a.file(), token: os.Getenv(tokenVariable)}
	if ts := cfg.Auth.Tokens; r.token == "" && len(ts) > 0 {
		r.token = ts[0].Token.Reveal()
	}
	if server == "" {
		if _, port, err := net.SplitHostPort(r.at); err != nil || port == "0" {
			return nil, fmt.Errorf("listen.http is %q: that does not tell where the service is", r.at)
		}
	}
	r.base = r.at
	if !strings.Contains(r.base, "://") {
		r.base = "http://" + r.base
	}
	u, err := url.Parse(r.base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, usageError(fmt.Errorf("%q is no address of a service", server), "http://127.0.0.1:7295")
	}
	r.base = strings.TrimSuffix(r.base, "/")
	return r, nil
}

// get asks for a document and decodes it.
func (r *running) get(ctx context.Context, path string, query url.Values, into any) error {
	body, _, err := r.fetch(ctx, path, query)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s does not answer as pawl does: %w", r.at, err)
	}
	return nil
}

// fetch asks for a document. The error says who did not answer, or what the answer was: errOtherToken, absent, or the service's own words.
func (r *running) fetch(ctx context.Context, path string, query url.Values) ([]byte, http.Header, error) {
	return r.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil)
}

// call is fetch with any method and a JSON body.
func (r *running) call(ctx context.Context, method, path string, content []byte) ([]byte, http.Header, error) {
	return r.callFor(ctx, time.Minute, method, path, content)
}

// callFor is call of something that may take long.
func (r *running) callFor(ctx context.Context, long time.Duration, method, path string, content []byte) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(content))
	if err != nil {
		return nil, nil, fmt.Errorf("address %q: %w", r.at, err)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if method != http.MethodGet {
		req.Header.Set(triage.PersonHeader, person())
	}
	resp, err := asking.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("no pawl answers at %s: %w", r.at, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("the answer of %s broke off: %w", r.at, err)
	case resp.StatusCode == http.StatusUnauthorized:
		return nil, nil, fmt.Errorf("%s %w than the first of auth.tokens in %s: run this with the pawl.yaml of the service, or set %s", r.at, errOtherToken, r.file, tokenVariable)
	case resp.StatusCode == http.StatusOK:
		return body, resp.Header, nil
	}
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(bytes.TrimSpace(body), &said) != nil || said.Error == "" {
		return nil, nil, fmt.Errorf("%s answered %s: is it pawl?", r.at, resp.Status)
	}
	err = fmt.Errorf("%s answered: %s", r.at, shown(said.Error))
	if resp.StatusCode == http.StatusNotFound {
		err = absent{err}
	}
	return nil, nil, err
}

// personVariable names who decides, where the service asks for no token; else it is the user of this machine.
const personVariable = "PAWL_PERSON"

func person() string {
	if name := os.Getenv(personVariable); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// asking follows no redirects: a token goes to the address that was named and nowhere else.
var asking = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
