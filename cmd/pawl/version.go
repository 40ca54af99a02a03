package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is what the build says of itself.
type version struct {
	Version  string `json:"version"`  // of the module; (devel) if built from a checkout
	Revision string `json:"revision"` // of the repository; empty if unknown
	Time     string `json:"time"`     // of the revision, RFC 3339; empty if unknown
	Modified bool   `json:"modified"` // whether the checkout differed from the revision
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func buildVersion() version {
	v := version{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = cmp.Or(info.Main.Version, v.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// String gives the version in one line for people.
func (v version) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pawl %s", v.Version)
	if v.Revision != "" {
		fmt.Fprintf(&b, ", revision %.12s", v.Revision)
		if v.Modified {
			b.WriteString(" with changes")
		}
	}
	fmt.Fprintf(&b, ", %s %s/%s", v.Go, v.OS, v.Arch)
	return b.String()
}

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "print the version, the revision and the Go version",
		Example: "  pawl version\n  pawl version --json",
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			if a.json {
				return a.printJSON(v)
			}
			_, err := fmt.Fprintln(a.stdout, v)
			return err
		},
	}
}
