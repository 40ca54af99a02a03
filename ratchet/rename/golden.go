package rename

import (
	"maps"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Golden gives a case that was written by hand the new name: in what it expects and in what its tools answer. What people say in it stays.
func Golden(n regcase.Rename, g regcase.Golden) regcase.Golden {
	w := &writer{n: n}
	if !w.whole() && g.ExpectTool == n.Tool {
		args := map[string]regcase.JSON{}
		for _, name := range slices.Sorted(maps.Keys(g.ExpectArgs)) {
			args[ArgumentName(n, name)] = g.ExpectArgs[name]
		}
		if g.ExpectArgs != nil {
			g.ExpectArgs = args
		}
	}
	g.ExpectTool = w.tool(g.ExpectTool)
	g.ExpectSequence = slices.Clone(g.ExpectSequence)
	for i, name := range g.ExpectSequence {
		g.ExpectSequence[i] = w.tool(name)
	}
	g.Answers = slices.Clone(g.Answers)
	for i := range g.Answers {
		a := &g.Answers[i]
		a.Arguments, a.Tool = w.arguments(a.Tool, a.Arguments), w.tool(a.Tool)
	}
	return g
}

// ArgumentName is what an argument is called now that a case written by hand names, by its name or by a JSON pointer.
func ArgumentName(n regcase.Rename, name string) string {
	if strings.HasPrefix(name, "/") {
		if rest, ok := strings.CutPrefix(name, n.Field); ok && (rest == "" || rest[0] == '/') {
			return n.To + rest
		}
		return name
	}
	if "/"+escape(name) != n.Field {
		return name
	}
	if to := n.To[1:]; !strings.Contains(to, "/") {
		return unescapePart(to)
	}
	return n.To
}

func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }
