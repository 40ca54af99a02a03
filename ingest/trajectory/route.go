package trajectory

import (
	"regexp"
	"strings"
)

var (
	uuidLike = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	wordLike = regexp.MustCompile(`[0-9A-Za-z]+`)
)

// scrubRoute takes what varies from run to run out of a span's name: uuids, ids and numbers become #.
func scrubRoute(name string) string {
	if i := strings.IndexByte(name, '?'); i >= 0 {
		name = name[:i]
	}
	name = uuidLike.ReplaceAllString(name, "#")
	return wordLike.ReplaceAllStringFunc(name, func(w string) string {
		digits := 0
		for _, c := range w {
			if c >= '0' && c <= '9' {
				digits++
			}
		}
		switch {
		case digits == 0:
			return w
		case digits == len(w) || len(w) >= 8 && digits >= 3:
			return "#"
		}
		return strings.Join(strings.FieldsFunc(w, func(r rune) bool { return r >= '0' && r <= '9' }), "") + "#"
	})
}
