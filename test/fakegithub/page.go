package fakegithub

import (
	"html/template"
	"net/http"
	"strconv"
	"strings"
)

var pages = template.Must(template.New("pull").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Pull.Title}} · #{{.Pull.Number}}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1f2328}
pre{background:#f6f8fa;padding:1rem;overflow:auto;white-space:pre-wrap}.state{padding:.2rem .7rem;border-radius:1rem;color:#fff}
.open{background:#1a7f37}.closed{background:#cf222e}.merged{background:#8250df}.label{border:1px solid #6f5ca8;border-radius:1rem;padding:0 .6rem;margin-right:.3rem}
ins{text-decoration:none;background:#dafbe1;display:block}del{text-decoration:none;background:#ffebe9;display:block}</style></head><body>
<p><a href="/{{.Repo}}/pulls">{{.Repo}}</a> · a local stand-in for GitHub</p>
<h1>{{.Pull.Title}} <small>#{{.Pull.Number}}</small></h1>
<p><span class="state {{.State}}">{{.State}}</span> {{.Pull.Author}} wants to merge <code>{{.Pull.Head}}</code> into <code>{{.Pull.Base}}</code>
{{range .Pull.Labels}}<span class="label">{{.}}</span>{{end}}</p>
{{if eq .State "open"}}<form method="post"><button formaction="/{{.Repo}}/pull/{{.Pull.Number}}/merge">Merge</button>
<button formaction="/{{.Repo}}/pull/{{.Pull.Number}}/close">Close without a merge</button></form>{{end}}
<h2>Description</h2><pre>{{.Pull.Body}}</pre>
<h2>Files</h2><pre>{{range .Diff}}{{if .Add}}<ins>{{.Text}}</ins>{{else if .Del}}<del>{{.Text}}</del>{{else}}{{.Text}}
{{end}}{{end}}</pre></body></html>
{{define "list"}}<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{{.Repo}}</title></head><body style="font:15px/1.5 system-ui,sans-serif;margin:2rem">
<h1>{{.Repo}}</h1><ul>{{range .Pulls}}<li><a href="/{{$.Repo}}/pull/{{.Number}}">#{{.Number}} {{.Title}}</a> ({{if .Merged}}merged{{else}}{{.State}}{{end}})</li>{{else}}<li>no pull requests</li>{{end}}</ul></body></html>{{end}}`))

type diffLine struct {
	Text     string
	Add, Del bool
}

// servePage shows a pull request to a person with a browser. Everything in it is escaped text.
func (f *Fake) servePage(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	repo := f.find(r.PathValue("owner"), r.PathValue("repo"))
	var pull *Pull
	var diff string
	if repo != nil {
		if found := repo.pull(r.PathValue("n")); found != nil {
			shown := *found
			pull = &shown
			if root := repo.git.mergeBase(pull.BaseSHA, pull.HeadSHA); root != "" {
				diff = repo.git.patch(root, pull.HeadSHA)
			}
		}
	}
	f.mu.Unlock()
	if pull == nil {
		http.NotFound(w, r)
		return
	}
	state := pull.State
	if pull.Merged {
		state = "merged"
	}
	var lines []diffLine
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		head := strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "---")
		lines = append(lines, diffLine{line, !head && strings.HasPrefix(line, "+"), !head && strings.HasPrefix(line, "-")})
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
	if err := pages.Execute(w, map[string]any{"Repo": repo.full(), "Pull": pull, "State": state, "Diff": lines}); err != nil {
		f.lg.Warn("fakegithub page", "error", err)
	}
}

// serveDeed merges or closes a pull request for whoever presses the button, and shows it again. A deed that cannot be is told.
func (f *Fake) serveDeed(deed func(h Human, repo string, n int) error) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		repo, n := r.PathValue("owner")+"/"+r.PathValue("repo"), r.PathValue("n")
		number, err := strconv.Atoi(n)
		if err == nil {
			err = deed(f.Human("person"), repo, number)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		http.Redirect(w, r, "/"+repo+"/pull/"+n, http.StatusSeeOther)
	}))
}

func (f *Fake) serveList(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	repo := f.find(r.PathValue("owner"), r.PathValue("repo"))
	f.mu.Unlock()
	if repo == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := pages.ExecuteTemplate(w, "list", map[string]any{"Repo": repo.full(), "Pulls": f.Pulls(repo.Owner, repo.Name)}); err != nil {
		f.lg.Warn("fakegithub page", "error", err)
	}
}
