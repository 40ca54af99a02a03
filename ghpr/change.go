package ghpr

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/ghpr/github"
)

const (
	// MaxTitle is the longest title, in bytes: what a list of pull requests shows.
	MaxTitle = 119
	// MaxBody is the longest body with its marker, in bytes. GitHub's limit is 65,536 of a unit it does not name.
	MaxBody = 58_000
	// MaxFiles is how many files one intent may add: what a comparison lists (300) is what we can check.
	MaxFiles = 250
	// DefaultBase, as a base, is the repository's default branch, whatever that is called when it is looked at.
	DefaultBase = "default"
	// DefaultPrefix begins the names of our branches.
	DefaultPrefix = "pawl/"
)

// File is one file to add.
type File struct {
	Path    string // relative to the repository, inside Change.Dir
	Content string // UTF-8 text
}

// OnboardFiles are what an onboarding may make beside one directory and a README.md in the set.
var OnboardFiles = []string{"pawl.yaml", ".github/workflows/pawl.yml"}

// Change is what somebody wants in a repository. Freeze turns it into an Intent.
type Change struct {
	Repo          string   // owner/name
	Base          string   // branch to merge into, or DefaultBase
	Kind          Kind     // default KindAdd
	Dir           string   // the directory that all files lie in: the set
	Also          []string // further directories that files may be added in
	SignOff       string   // "name <mail>" of the commit's author: adds a Signed-off-by trailer, for repositories that ask for one
	Key           string   // what the change is about: opaque, the same for the same subject
	Prefix        string   // begins the branch; default DefaultPrefix
	Slug          string   // a word or two for the branch; optional
	Branch        string   // default: derived from Prefix, Slug, Key and the files
	Title         string   // one line, no text from outside
	Body          []Block  // Markdown; text from outside only through Inline and Fence
	CommitMessage string   // default: the title; the trailer is added
	Files         []File   // what is added; for KindTighten, what replaces
	Labels        []string // best effort
	Identities    []string // opaque names of what the change carries, for the marker
}

var (
	trailerRE = regexp.MustCompile(`^[A-Za-z][A-Za-z-]*: \S`)
	slugRE    = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,40}$`)
	prefixRE  = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,30}/$`)
)

// Freeze checks a change and fixes everything about it: names, blob ids, body with marker, commit message with trailer. The same change
// gives the same intent, always: no clock, no chance. The error names every fault it found.
func Freeze(c Change) (Intent, error) {
	c.Prefix = cmp.Or(c.Prefix, DefaultPrefix)
	c.CommitMessage = cmp.Or(c.CommitMessage, c.Title)
	files, err := freezeFiles(c.Files)
	if err := errors.Join(checkNames(c), checkTexts(c.Title, c.CommitMessage), err, c.checkPlaces()); err != nil {
		return Intent{}, fmt.Errorf("ghpr: freeze %s: %w", cmp.Or(c.Title, c.Key), err)
	}
	in := Intent{Version: version, Kind: c.Kind, SignOff: c.SignOff, Repo: c.Repo, Base: c.Base, Dir: c.Dir, Key: c.Key, Prefix: c.Prefix,
		Branch: cmp.Or(c.Branch, branchName(c.Prefix, c.Slug, c.Key, files)), Title: c.Title, Files: files,
		Labels: sorted(c.Labels), Identities: sorted(c.Identities),
		Steps: Steps{Ref: Step{Outcome: Planned}, PR: Step{Outcome: Planned}, Labels: Step{Outcome: Planned}}}
	if err := errors.Join(github.CheckBranch(in.Branch), checkPrefix(in)); err != nil {
		return Intent{}, fmt.Errorf("ghpr: freeze %s: %w", c.Title, err)
	}
	in.ID = intentID(in.Repo, in.Base, in.Key, in.Branch, in.Files)
	in.CommitMessage = withTrailer(c.CommitMessage, in.ID, in.SignOff)
	if err := in.freezeBody(c.Body); err != nil {
		return Intent{}, err
	}
	return in, nil
}

func (in *Intent) freezeBody(blocks []Block) (err error) {
	m := Marker{Version: version, Intent: in.ID, Key: in.Key, Identities: in.Identities, Labels: in.Labels}
	if in.Body, in.BodyHash, err = m.fill(blocks); err != nil {
		return fmt.Errorf("ghpr: freeze %s: %w", in.Title, err)
	}
	in.Seal = in.seal()
	return nil
}

// fill renders the blocks into a body with the marker, as large as a body may be.
func (m Marker) fill(blocks []Block) (body, hash string, err error) {
	room := MaxBody - len(RenderMarker(m, "")) - 64 // the hash and the length come on top
	text, err := FitBody(blocks, room)
	if err == nil {
		err = checkBody(text)
	}
	return RenderMarker(m, text), hashText(text), err
}

var signRE = regexp.MustCompile(`^[^<>\r\n]{1,100} <[^<>@\s]{1,100}@[^<>@\s]{1,100}>$`)

// checkPlaces refuses a file that the change's kind does not let be written.
func (c Change) checkPlaces() error {
	kind := cmp.Or(c.Kind, KindAdd)
	var errs []error
	if c.SignOff != "" && !signRE.MatchString(c.SignOff) {
		errs = append(errs, fmt.Errorf("sign-off %q: want name <mail>", c.SignOff))
	}
	switch kind {
	case KindAdd, KindTighten, KindOnboard:
	default:
		errs = append(errs, fmt.Errorf("kind %q: want add, tighten or onboard", c.Kind))
	}
	example := ""
	for _, f := range c.Files {
		dirs := []string{c.Dir}
		switch {
		case kind == KindAdd:
			dirs = append(dirs, c.Also...)
		case kind != KindOnboard:
		case slices.Contains(OnboardFiles, f.Path), f.Path == c.Dir+"/README.md":
			continue
		default:
			if example = cmp.Or(example, path.Dir(f.Path)); path.Dir(f.Path) != example || path.Dir(example) == c.Dir || example == c.Dir {
				errs = append(errs, fmt.Errorf("path %q: an onboarding makes %s, %s/README.md and one case", f.Path, strings.Join(OnboardFiles, ", "), c.Dir))
			}
		}
		if !slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(f.Path, dir+"/") }) {
			errs = append(errs, fmt.Errorf("path %q: outside of the directory %q", f.Path, c.Dir))
		}
	}
	for _, dir := range c.Also {
		errs = append(errs, github.CheckPath(dir))
	}
	return errors.Join(errs...)
}

func checkNames(c Change) error {
	_, _, err := github.SplitRepo(c.Repo)
	errs := []error{err, github.CheckBranch(c.Base), github.CheckPath(c.Dir)}
	if c.Key == "" || len(c.Key) > 500 || !utf8.ValidString(c.Key) {
		errs = append(errs, errors.New("key: want 1 to 500 bytes of UTF-8"))
	}
	if !prefixRE.MatchString(c.Prefix) {
		errs = append(errs, fmt.Errorf("prefix %q: want lower-case letters, digits, '-' or '_', and one '/' at the end", c.Prefix))
	}
	if c.Slug != "" && !slugRE.MatchString(c.Slug) {
		errs = append(errs, fmt.Errorf("slug %q: want up to 40 lower-case letters, digits, '-' or '_'", c.Slug))
	}
	for _, l := range c.Labels {
		errs = append(errs, github.CheckLabel(l), plainText("label", l))
	}
	for _, id := range c.Identities {
		if id == "" || len(id) > 300 || !utf8.ValidString(id) {
			errs = append(errs, fmt.Errorf("identity %q: want 1 to 300 bytes of UTF-8", id))
		}
	}
	return errors.Join(errs...)
}

func checkPrefix(in Intent) error {
	if !strings.HasPrefix(in.Branch, in.Prefix) {
		return fmt.Errorf("branch %q: want it to begin with %q, else we would not know it for ours", in.Branch, in.Prefix)
	}
	if in.Branch == in.Base {
		return fmt.Errorf("branch %q: is the base itself", in.Branch)
	}
	return nil
}

func checkTexts(title, message string) error {
	var errs []error
	if title == "" || len(title) > MaxTitle || strings.ContainsAny(title, "\r\n") {
		errs = append(errs, fmt.Errorf("title: %d bytes: want one line of 1 to %d", len(title), MaxTitle))
	}
	if len(message) > 10_000 || strings.Contains(message, Trailer+":") || strings.Contains(strings.ToLower(message), "signed-off-by:") {
		errs = append(errs, fmt.Errorf("commit message: want at most 10,000 bytes, without a %s or Signed-off-by trailer", Trailer))
	}
	errs = append(errs, plainText("title", title))
	for line := range strings.Lines(message) {
		errs = append(errs, plainText("commit message", strings.TrimSuffix(line, "\n")))
	}
	return errors.Join(errs...)
}

func freezeFiles(files []File) ([]FrozenFile, error) {
	if len(files) == 0 || len(files) > MaxFiles {
		return nil, fmt.Errorf("%d files: want 1 to %d", len(files), MaxFiles)
	}
	var errs []error
	out := make([]FrozenFile, 0, len(files))
	for _, f := range files {
		errs = append(errs, github.CheckPath(f.Path), plainText("path", f.Path))
		if !utf8.ValidString(f.Content) || strings.ContainsRune(f.Content, 0) || f.Content == "" {
			errs = append(errs, fmt.Errorf("%s: want UTF-8 text that is not empty", f.Path))
		}
		out = append(out, FrozenFile{Path: f.Path, Blob: BlobID(f.Content), Size: len(f.Content), Content: f.Content})
	}
	slices.SortFunc(out, func(a, b FrozenFile) int { return cmp.Compare(a.Path, b.Path) })
	return out, errors.Join(append(errs, checkClashes(out))...)
}

// checkClashes refuses two files at one path, also where they differ in case only (which some checkouts cannot hold), and a file
// where another needs a directory.
func checkClashes(files []FrozenFile) error {
	seen := map[string]bool{}
	for _, f := range files {
		low := strings.ToLower(f.Path)
		if seen[low] {
			return fmt.Errorf("path %q: twice", f.Path)
		}
		seen[low] = true
	}
	for _, f := range files {
		for i, r := range f.Path {
			if r == '/' && seen[strings.ToLower(f.Path[:i])] {
				return fmt.Errorf("path %q: %q is a file", f.Path, f.Path[:i])
			}
		}
	}
	return nil
}

func sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}
