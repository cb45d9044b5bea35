package sqlite

import (
	"context"
	"errors"

	_ "modernc.org/sqlite" // the driver, in Go alone

	"github.com/footfall-dev/footfall/collector/store"
)

// Open opens the file or creates it. It returns an error, and does not change the file, if
// the file is not a collector's, is damaged, or was written by a newer version.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{}
	if err := s.open(ctx, &cfg); err != nil {
		return nil, &fileError{cfg.File, err}
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, cfg *Config) (err error) {
	if s.file, err = openFile(ctx, cfg.File); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closeFiles())
		}
	}()
	due, damage := &due{enough: cfg.segmentLength, all: true}, &damage{}
	if s.writer, err = newWriter(ctx, s.file, cfg, due.addChanges); err != nil {
		return err
	}
	if s.reader, err = newReader(s.file, damage.note); err != nil {
		return err
	}
	s.compactor = &compactor{
		file: s.file, writer: s.writer, reader: s.reader, logger: cfg.Logger, due: due, damage: damage,
		planner:    planner{now: cfg.Now, length: cfg.segmentLength, props: segmentProps},
		compacting: make(turn, 1), forgetting: make(turn, 1), done: make(chan struct{}), unreadable: make(unreadable),
	}
	s.reader.noted = s.writer.noteReported
	s.reader.now, s.reader.pack, s.reader.many = cfg.Now, s.compactor.pack, cfg.segmentLength*lateFactor
	s.sweeper = newSweeper(s.file, s.writer, s.reader, cfg.Logger)
	s.backups = &backupNote{file: nameOfNote(s.file.path), logger: cfg.Logger}
	go s.writer.run()
	go s.compactor.run(s.file.closing)
	go s.sweeper.run(s.file.closing)
	return nil
}

// openFile locks a file, which it creates if necessary.
func openFile(ctx context.Context, path string) (*file, error) {
	if err := makeFile(path); err != nil {
		return nil, err
	}
	lock, err := lockFile(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := checkLog(ctx, path); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	f := &file{path: path, lock: lock}
	f.closing, f.end = context.WithCancel(background)
	return f, nil
}

// Close implements store.Store.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return store.ErrClosed
	}
	s.file.end()
	<-s.writer.stopped
	<-s.compactor.done
	<-s.sweeper.done
	if err := s.closeFiles(); err != nil {
		return s.file.named(err)
	}
	return nil
}

// closeFiles closes the readers before the writer, so that a checkpoint can empty the log, which
// may contain removed data, and ends the lock last.
func (s *Store) closeFiles() error {
	s.file.end()
	var errs []error
	if s.reader != nil {
		errs = append(errs, s.reader.close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	return errors.Join(append(errs, s.file.lock.Close())...)
}
