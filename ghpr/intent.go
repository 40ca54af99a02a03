// Package ghpr puts files on a branch of a GitHub repository and keeps one pull request for them. It knows files, branches and
// markers, and nothing of what the files mean.
//
// Purpose: a pull request must be made exactly once, whatever breaks in between. GitHub has no idempotency keys, so every write goes by
// an Intent that is frozen first, has names that follow from its content, and is read back. Freeze makes the intent; Reconciler drives it.
//
// Invariants:
//   - Before the bytes of a write that can double (create-ref, create-pull) leave, the caller has stored the intent with that step
//     at Sent. Sent found at entry means Unknown: it is read back, and sent again only when provably absent.
//   - What is written follows from the Kind: new files in the named directories, files that somebody showed not to be looser, or the files of
//     an onboarding. Nothing is forced, rebased, closed, merged or deleted. The compare endpoint shows it before a pull request is opened.
//   - A pull request grows (Update) by commits on top, only while it is ours: open, every commit ours, unreviewed, not queued, not armed to merge.
//   - What is not provably ours is left alone: the intent is Parked with the evidence, for a person.
//   - A closed pull request is a no. It is never opened again.
//   - Text of people in a body stays: only what stands between our markers is replaced, and only while nobody edited it.
//
// Schema: an Intent is stored by the caller as JSON (version 1), under compare-and-set; its fields are the schema.
package ghpr

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Outcome is what is known of one step.
type Outcome string

const (
	// Planned: nothing was sent, or what was sent was refused and may be tried again.
	Planned Outcome = "planned"
	// Sent: stored before the bytes leave. Found in a store it means Unknown.
	Sent Outcome = "sent"
	// Confirmed: the object was read back and is ours.
	Confirmed Outcome = "confirmed"
	// Unknown: the write may have happened; it must be read back before anything else.
	Unknown Outcome = "unknown"
	// Refused: GitHub said no, and reading back shows nothing of ours.
	Refused Outcome = "refused"
)

// Step is one write of an intent.
type Step struct {
	Outcome Outcome `json:"outcome"`
	Sends   int     `json:"sends,omitempty"` // how often the bytes were about to leave
	Note    string  `json:"note,omitempty"`  // why it is so, for people
}

// State of a pull request.
type State string

const (
	// StateOpen: waits for people.
	StateOpen State = "open"
	// StateClosed: without a merge: a person's no.
	StateClosed State = "closed"
	// StateMerged: the files are on the base, perhaps edited.
	StateMerged State = "merged"
	// StateAbsorbed: the base held all the files already, so there is no pull request.
	StateAbsorbed State = "absorbed"
)

// Receipt is what was observed of the remote. Empty fields were not observed.
type Receipt struct {
	State      State     `json:"state,omitempty"`
	Commit     string    `json:"commit,omitempty"`     // our commit
	Head       string    `json:"head,omitempty"`       // where the branch stood; other than Commit if somebody pushed
	Number     int       `json:"number,omitempty"`     // of the pull request
	URL        string    `json:"url,omitempty"`        // its page
	ClosedBy   string    `json:"closed_by,omitempty"`  // who closed it unmerged, if GitHub says so
	MergedBy   string    `json:"merged_by,omitempty"`  // who merged it
	MergeSHA   string    `json:"merge_sha,omitempty"`  // the merge, squash or last rebased commit
	Base       string    `json:"base,omitempty"`       // where the pull request goes, if no longer to Intent.Base: somebody sent it elsewhere, or the branch was renamed
	Labels     []string  `json:"labels,omitempty"`     // those by which people speak to us, such as pawl:false-alarm, in lower case
	Edited     []string  `json:"edited,omitempty"`     // of a merged one: the paths that the merge has otherwise than we proposed them, or not at all
	ObservedAt time.Time `json:"observed_at,omitzero"` // when
}

// Parked says why an intent waits for a person, and what shows it.
type Parked struct {
	Reason   string    `json:"reason"`
	Evidence []string  `json:"evidence,omitempty"`
	At       time.Time `json:"at"`
}

// FrozenFile is a file with its git blob id. Content may be left out of a stored intent (Intent.Slim) if Options.Content can give it.
type FrozenFile struct {
	Path    string `json:"path"`
	Blob    string `json:"blob"` // git's SHA-1 of the content
	Size    int    `json:"size"` // bytes
	Content string `json:"content,omitempty"`
}

// Steps are an intent's writes, in order.
type Steps struct {
	Ref    Step `json:"ref"`
	PR     Step `json:"pr"`
	Labels Step `json:"labels"`
}

// Kind is what a change may do to files. Nothing else is ever written.
type Kind string

const (
	// KindAdd makes new files in the set's directory or another named one. The default.
	KindAdd Kind = "add"
	// KindTighten replaces files in the set's directory, if Options.Tighter says that none of them becomes looser.
	KindTighten Kind = "tighten"
	// KindOnboard makes the files that a repository begins with (OnboardFiles) and one directory below the set.
	KindOnboard Kind = "onboard"
)

// Intent is a frozen pull request: what we mean to write, how far it went, and what was seen. Up to Seal nothing changes after Freeze.
type Intent struct {
	Version       int          `json:"version"`
	Kind          Kind         `json:"kind,omitempty"` // "": KindAdd
	ID            string       `json:"id"`
	Repo          string       `json:"repo"` // owner/name as configured
	Base          string       `json:"base"`
	Dir           string       `json:"dir"`
	SignOff       string       `json:"sign_off,omitempty"` // who the commit message is signed off by, which must be its author: "name <mail>"
	Key           string       `json:"key"`
	Prefix        string       `json:"prefix"`
	Branch        string       `json:"branch"`
	Title         string       `json:"title"`
	Body          string       `json:"body"` // with its marker
	BodyHash      string       `json:"body_hash"`
	CommitMessage string       `json:"commit_message"` // with its trailer
	Files         []FrozenFile `json:"files"`
	Labels        []string     `json:"labels,omitempty"`
	Identities    []string     `json:"identities,omitempty"`
	Seal          string       `json:"seal"` // digest of all the above

	RepoID   int64  `json:"repo_id,omitempty"`   // pinned at the first look: survives a rename
	FullName string `json:"full_name,omitempty"` // owner/name as last seen
	Private  bool   `json:"private,omitempty"`   // at the first look; a repository that was made public since parks the intent
	BaseSHA  string `json:"base_sha,omitempty"`  // the parent of our commit, pinned when the ref is sent
	Commit   string `json:"commit,omitempty"`    // our commit, once made
	Steps    Steps  `json:"steps"`
	// Search is what may be there and does not show, with the clean looks that were in vain.
	Search map[string]int `json:"search,omitempty"`

	Grown  []Grown `json:"grown,omitempty"`  // updates that brought files, in order
	Update *Update `json:"update,omitempty"` // the latest one

	Receipt   Receipt   `json:"receipt,omitzero"`
	NotBefore time.Time `json:"not_before,omitzero"` // look again from then on
	Asleep    bool      `json:"asleep,omitempty"`    // what Waiting says is a person's to change: who knows of a change may clear NotBefore
	Waiting   string    `json:"waiting,omitempty"`   // for what, for people: "5 of 5 open"
	Parked    *Parked   `json:"parked,omitempty"`
}

// Done reports whether nothing is left to write: the pull request is confirmed and labelled, or closed, merged or not needed, and so is its update.
func (in Intent) Done() bool {
	if in.Steps.PR.Outcome != Confirmed {
		return in.Receipt.State == StateAbsorbed
	}
	if in.Update != nil && !in.Update.Settled() {
		return false
	}
	return in.Steps.Labels.Outcome == Confirmed || in.Steps.Labels.Outcome == Refused || in.Receipt.State != StateOpen
}

// InDoubt reports whether a write may have happened that was not read back yet.
func (in Intent) InDoubt() bool {
	unsure := func(s Step) bool { return s.Outcome == Sent || s.Outcome == Unknown }
	return unsure(in.Steps.Ref) || unsure(in.Steps.PR) || in.Update != nil && unsure(in.Update.Ref)
}

// steps are all writes of the intent, and of its update.
func (in *Intent) steps() []*Step {
	list := []*Step{&in.Steps.Ref, &in.Steps.PR, &in.Steps.Labels}
	if in.Update != nil {
		list = append(list, &in.Update.Ref, &in.Update.Text)
	}
	return list
}

// LookAgain gives the intent without its parking, so that the next Reconcile reads the remote anew. It never sends by itself what may
// have been sent.
func (in Intent) LookAgain() Intent {
	out := in.clone()
	out.Parked, out.NotBefore, out.Asleep, out.Waiting, out.Search = nil, time.Time{}, false, "", nil
	return out
}

// Slim gives the intent without the contents of its files, for stores with small values.
func (in Intent) Slim() Intent {
	out := in.clone()
	for i := range out.Files {
		out.Files[i].Content = ""
	}
	if out.Update != nil {
		for i := range out.Update.Files {
			out.Update.Files[i].Content = ""
		}
	}
	return out
}

func (in Intent) clone() Intent {
	in.Files, in.Labels, in.Identities = slices.Clone(in.Files), slices.Clone(in.Labels), slices.Clone(in.Identities)
	in.Search = maps.Clone(in.Search)
	in.Grown, in.Receipt.Labels, in.Receipt.Edited = slices.Clone(in.Grown), slices.Clone(in.Receipt.Labels), slices.Clone(in.Receipt.Edited)
	if in.Update != nil {
		u := *in.Update
		u.Files, u.Identities = slices.Clone(u.Files), slices.Clone(u.Identities)
		in.Update = &u
	}
	if in.Parked != nil {
		p := *in.Parked
		p.Evidence = slices.Clone(p.Evidence)
		in.Parked = &p
	}
	return in
}

// check refuses an intent that Freeze did not make, or that was damaged in its store: nothing of it may reach GitHub.
func (in Intent) check() error {
	if in.Version != version {
		return fmt.Errorf("ghpr: intent %s: version %d, this program writes %d", in.ID, in.Version, version)
	}
	if in.Seal == "" || in.seal() != in.Seal {
		return fmt.Errorf("ghpr: intent %s: it was changed after it was frozen", in.ID)
	}
	files := in.Files
	if u := in.Update; u != nil {
		if u.Seal == "" || u.seal() != u.Seal || u.Intent != in.ID {
			return fmt.Errorf("ghpr: intent %s: its update was changed after it was frozen", in.ID)
		}
		files = append(slices.Clone(files), u.Files...)
	}
	for _, f := range files {
		if f.Content != "" && BlobID(f.Content) != f.Blob {
			return fmt.Errorf("ghpr: intent %s: %s does not have its blob id: it was changed after it was frozen", in.ID, f.Path)
		}
	}
	return nil
}

func (in Intent) kind() Kind { return cmp.Or(in.Kind, KindAdd) }

func (in Intent) seal() string {
	parts := []string{in.ID, in.Repo, in.Base, in.Dir, in.Key, in.Prefix, in.Branch, in.Title, in.Body, in.BodyHash, in.CommitMessage,
		contentDigest(in.Files), digest(in.Labels...), digest(in.Identities...)}
	if in.kind() != KindAdd || in.SignOff != "" {
		parts = append(parts, string(in.kind()), in.SignOff)
	}
	return digest(parts...)
}
