package test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestReadmeBeginsWithWhatIsTested: the first command shows the main job on a fresh machine, the second runs the
// tests, and .ci/run runs that same command with the race detector and in random order.
func TestReadmeBeginsWithWhatIsTested(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := shellCommands(string(text))
	want := []string{"go run ./cmd/pawl demo", "go test ./..."}
	if len(commands) < 2 || !slices.Equal(commands[:2], want) {
		t.Errorf("the first commands of README.md are %q, not %q", commands[:min(2, len(commands))], want)
	}
	ci, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(ci), "\ngo test -race -shuffle=on ./...\n") {
		t.Error(".ci/run does not run the README's test command with -race -shuffle=on")
	}
}

// shellCommands returns the commands of the bash and sh blocks of a Markdown text, without prompts and comments.
func shellCommands(markdown string) []string {
	var commands []string
	inside := false
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inside = !inside && slices.Contains([]string{"```bash", "```sh"}, line)
			continue
		}
		command, _, _ := strings.Cut(line, " #")
		command = strings.TrimSpace(strings.TrimPrefix(command, "$ "))
		if inside && command != "" && !strings.HasPrefix(command, "#") {
			commands = append(commands, command)
		}
	}
	return commands
}

func TestShellCommands(t *testing.T) {
	got := shellCommands("# x\n```bash\n$ a b   # why\n\n# note\nc\n```\n```yaml\nd: e\n```\ntext\n```sh\nf\n```\n")
	if want := []string{"a b", "c", "f"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
