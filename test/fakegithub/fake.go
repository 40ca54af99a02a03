// Package fakegithub is a GitHub that lives in this process: true git repositories behind the REST calls that pawl makes.
//
// Purpose: tests and the demo open real pull requests against it. Objects, refs, fast-forward checks and diffs are git's own (the git
// program does the work); pull requests, labels and users are kept here. It is strict where GitHub is strict, and it can misbehave on
// request (Fault) in the ways that GitHub does.
//
// Invariants: one mutex guards everything; a write that was answered is on disk (state.json beside the repositories), so a Fake made
// anew in the same directory goes on where the last one ended; every write is in the ledger, with its time.
//
// Schema: state.json holds one State as JSON.
package fakegithub

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// User may act on the fake. Right is none, read or write, on every repository.
type User struct {
	Login string `json:"login"`
	Token string `json:"token"`
	Right string `json:"right"`
	Bot   bool   `json:"bot,omitempty"`
}

// Pull is a pull request as the fake keeps it.
type Pull struct {
	Number    int       `json:"number"`
	Title     string    `json:"title"`
	Body      string    `json:"body"`
	State     string    `json:"state"` // open or closed
	Author    string    `json:"author"`
	Head      string    `json:"head"`
	HeadSHA   string    `json:"head_sha"`
	Base      string    `json:"base"`
	BaseSHA   string    `json:"base_sha"`
	Labels    []string  `json:"labels,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ClosedAt  time.Time `json:"closed_at,omitzero"`
	ClosedBy  string    `json:"closed_by,omitempty"`
	Merged    bool      `json:"merged,omitempty"`
	MergeSHA  string    `json:"merge_sha,omitempty"`
	Reviews   []string  `json:"reviews,omitempty"`    // who submitted one
	Events    []string  `json:"events,omitempty"`     // added_to_merge_queue, ...
	AutoMerge bool      `json:"auto_merge,omitempty"` // armed
	asked     bool      // mergeable is null the first time
}

// Repo is a repository as the fake keeps it.
type Repo struct {
	ID       int64    `json:"id"`
	Owner    string   `json:"owner"`
	Name     string   `json:"name"`
	GitDir   string   `json:"git_dir"`
	Default  string   `json:"default_branch"`
	Private  bool     `json:"private,omitempty"`
	Archived bool     `json:"archived,omitempty"`
	Labels   []string `json:"labels,omitempty"`
	Rules    []string `json:"rules,omitempty"`  // kinds of rule on every branch
	Checks   []string `json:"checks,omitempty"` // required on every branch
	Owners   bool     `json:"owners,omitempty"` // code owners must review
	OldNames []string `json:"old_names,omitempty"`
	Pulls    []*Pull  `json:"pulls,omitempty"`

	git     gitDir
	changed refChange // the last change of a ref, for stale reads
}

func (r *Repo) full() string { return r.Owner + "/" + r.Name }

// State is what survives the process.
type State struct {
	NextID int64       `json:"next_id"`
	Users  []User      `json:"users"`
	Repos  []*Repo     `json:"repos"`
	Apps   []App       `json:"apps,omitempty"`
	Tokens []Installed `json:"tokens,omitempty"`
	Ledger []Write     `json:"-"`
}

// Options of a Fake.
type Options struct {
	RateLimit     int    // requests an hour; default 5000
	UnknownLabels string // on adding a label that the repository lacks: "create" (default) or "refuse"
}

// Write is one request that could change something, as the ledger holds it.
type Write struct {
	At     time.Time
	Op     string // create-ref, create-pull, ...
	Method string
	Path   string
	User   string
	Body   string
	Status int  // what the fake decided, whatever then went over the wire
	Fault  Kind // what was done to it, if anything
}

// Fake is the server: an http.Handler, and the hands of people (Human).
type Fake struct {
	lg      *slog.Logger
	dir     string
	o       Options
	observe atomic.Pointer[func(Exchange)]
	api     *http.ServeMux
	page    *http.ServeMux

	mu        sync.Mutex
	s         State
	faults    []*Fault
	stale     map[string]int
	sizes     map[string]pullSize // by base and head
	closed    map[string]string   // beginnings of paths that no tree may hold, with GitHub's words
	unchanged int                 // reads that were answered with 304
	rate      struct {
		used  int
		reset time.Time
	}
}

// New makes a fake that keeps its files in dir, or goes on with what is there.
func New(lg *slog.Logger, dir string, o Options) (*Fake, error) {
	f := &Fake{lg: lg, dir: dir, o: o, stale: map[string]int{}, sizes: map[string]pullSize{}}
	f.o.RateLimit = cmp.Or(o.RateLimit, 5000)
	f.routes()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("fakegithub: %w", err)
	}
	raw, err := os.ReadFile(f.stateFile())
	if errors.Is(err, os.ErrNotExist) {
		f.s.NextID = 1000
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("fakegithub: %w", err)
	}
	if err := json.Unmarshal(raw, &f.s); err != nil {
		return nil, fmt.Errorf("fakegithub: %s: %w", f.stateFile(), err)
	}
	for _, r := range f.s.Repos {
		r.git = newGit(r.GitDir)
	}
	return f, nil
}

func (f *Fake) stateFile() string { return filepath.Join(f.dir, "state.json") }

// persist writes the state beside the repositories. The mutex is held.
func (f *Fake) persist() error {
	raw, err := json.Marshal(f.s)
	if err == nil {
		err = os.WriteFile(f.stateFile()+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(f.stateFile()+".new", f.stateFile())
	}
	if err != nil {
		return fmt.Errorf("fakegithub: persist: %w", err)
	}
	return nil
}

func (f *Fake) nextID() int64 {
	f.s.NextID++
	return f.s.NextID
}

// AddUser makes somebody known by a token, with a right on every repository: none, read or write.
func (f *Fake) AddUser(u User) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if u.Login == "" || u.Token == "" || !slices.Contains([]string{"none", "read", "write"}, u.Right) {
		return fmt.Errorf("fakegithub: user %q: want a login, a token and the right none, read or write", u.Login)
	}
	f.s.Users = append(slices.DeleteFunc(f.s.Users, func(o User) bool { return o.Login == u.Login }), u)
	return f.persist()
}

// AddRepo serves a git directory as owner/name: a bare repository, or the .git of a checkout. An empty gitDir makes a bare repository
// with a first commit on main. It is private until Edit says otherwise. A repository that is served already stays as it is.
func (f *Fake) AddRepo(owner, name, gitDir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.find(owner, name) != nil {
		return nil
	}
	r := &Repo{ID: f.nextID(), Owner: owner, Name: name, GitDir: gitDir, Private: true, Labels: []string{"bug"}}
	if gitDir == "" {
		r.GitDir = filepath.Join(f.dir, owner, name+".git")
		if err := initBare(r.GitDir); err != nil {
			return err
		}
	}
	r.git = newGit(r.GitDir)
	head, err := r.git.text("symbolic-ref", "--short", "HEAD")
	if err != nil {
		return fmt.Errorf("fakegithub: %s: not a git directory: %w", r.GitDir, err)
	}
	r.Default = head
	f.s.Repos = append(f.s.Repos, r)
	return f.persist()
}

// Edit changes a repository's settings: Private, Archived, Labels, Rules, or its name.
func (f *Fake) Edit(owner, name string, fn func(*Repo)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(owner, name)
	if r == nil {
		return fmt.Errorf("fakegithub: no repository %s/%s", owner, name)
	}
	old := r.full()
	if fn(r); r.full() != old {
		r.OldNames = append(r.OldNames, old)
	}
	return f.persist()
}

// Refuse has every tree refused that holds a path with this beginning: 403, in these words.
func (f *Fake) Refuse(prefix, words string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed == nil {
		f.closed = map[string]string{}
	}
	f.closed[prefix] = words
}

// Pulls gives copies of a repository's pull requests, oldest first.
func (f *Fake) Pulls(owner, name string) []Pull {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Pull
	if r := f.find(owner, name); r != nil {
		for _, p := range r.Pulls {
			c := *p
			c.Labels = slices.Clone(p.Labels)
			out = append(out, c)
		}
	}
	return out
}

// GitDir is where a repository's objects lie.
func (f *Fake) GitDir(owner, name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.find(owner, name); r != nil {
		return r.GitDir
	}
	return ""
}

// Branches gives a repository's branches with their commits.
func (f *Fake) Branches(owner, name string) (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(owner, name)
	if r == nil {
		return nil, fmt.Errorf("fakegithub: no repository %s/%s", owner, name)
	}
	return r.git.branches()
}

// Ledger gives all writes so far, in order.
func (f *Fake) Ledger() []Write {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.s.Ledger)
}

func (f *Fake) find(owner, name string) *Repo {
	for _, r := range f.s.Repos {
		if strings.EqualFold(r.full(), owner+"/"+name) {
			return r
		}
	}
	return nil
}

func (f *Fake) findOld(owner, name string) *Repo {
	for _, r := range f.s.Repos {
		if slices.Contains(r.OldNames, owner+"/"+name) {
			return r
		}
	}
	return nil
}
