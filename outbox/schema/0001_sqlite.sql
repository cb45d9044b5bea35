-- The outbox of Footfall, for SQLite 3.38 and later. Times are milliseconds since 1970, by the clock of the machine.

CREATE TABLE footfall_outbox (
    id              TEXT    NOT NULL PRIMARY KEY CHECK (typeof(id) = 'text'), -- a BLOB is equal to no text
    idempotency_key TEXT    NOT NULL DEFAULT '', -- footfall.Event.ID, or empty
    body            BLOB    NOT NULL,            -- JSON in UTF-8: SELECT CAST(body AS TEXT)
    created_at      INTEGER NOT NULL,
    leased_until    INTEGER NOT NULL DEFAULT 0,  -- when a process may claim the row; 0 at once
    leased_by       INTEGER NOT NULL DEFAULT 0,
    claims          INTEGER NOT NULL DEFAULT 0
);

CREATE INDEX footfall_outbox_due ON footfall_outbox (leased_until, id);

CREATE TABLE footfall_outbox_rejected (
    id              TEXT    NOT NULL PRIMARY KEY CHECK (typeof(id) = 'text'), -- a BLOB is equal to no text
    idempotency_key TEXT    NOT NULL,
    body            BLOB    NOT NULL,
    created_at      INTEGER NOT NULL,
    rejected_at     INTEGER NOT NULL,
    status          INTEGER NOT NULL, -- of the API's answer; 0 if the row was no event
    code            TEXT    NOT NULL,
    message         TEXT    NOT NULL
);
