package config

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const hidden = "[secret]"

// Secret is a value that never prints itself; Reveal is the only way to it. The zero value is no secret.
type Secret struct {
	value *string // behind a pointer, so that %v of a struct with an unexported Secret shows an address
	late  func() (string, error)
}

// NewSecret returns value as a Secret, for tests and for values that do not come from pawl.yaml.
func NewSecret(value string) Secret { return Secret{value: &value} }

// Reveal returns the value itself, "" for the zero Secret. Never log or wrap what it returns.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Resolve returns the value itself, also of a file that was read with [LoadOffline]: it is looked up now, and the error says what is not there.
func (s Secret) Resolve() (string, error) {
	if s.late != nil {
		return s.late()
	}
	return s.Reveal(), nil
}

// Empty reports whether there is nothing to reveal.
func (s Secret) Empty() bool { return s.Reveal() == "" }

func (s Secret) given() bool { return s.value != nil }

// String returns [secret], or "" for the zero Secret.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return hidden
}

// Format hides the value from every verb of package fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue hides the value from package slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

var reference = regexp.MustCompile(`^\$\{(env|file):([^{}]+)\}$`)

// maxSecret bounds a secret's file: a key or a token is small, and a wrong path may name something endless.
const maxSecret = 64 << 10

// secretFrom turns what stands in the file into a Secret. Without resolve only the form is checked.
func secretFrom(text, dir string, resolve bool) (Secret, error) {
	m := reference.FindStringSubmatch(text)
	if m == nil {
		return Secret{}, errors.New("a secret does not stand in the file: write ${env:NAME} or ${file:PATH}")
	}
	if !resolve {
		s := NewSecret("")
		s.late = func() (string, error) { return resolved(text, m[1], m[2], dir) }
		return s, nil
	}
	value, err := resolved(text, m[1], m[2], dir)
	if err != nil {
		return Secret{}, err
	}
	return NewSecret(value), nil
}

func resolved(text, kind, name, dir string) (string, error) {
	value, err := lookup(kind, name, dir)
	if err == nil && value == "" {
		err = fmt.Errorf("%s is empty; an empty secret protects nothing", text)
	}
	return value, err
}

func lookup(kind, name, dir string) (string, error) {
	if kind == "env" {
		value, ok := os.LookupEnv(name)
		if !ok {
			return "", fmt.Errorf("the environment variable %s is not set; set it, or write ${file:PATH}", name)
		}
		return value, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return readSecret(name)
}

func readSecret(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("the secret's file cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecret {
		return "", fmt.Errorf("the secret's file %s is not a regular file of at most %d bytes", name, maxSecret)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("the secret's file cannot be read: %w", err)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}
