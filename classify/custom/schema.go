package custom

import "sync"

type known struct {
	kind
	byName map[string]field
}

// schema is the view by kind and field, built once.
var schema = sync.OnceValue(func() map[string]known {
	out := map[string]known{}
	for _, k := range kinds() {
		byName := map[string]field{}
		for _, f := range k.fields {
			byName[f.name] = f
		}
		out[k.name] = known{k, byName}
	}
	return out
})

// Kind is the documentation of one type that expressions may use.
type Kind struct {
	Name   string  `json:"name"`
	Doc    string  `json:"doc"`
	Fields []Field `json:"fields"`
}

// Field is the documentation of one field of a Kind. Type is in the words of the expression language.
type Field struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Doc  string `json:"doc"`
}

// View describes all that expressions may use of a trajectory, in a fixed order.
func View() []Kind {
	var out []Kind
	for _, k := range kinds() {
		d := Kind{k.name, k.doc, nil}
		for _, f := range k.fields {
			d.Fields = append(d.Fields, Field{f.name, f.typ.String(), f.doc})
		}
		out = append(out, d)
	}
	return out
}
