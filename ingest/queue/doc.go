// Package queue is the durable log and the small durable state of pawl, on NATS JetStream: a server inside this process by
// default, or the team's own cluster by URL. It knows nothing of OTLP, traces or findings: it moves bytes.
//
// # What is stored
//
// With the prefix "pawl" (Options.Prefix), on subjects pawl.*:
//
//	PAWL_SPANS_<p>    pawl.spans.<p>     telemetry of partition p; full means refuse; purged only by its reader
//	PAWL_FINDINGS     pawl.findings      one verdict per trace revision; full means refuse; purged only by its reader
//	PAWL_FLAGS        pawl.flags         claims from webhooks, apart from spans so that they get in while spans are refused
//	PAWL_AUDIT        pawl.audit         decisions that no longer fit their group
//	PAWL_QUARANTINE   pawl.quarantine    bytes that could not be understood; bounded, the oldest go first
//	pawl_groups, pawl_batches, pawl_aliases, pawl_cursors, pawl_baselines, pawl_services, pawl_leases    key-value buckets, values up to MaxValue
//	pawl_repos        key-value bucket, values up to MaxValue
//	pawl_sessions     key-value bucket, values up to MaxValue, each for KeepSessions after its last change
//	pawl_flagged, pawl_deliveries    the same, each for KeepFlags: what outsiders said of traces, and which webhooks were here
//	pawl_objects      object store, content-addressed: the name of an object is the SHA-256 of its bytes
//
// A message of SPANS is one or more request bodies of one signal, concatenated (OTLP requests merge by concatenation). Header
// Pawl-Signal is "traces" or "logs", header Pawl-Cuts the byte length of each body in order, comma-separated. A message of
// QUARANTINE has Pawl-Reason, Pawl-Meta (a JSON object of strings) and, if the bytes were cut, Pawl-Size with their full length.
//
// # What holds
//
//   - Publish returns nil only once the stream has stored the body (embedded: synced to disk).
//   - Bodies of one partition and signal are stored in the order in which they were handed over, each whole and in one message.
//   - The sequences of a stream are contiguous, save in AUDIT and QUARANTINE, where a person may have been erased. Read says so when they are not; it never skips in silence.
//   - A stream other than QUARANTINE never drops a message by itself: no age limit, and full means refuse.
//   - The number of partitions is fixed when the streams are made.
//   - One process at a time has an embedded directory open.
package queue
