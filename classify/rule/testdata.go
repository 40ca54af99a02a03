package rule

import (
	"embed"
	"io/fs"
)

//go:embed testdata/*/*.txtar
var testdata embed.FS

// Testdata holds the rules' testdata, one folder each, in the form of package fixture.
func Testdata() (fs.FS, error) { return fs.Sub(testdata, "testdata") }
