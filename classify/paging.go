package classify

import (
	"bytes"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Members that say which page of a list is wanted, or given.
var pagingField = regexp.MustCompile(`(?i)^_*(page|page[-_]?(number|no|num|index|token|cursor)|current[-_]?page|cursor|(start|end|next)[-_]?cursor|offset|skip|start[-_]?(index|at)|` +
	`next[-_]?(token|page([-_]?token)?)|continuation[-_]?token|starting[-_]?after|scroll[-_]?id)$`)

// Unpaged returns canonical JSON without the members that name a page, at any depth of four, and whether it had any. Without any it is what it was.
func Unpaged(v string) (string, bool) {
	if !hasPagingKey([]byte(v)) {
		return v, false
	}
	var doc any
	if json.Unmarshal([]byte(v), &doc) != nil || !dropPages(doc, 0) {
		return v, false
	}
	out, err := json.Marshal(doc)
	if err != nil || (*jsontext.Value)(&out).Canonicalize() != nil {
		return v, false
	}
	return string(out), true
}

// hasPagingKey looks for such a member without parsing; what looks like a key inside of a text does no harm.
func hasPagingKey(v []byte) bool {
	for at := 0; ; {
		end := bytes.Index(v[at:], []byte(`":`))
		if end < 0 {
			return false
		}
		key := v[at : at+end]
		key = key[bytes.LastIndexByte(key, '"')+1:]
		if len(key) >= 4 && len(key) <= 24 && pagingField.Match(key) {
			return true
		}
		at += end + 2
	}
}

func dropPages(doc any, depth int) bool {
	found := false
	switch d := doc.(type) {
	case map[string]any:
		for k, v := range d {
			if !isStructure(v) && pagingField.MatchString(k) {
				delete(d, k)
				found = true
			} else if depth < 4 {
				found = dropPages(v, depth+1) || found
			}
		}
	case []any:
		for _, v := range d {
			if depth < 4 {
				found = dropPages(v, depth+1) || found
			}
		}
	}
	return found
}
