-- The outbox of Footfall, for PostgreSQL 9.6 and later. Times are milliseconds since 1970, by the clock of the database.

CREATE TABLE footfall_outbox (
    id              uuid    NOT NULL PRIMARY KEY,
    idempotency_key text    NOT NULL DEFAULT '', -- footfall.Event.ID, or empty
    body            bytea   NOT NULL,            -- JSON in UTF-8: SELECT convert_from(body, 'UTF8')
    created_at      bigint  NOT NULL,
    leased_until    bigint  NOT NULL DEFAULT 0,  -- when a process may claim the row; 0 at once
    leased_by       bigint  NOT NULL DEFAULT 0,
    claims          integer NOT NULL DEFAULT 0
);

CREATE INDEX footfall_outbox_due ON footfall_outbox (leased_until, id);

CREATE TABLE footfall_outbox_rejected (
    id              uuid    NOT NULL PRIMARY KEY,
    idempotency_key text    NOT NULL,
    body            bytea   NOT NULL,
    created_at      bigint  NOT NULL,
    rejected_at     bigint  NOT NULL,
    status          integer NOT NULL, -- of the API's answer; 0 if the row was no event
    code            text    NOT NULL,
    message         text    NOT NULL
);
