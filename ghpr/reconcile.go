package ghpr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
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
	// Public says whether what we write may be seen by everybody, by the repository's name as configured. Without consent nothing is written to a
	// public repository. Default: no.
	Public func(repo string) bool
	// Enabled reads the file SwitchFile of the repository's default branch, which may switch us off there. It is asked before each round of writes;
	// without the file the answer is yes. Default: no such file.
	Enabled    func(text string) (bool, error)
	SwitchFile string
	// Tighter says that no file of head is looser than the one of base at its path, or which is and why. Without it nothing is ever replaced.
	Tighter func(base, head []File) error
	// Outgoing is the last look: it says of bytes what in them must not leave. It is asked of every part of an intent before anything of it is written, and of
	// the address and the body of every request as they are sent. What it refuses is parked. Its error must not quote what it found. Default: nothing is refused.
	Outgoing func(final []byte) error
	// Content gives the text of a blob, for intents stored without it (Intent.Slim). The text must have that blob id.
	Content func(ctx context.Context, blob string) (string, error)
}

// Save stores the intent, under compare-and-set: an error means that somebody else changed it, or that the store is away, and nothing
// more is sent.
type Save func(ctx context.Context, in Intent) error

// Reconciler drives intents. It is safe for concurrent use; the writes to a repository leave one at a time.
type Reconciler struct {
	lg      *slog.Logger
	mode    Mode
	gh      *github.Client // nil without a credential
	limits  Limits
	content func(ctx context.Context, blob string) (string, error)
	public  func(repo string) bool
	enabled func(text string) (bool, error)
	file    string
	judge   func(base, head []File) error
	look    func(final []byte) error

	mu    sync.Mutex
	login string // whose pull requests are ours; learned at the first call
}

// New makes a Reconciler; it makes no call.
func New(lg *slog.Logger, o Options) (*Reconciler, error) {
	r := &Reconciler{lg: lg, mode: cmp.Or(o.Mode, ModePreview), content: o.Content, public: o.Public, enabled: o.Enabled, file: o.SwitchFile, judge: o.Tighter, look: o.Outgoing,
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
	gh, err := github.New(lg, github.Options{BaseURL: o.BaseURL, Token: o.Token, App: o.App, Transport: o.Transport, Pace: o.Pace, Outgoing: o.Outgoing})
	if err != nil {
		return nil, fmt.Errorf("ghpr: %w", err)
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
	asked  bool   // the switches were checked in this run
	absent map[string]bool
	number int // of the pull request that an answer named: a hint, not a proof
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
	w := &run{Reconciler: r, in: in.clone(), stored: in, save: save, start: time.Now(), now0: now, absent: map[string]bool{}}
	if slices.ContainsFunc(in.Files, func(f FrozenFile) bool { return strings.HasPrefix(f.Path, ".github/workflows/") }) {
		ctx = github.WithWorkflows(ctx)
	}
	err := w.drive(ctx)
	return w.in, w.finish(ctx, err)
}

// base is the branch that the pull request goes to: the default branch may have another name than in the last round.
func (w *run) base() string {
	if w.in.Base == DefaultBase {
		return w.repo.DefaultBranch
	}
	return w.in.Base
}

func baseWords(base string) string {
	if base == DefaultBase {
		return "the default branch"
	}
	return base
}

func (w *run) now() time.Time { return w.now0.Add(time.Since(w.start)).UTC() }

// drive looks first, whatever the intent says: what is there already is never made again.
func (w *run) drive(ctx context.Context) error {
	for _, s := range w.in.steps() {
		if s.Outcome == Sent {
			s.Outcome = Unknown
		}
	}
	if err := w.preflight(ctx); err != nil {
		return err
	}
	if err := w.lastLook(ctx); err != nil {
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
	if err := w.annotate(ctx); err != nil {
		return err
	}
	return w.update(ctx)
}

// open makes sure of branch and pull request. The pull request is looked for before the branch: after a merge or a no the branch may
// be gone, and must not come back.
func (w *run) open(ctx context.Context) error {
	known := w.in.Steps.PR.Outcome
	if _, looking := w.in.Search[w.pullName()]; !looking && len(w.in.Search) > 0 {
		known = Planned // a run before this one found it absent, and went on to look for another thing
	}
	found, err := w.poll(ctx, w.pullName(), known, w.lookPull)
	if err != nil {
		return err
	}
	if found {
		w.in.Steps.Ref.Outcome = Confirmed
		return w.confirm(ctx, &w.in.Steps.PR)
	}
	if w.in.Steps.PR.Outcome == Unknown && known == Unknown {
		w.in.Steps.PR.Outcome = Planned // it is provably absent
	}
	if err := w.mayWrite(ctx); err != nil {
		return err
	}
	if err := w.ensure(ctx, w.refWrite()); err != nil {
		return err
	}
	return w.ensure(ctx, w.pullWrite())
}

// mayWrite asks, before the first write of a run, for consent to be seen by everybody and for the repository's own switch.
func (w *run) mayWrite(ctx context.Context) error {
	if w.asked {
		return nil
	}
	if !w.repo.Private && (w.public == nil || !w.public(w.in.Repo)) {
		return w.sleep("the repository is public: its line of targets must say public: true before anything is written there", w.now().Add(15*time.Minute))
	}
	if w.enabled != nil && w.file != "" {
		text, err := w.gh.Text(ctx, w.in.FullName, w.file, w.repo.DefaultBranch)
		if err != nil && !isAbsent(err) {
			return err
		}
		if err == nil {
			on, err := w.enabled(text)
			switch {
			case err != nil:
				return w.sleep(fmt.Sprintf("%s on %s cannot be read, so it is not known whether pawl is switched off there: %v", w.file, w.repo.DefaultBranch, err), w.now().Add(15*time.Minute))
			case !on:
				return w.sleep(fmt.Sprintf("switched off by %s on %s", w.file, w.repo.DefaultBranch), w.now().Add(5*time.Minute))
			}
		}
	}
	w.asked = true
	return nil
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
	w.in.Waiting, w.in.NotBefore, w.in.Asleep = why, until.UTC(), false
	return errSettled
}

// sleep leaves the intent until a person changed something on GitHub, which is looked at after a while, or when something wakes us.
func (w *run) sleep(why string, until time.Time) error {
	err := w.wait(why, until)
	w.in.Asleep = true
	return err
}

// finish turns the run's end into a state that people can read, and stores it if it is news.
func (w *run) finish(ctx context.Context, err error) error {
	if errors.Is(err, ErrSave) || ctx.Err() != nil {
		return err
	}
	switch e, _ := errors.AsType[*github.Error](err); {
	case err == nil:
		w.in.Waiting, w.in.NotBefore, w.in.Asleep = "", time.Time{}, false
	case errors.Is(err, errSettled):
		err = nil
	case e == nil:
		_ = w.wait("stopped: "+err.Error(), w.now().Add(time.Minute))
	case e.Kind == github.Limited:
		_ = w.wait("waits for GitHub's limit", e.NotBefore)
	case e.Kind == github.Denied, e.Kind == github.Absent, e.Kind == github.Moved, e.Says("not accessible to the parent installation", "permissions requested are not granted"):
		_ = w.sleep(w.gh.Remedy(e)+" ("+e.Error()+")", w.now().Add(15*time.Minute))
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
		return w.sleep("the repository is archived", w.now().Add(24*time.Hour))
	case w.repo.Disabled:
		return w.sleep("the repository is disabled", w.now().Add(24*time.Hour))
	case !w.repo.Private && w.public != nil && w.public(w.in.Repo):
	case !first && w.in.Private && !w.repo.Private:
		return w.park("the repository was private when this was planned and is public now", "targets in pawl.yaml may say public: true")
	}
	w.in.Private = w.repo.Private
	w.self, err = w.whoami(ctx)
	return err
}
