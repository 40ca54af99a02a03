package embed

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
)

// cache keeps vectors on disk. A nil one keeps nothing.
type cache struct{ dir string }

func (c *cache) path(digest string) string { return filepath.Join(c.dir, digest[:2], digest[2:]) }

// get reads a vector.
func (c *cache) get(digest string) ([]float32, bool) {
	if c == nil {
		return nil, false
	}
	b, err := os.ReadFile(c.path(digest))
	if err != nil || len(b) < 8 || len(b)%4 != 0 {
		return nil, false
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.ChecksumIEEE(body) != sum {
		return nil, false
	}
	out := make([]float32, len(body)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
	}
	return out, true
}

// put writes a vector beside its place and renames it there: a reader sees all of it or nothing.
func (c *cache) put(digest string, v []float32) error {
	if c == nil {
		return nil
	}
	b := make([]byte, 0, 4*len(v)+4)
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	to := c.path(digest)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("embedding cache: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".new-*")
	if err != nil {
		return fmt.Errorf("embedding cache: %w", err)
	}
	_, err = f.Write(b)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("embedding cache: %w", err)
	}
	return nil
}
