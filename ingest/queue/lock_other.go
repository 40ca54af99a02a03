//go:build !unix

package queue

import (
	"errors"
	"os"
)

func lockFile(*os.File) error {
	return errors.New("this system has no file lock that the embedded queue could use: run a NATS server and set nats.url")
}
