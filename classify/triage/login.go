package triage

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	sessionCookie = "pawl_session"
	nameCookie    = "pawl_name"
	themeCookie   = "pawl_theme"
	sessionLife   = 12 * time.Hour
	nameLife      = 365 * 24 * time.Hour

	loginBurst = 5                // tries at once from an address
	loginPause = 12 * time.Second // after them, one each
	loginsEach = 2 * time.Second  // of all addresses together, after loginsAll at once
	loginsAll  = 60
	maxTriers  = 4096 // addresses that are remembered
)

// logins are the sessions that people ended, and how often addresses tried to begin one. A session itself is a signed cookie: it stands for the token that it
// was begun with, ends with it, and outlives a restart.
type logins struct {
	mu    sync.Mutex
	ended map[string]time.Time // by id, until when it would have lasted
	tries map[string]*rate.Limiter
	all   *rate.Limiter
}

func newLogins() *logins {
	return &logins{ended: map[string]time.Time{}, tries: map[string]*rate.Limiter{}, all: rate.NewLimiter(rate.Every(loginsEach), loginsAll)}
}

// allow says whether an address may try now, else how long it has to wait.
func (l *logins) allow(address string, now time.Time) (bool, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.tries[address]
	if one == nil {
		if len(l.tries) >= maxTriers { // those who have all their tries back are as good as new
			maps.DeleteFunc(l.tries, func(_ string, r *rate.Limiter) bool { return r.TokensAt(now) >= loginBurst })
		}
		one = rate.NewLimiter(rate.Every(loginPause), loginBurst)
		if len(l.tries) < maxTriers {
			l.tries[address] = one
		}
	}
	if !one.AllowN(now, 1) {
		return false, time.Duration((1 - one.TokensAt(now)) * float64(loginPause))
	}
	if !l.all.AllowN(now, 1) {
		return false, loginsEach
	}
	return true, 0
}

func (l *logins) end(id string, until, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.ended, func(_ string, t time.Time) bool { return t.Before(now) })
	l.ended[id] = until
}

func (l *logins) over(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.ended[id]
	return ok
}

// seal signs what a session's cookie says with the token that it was begun with.
func (t *holder) seal(claim string) string {
	key := sha256.Sum256([]byte("pawl session v1\x00" + t.Token.Token))
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte(claim))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// newSession is a session's cookie value: id, end, whose it is, and the seal over all.
func (t *holder) newSession(now time.Time) string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	claim := hex.EncodeToString(id[:]) + "." + strconv.FormatInt(now.Add(sessionLife).Unix(), 10) + "." + base64.RawURLEncoding.EncodeToString([]byte(t.Name))
	return claim + "." + t.seal(claim)
}

// session is whose session a request's cookie is of.
func (h *handler) session(r *http.Request) (Token, bool) {
	t, _, _, ok := h.openSession(r, time.Now())
	return t, ok
}

func (h *handler) openSession(r *http.Request, now time.Time) (whose Token, id string, until time.Time, ok bool) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return Token{}, "", time.Time{}, false
	}
	parts := strings.Split(c.Value, ".")
	if len(parts) != 4 {
		return Token{}, "", time.Time{}, false
	}
	claim := strings.Join(parts[:3], ".")
	name, err := base64.RawURLEncoding.DecodeString(parts[2])
	end, err2 := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || err2 != nil || now.After(time.Unix(end, 0)) || h.logins.over(parts[0]) {
		return Token{}, "", time.Time{}, false
	}
	for i := range h.tokens {
		if t := &h.tokens[i]; t.Name == string(name) && hmac.Equal([]byte(t.seal(claim)), []byte(parts[3])) {
			return t.Token, parts[0], time.Unix(end, 0), true
		}
	}
	return Token{}, "", time.Time{}, false
}

func (h *handler) setCookie(w http.ResponseWriter, r *http.Request, name, value string, life time.Duration) {
	age := int(life.Seconds())
	if life <= 0 {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: h.secure(r), SameSite: http.SameSiteStrictMode})
}

// loginPage answers GET /login.
func (h *handler) loginPage(w http.ResponseWriter, r *http.Request) {
	if len(h.tokens) == 0 || callerOf(r.Context()).Name != "" {
		http.Redirect(w, r, nextOf(r), http.StatusSeeOther)
		return
	}
	h.page(w, r, "login.html", "Log in", loginData{Next: nextOf(r)})
}

type loginData struct{ Next, Problem string }

// login answers POST /login with the form's token: a session begins.
func (h *handler) login(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	if ok, wait := h.logins.allow(h.address(r), now); !ok {
		seconds := max(1, int(math.Ceil(wait.Seconds())))
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		h.pageCode(w, r, http.StatusTooManyRequests, "login.html", "Log in", loginData{nextOf(r), fmt.Sprintf("Too many tries. Wait %d seconds, then try again.", seconds)})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	t, ok := h.holder(r.PostFormValue("token"))
	if !ok {
		h.lg.Warn("a login failed", "from", h.address(r))
		h.pageCode(w, r, http.StatusUnauthorized, "login.html", "Log in", loginData{nextOf(r), "That is none of the tokens of auth.tokens in pawl.yaml."})
		return
	}
	h.lg.Info("a login", "who", t.Name, "from", h.address(r))
	h.setCookie(w, r, sessionCookie, t.newSession(now), sessionLife)
	http.Redirect(w, r, nextOf(r), http.StatusSeeOther)
}

// logout answers POST /logout: the session is over, wherever its cookie lies.
func (h *handler) logout(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	if _, id, until, ok := h.openSession(r, now); ok {
		h.logins.end(id, until, now)
	}
	h.setCookie(w, r, sessionCookie, "", 0)
	h.setCookie(w, r, nameCookie, "", 0)
	if len(h.tokens) > 0 {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// whoData is what the page that asks for a name shows.
type whoData struct{ Next, Name, Problem string }

// namePage answers GET /name, which asks a person on loopback for a name.
func (h *handler) namePage(w http.ResponseWriter, r *http.Request) {
	if h.proven() {
		http.Redirect(w, r, nextOf(r), http.StatusSeeOther)
		return
	}
	h.page(w, r, "name.html", "Who are you?", whoData{Next: nextOf(r), Name: callerOf(r.Context()).Name})
}

// setName answers POST /name with the form's name.
func (h *handler) setName(w http.ResponseWriter, r *http.Request) {
	if h.proven() {
		h.problem(w, r, http.StatusConflict, "Your name comes from your token, or from the proxy: it is not given here.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	name := strings.TrimSpace(r.PostFormValue("name"))
	if !sayable(name) {
		h.pageCode(w, r, http.StatusBadRequest, "name.html", "Who are you?", whoData{nextOf(r), name, "That names nobody: give the name that colleagues know you by, at most 64 characters."})
		return
	}
	h.setCookie(w, r, nameCookie, url.QueryEscape(name), nameLife)
	http.Redirect(w, r, nextOf(r), http.StatusSeeOther)
}

// proven says whether who asks is settled by more than the person's word.
func (h *handler) proven() bool { return len(h.tokens) > 0 || h.proxy != nil }

// setTheme answers POST /theme with the form's theme: dark, light, or auto.
func (h *handler) setTheme(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	life := nameLife
	theme := r.PostFormValue("theme")
	if theme != "dark" && theme != "light" {
		theme, life = "", 0
	}
	h.setCookie(w, r, themeCookie, theme, life)
	http.Redirect(w, r, nextOf(r), http.StatusSeeOther)
}

// nextOf is where a form leads to: a path of ours, never another place.
func nextOf(r *http.Request) string {
	next := r.FormValue("next")
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") || strings.HasPrefix(u.Path, "/login") {
		return "/"
	}
	return next
}
