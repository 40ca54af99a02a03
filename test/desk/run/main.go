// Command run is the parcel desk as a process: run MODE [ARG].
package main

import (
	"os"

	"github.com/pawl-dev/pawl/test/desk"
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	os.Exit(desk.Main(os.Args[1:]))
}
