package ghpr

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

const version = 1 // of the stored intent and of the marker

// Trailer is the name of the commit trailer that carries the intent's id.
const Trailer = "Pawl-Intent"

// BlobID is git's own name for a file's content, so that what GitHub holds can be compared without fetching it.
func BlobID(content string) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write([]byte(content))
	return hex.EncodeToString(h.Sum(nil))
}

// digest hashes parts such that no two lists of parts share an input.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func hashText(s string) string { return "sha256:" + digest(s) }

func contentDigest(files []FrozenFile) string {
	parts := make([]string, 0, 2*len(files))
	for _, f := range files {
		parts = append(parts, f.Path, f.Blob)
	}
	return digest(parts...)
}

// intentID names an intent by where it goes and what it brings; not by its texts, which may be reworded.
func intentID(repo, base, key, branch string, files []FrozenFile) string {
	return digest("intent", strings.ToLower(repo), base, key, branch, contentDigest(files))[:32]
}

// branchName is <prefix><slug>-<10 hex of the key>-<6 hex of the content>: the same intent always aims at the same branch.
func branchName(prefix, slug, key string, files []FrozenFile) string {
	tail := digest("key", key)[:10] + "-" + contentDigest(files)[:6]
	if slug == "" {
		return prefix + tail
	}
	return prefix + slug + "-" + tail
}

func withTrailer(message, id, signOff string) string {
	message = strings.TrimRight(message, "\n ")
	sep := "\n\n"
	if last := message[strings.LastIndexByte(message, '\n')+1:]; strings.Contains(message, "\n\n") && trailerRE.MatchString(last) {
		sep = "\n" // git takes only the last paragraph for trailers
	}
	message += sep + Trailer + ": " + id + "\n"
	if signOff != "" {
		message += "Signed-off-by: " + signOff + "\n"
	}
	return message
}

// hasTrailer reports whether a commit message carries the id, on a line of its own.
func hasTrailer(message, id string) bool {
	for line := range strings.Lines(message) {
		if strings.TrimSpace(line) == Trailer+": "+id {
			return true
		}
	}
	return false
}
