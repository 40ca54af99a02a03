package regcase

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"

	"github.com/goccy/go-yaml"
)

// The names of a case's two files.
const (
	CaseFile = "case.yaml"
	JSONFile = "trace.json"
)

// maxFile bounds what is read from a checkout, in bytes.
const maxFile = 32 << 20

// ErrUnreadable says that a case lies where another was to be written and that this pawl cannot read it: somebody broke it, or a newer pawl wrote it. It
// is left as it is.
var ErrUnreadable = errors.New("is there and cannot be read")

// ErrVersion says that a file was written in a format that this pawl does not read.
var ErrVersion = errors.New("unknown apiVersion")

// Encode gives the canonical bytes of case.yaml.
func Encode(c Case) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	b, err := yaml.MarshalWithOptions(c, yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", c.ID, err)
	}
	return b, nil
}

// Decode reads case.yaml strictly: an unknown key, a missing id or an unknown apiVersion is an error that names it.
func Decode(b []byte) (Case, error) {
	var head struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
	}
	if err := yaml.Unmarshal(b, &head); err != nil {
		return Case{}, err
	}
	if head.APIVersion != APIVersion || head.Kind != Kind {
		return Case{}, fmt.Errorf("%w: apiVersion %q kind %q (this pawl reads %s %s; a newer one may read it)",
			ErrVersion, head.APIVersion, head.Kind, APIVersion, Kind)
	}
	var c Case
	if err := yaml.UnmarshalWithOptions(b, &c, yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
		return Case{}, err
	}
	return c, c.check()
}

var (
	validID    = regexp.MustCompile(`^[a-z0-9_]+-[0-9a-f]{10,64}$`)
	validLabel = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)
)

func (c *Case) check() error {
	if !validID.MatchString(c.ID) {
		return fmt.Errorf("case id %q is not <label>-<hex>", c.ID)
	}
	if len(c.Labels) == 0 {
		return fmt.Errorf("case %s has no label", c.ID)
	}
	for _, l := range c.Labels {
		if !validLabel.MatchString(l) {
			return fmt.Errorf("case %s: label %q is not a label", c.ID, l)
		}
	}
	return nil
}

// Written says what Write did.
type Written string

// What Write did.
const (
	Created Written = "created"
	Known   Written = "known" // the set holds a case of this fingerprint already
)

// Read reads one case of a set by its directory inside the set. The set may be an untrusted checkout: nothing outside root is reached.
func Read(root *os.Root, dir string) (Case, error) {
	b, err := readFile(root, path.Join(dir, CaseFile))
	if err != nil {
		return Case{}, err
	}
	c, err := Decode(b)
	if err != nil {
		return Case{}, fmt.Errorf("%s: %w", path.Join(dir, CaseFile), err)
	}
	return c, nil
}

func readFile(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	return b, nil
}

// Write puts a case and its trace into a set. A case of the same fingerprint that is there already is left alone. If another fingerprint
// holds the id, the case gets a longer one, with more digits of its own fingerprint's digest.
func Write(root *os.Root, c Case, trace []byte) (Case, Written, error) {
	digest := c.Fingerprint.Digest()
	for digits := 10; digits <= len(digest); digits += 2 {
		c.ID = c.Labels[0] + "-" + digest[:digits]
		old, err := Read(root, c.Dir())
		if errors.Is(err, fs.ErrNotExist) {
			return c, Created, create(root, c, trace)
		}
		if err != nil {
			return c, "", fmt.Errorf("case %s %w: %w", c.ID, ErrUnreadable, err)
		}
		if old.Fingerprint.Equal(c.Fingerprint) {
			return old, Known, nil
		}
	}
	return c, "", fmt.Errorf("no free id for fingerprint %s", digest)
}

func create(root *os.Root, c Case, trace []byte) error {
	b, err := Encode(c)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(c.Dir(), 0o755); err != nil {
		return fmt.Errorf("case %s: %w", c.ID, err)
	}
	// trace.json first: a case.yaml is never without the trace that it names.
	if err := writeFile(root, path.Join(c.Dir(), JSONFile), trace); err != nil {
		return err
	}
	return writeFile(root, path.Join(c.Dir(), CaseFile), b)
}

// writeFile writes beside the target and renames, so that a kill leaves the old file or the new one, never half of it.
func writeFile(root *os.Root, name string, b []byte) error {
	tmp := name + ".tmp"
	if err := root.WriteFile(tmp, b, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := root.Rename(tmp, name); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
