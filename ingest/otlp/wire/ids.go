package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
)

// parseID reads the text of an id into dst (16 bytes for a trace id, 8 for a span id) and tells whether it could: hex in
// either case, with the dashes of a UUID, or shorter than full for its leading zeros; or base64, standard or URL alphabet,
// padded or not. Text that is both hex and base64 is hex.
func parseID(dst, text []byte) bool {
	text = bytes.TrimSpace(text)
	clear(dst)
	if len(text) == 0 || len(text) > 3*len(dst) {
		return false
	}
	if parseHex(dst, text) {
		return true
	}
	trimmed := bytes.TrimRight(text, "=")
	if base64.RawStdEncoding.DecodedLen(len(trimmed)) != len(dst) {
		return false
	}
	var out [18]byte
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if n, err := enc.Decode(out[:], trimmed); err == nil && n == len(dst) {
			copy(dst, out[:n])
			return true
		}
	}
	return false
}

func parseHex(dst, text []byte) bool {
	var digits [32]byte
	width := 2 * len(dst)
	n := 0
	for _, c := range text {
		if c == '-' {
			continue
		}
		if n == width || !isHex(c) {
			return false
		}
		digits[n] = c
		n++
	}
	if n == 0 {
		return false
	}
	var padded [32]byte
	for i := range width - n {
		padded[i] = '0'
	}
	copy(padded[width-n:], digits[:n])
	_, err := hex.Decode(dst, padded[:width])
	return err == nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}
