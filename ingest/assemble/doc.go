// Package assemble turns the spans and log records of the SPANS stream into whole traces, on Badger.
//
// One Store serves one partition of the stream. It applies messages in order, remembers how far it came in the same transaction, notices when a
// trace is complete, and hands it over once per revision. It keeps the traces until retention drops them.
//
// # What is stored
//
// A store is a directory with one small Badger per generation (an hour of stream time), named by the hour's start, and the file "synced". Keys, the
// first byte telling the kind, all integers big-endian:
//
//	s trace(16) signal(1) span(8) digest(16)   crc(4) context(16) bytes: one span or log record as protobuf; digest is of the bytes
//	c context(16)                              the resource and scope that records stand under, as a protobuf without records
//	h trace(16)                                JSON: header
//	d due(8) trace(16)                         empty: look at the trace at that time, in nanoseconds
//	o sequence(8) trace(16)                    empty: the trace is open since that message
//	C                                          JSON: cursor, in the newest generation
//	R                                          empty: the open traces of the generation before were taken over
//
// Only the newest generation's d, o and C are alive. When a generation begins, the headers of all open traces move into it.
//
// # What holds
//
//   - A message's spans are put before the headers that count them, and the cursor comes last: a kill anywhere leaves a message that is applied again.
//   - Applying a message again changes nothing: records are keyed by their content, headers know the last message that they saw.
//   - A trace is quiet by stream time, the time at which messages were stored: a backlog never looks idle.
//   - Nothing is purged from the stream before Badger has synced it, nor, unless the stream fills up, before its trace is complete.
//   - Memory does not grow with the number of live traces.
package assemble
