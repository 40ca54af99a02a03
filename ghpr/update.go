package ghpr

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Growth is what somebody wants of a pull request that is open: more files, a new text, or both.
type Growth struct {
	Title         string   // default: as it is
	Body          []Block  // the whole new text
	CommitMessage string   // default: the title; the trailer is added
	Files         []File   // additions, none at a path that the pull request has already
	Identities    []string // of all that the pull request then carries, for the marker
}

// UpdateState says how an update ended.
type UpdateState string

const (
	// UpdateDone: the files are on the branch, and the text is in the body unless Text says why not.
	UpdateDone UpdateState = "done"
	// UpdateLeft: the pull request is not ours alone any more, or not open: nothing of the update is in it, and Why says it.
	UpdateLeft UpdateState = "left"
)

// Update is a frozen change of the pull request of an intent. Up to Seal nothing changes after Grow.
type Update struct {
	ID            string       `json:"id"`
	Intent        string       `json:"intent"`
	Title         string       `json:"title"`
	Body          string       `json:"body"` // with its marker
	BodyHash      string       `json:"body_hash"`
	CommitMessage string       `json:"commit_message,omitempty"` // with its trailer
	Files         []FrozenFile `json:"files,omitempty"`
	Identities    []string     `json:"identities,omitempty"`
	Seal          string       `json:"seal"`

	Parent string      `json:"parent,omitempty"` // where the branch stood, pinned when the ref is sent
	Commit string      `json:"commit,omitempty"`
	Ref    Step        `json:"ref"`
	Text   Step        `json:"text"`
	State  UpdateState `json:"state,omitempty"`
	Why    string      `json:"why,omitempty"`
}

// Grown is an update that brought files.
type Grown struct {
	ID     string       `json:"id"`
	Commit string       `json:"commit"`
	Title  string       `json:"title"`
	Files  []FrozenFile `json:"files"` // without their content
}

// Settled reports whether nothing is left to do for the update.
func (u *Update) Settled() bool { return u.State != "" }

// Grow freezes an update of the intent's open pull request; Reconcile then carries it out. Like Freeze it depends on nothing but its input. An update
// before that was left alone is forgotten.
func (in Intent) Grow(g Growth) (Intent, error) {
	out, err := in.grow(g)
	if err != nil {
		return in, fmt.Errorf("ghpr: update of intent %s: %w", in.ID, err)
	}
	return out, nil
}

func (in Intent) grow(g Growth) (Intent, error) {
	switch {
	case in.Receipt.State != StateOpen || in.Steps.PR.Outcome != Confirmed:
		return in, errors.New("it has no open pull request")
	case in.Update != nil && !in.Update.Settled():
		return in, errors.New("an update of it is under way")
	case in.kind() != KindAdd && len(g.Files) > 0:
		return in, errors.New("only a change that adds files grows")
	}
	out := in.clone()
	out.settle()
	g.Title = cmp.Or(g.Title, out.title())
	g.CommitMessage = cmp.Or(g.CommitMessage, g.Title)
	u := Update{Intent: in.ID, Title: g.Title, Identities: sorted(g.Identities), Ref: Step{Outcome: Planned}, Text: Step{Outcome: Planned}}
	err := checkTexts(g.Title, g.CommitMessage)
	if len(g.Files) > 0 {
		var bad error
		u.Files, bad = freezeFiles(g.Files)
		err = errors.Join(err, bad, out.checkGrowth(u.Files))
	}
	if err != nil {
		return in, err
	}
	u.ID = digest("update", in.ID, fmt.Sprint(len(out.Grown)), contentDigest(u.Files), digest(u.Identities...), u.Title)[:32]
	if len(u.Files) > 0 {
		u.CommitMessage = withTrailer(g.CommitMessage, u.ID, in.SignOff)
	}
	m := Marker{Version: version, Intent: in.ID, Key: in.Key, Identities: u.Identities, Labels: in.Labels}
	if u.Body, u.BodyHash, err = m.fill(g.Body); err != nil {
		return in, err
	}
	u.Seal = u.seal()
	out.Update = &u
	return out, nil
}

// checkGrowth refuses files outside the set, beyond what a comparison lists, or where the pull request has some.
func (in Intent) checkGrowth(files []FrozenFile) error {
	all := append(in.allFiles(), files...)
	if len(all) > MaxFiles {
		return fmt.Errorf("%d files in all: want at most %d", len(all), MaxFiles)
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Path, in.Dir+"/") {
			return fmt.Errorf("path %q: outside of the directory %q", f.Path, in.Dir)
		}
	}
	return checkClashes(all)
}

// settle moves an update that brought files to those that the pull request has.
func (in *Intent) settle() {
	if u := in.Update; u != nil && u.Commit != "" && u.State == UpdateDone && len(u.Files) > 0 {
		files := slices.Clone(u.Files)
		for i := range files {
			files[i].Content = ""
		}
		in.Grown = append(in.Grown, Grown{ID: u.ID, Commit: u.Commit, Title: u.Title, Files: files})
	}
	in.Update = nil
}

// allFiles are those that the pull request has by us, without an update under way.
func (in Intent) allFiles() []FrozenFile {
	all := slices.Clone(in.Files)
	for _, g := range in.Grown {
		all = append(all, g.Files...)
	}
	return all
}

// title is the one that we wrote last.
func (in Intent) title() string {
	if n := len(in.Grown); n > 0 {
		return in.Grown[n-1].Title
	}
	return in.Title
}

// ours reports whether a commit message carries the trailer of the intent or of one of its updates.
func (in Intent) ours(message string) bool {
	if hasTrailer(message, in.ID) || in.Update != nil && hasTrailer(message, in.Update.ID) {
		return true
	}
	return slices.ContainsFunc(in.Grown, func(g Grown) bool { return hasTrailer(message, g.ID) })
}

func (u Update) seal() string {
	return digest(u.ID, u.Intent, u.Title, u.Body, u.BodyHash, u.CommitMessage, contentDigest(u.Files), digest(u.Identities...))
}
