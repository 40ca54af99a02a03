package regcase

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// The names of a case's files, and RenamesFile in the set's root.
const (
	CaseFile    = "case.yaml"
	JSONFile    = "trace.json"
	WaiversFile = "waivers.yaml"
	RenamesFile = "renames.yaml"
)

// MaxDocument bounds a YAML file of a set, in bytes: more takes the reader seconds, and no reviewer reads it. MaxTrace bounds a recorded trace.
const (
	MaxDocument = 2 << 20
	MaxTrace    = 8 << 20
)

// ErrTooLarge says that a file of a set is larger than its kind may be.
var ErrTooLarge = errors.New("too large")

// ErrUnreadable says that a case lies where another was to be written and that this pawl cannot read it: somebody broke it, or a newer pawl wrote it. It
// is left as it is.
var ErrUnreadable = errors.New("is there and cannot be read")

// ErrVersion says that a file was written in a format that this pawl does not read.
var ErrVersion = errors.New("unknown apiVersion")

// Encode gives the canonical bytes of case.yaml.
func Encode(c Case) ([]byte, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	b, err := encodeYAML(c)
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", c.ID, err)
	}
	if len(b) > MaxDocument {
		return nil, fmt.Errorf("case %s: %w: its %s takes %.1f MiB, of at most %d", c.ID, ErrTooLarge, CaseFile, float64(len(b))/(1<<20), MaxDocument>>20)
	}
	return b, nil
}

// Decode reads case.yaml strictly: an unknown key, a key that is there twice, any part of YAML that shows one thing and means another, a value
// out of its range, or an unknown apiVersion is an error that names it and its line. A case of OldVersion comes back as one of APIVersion.
func Decode(b []byte) (Case, error) {
	c, _, err := decodeCase(b)
	return c, err
}

// decodeCase is Decode that says the version that the case is written in, too.
func decodeCase(b []byte) (Case, string, error) {
	var c Case
	version, err := decodeVersioned(b, &c, Kind, upgradeCase)
	if err != nil {
		return Case{}, "", err
	}
	return c, version, c.Check()
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
	b, err := readFile(Checkout(root), path.Join(dir, CaseFile), MaxDocument)
	if err != nil {
		return Case{}, err
	}
	c, err := Decode(b)
	if err != nil {
		return Case{}, fmt.Errorf("%s: %w", path.Join(dir, CaseFile), err)
	}
	return c, nil
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
	if err := WriteFile(root, path.Join(c.Dir(), JSONFile), trace); err != nil {
		return err
	}
	return WriteFile(root, path.Join(c.Dir(), CaseFile), b)
}

// WriteFile writes beside the target and renames, so that a kill leaves the old file or the new one, never half of it.
func WriteFile(root *os.Root, name string, b []byte) error {
	tmp := name + ".tmp"
	if err := root.WriteFile(tmp, b, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := root.Rename(tmp, name); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
