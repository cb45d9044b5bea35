package test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/outbox"
)

// A dialect whose server a test may kill.
type killable struct {
	name    string
	new     func(testing.TB, string) (*server, error)
	dialect outbox.Dialect
	end     syscall.Signal // that ends it cleanly, without waiting for connections
}

var killables = []killable{
	{"PostgreSQL", newPostgreSQL, outbox.PostgreSQL, syscall.SIGINT},
	{"MariaDB", newMariaDB, outbox.MySQL, syscall.SIGTERM},
}

// eachServer runs a test with a server of its own for each dialect that has one.
func eachServer(t *testing.T, test func(*testing.T, *server, *database, killable)) {
	t.Helper()
	for _, k := range killables {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := ownServer(t, k.new)
			d := open(t, k.dialect, s.driver, s.create(t))
			d.migrate(t)
			test(t, s, d, k)
		})
	}
}

// seller sells while the database comes and goes.
type seller struct {
	stop func()
	sold *atomic.Int64
}

func (d *database) sellInBackground(t testing.TB, b *outbox.Box) seller {
	var sellers sync.WaitGroup
	var stopped atomic.Bool
	s := seller{sold: &atomic.Int64{}}
	for n := range 3 {
		sellers.Go(func() {
			for i := 0; !stopped.Load(); i++ {
				if d.tryOrder(t.Context(), b, fmt.Sprint(n, ".", i), sql.LevelDefault) == nil {
					s.sold.Add(1)
				}
				b.Wake()
				time.Sleep(time.Millisecond)
			}
		})
	}
	s.stop = sync.OnceFunc(func() { stopped.Store(true); sellers.Wait() })
	t.Cleanup(s.stop)
	return s
}

func (s seller) sells(t testing.TB, n int) {
	t.Helper()
	before := s.sold.Load()
	require.Eventually(t, func() bool { return s.sold.Load() >= before+int64(n) }, patience, time.Millisecond)
}

func TestADatabaseThatIsKilledAndRestartedLosesNothing(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s *server, d *database, k killable) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		b := box(t, quick(api, &log), d.config())
		seller := d.sellInBackground(t, b)
		for _, with := range []syscall.Signal{syscall.SIGKILL, k.end, syscall.SIGKILL} {
			seller.sells(t, 100)
			s.end(with)
			time.Sleep(300 * time.Millisecond)
			require.NoError(t, s.start())
		}
		seller.sells(t, 100)
		seller.stop()
		d.same(t, api, &log)
		assert.Contains(t, log.String(), "table cannot be used")
		require.Eventually(t, func() bool { return strings.Contains(log.String(), "table can be used again") }, patience, time.Millisecond)
		assert.Less(t, strings.Count(log.String(), "cannot be used"), 6, "a line for each outage")
	})
}

// While the database is away, the events that were claimed are delivered, and they are not delivered again.
func TestADatabaseThatRestartsWhileRowsAreClaimedCountsNothingTwice(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s *server, d *database, k killable) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		api.Always(footfalltest.Status(503))
		cfg := d.config()
		cfg.Lease = time.Minute
		b := box(t, quick(api, &log), cfg)
		for i := range 50 {
			d.order(t, b, fmt.Sprint(i))
		}
		require.Eventually(t, func() bool { return b.Stats().Held == 50 }, patience, time.Millisecond)
		s.end(k.end)
		api.Always(nil)
		arrive(t, api, 50)
		requests := len(api.Requests())
		require.NoError(t, s.start())
		d.empty(t)
		assert.Len(t, api.Requests(), requests)
		d.same(t, api, &log)
	})
}

// A Box sends nothing that it cannot claim.
func TestAReadOnlyDatabaseSendsNothing(t *testing.T) {
	t.Parallel()
	readOnly := func(t *testing.T, d *database, on, off func()) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		b := box(t, quick(api, &log), d.config())
		d.order(t, b, "1")
		flush(t, b)
		writing := d.config()
		writing.WriteOnly = true
		require.NoError(t, closeWithin(b, patience))
		d.order(t, box(t, quick(api, &log), writing), "2")
		on()
		b = box(t, quick(api, &log), d.config())
		require.Error(t, b.Track(t.Context(), d.DB, "order_paid"))
		require.Eventually(t, func() bool { return strings.Contains(log.String(), "table cannot be used") }, patience, time.Millisecond)
		time.Sleep(300 * time.Millisecond)
		assert.Len(t, api.Requests(), 1)
		require.Error(t, outbox.Check(t.Context(), d.DB, d.config()))
		off()
		arrive(t, api, 2)
		d.same(t, api, &log)
	}
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		d := openSQLite(t)
		d.migrate(t)
		d.SetMaxOpenConns(1) // the pragma is of a connection
		readOnly(t, d, func() { d.exec(t, "PRAGMA query_only = 1") }, func() { d.exec(t, "PRAGMA query_only = 0") })
	})
	eachServer(t, func(t *testing.T, s *server, d *database, k killable) {
		admin := open(t, k.dialect, s.driver, s.dsn(s.root))
		set := func(on string) { admin.exec(t, "SET GLOBAL read_only = "+on) }
		if k.dialect == outbox.PostgreSQL {
			set = func(on string) {
				admin.exec(t, "ALTER SYSTEM SET default_transaction_read_only = "+on)
				admin.exec(t, "SELECT pg_reload_conf()")
				require.Eventually(t, func() bool {
					var is string
					return d.QueryRow("SHOW default_transaction_read_only").Scan(&is) == nil && is == on
				}, patience, time.Millisecond)
			}
		} else { // an administrator may still write
			d.exec(t, "CREATE USER seller@'127.0.0.1'")
			d.exec(t, "GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO seller@'127.0.0.1'")
			d = open(t, k.dialect, d.driver, strings.Replace(d.dsn, "root@", "seller@", 1))
		}
		readOnly(t, d, func() { set("on") }, func() { set("off") })
	})
}

func TestADatabaseThatIsFullLosesNothing(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		d := openSQLite(t)
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		pages := d.count(t, "PRAGMA page_count")
		full := open(t, d.dialect, d.driver, d.dsn+fmt.Sprintf("&_pragma=max_page_count(%d)", pages+4))
		cfg := full.config()
		cfg.WriteOnly = true
		w := box(t, quick(api, &log), cfg)
		sold := 0
		for err := error(nil); err == nil; sold++ {
			err = full.tryOrder(t.Context(), w, fmt.Sprint(sold), sql.LevelDefault)
		}
		require.Greater(t, sold, 5)
		cfg.WriteOnly = false
		b := box(t, quick(api, &log), cfg)
		time.Sleep(200 * time.Millisecond) // it may have room to claim some
		require.NoError(t, closeWithin(b, patience))
		d.same(t, api, &log)
		assert.Len(t, api.Requests(), sold-1)
	})
	for _, k := range killables {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			dir := smallDisk(t)
			s, err := k.new(t, filepath.Join(dir, "server"))
			require.NoError(t, err)
			s.args = append(s.args, smallFiles[k.dialect]...)
			require.NoError(t, s.start())
			t.Cleanup(func() { s.end(syscall.SIGKILL) })
			d := open(t, k.dialect, s.driver, s.create(t))
			d.migrate(t)
			api, log := footfalltest.NewAPI(t), footfalltest.Log{}
			b := box(t, quick(api, &log), d.config())
			seller := d.sellInBackground(t, b)
			seller.sells(t, 100)
			filler := filepath.Join(dir, "filler")
			fill(t, filler)
			api.Always(footfalltest.Status(503)) // what is sold stays
			require.Eventually(t, func() bool {
				before := seller.sold.Load()
				time.Sleep(500 * time.Millisecond)
				return seller.sold.Load() == before
			}, patience, time.Millisecond)
			require.NoError(t, os.Remove(filler))
			s.end(syscall.SIGKILL) // PostgreSQL has ended by itself
			require.NoError(t, s.start())
			api.Always(nil)
			seller.sells(t, 100)
			seller.stop()
			d.same(t, api, &log)
		})
	}
}

// smallFiles are options of servers whose disk is small.
var smallFiles = map[outbox.Dialect][]string{
	outbox.PostgreSQL: {"-c", "max_wal_size=32MB", "-c", "min_wal_size=32MB"},
	outbox.MySQL:      {"--innodb-log-file-size=8M", "--innodb-data-file-path=ibdata1:4M:autoextend"},
}

// smallDisk mounts a disk of 160 MiB in memory.
func smallDisk(t testing.TB) string {
	t.Helper()
	dir, err := newDir()
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mounting is not allowed: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	server := filepath.Join(dir, "server")
	require.NoError(t, os.Mkdir(server, 0o700))
	require.NoError(t, own(dir))
	require.NoError(t, own(server))
	return dir
}

// fill fills the disk of a file.
func fill(t testing.TB, name string) {
	t.Helper()
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 16 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
}

func TestPgBouncerInTransactionModeIsEnough(t *testing.T) {
	t.Parallel()
	s := sharedPostgreSQL(t)
	program := need(t, "pgbouncer", "/usr/sbin")
	d := openPGX(t)
	d.migrate(t)
	bouncer := startPgBouncer(t, program, s, d)
	for _, one := range []struct{ driver, options string }{
		{"pgx", "&default_query_exec_mode=exec"}, {"pgx", "&default_query_exec_mode=simple_protocol"}, {"postgres", "&binary_parameters=yes"},
	} {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		through := open(t, d.dialect, one.driver, bouncer+one.options)
		boxes := []*outbox.Box{box(t, quick(api, &log), through.config()), box(t, quick(api, &log), through.config())}
		var sellers sync.WaitGroup
		for n := range 6 {
			sellers.Go(func() {
				for i := range 50 {
					assert.NoError(t, through.tryOrder(t.Context(), boxes[n%2], fmt.Sprint(one, n, ".", i), sql.LevelDefault))
				}
			})
		}
		sellers.Wait()
		flush(t, boxes[0])
		assert.Len(t, api.Events(), 300)
		assert.Len(t, api.Requests(), 300)
		require.NoError(t, outbox.Check(t.Context(), through.DB, through.config()))
		for _, b := range boxes {
			require.NoError(t, closeWithin(b, patience))
		}
		assert.Empty(t, log.String())
	}
}

// startPgBouncer starts PgBouncer with two connections to the database of d, and returns its data source name.
func startPgBouncer(t testing.TB, program string, s *server, d *database) string {
	t.Helper()
	dir, err := newDir()
	require.NoError(t, err)
	port, err := freePort()
	require.NoError(t, err)
	name := d.dsn[strings.LastIndexByte(d.dsn, '/')+1 : strings.IndexByte(d.dsn, '?')]
	config := fmt.Sprintf("[databases]\n%s = host=127.0.0.1 port=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n", name, s.port, port)
	config = strings.Replace(config, "port="+s.port+"\n", "port="+s.port+" user=shop\n", 1)
	file := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o644))
	bouncer := &server{dir: dir, port: port, program: program, args: []string{file}, driver: "pgx", root: name,
		dsn: func(database string) string {
			return fmt.Sprintf("postgres://shop@127.0.0.1:%s/%s?sslmode=disable&connect_timeout=5", port, database)
		}}
	dsn := bouncer.dsn
	bouncer.dsn = func(database string) string { return dsn(database) + "&default_query_exec_mode=exec" }
	require.NoError(t, bouncer.start())
	t.Cleanup(bouncer.remove)
	return dsn(name)
}
