package test

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is a database server on loopback. Its methods may be called one after another.
type server struct {
	dir     string
	port    string
	program string
	args    []string
	driver  string
	dsn     func(database string) string
	root    string // a database that there is always
	process *exec.Cmd
	ended   chan struct{}
}

// need finds a program of a server. Without it the test is skipped, or fails in CI.
func need(t testing.TB, name string, folders ...string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, folder := range folders {
		found, _ := filepath.Glob(filepath.Join(folder, name)) // the pattern is well-formed
		if len(found) > 0 {
			return slices.Max(found)
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// account returns whom a server runs as, because servers refuse to run as root.
func account() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "mysql", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32) // it is a number on Unix
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
}

// newDir returns a directory of account, which ends with the process or the test.
func newDir() (string, error) {
	dir, err := os.MkdirTemp("", "outbox")
	if err == nil {
		err = own(dir)
	}
	return dir, err
}

func own(dir string) error {
	if a := account(); a != nil {
		return os.Chown(dir, int(a.Uid), int(a.Gid))
	}
	return nil
}

// run runs a program of a server to its end.
func run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account()}
	cmd.Dir = os.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// start starts the server and waits until it answers. A server whose predecessor was killed may refuse to start
// until the last of its processes has ended.
func (s *server) start() error {
	db, err := sql.Open(s.driver, s.dsn(s.root))
	if err != nil {
		return err
	}
	defer db.Close()
	for began := time.Now(); time.Since(began) < patience; {
		if err = s.launch(); err != nil {
			return err
		}
		for ended := false; !ended && time.Since(began) < patience; {
			if err = db.Ping(); err == nil {
				return nil
			}
			select {
			case <-s.ended:
				ended = true
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return err
}

func (s *server) launch() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	process, ended := exec.Command(s.program, s.args...), make(chan struct{})
	process.Stdout, process.Stderr, process.Dir = log, log, s.dir
	process.SysProcAttr = &syscall.SysProcAttr{Credential: account()}
	if err := process.Start(); err != nil {
		return err
	}
	go func() {
		_ = process.Wait() // it is killed
		close(ended)
	}()
	s.process, s.ended = process, ended
	return nil
}

// end ends the server with a signal and waits for its end.
func (s *server) end(with syscall.Signal) {
	_ = s.process.Process.Signal(with) // it may have ended
	<-s.ended
}

// remove ends the server and removes its files.
func (s *server) remove() {
	s.end(syscall.SIGKILL)
	_ = os.RemoveAll(s.dir)
}

// create creates a database and returns its data source name.
func (s *server) create(t testing.TB) string {
	t.Helper()
	db, err := sql.Open(s.driver, s.dsn(s.root))
	require.NoError(t, err)
	defer db.Close()
	name := newName()
	_, err = db.Exec("CREATE DATABASE " + name)
	require.NoError(t, err)
	return s.dsn(name)
}

const postgreSQLFolder = "/usr/lib/postgresql/*/bin"

// newPostgreSQL makes a server in dir. It does not wait for the disk.
func newPostgreSQL(t testing.TB, dir string) (*server, error) {
	t.Helper()
	postgres, initdb := need(t, "postgres", postgreSQLFolder), need(t, "initdb", postgreSQLFolder)
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := run(initdb, "-D", data, "-U", "shop", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"); err != nil {
		return nil, err
	}
	return &server{
		dir: dir, port: port, program: postgres, driver: "pgx", root: "postgres",
		args: []string{"-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=200"},
		dsn: func(database string) string {
			return fmt.Sprintf("postgres://shop@127.0.0.1:%s/%s?sslmode=disable&connect_timeout=5", port, database)
		},
	}, nil
}

// newMariaDB makes a server in dir. It does not wait for the disk.
func newMariaDB(t testing.TB, dir string) (*server, error) {
	t.Helper()
	mariadbd, install := need(t, "mariadbd", "/usr/sbin"), need(t, "mariadb-install-db")
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	for tries := 0; ; tries++ { // the program crashes now and then
		err := run(install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-flush-method=nosync")
		if err == nil {
			break
		}
		if tries == 2 {
			return nil, err
		}
		_ = os.RemoveAll(data)
	}
	return &server{
		dir: dir, port: port, program: mariadbd, driver: "mysql", root: "mysql",
		args: []string{
			"--no-defaults", "--datadir=" + data, "--port=" + port, "--bind-address=127.0.0.1", "--socket=" + filepath.Join(dir, "socket"),
			"--pid-file=" + filepath.Join(dir, "pid"), "--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=64M",
		},
		dsn: func(database string) string {
			return fmt.Sprintf("root@tcp(127.0.0.1:%s)/%s?multiStatements=true&timeout=5s", port, database)
		},
	}, nil
}

// shared are the servers that tests share, each with a database of its own.
type shared struct {
	once sync.Once
	new  func(testing.TB, string) (*server, error)
	one  *server
	err  error
}

var (
	postgreSQL = shared{new: newPostgreSQL}
	mariaDB    = shared{new: newMariaDB}
)

func sharedPostgreSQL(t testing.TB) *server {
	need(t, "initdb", postgreSQLFolder)
	return postgreSQL.get(t)
}

func sharedMariaDB(t testing.TB) *server {
	need(t, "mariadbd", "/usr/sbin")
	return mariaDB.get(t)
}

func (s *shared) get(t testing.TB) *server {
	t.Helper()
	s.once.Do(func() {
		var dir string
		if dir, s.err = newDir(); s.err != nil {
			return
		}
		if s.one, s.err = s.new(t, dir); s.err == nil {
			s.err = s.one.start()
		}
	})
	require.NoError(t, s.err)
	return s.one
}

func stopShared() {
	for _, s := range []*shared{&postgreSQL, &mariaDB} {
		if s.one != nil {
			s.one.remove()
		}
	}
}

// ownServer starts a server of a test.
func ownServer(t testing.TB, make func(testing.TB, string) (*server, error)) *server {
	t.Helper()
	dir, err := newDir()
	require.NoError(t, err)
	s, err := make(t, dir)
	require.NoError(t, err)
	require.NoError(t, s.start())
	t.Cleanup(s.remove)
	return s
}
