package assemble

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

type (
	traceID [16]byte
	spanID  [8]byte
	digest  [16]byte
)

func (t traceID) String() string { return hex.EncodeToString(t[:]) }

func (d digest) String() string { return hex.EncodeToString(d[:]) }

func parseTraceID(s string) (t traceID, err error) {
	if len(s) != hex.EncodedLen(len(t)) {
		return t, fmt.Errorf("trace id %q is not 32 hex digits", s)
	}
	_, err = hex.Decode(t[:], []byte(s))
	return t, err
}

func digestOf(parts ...[]byte) (d digest) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	copy(d[:], h.Sum(nil))
	return d
}

// The signals as they stand in keys.
const (
	spanSignal byte = 't'
	logSignal  byte = 'l'
)

var (
	cursorKey = []byte("C")
	rolledKey = []byte("R")

	headerPrefix = []byte("h")
	duePrefix    = []byte("d")
	openPrefix   = []byte("o")
)

const (
	recordKeyLen = 1 + 16 + 1 + 8 + 16
	signalAt     = 1 + 16 // where what tells a record from others of its trace begins in its key
)

func recordPrefix(t traceID) []byte { return append([]byte{'s'}, t[:]...) }

func recordKey(t traceID, signal byte, s spanID, d digest) []byte {
	k := append(make([]byte, 0, recordKeyLen), 's')
	k = append(append(k, t[:]...), signal)
	return append(append(k, s[:]...), d[:]...)
}

func contextKey(d digest) []byte { return append([]byte{'c'}, d[:]...) }

func headerKey(t traceID) []byte { return append([]byte{'h'}, t[:]...) }

func dueKey(at instant, t traceID) []byte { return indexKey('d', uint64(at), t) }

func openKey(seq uint64, t traceID) []byte { return indexKey('o', seq, t) }

func indexKey(kind byte, n uint64, t traceID) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{kind}, n), t[:]...)
}

// splitIndexKey reads a d or o key.
func splitIndexKey(k []byte) (n uint64, t traceID, ok bool) {
	if len(k) != 1+8+16 {
		return 0, t, false
	}
	copy(t[:], k[9:])
	return binary.BigEndian.Uint64(k[1:9]), t, true
}
