package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// window is one line of windows.json; the rule context_overflow reads it.
type window struct {
	Prefix string `json:"prefix"`
	Window int    `json:"window"`
}

const windowsNote = "tokens of input and output together, by the beginning of the model's name; the longest beginning wins, and it must end at a dash, a colon, an at " +
	"sign or the end. What the list does not have, or has rounded, is as it was; of two sizes that differ the larger stands, since a window that is larger than believed is no failure"

// windowMakers are the providers whose own models' windows are taken: hosts cut them.
var windowMakers = []string{"anthropic", "openai", "google", "mistral", "x-ai", "deepseek", "cohere", "moonshotai", "minimax", "zai"}

// release is what a model's name may end in that says nothing of its window.
var release = regexp.MustCompile(`-(latest|\d{4}-\d\d-\d\d|\d{8})$`)

// renewWindows lays the list's windows over those of the file.
func renewWindows(path string, h header, providers []provider) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file struct {
		Models []window `json:"models"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	table := map[string]int{}
	for _, w := range file.Models {
		table[w.Prefix] = w.Window
	}
	for _, p := range providers {
		if !slices.Contains(windowMakers, p.ID) {
			continue
		}
		for _, m := range p.Models {
			name := release.ReplaceAllString(strings.ToLower(m.ID), "")
			if m.Window > 0 && !noText.MatchString(name) && !strings.ContainsAny(name, "/:") {
				lay(table, name, m.Window)
			}
		}
	}
	out := make([]window, 0, len(table))
	for prefix, size := range table {
		out = append(out, window{prefix, size})
	}
	slices.SortFunc(out, func(a, b window) int { return cmp.Compare(a.Prefix, b.Prefix) })
	return writeTable(path, h, windowsNote, out)
}

// lay sets a model's window unless the table has it already, as near as a rounded number can tell, or a larger one under the very name.
func lay(table map[string]int, name string, size int) {
	known := known(table, name)
	if near(known, size) || table[name] > size {
		return
	}
	fmt.Fprintf(os.Stderr, "window: %s: %d, was %d\n", name, size, known)
	table[name] = size
}

// known is what the table says of a name, by its longest beginning.
func known(table map[string]int, name string) int {
	for end := len(name); end > 0; end-- {
		if end == len(name) || strings.ContainsRune("-:@", rune(name[end])) {
			if n := table[name[:end]]; n > 0 {
				return n
			}
		}
	}
	return 0
}

// near says whether two sizes are within six percent: 1,000,000 is written for 1,048,576.
func near(a, b int) bool { return a > 0 && max(a, b)*100 <= min(a, b)*106 }
