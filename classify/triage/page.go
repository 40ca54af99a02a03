package triage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify/propose"
	"github.com/pawl-dev/pawl/ratchet"
)

// The pages are made here, on the server, and work without the one script, which adds keys and swaps what changed. All words of traces pass through
// html/template, and the policy below lets a page load nothing but its own two files: no word of a trace can become a program.

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

var pages = template.Must(template.New("").Funcs(pageFuncs).ParseFS(templateFiles, "templates/*.html"))

var pageFuncs = template.FuncMap{
	"asset": func(name string) string { return assetPaths[name] },
	"when":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"ago":   func(t time.Time) string { return ago(time.Now(), t) },
	"short": func(id any) string { return shortID(textual(id)) },
	"num":   func(n any) string { return grouped(whole(n)) },
	"lines": func(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") },
	"words": func(s any) string { return strings.ReplaceAll(fmt.Sprint(s), "_", " ") },
	"title": func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
	"base":  path.Base,
	"took":  took,
	"inc":   func(n int) int { return n + 1 },

	"sentence": sentence,
	"listed": func(name string, l propose.Listed) any {
		return struct {
			Name   string
			Listed propose.Listed
		}{name, l}
	},
	"decided":  decisionWords,
	"verdicts": verdicts,
	"choices": func() []string {
		return []string{ratchet.ChoiceLabel, ratchet.ChoiceDismiss, ratchet.ChoiceApprove, ratchet.ChoiceDeny, ratchet.ChoiceSnooze}
	},
	"form":      func(f decideFields, choice string) decideFields { f.Choice = choice; return f },
	"inboxForm": func(d dialogs) decideFields { return decideFields{Dialogs: d, Next: d.Next} },
	"groupForm": func(d groupData) decideFields {
		return decideFields{Dialogs: d.Dialogs, Next: d.Dialogs.Next, Digest: d.Digest, Action: "/groups/" + d.ID + "/decide"}
	},
}

// assetPaths are where the assets lie, each under the digest of its bytes, so that a browser may keep them.
var assetPaths = func() map[string]string {
	out := map[string]string{}
	_ = fs.WalkDir(assetFiles, "assets", func(p string, d fs.DirEntry, err error) error { // an embedded file system does not fail
		if err == nil && !d.IsDir() {
			b, _ := assetFiles.ReadFile(p)
			sum := sha256.Sum256(b)
			out[path.Base(p)] = "/" + p + "?v=" + hex.EncodeToString(sum[:6])
		}
		return err
	})
	return out
}()

// contentPolicy lets a page use its own style and script, and send forms to pawl; nothing else, from nowhere else.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded has every answer, a refusal and JSON too, go out under the policy and into no cache: it may be for one person alone.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", contentPolicy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "same-origin")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// pageRoutes adds the pages and what their forms send.
func (h *handler) pageRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /login", h.loginPage)
	mux.HandleFunc("POST /login", h.login)
	mux.HandleFunc("POST /logout", h.logout)
	mux.HandleFunc("GET /name", h.namePage)
	mux.HandleFunc("POST /name", h.setName)
	mux.HandleFunc("POST /theme", h.setTheme)
	mux.HandleFunc("GET /assets/{name}", asset)
	mux.HandleFunc("GET /{$}", h.inboxPage)
	mux.HandleFunc("GET /groups/{id}", h.groupPage)
	mux.HandleFunc("POST /groups/{id}/decide", h.decideForm)
	mux.HandleFunc("GET /groups/{id}/decide", func(w http.ResponseWriter, r *http.Request) { // a refusal's page that is loaded again
		http.Redirect(w, r, "/groups/"+url.PathEscape(r.PathValue("id")), http.StatusSeeOther)
	})
	mux.HandleFunc("GET /groups/{id}/case", h.casePage)
	mux.HandleFunc("POST /groups/{id}/case", h.editForm)
	mux.HandleFunc("GET /groups/{id}/propose", h.proposePage)
	mux.HandleFunc("POST /groups/{id}/propose", h.proposeForm)
	mux.HandleFunc("POST /groups/{id}/propose/{n}/offer", h.offerForm)
	mux.HandleFunc("GET /traces", h.tracesPage)
	mux.HandleFunc("GET /traces/{id}", h.tracePage)
	mux.HandleFunc("GET /traces/{id}/raw", h.rawPage)
	mux.HandleFunc("GET /pulls", h.pullsPage)
	mux.HandleFunc("GET /batches/{id}", h.batchPage)
	mux.HandleFunc("GET /rules", h.rulesPage)
	mux.HandleFunc("GET /services", h.servicesPage)
	mux.HandleFunc("GET /audit", h.auditPage)
	mux.HandleFunc("GET /set", h.setPage)
	mux.HandleFunc("GET /ingest", h.ingestPage)
}

// asset answers GET /assets/{name}.
func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	body, err := assetFiles.ReadFile("assets/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	if _, version, _ := strings.Cut(assetPaths[name], "?v="); r.URL.Query().Get("v") == version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Write(body) // a client that is gone needs no answer
}

// view is what every page shows beside its own data.
type view struct {
	Title   string
	Nav     string // the path of the page's entry in Pages
	Pages   []navPage
	Caller  Token
	In      bool // somebody is let in: not the login page
	Proven  bool // more than the caller's word says who it is
	Session bool // which a cookie of ours says, and logging out ends
	Theme   string
	Here    string // path and query of the page
	Said    *saidOnce
	Data    any
}

type navPage struct{ Path, Name string }

var navPages = []navPage{{"/", "Inbox"}, {"/traces", "Traces"}, {"/pulls", "Pull requests"}, {"/rules", "Rules"}, {"/set", "Set"}, {"/ingest", "Ingest"}}

// navOf is the entry of navPages that a path belongs to.
func navOf(p string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	switch first {
	case "", "groups":
		return "/"
	case "batches":
		return "/pulls"
	case "services":
		return "/rules"
	}
	return "/" + first
}

func (h *handler) page(w http.ResponseWriter, r *http.Request, name, title string, data any) {
	h.pageCode(w, r, http.StatusOK, name, title, data)
}

// pageCode answers with a page. It is made whole before it is sent: what cannot be made is an error, not half a page.
func (h *handler) pageCode(w http.ResponseWriter, r *http.Request, code int, name, title string, data any) {
	v := view{Title: title, Nav: navOf(r.URL.Path), Pages: navPages, Caller: callerOf(r.Context()), Proven: h.proven(), Here: hereOf(r), Data: data}
	_, v.Session = h.session(r)
	v.In = !h.proven() || v.Caller.Name != ""
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "dark" || c.Value == "light") {
		v.Theme = c.Value
	}
	v.Said = h.takeSaid(w, r)
	if e, ok := data.(saying); ok && e.saying() != nil {
		v.Said = e.saying()
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, v); err != nil {
		h.lg.Error("page", "name", name, "err", err)
		h.fail(w, http.StatusInternalServerError, "the page could not be made")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	w.Write(b.Bytes()) // a reader who left needs no answer
}

// saying is a page's data that has something to say above it.
type saying interface{ saying() *saidOnce }

// hereOf is the page that a form leads back to: that of a refused form, else the one that is asked for.
func hereOf(r *http.Request) string {
	if r.Method == http.MethodPost {
		return nextOf(r)
	}
	return r.URL.RequestURI()
}

// problem answers with a page that says what is wrong.
func (h *handler) problem(w http.ResponseWriter, r *http.Request, code int, reason string) {
	h.pageCode(w, r, code, "problem.html", http.StatusText(code), reason)
}

const saidCookie = "pawl_said"

// saidOnce is what the page after a form says of it.
type saidOnce struct {
	Text  string
	Undo  string // id of the group whose last decision may be undone; "" for none
	Error bool
}

// say leaves a word for the next page.
func (h *handler) sayNext(w http.ResponseWriter, r *http.Request, s saidOnce) {
	h.setCookie(w, r, saidCookie, url.Values{"text": {s.Text}, "undo": {s.Undo}}.Encode(), 30*time.Second)
}

func (h *handler) takeSaid(w http.ResponseWriter, r *http.Request) *saidOnce {
	c, err := r.Cookie(saidCookie)
	if err != nil {
		return nil
	}
	h.setCookie(w, r, saidCookie, "", 0)
	v, err := url.ParseQuery(c.Value)
	if err != nil || v.Get("text") == "" {
		return nil
	}
	return &saidOnce{Text: v.Get("text"), Undo: v.Get("undo")}
}

// ago is how long something is past, in words.
func ago(now, t time.Time) string {
	d := now.Sub(t)
	future := d < 0
	if future {
		d = -d
	}
	words := ""
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		words = fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		words = fmt.Sprintf("%d h", int(d.Hours()))
	case d < 90*24*time.Hour:
		words = fmt.Sprintf("%d days", int(d.Hours()/24))
	default:
		return t.UTC().Format("2 Jan 2006")
	}
	if future {
		return "in " + words
	}
	return words + " ago"
}

// textual is a text, or what a pointer to one points to.
func textual(s any) string {
	if p, ok := s.(*string); ok && p != nil {
		return *p
	}
	return fmt.Sprint(s)
}

func whole(n any) int {
	switch n := n.(type) {
	case int:
		return n
	case int64:
		return int(n)
	}
	return 0
}

// grouped writes a number with its thousands apart.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
