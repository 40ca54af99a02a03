package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The head of a catalog file: {"apiVersion", "kind", "tools": [{"name", "title", "description", "schema", "output_schema", "annotations", "server", "effect",
// "idempotent", "execution", "digest"}]}, tools by name. What is unknown is absent.
const (
	fileVersion = "pawl/v1alpha1"
	fileKind    = "Catalog"
)

type fileTool struct {
	Name         string         `json:"name"`
	Title        string         `json:"title,omitzero"`
	Description  string         `json:"description,omitzero"`
	Schema       jsontext.Value `json:"schema,omitzero"`
	OutputSchema jsontext.Value `json:"output_schema,omitzero"`
	Annotations  Annotations    `json:"annotations,omitzero"`
	Server       string         `json:"server,omitzero"`
	Effect       Effect         `json:"effect,omitzero"`
	Idempotent   bool           `json:"idempotent,omitzero"`
	Execution    map[string]any `json:"execution,omitzero"`
	Digest       string         `json:"digest,omitzero"`
}

type file struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Tools      []fileTool `json:"tools"`
}

// Write writes tools as a catalog file; equal tools give equal bytes.
func Write(w io.Writer, tools []Tool) error {
	f := file{APIVersion: fileVersion, Kind: fileKind, Tools: []fileTool{}}
	sorted := slices.SortedFunc(slices.Values(tools), func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range sorted {
		f.Tools = append(f.Tools, fileTool{t.Name, t.Title, t.Description, canonical(t.Schema), canonical(t.OutputSchema), t.Annotations, t.Server, t.Effect, t.Idempotent, t.Execution, t.Digest})
	}
	b, err := json.Marshal(f, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// Read reads tools from a file: a catalog file, answers of an MCP server to tools/list (one page or several, one after the other or in a list), or a list of MCP tools.
func Read(text []byte) ([]Tool, error) {
	var out []Tool
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	for n := 1; ; n++ {
		v, err := d.ReadValue()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read tools: document %d: %w", n, err)
		}
		tools, err := readDocument(v)
		if err != nil {
			return nil, fmt.Errorf("read tools: document %d: %w", n, err)
		}
		out = append(out, tools...)
	}
	if len(out) == 0 {
		return nil, errors.New("read tools: there are none; wanted is a catalog file, or an MCP server's answer to tools/list")
	}
	return out, nil
}

func readDocument(v jsontext.Value) ([]Tool, error) {
	if v.Kind() == '[' {
		var list []jsontext.Value
		if err := json.Unmarshal(v, &list); err != nil {
			return nil, err
		}
		var out []Tool
		for _, e := range list {
			tools, err := readDocument(e)
			if err != nil {
				return nil, err
			}
			out = append(out, tools...)
		}
		return out, nil
	}
	var page struct {
		Kind   string           `json:"kind"`
		Name   string           `json:"name"`
		Tools  []jsontext.Value `json:"tools"`
		Result jsontext.Value   `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(v, &page, jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, err
	}
	switch {
	case page.Error != nil:
		return nil, fmt.Errorf("the server answered with error %d", page.Error.Code)
	case page.Kind == fileKind:
		return readCatalog(v)
	case page.Result != nil:
		return readDocument(page.Result)
	case page.Name != "":
		t, err := ReadMCPTool(v)
		return []Tool{t}, err
	}
	var out []Tool
	for _, e := range page.Tools {
		t, err := ReadMCPTool(e)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func readCatalog(v jsontext.Value) ([]Tool, error) {
	var f file
	if err := json.Unmarshal(v, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if f.APIVersion != fileVersion {
		return nil, fmt.Errorf("catalog of version %q, and this pawl reads %s", f.APIVersion, fileVersion)
	}
	var out []Tool
	for _, t := range f.Tools {
		out = append(out, Tool(t))
	}
	return out, nil
}

// ReadMCPTool reads one tool as MCP servers tell of it, {name, title, description, inputSchema, outputSchema, annotations}, and pins it. The effect follows from the
// annotations, if there are any: a tool that says nothing is unknown, not what the protocol has for a default.
func ReadMCPTool(v jsontext.Value) (Tool, error) {
	var in struct {
		Name        string         `json:"name"`
		Title       string         `json:"title"`
		Description string         `json:"description"`
		Input       jsontext.Value `json:"inputSchema"`
		Output      jsontext.Value `json:"outputSchema"`
		Annotations struct {
			Title string `json:"title"`
			Annotations
		} `json:"annotations"`
	}
	if err := json.Unmarshal(v, &in, jsontext.AllowDuplicateNames(true)); err != nil {
		return Tool{}, fmt.Errorf("read tool: %w", err)
	}
	if in.Name == "" {
		return Tool{}, errors.New("read tool: it has no name")
	}
	t := Tool{Name: in.Name, Title: in.Title, Description: in.Description, Schema: canonical(in.Input), OutputSchema: canonical(in.Output), Annotations: in.Annotations.Annotations}
	if t.Title == "" {
		t.Title = in.Annotations.Title
	}
	a := t.Annotations
	switch {
	case a.ReadOnly != nil && *a.ReadOnly:
		t.Effect = EffectRead
	case a.ReadOnly != nil, a.Destructive != nil:
		t.Effect = EffectWrite
	}
	t.Idempotent = a.Idempotent != nil && *a.Idempotent
	return t.Pin(), nil
}
