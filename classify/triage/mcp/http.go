package mcp

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPOptions of Handler.
type HTTPOptions struct {
	Token   string   // that a client must show, as Authorization: Bearer TOKEN; "" asks for none, and then only loopback may reach the handler
	Origins []string // of pages that may ask, beside the handler's own, as https://HOST[:PORT]
}

// Handler serves clients over streamable HTTP, at any path. It keeps no sessions: each request stands alone.
func Handler(s *sdk.Server, o HTTPOptions) http.Handler {
	h := &front{options: o, sum: sha256.Sum256([]byte(o.Token))}
	h.next = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxMessage, PropagateRequestCancellation: true})
	return h
}

// front is what a request passes before it reaches the protocol.
type front struct {
	options HTTPOptions
	sum     [sha256.Size]byte
	next    http.Handler
}

const versionHeader = "Mcp-Protocol-Version"

func (h *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if why := h.strange(r); why != "" {
		http.Error(w, why, http.StatusForbidden)
		return
	}
	if !h.known(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "send Authorization: Bearer TOKEN, with the token that pawl mcp serve was started with", http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST a message of MCP: there are no sessions and no streams here", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, &fault{Code: codeRequest, Message: fmt.Sprintf("a message has at most %d bytes", maxMessage)})
		return
	}
	m, err := screen(body)
	version := r.Header.Get(versionHeader)
	f, bad := errors.AsType[*fault](err)
	switch {
	case m.version != "" && m.version != version:
		refuse(w, http.StatusBadRequest, &fault{ID: idOf(body), Code: sdk.CodeHeaderMismatch, Message: "the header MCP-Protocol-Version does not name the version that the message names"})
		return
	case bad && f.Code == codeNoMethod && version != Versions[0]:
		refuse(w, http.StatusOK, f) // as it was before 2026
		return
	case bad && f.Code == codeNoMethod:
		refuse(w, http.StatusNotFound, f)
		return
	case bad:
		refuse(w, http.StatusBadRequest, f)
		return
	case !slices.Contains(Versions, version) && (m.method != "initialize" || version != ""):
		refuse(w, http.StatusBadRequest, unspoken(idOf(body), version))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.next.ServeHTTP(w, r)
}

func refuse(w http.ResponseWriter, code int, f *fault) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(append(f.encode(), '\n')) // a client that is gone needs no answer
}

// strange says why a request comes from a page that may not ask, "" when it does not: pages elsewhere must not reach a server on the machine of whoever looks at them.
func (h *front) strange(r *http.Request) string {
	if h.options.Token == "" && !atHome(r.Host) {
		return "this server asks for no token, so it answers as localhost alone"
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return ""
	}
	u, err := url.Parse(origins[0])
	if err == nil && len(origins) == 1 && (slices.Contains(h.options.Origins, origins[0]) || u.Scheme != "" && strings.EqualFold(u.Host, r.Host)) {
		return ""
	}
	return "pages of this origin may not ask here"
}

// known says whether the client showed the token, where one is asked for.
func (h *front) known(r *http.Request) bool {
	if h.options.Token == "" {
		return true
	}
	shown, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(shown))
	return ok && subtle.ConstantTimeCompare(sum[:], h.sum[:]) == 1
}

// atHome says whether a Host header names this machine.
func atHome(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return strings.EqualFold(name, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
