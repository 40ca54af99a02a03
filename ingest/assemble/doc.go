// Package assemble turns the spans and log records of the SPANS stream into whole traces, on Badger.
//
// One Store serves one partition of the stream. It applies messages in order, remembers in the same transaction how far it came, notices when a
// trace is complete, and hands it over once per revision. It keeps the traces until retention drops them.
//
// # What is stored
//
// A store is a directory with one small Badger per generation (an hour), named by the hour's start, and the file "synced", which holds the
// sequence of the last message that the last sync covered. In a generation, the first byte of a key telling the kind, integers big-endian:
//
//	s trace(16) signal(1) span(8) digest(16)   sealed: context(16) position(4) and the protobuf of one span or log record
//	c context(16)                              sealed: the resource and scope that records of this generation stand under
//	h trace(16)                                sealed: JSON of header
//	d due(8) trace(16)                         empty: look at the trace at that time of the store's clock
//	o sequence(8) trace(16)                    empty: the trace still collects records, the first of them in that message
//	C                                          sealed: JSON of cursor
//	R                                          empty: what waited in the generation before was taken over
//
// Sealed is a CRC-32C(4) before the value. The digest of a span covers its bytes and its context, that of a log record its bytes and how many equal
// ones came before it in its request. Only the newest generation's d, o and C are alive: when a generation begins, the headers of all waiting
// traces move into it with their index entries. Records stay where they were put.
//
// # What holds
//
//   - A record and the header that counts it are put in one transaction, the cursor in the last one of its message: a kill anywhere leaves a
//     message that is applied again, and applying again changes nothing, for records are keyed by their content.
//   - Everything up to "synced" is on disk. After an unclean stop the messages behind it are applied again over what is there.
//   - Quiet is counted by the store's own clock (see clock), which neither a backlog, nor downtime, nor a wrong clock of a sender can hurry.
//   - Nothing is purged from the stream before it is synced here, nor, unless the stream fills up, while its trace still collects records.
//   - Memory does not grow with the number of live traces.
package assemble
