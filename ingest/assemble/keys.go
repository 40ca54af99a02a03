package assemble

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

type (
	traceID [16]byte
	spanID  [8]byte
	digest  [16]byte
)

func (t traceID) String() string { return hex.EncodeToString(t[:]) }

func parseTraceID(s string) (t traceID, err error) {
	if len(s) != hex.EncodedLen(len(t)) {
		return t, fmt.Errorf("trace id %q is not 32 hex digits", s)
	}
	_, err = hex.Decode(t[:], []byte(s))
	return t, err
}

func digestOf(b []byte) (d digest) {
	sum := sha256.Sum256(b)
	copy(d[:], sum[:])
	return d
}

var (
	cursorKey = []byte("C")
	rolledKey = []byte("R")
)

func recordPrefix(t traceID) []byte { return append([]byte{'s'}, t[:]...) }

func recordKey(t traceID, signal byte, s spanID, d digest) []byte {
	k := append(recordPrefix(t), signal)
	k = append(k, s[:]...)
	return append(k, d[:]...)
}

const recordKeyLen = 1 + 16 + 1 + 8 + 16

func contextKey(d digest) []byte { return append([]byte{'c'}, d[:]...) }

func headerKey(t traceID) []byte { return append([]byte{'h'}, t[:]...) }

func dueKey(at time.Time, t traceID) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{'d'}, uint64(max(0, at.UnixNano()))), t[:]...)
}

func openKey(seq uint64, t traceID) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{'o'}, seq), t[:]...)
}

// splitIndexKey reads a d or o key.
func splitIndexKey(k []byte) (n uint64, t traceID, ok bool) {
	if len(k) != 1+8+16 {
		return 0, t, false
	}
	copy(t[:], k[9:])
	return binary.BigEndian.Uint64(k[1:9]), t, true
}
