package queue

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

const maxKey = 1 << 10 // bytes once escaped; a subject must fit into one protocol line

var errKey = errors.New("bad key")

// escapeKey turns any text into a legal key: bytes other than letters, digits, - and _ become = and two hex digits. Dots too:
// they would split the key into subject tokens, and fingerprints may hold several in a row.
func escapeKey(key string) (string, error) {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(key) {
		if c := key[i]; plainKeyByte(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'=', digits[c>>4], digits[c&15]})
		}
	}
	switch {
	case key == "":
		return "", fmt.Errorf("%w: it is empty", errKey)
	case b.Len() > maxKey:
		return "", fmt.Errorf("%w: %d bytes once escaped, at most %d: use a digest", errKey, b.Len(), maxKey)
	}
	return b.String(), nil
}

func plainKeyByte(c byte) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// unescapeKey undoes escapeKey and refuses what it cannot have made.
func unescapeKey(s string) (string, error) {
	var b strings.Builder
	for rest := s; rest != ""; {
		plain, escaped, found := strings.Cut(rest, "=")
		b.WriteString(plain)
		if !found {
			break
		}
		if len(escaped) < 2 {
			return "", fmt.Errorf("%w: %q ends within an escape", errKey, s)
		}
		c, err := hex.DecodeString(escaped[:2])
		if err != nil {
			return "", fmt.Errorf("%w: %q: %w", errKey, s, err)
		}
		b.Write(c)
		rest = escaped[2:]
	}
	key := b.String()
	if again, err := escapeKey(key); err != nil || again != s {
		return "", fmt.Errorf("%w: %q was not written by pawl", errKey, s)
	}
	return key, nil
}
