package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// API asks a running pawl serve, by GET alone.
type API struct {
	base   *url.URL
	token  string
	client *http.Client
}

// APIOptions of Open.
type APIOptions struct {
	Token     string            // of role viewer; "" for none
	Transport http.RoundTripper // nil: http.DefaultTransport
}

// APIVersion is the version of the API that is spoken, the first number of what its description says.
const APIVersion = "1"

const (
	maxDocument = 64 << 20 // bytes of one answer of the service
	patience    = time.Minute
)

// Open returns the API at an address, http://HOST:PORT, after a look whether it is pawl's, of this version. The error is a sentence for a person.
func Open(ctx context.Context, base string, o APIOptions) (*API, error) {
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is no address of a pawl serve, such as http://127.0.0.1:7295", base)
	}
	under := o.Transport
	if under == nil {
		under = http.DefaultTransport
	}
	a := &API{base: u, token: o.Token, client: &http.Client{Transport: readOnly{u.Scheme, u.Host, under}, CheckRedirect: noRedirect}}
	return a, a.check(ctx)
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// readOnly lets GET requests of one host through, without a body, and nothing else.
type readOnly struct {
	scheme, host string
	under        http.RoundTripper
}

var errNotRead = errors.New("the MCP server reads: it sends nothing but GET to the one address that it was given")

func (t readOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || r.Body != nil && r.Body != http.NoBody || r.URL.Host != t.host || r.URL.Scheme != t.scheme {
		return nil, errNotRead
	}
	return t.under.RoundTrip(r)
}

// check looks whether the address is that of a pawl with this version of the API.
func (a *API) check(ctx context.Context) error {
	var doc struct {
		OpenAPI string `json:"openapi"`
		Info    struct {
			Title   string `json:"title"`
			Version string `json:"version"`
		} `json:"info"`
	}
	_, err := a.get(ctx, "/v1/openapi.json", nil, &doc)
	if none, ok := errors.AsType[*absent](err); ok {
		return fmt.Errorf("%s has no API of version %s (%w): it is another program, or another version of pawl", a.base, APIVersion, none)
	}
	if err != nil {
		return err
	}
	if word, _, _ := strings.Cut(doc.Info.Title, " "); !strings.EqualFold(word, "pawl") || doc.OpenAPI == "" {
		return fmt.Errorf("%s describes itself as %q, not as pawl: name the address of a pawl serve", a.base, cutRunes(clean(doc.Info.Title), 80))
	}
	if major, _, _ := strings.Cut(strings.TrimPrefix(doc.Info.Version, "v"), "."); major != APIVersion {
		return fmt.Errorf("%s speaks version %q of pawl's API, and this pawl speaks version %s: use the pawl that the service runs", a.base, cutRunes(clean(doc.Info.Version), 20), APIVersion)
	}
	return a.reads(ctx)
}

// reads refuses a token that may do more than read: it would lie about in the settings of a coding agent.
func (a *API) reads(ctx context.Context) error {
	if a.token == "" {
		return nil
	}
	var who struct {
		Name string `json:"name"`
		Role string `json:"role"`
	}
	if _, err := a.get(ctx, "/v1/me", nil, &who); err != nil {
		return err
	}
	if who.Role != "viewer" {
		return fmt.Errorf("the token of %s may do more than read at %s, its role is %q: give one of role viewer", cutRunes(clean(who.Name), 80), a.base, cutRunes(clean(who.Role), 20))
	}
	return nil
}

// absent says that the service has no such thing.
type absent struct{ said string }

func (e *absent) Error() string { return e.said }

// get asks for a document and decodes it; next is the cursor of the next page, "" at the end. An *absent says that there is none.
func (a *API) get(ctx context.Context, path string, query url.Values, into any) (next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base.String()+path, nil)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", a.base, err)
	}
	req.URL.RawQuery = query.Encode()
	req.Header.Set("Accept", "application/json")
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("no pawl answers at %s: %w", a.base, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("the answer of %s broke off: %w", a.base, err)
	case len(body) > maxDocument:
		return "", fmt.Errorf("the answer of %s is larger than %d bytes: ask for less", a.base, maxDocument)
	case resp.StatusCode != http.StatusOK:
		return "", a.refusal(resp, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return "", fmt.Errorf("%s does not answer %s as pawl does: is it pawl?", a.base, path)
	}
	return nextCursor(resp.Header), nil
}

// refusal is what an answer that is none says.
func (a *API) refusal(resp *http.Response, body []byte) error {
	var said struct {
		Error string `json:"error"`
	}
	own := json.Unmarshal(bytes.TrimSpace(body), &said) == nil && said.Error != ""
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s asks for another token: give it one of role viewer of its auth.tokens", a.base)
	case !own && resp.StatusCode == http.StatusNotFound:
		return &absent{fmt.Sprintf("it answered %s", resp.Status)}
	case !own:
		return fmt.Errorf("%s answered %s: is it pawl?", a.base, resp.Status)
	case resp.StatusCode == http.StatusNotFound:
		return &absent{"it answered: " + cutRunes(clean(said.Error), 300)}
	}
	return fmt.Errorf("%s answered: %s", a.base, cutRunes(clean(said.Error), 300))
}

// nextCursor is the cursor in the link to the next page, "" where there is none.
func nextCursor(h http.Header) string {
	for _, v := range h.Values("Link") {
		for link := range strings.SplitSeq(v, ",") {
			target, params, ok := strings.Cut(link, ">")
			if !ok || !strings.Contains(params, `rel="next"`) && !strings.Contains(params, "rel=next") {
				continue
			}
			u, err := url.Parse(strings.TrimPrefix(strings.TrimSpace(target), "<"))
			if err == nil {
				return u.Query().Get("cursor")
			}
		}
	}
	return ""
}
