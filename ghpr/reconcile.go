package ghpr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/ghpr/github"
)

// Mode says how far a Reconciler may go.
type Mode string

const (
	// ModeOff: no call at all.
	ModeOff Mode = "off"
	// ModePreview: reads only; Reconcile leaves intents as they are, Preview shows what would be written.
	ModePreview Mode = "preview"
	// ModeOpen: branches and pull requests are made.
	ModeOpen Mode = "open"
)

// App names a GitHub App's installation: id, installation id, private key in PEM form.
type App = github.App

// Limits bound how many pull requests we make. They are counted from the remote's own list, never from a local counter.
type Limits struct {
	Open    int // open at once; default 5
	PerHour int // new ones; default 2
	PerDay  int // new ones; default 20
}

// Options of a Reconciler.
type Options struct {
	Mode      Mode              // default ModePreview
	BaseURL   string            // of the API; default github.com's; GitHub Enterprise Server: https://HOST/api/v3/
	Token     string            // or App; neither is needed for mode off, or for a preview that does not look at the remote
	App       App               // a GitHub App's installation
	Transport http.RoundTripper // the network; default: net/http's, with proxies from the environment
	Pace      time.Duration     // between two writes; default 1 s; negative: none, for a loopback host only
	Limits    Limits
	// Content gives the text of a blob, for intents stored without it (Intent.Slim). The text must have that blob id.
	Content func(ctx context.Context, blob string) (string, error)
}

// Save stores the intent, under compare-and-set: an error means that somebody else changed it, or that the store is away, and nothing
// more is sent.
type Save func(ctx context.Context, in Intent) error

// Reconciler drives intents. It is safe for concurrent use; writes leave one at a time.
type Reconciler struct {
	lg      *slog.Logger
	mode    Mode
	gh      *github.Client // nil without a credential
	limits  Limits
	content func(ctx context.Context, blob string) (string, error)

	mu    sync.Mutex
	login string // whose pull requests are ours; learned at the first call
}

// New makes a Reconciler; it makes no call. Until pawl's fault matrix has been run in full, ModeOpen is for a loopback host only.
func New(lg *slog.Logger, o Options) (*Reconciler, error) {
	r := &Reconciler{lg: lg, mode: cmp.Or(o.Mode, ModePreview), content: o.Content,
		limits: Limits{Open: cmp.Or(o.Limits.Open, 5), PerHour: cmp.Or(o.Limits.PerHour, 2), PerDay: cmp.Or(o.Limits.PerDay, 20)}}
	hasApp := o.App.ID != 0 || o.App.InstallationID != 0 || len(o.App.PrivateKey) > 0
	switch r.mode {
	case ModeOff:
		return r, nil
	case ModePreview:
		if o.Token == "" && !hasApp {
			return r, nil
		}
	case ModeOpen:
	default:
		return nil, fmt.Errorf("ghpr: mode %q: want off, preview or open", o.Mode)
	}
	gh, err := github.New(lg, github.Options{BaseURL: o.BaseURL, Token: o.Token, App: o.App, Transport: o.Transport, Pace: o.Pace})
	if err != nil {
		return nil, fmt.Errorf("ghpr: %w", err)
	}
	if r.mode == ModeOpen && !gh.Loopback() {
		return nil, fmt.Errorf("ghpr: mode open is not released for %s yet, only for a loopback host: use mode preview", gh.Host())
	}
	r.gh = gh
	return r, nil
}

// run is one Reconcile of one intent.
type run struct {
	*Reconciler
	in     Intent
	stored Intent // as last saved
	save   Save
	start  time.Time // by the wall
	now0   time.Time // by the caller
	repo   github.Repo
	self   string // our login
	room   bool   // the limits were checked in this run
	number int    // of the pull request that an answer named: a hint, not a proof
}

var (
	// errSettled ends a run whose intent says why: parked or waiting.
	errSettled = errors.New("settled")
	// ErrSave wraps the error of a Save: the run stopped and sent nothing more.
	ErrSave = errors.New("ghpr: the intent could not be stored")
)

// Reconcile takes one intent as far as it can go now and gives it back as it stands: done, waiting (Waiting, NotBefore), or parked. It
// saves the intent before every write that can double and after every confirmation. An error says what stopped it; the intent is sound
// all the same, and Reconcile may be called again with it, or after a crash with the one last saved. A finished intent is only observed.
func (r *Reconciler) Reconcile(ctx context.Context, now time.Time, in Intent, save Save) (Intent, error) {
	if err := in.check(); err != nil {
		return in, err
	}
	if r.mode != ModeOpen || in.Parked != nil || now.Before(in.NotBefore) || in.Receipt.State == StateAbsorbed {
		return in, nil
	}
	w := &run{Reconciler: r, in: in.clone(), stored: in, save: save, start: time.Now(), now0: now}
	err := w.drive(ctx)
	return w.in, w.finish(ctx, err)
}

func (w *run) now() time.Time { return w.now0.Add(time.Since(w.start)).UTC() }

// drive looks first, whatever the intent says: what is there already is never made again.
func (w *run) drive(ctx context.Context) error {
	for _, s := range []*Step{&w.in.Steps.Ref, &w.in.Steps.PR, &w.in.Steps.Labels} {
		if s.Outcome == Sent {
			s.Outcome = Unknown
		}
	}
	if err := w.preflight(ctx); err != nil {
		return err
	}
	if w.in.Steps.PR.Outcome != Confirmed {
		if err := w.open(ctx); err != nil {
			return err
		}
	}
	if err := w.observe(ctx); err != nil {
		return err
	}
	return w.annotate(ctx)
}

// open makes sure of branch and pull request. The pull request is looked for before the branch: after a merge or a no the branch may
// be gone, and must not come back.
func (w *run) open(ctx context.Context) error {
	found, err := w.poll(ctx, w.in.Steps.PR.Outcome, w.lookPull)
	if err != nil {
		return err
	}
	if found {
		w.in.Steps.Ref.Outcome = Confirmed
		return w.confirm(ctx, &w.in.Steps.PR)
	}
	if err := w.ensure(ctx, w.refWrite()); err != nil {
		return err
	}
	return w.ensure(ctx, w.pullWrite())
}

// store saves the intent as it is.
func (w *run) store(ctx context.Context) error {
	if err := w.save(ctx, w.in.clone()); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrSave, w.in.ID, err)
	}
	w.stored = w.in.clone()
	return nil
}

func (w *run) confirm(ctx context.Context, s *Step) error {
	s.Outcome, s.Note = Confirmed, ""
	w.lg.Info("ghpr confirmed", "intent", w.in.ID, "repo", w.in.Repo, "branch", w.in.Branch, "pull", w.in.Receipt.Number)
	return w.store(ctx)
}

// park leaves the intent to a person.
func (w *run) park(reason string, evidence ...string) error {
	w.in.Parked = &Parked{Reason: reason, Evidence: evidence, At: w.now()}
	w.lg.Warn("ghpr parked", "intent", w.in.ID, "repo", w.in.Repo, "branch", w.in.Branch, "reason", reason)
	return errSettled
}

// wait leaves the intent for later.
func (w *run) wait(why string, until time.Time) error {
	w.in.Waiting, w.in.NotBefore = why, until.UTC()
	return errSettled
}

// finish turns the run's end into a state that people can read, and stores it if it is news.
func (w *run) finish(ctx context.Context, err error) error {
	if errors.Is(err, ErrSave) || ctx.Err() != nil {
		return err
	}
	switch e, _ := errors.AsType[*github.Error](err); {
	case err == nil:
		w.in.Waiting, w.in.NotBefore = "", time.Time{}
	case errors.Is(err, errSettled):
		err = nil
	case e == nil:
		_ = w.wait("stopped: "+err.Error(), w.now().Add(time.Minute))
	case e.Kind == github.Limited:
		_ = w.wait("waits for GitHub's limit", e.NotBefore)
	case e.Kind == github.Denied, e.Kind == github.Absent, e.Kind == github.Moved:
		_ = w.wait(hint(e), w.now().Add(15*time.Minute))
	default:
		_ = w.wait("looks again: "+e.Error(), w.now().Add(time.Minute))
	}
	if w.news() {
		return errors.Join(err, w.store(ctx))
	}
	return err
}

func (w *run) news() bool {
	a, b := w.in.clone(), w.stored.clone()
	a.Receipt.ObservedAt, b.Receipt.ObservedAt = time.Time{}, time.Time{}
	return !reflect.DeepEqual(a, b)
}

// hint is one sentence for the person who can change a right.
func hint(e *github.Error) string {
	switch {
	case e.Status == http.StatusUnauthorized:
		return "the credential is expired, revoked or wrong: " + e.Error()
	case e.Kind == github.Absent:
		return "GitHub hides what a credential may not use: give it contents: write and pull requests: write on this repository: " + e.Error()
	case e.Kind == github.Moved:
		return "the repository or the API moved: check the repository's name and the base URL: " + e.Error()
	default:
		return "the credential lacks a right (contents: write and pull requests: write are needed): " + e.Error()
	}
}

// whoami learns our login once.
func (r *Reconciler) whoami(ctx context.Context) (string, error) {
	r.mu.Lock()
	login := r.login
	r.mu.Unlock()
	if login != "" {
		return login, nil
	}
	login, err := r.gh.Login(ctx)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	r.login = login
	r.mu.Unlock()
	return login, nil
}

// preflight reads the repository by its number and learns who we are.
func (w *run) preflight(ctx context.Context) (err error) {
	if w.in.RepoID == 0 {
		w.repo, err = w.gh.Repo(ctx, w.in.Repo)
	} else {
		w.repo, err = w.gh.RepoByID(ctx, w.in.RepoID)
	}
	if err != nil {
		return err
	}
	first := w.in.RepoID == 0
	w.in.RepoID, w.in.FullName = w.repo.ID, w.repo.FullName
	switch {
	case w.repo.Archived:
		return w.wait("the repository is archived", w.now().Add(24*time.Hour))
	case w.repo.Disabled:
		return w.wait("the repository is disabled", w.now().Add(24*time.Hour))
	case !first && w.in.Private && !w.repo.Private:
		return w.park("the repository was private when this was planned and is public now")
	}
	w.in.Private = w.repo.Private
	w.self, err = w.whoami(ctx)
	return err
}
