package triage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Who asks is settled once per request, in guard, and stands in its context as a Token: the holder of a bearer token or of a session that was begun with one,
// the person that a trusted proxy names, or, on loopback where nothing is asked for, the name that a person gave. There it may be empty: such a caller reads,
// and is asked for a name before a decision.

// Role says what a caller may do.
type Role string

// The roles, from least to most.
const (
	RoleViewer  Role = "viewer"  // reads
	RoleTriager Role = "triager" // decides, too
	RoleAdmin   Role = "admin"   // erases, too
)

// Role is the token's.
func (t Token) Role() Role {
	switch {
	case t.Admin:
		return RoleAdmin
	case t.Decides:
		return RoleTriager
	}
	return RoleViewer
}

func named(name string, r Role) Token {
	return Token{Name: name, Decides: r == RoleTriager || r == RoleAdmin, Admin: r == RoleAdmin}
}

// Proxy is a reverse proxy that has settled who asks, and says so in a header.
type Proxy struct {
	Header string          // that names the person, such as X-Forwarded-User
	From   []netip.Prefix  // where the proxy stands: from elsewhere no header of it counts
	Roles  map[string]Role // by the person's name; "*" for everybody else, who without it is refused
}

// callerKey is the key of the caller's Token in a request's context.
type callerKey struct{}

// callerOf is who asks.
func callerOf(ctx context.Context) Token {
	t, _ := ctx.Value(callerKey{}).(Token)
	return t
}

// denial is why a request is not let in.
type denial struct {
	code   int
	reason string
}

func (d *denial) Error() string { return d.reason }

// guard lets in whom it knows. Without tokens and without a proxy the address is loopback, and everybody there is let in, under a name of that machine alone:
// a page elsewhere that made its own name point here gets nothing.
func (h *handler) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := h.caller(r)
		no, refused := errors.AsType[*denial](err)
		switch {
		case err == nil || refused && no.code == http.StatusUnauthorized && outside(r):
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
		case !refused:
			h.answer(w, nil, err)
		case no.code == http.StatusUnauthorized && wantsPage(r) && len(h.tokens) > 0:
			http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		default:
			if no.code == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			h.refuse(w, r, no)
		}
	})
}

// outside says whether the path is for people who are not let in yet.
func outside(r *http.Request) bool {
	return r.URL.Path == "/login" || strings.HasPrefix(r.URL.Path, "/assets/")
}

// wantsPage says whether a browser asks for a page.
func wantsPage(r *http.Request) bool {
	return !strings.HasPrefix(r.URL.Path, "/v1/") && (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// caller is who asks, or a *denial.
func (h *handler) caller(r *http.Request) (Token, error) {
	if scheme, shown, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") && len(h.tokens) > 0 {
		return h.bearer(shown)
	}
	if h.proxy != nil && h.fromProxy(r) {
		return h.forwarded(r)
	}
	if len(h.tokens) > 0 {
		if t, ok := h.session(r); ok {
			return t, nil
		}
		return Token{}, &denial{http.StatusUnauthorized, "this address asks for a token of auth.tokens in pawl.yaml: send Authorization: Bearer TOKEN, or log in at /login"}
	}
	if h.proxy != nil {
		return Token{}, &denial{http.StatusForbidden, "this address is open to the proxy of auth.proxy in pawl.yaml alone, and you do not come from there"}
	}
	if !atHome(r.Host) {
		return Token{}, &denial{http.StatusForbidden, fmt.Sprintf("pawl asks for no token here, so it answers as localhost alone, not as %q: set auth.tokens or auth.proxy in pawl.yaml to serve it under another name", r.Host)}
	}
	return named(h.givenName(r), RoleAdmin), nil
}

func (h *handler) bearer(shown string) (Token, error) {
	t, ok := h.holder(shown)
	if !ok {
		return Token{}, &denial{http.StatusUnauthorized, "this address asks for a token of auth.tokens in pawl.yaml: send Authorization: Bearer TOKEN"}
	}
	return t.Token, nil
}

// holder is whose token it is, compared in constant time.
func (h *handler) holder(shown string) (found holder, ok bool) {
	sum := sha256.Sum256([]byte(shown))
	for _, t := range h.tokens {
		if subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1 {
			found, ok = t, true
		}
	}
	return found, ok
}

// fromProxy says whether the connection comes from where the proxy stands.
func (h *handler) fromProxy(r *http.Request) bool {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && h.proxy != nil && slices.ContainsFunc(h.proxy.From, func(p netip.Prefix) bool { return p.Contains(at.Addr().Unmap()) })
}

// forwarded is the person that the proxy names.
func (h *handler) forwarded(r *http.Request) (Token, error) {
	said := r.Header.Values(h.proxy.Header)
	if len(said) != 1 || !sayable(said[0]) {
		return Token{}, &denial{http.StatusForbidden, fmt.Sprintf("the proxy says in %d headers %s who asks, or in one that names nobody: let it set exactly one, and drop those of its callers", len(said), h.proxy.Header)}
	}
	role, ok := h.proxy.Roles[said[0]]
	if !ok {
		role, ok = h.proxy.Roles["*"]
	}
	if !ok {
		return Token{}, &denial{http.StatusForbidden, fmt.Sprintf("%s has no role: auth.proxy.roles in pawl.yaml gives one", said[0])}
	}
	return named(said[0], role), nil
}

// secure says whether the person's way to pawl is encrypted, as far as pawl can know: only the proxy's word counts beside its own.
func (h *handler) secure(r *http.Request) bool {
	return r.TLS != nil || h.fromProxy(r) && r.Header.Get("X-Forwarded-Proto") == "https"
}

// address is where a request comes from: what the proxy appended, else the connection's other end.
func (h *handler) address(r *http.Request) string {
	if hops := r.Header.Values("X-Forwarded-For"); h.fromProxy(r) && len(hops) > 0 {
		last := hops[len(hops)-1]
		if ip, err := netip.ParseAddr(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])); err == nil {
			return ip.Unmap().String()
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
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

const maxPerson = 64 // characters of a name

// nobody are the names that name nobody.
var nobody = []string{"unknown", "anonymous", "nobody", "somebody", "none", "null", "undefined", "user", "-"}

// sayable says whether a name names somebody, and may stand in a log.
func sayable(name string) bool {
	return name != "" && name == strings.TrimSpace(name) && utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxPerson && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) &&
		!slices.Contains(nobody, strings.ToLower(name))
}

// PersonHeader names who asks where pawl asks for no token, on loopback. Elsewhere it counts nothing.
const PersonHeader = "X-Pawl-Person"

// givenName is the name that a person gave, "" for none: it is not proven, and only taken on loopback.
func (h *handler) givenName(r *http.Request) string {
	name := r.Header.Get(PersonHeader)
	if c, err := r.Cookie(nameCookie); err == nil {
		if text, err := url.QueryUnescape(c.Value); err == nil {
			name = cmp.Or(name, text)
		}
	}
	if !sayable(name) {
		return ""
	}
	return name
}

// refuse answers who is not let in, as a page where a browser asks for one.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, no *denial) {
	if wantsPage(r) {
		h.problem(w, r, no.code, no.reason)
		return
	}
	h.fail(w, no.code, no.reason)
}
