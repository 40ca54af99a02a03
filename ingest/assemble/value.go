package assemble

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/dgraph-io/badger/v4"
	"github.com/go-json-experiment/json"
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

var errDamaged = errors.New("the stored value is damaged")

// seal joins the parts of a value behind their checksum.
func seal(parts ...[]byte) []byte {
	n := 4
	for _, p := range parts {
		n += len(p)
	}
	v := make([]byte, 4, n)
	for _, p := range parts {
		v = append(v, p...)
	}
	binary.BigEndian.PutUint32(v, crc32.Checksum(v[4:], crcTable))
	return v
}

// unseal gives back what was sealed, or errDamaged. The result aliases v.
func unseal(v []byte) ([]byte, error) {
	if len(v) < 4 || binary.BigEndian.Uint32(v) != crc32.Checksum(v[4:], crcTable) {
		return nil, errDamaged
	}
	return v[4:], nil
}

// stored is the value of a record.
type stored struct {
	context  digest
	position uint32 // among the records of its request
	bytes    []byte
}

func (s stored) seal() []byte {
	return seal(s.context[:], binary.BigEndian.AppendUint32(nil, s.position), s.bytes)
}

func unsealRecord(v []byte) (s stored, err error) {
	b, err := unseal(v)
	if err != nil || len(b) < len(s.context)+4 {
		return s, errDamaged
	}
	copy(s.context[:], b)
	b = b[len(s.context):]
	s.position, s.bytes = binary.BigEndian.Uint32(b), b[4:]
	return s, nil
}

func sealJSON(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return seal(b), err
}

// getJSON reads a sealed value; found is false where there is none. An error that is errDamaged means that the value cannot be used any more.
func getJSON(txn *badger.Txn, key []byte, into any) (found bool, err error) {
	v, err := getValue(txn, key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if v, err = unseal(v); err != nil {
		return false, err
	}
	if err := json.Unmarshal(v, into); err != nil {
		return false, errors.Join(errDamaged, err)
	}
	return true, nil
}

// getValue reads a value, which is errDamaged where Badger has the key and cannot give the value.
func getValue(txn *badger.Txn, key []byte) ([]byte, error) {
	item, err := txn.Get(key)
	if err != nil {
		return nil, err
	}
	v, err := item.ValueCopy(nil)
	if err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	return v, nil
}

// batch gathers writes in transactions of one generation. The caller commits when it is full, where its own invariants allow that.
type batch struct {
	g    *generation
	txn  *badger.Txn
	n    int
	size int
}

func (b *batch) open() *badger.Txn {
	if b.txn == nil {
		b.txn = b.g.db.NewTransaction(true)
	}
	return b.txn
}

func (b *batch) set(k, v []byte) error {
	b.n++
	b.size += len(k)
	if len(v) < valueThreshold { // else it goes to the value log
		b.size += len(v)
	}
	return b.open().Set(k, v)
}

func (b *batch) delete(k []byte) error {
	b.n++
	b.size += len(k)
	return b.open().Delete(k)
}

// full says that the transaction is at half of what one may hold; see memTable.
func (b *batch) full() bool { return b.n >= 2000 || b.size >= memTable/16 }

func (b *batch) commit() error {
	if b.txn == nil {
		return nil
	}
	b.g.dirty.Store(true)
	err := b.txn.Commit()
	b.txn, b.n, b.size = nil, 0, 0
	return err
}

func (b *batch) discard() {
	if b.txn != nil {
		b.txn.Discard()
		b.txn = nil
	}
}
