// Outbox commits orders with their events. Its database is a file of SQLite.
//
//	POST /orders/{id}  places an order, once
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	_ "modernc.org/sqlite"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/outbox"
)

func main() {
	log.SetFlags(0)
	file := flag.String("db", "shop.db", "the file of the database")
	addr := flag.String("addr", "127.0.0.1:8080", "the address to listen at")
	flag.Parse()
	if err := run(*file, *addr); err != nil {
		log.Fatal(err)
	}
}

func run(file, addr string) (err error) {
	ctx := context.Background()
	db, err := open(ctx, file)
	if err != nil {
		return err
	}
	defer db.Close()
	cfg := footfall.ConfigFromEnv()
	box, err := outbox.Open(cfg, outbox.Config{DB: db, Dialect: outbox.SQLite})
	if err != nil {
		return err
	}
	tracker, err := footfall.New(cfg)
	if err != nil {
		return err
	}
	log.Printf("listening at http://%s", addr)
	server := &http.Server{Addr: addr, Handler: handler(db, box, tracker), ReadHeaderTimeout: 5 * time.Second}
	err = tracker.Run(ctx, server) // until SIGINT or SIGTERM
	closing, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return errors.Join(err, box.Close(closing))
}

// open opens the database and creates the tables. A tool for migrations would do it in a larger program.
func open(ctx context.Context, file string) (*sql.DB, error) {
	_, err := os.Stat(file)
	isNew := errors.Is(err, os.ErrNotExist)
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	if isNew {
		schema, err := outbox.Schema(outbox.SQLite, "", "")
		if err != nil {
			return nil, err
		}
		if _, err := db.ExecContext(ctx, "CREATE TABLE orders (id TEXT PRIMARY KEY, cents INTEGER NOT NULL);"+schema); err != nil {
			return nil, err
		}
	}
	return db, outbox.Check(ctx, db, outbox.Config{Dialect: outbox.SQLite})
}

// handler serves the shop. The middleware gives each request its page, which is the page of the event, too.
func handler(db *sql.DB, box *outbox.Box, tracker *footfall.Tracker) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		if err := place(r.Context(), db, box, r.PathValue("id"), 4999); err != nil {
			log.Print(err)
			http.Error(w, "the order was not placed", http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintln(w, "thank you")
	})
	return tracker.Middleware()(mux)
}

// place places an order and writes its event, both or neither.
func place(ctx context.Context, db *sql.DB, box *outbox.Box, id string, cents int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := box.Track(ctx, tx, "order_placed", footfall.P("order", id), footfall.P("amount", cents)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?, ?)", id, cents); err != nil {
		return err // such as an id that has an order already: there is no second event
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	box.Wake()
	return nil
}
