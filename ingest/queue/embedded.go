package queue

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	serverStart   = 10 * time.Second // once the store is recovered, which Start itself waits for
	serverPending = 256 << 20        // bytes on their way to one of our own connections
	serverStore   = 1 << 50          // no limit of its own: every stream has one
	serverMemory  = 1 << 30          // consumer state of readers
)

// startServer locks the directory and starts JetStream inside this process, without a listener.
func (q *Queue) startServer() error {
	unlock, err := lockDir(q.opts.Dir)
	if err != nil {
		return err
	}
	q.unlock = unlock
	srv, err := server.NewServer(&server.Options{
		ServerName: "pawl", DontListen: true, NoSigs: true, NoLog: true, DisableJetStreamBanner: true,
		JetStream: true, StoreDir: filepath.Join(q.opts.Dir, "nats"), SyncAlways: true,
		JetStreamMaxStore: serverStore, JetStreamMaxMemory: serverMemory,
		MaxPayload: int32(q.opts.MaxPayload), MaxPending: serverPending,
	})
	if err != nil {
		return fmt.Errorf("queue: embedded server: %w", err)
	}
	q.srv = srv
	log := serverLog{lg: q.lg.With("source", "nats-server"), fatal: new(atomic.Pointer[string])}
	srv.SetLoggerV2(log, false, false, false)
	srv.Start()
	if why := log.fatal.Load(); why != nil {
		return fmt.Errorf("queue: embedded server did not start on %s: %s", q.opts.Dir, *why)
	}
	if !srv.ReadyForConnections(serverStart) || !srv.JetStreamEnabled() {
		return fmt.Errorf("queue: embedded server did not start on %s within %s", q.opts.Dir, serverStart)
	}
	return nil
}

// lockDir makes dir, proves that it can be written, and takes its lock. unlock gives it back.
func lockDir(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("queue: data directory: %w: choose another with data_dir, or create it for this user", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("queue: data directory: %w: it must belong to the user that runs pawl", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("queue: data directory: %w: make it writable for the user that runs pawl, or choose another with data_dir", err)
	}
	if err := lockFile(f); err != nil {
		holder, _ := os.ReadFile(f.Name())
		f.Close()
		return nil, fmt.Errorf("queue: data directory %s is in use (%s): %w: stop that pawl, or choose another data_dir", dir, holder, err)
	}
	// The text is for people; the lock is the kernel's, so a stale file never matters.
	err = f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintf(f, "process %d", os.Getpid())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("queue: data directory: %w: is the disk full?", err)
	}
	return f.Close, nil
}

// serverLog carries the server's warnings and errors into slog and drops its chatter. It keeps what the server calls fatal.
type serverLog struct {
	lg    *slog.Logger
	fatal *atomic.Pointer[string]
}

func (l serverLog) Warnf(format string, v ...any)  { l.lg.Warn(fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any) { l.lg.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Fatalf(format string, v ...any) {
	l.fatal.CompareAndSwap(nil, new(fmt.Sprintf(format, v...)))
}
func (serverLog) Noticef(string, ...any) {}
func (serverLog) Debugf(string, ...any)  {}
func (serverLog) Tracef(string, ...any)  {}
