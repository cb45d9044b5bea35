-- The outbox of Footfall, for MySQL 8.0 and MariaDB 10.6, and later. Times are milliseconds since 1970, by the clock of
-- the database.

CREATE TABLE footfall_outbox (
    id              CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    idempotency_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '', -- footfall.Event.ID, or empty
    body            MEDIUMBLOB NOT NULL, -- JSON in UTF-8: SELECT CONVERT(body USING utf8mb4)
    created_at      BIGINT NOT NULL,
    leased_until    BIGINT NOT NULL DEFAULT 0, -- when a process may claim the row; 0 at once
    leased_by       BIGINT NOT NULL DEFAULT 0,
    claims          INT NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    INDEX footfall_outbox_due (leased_until, id)
) ENGINE = InnoDB;

CREATE TABLE footfall_outbox_rejected (
    id              CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    idempotency_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    body            MEDIUMBLOB NOT NULL,
    created_at      BIGINT NOT NULL,
    rejected_at     BIGINT NOT NULL,
    status          INT NOT NULL, -- of the API's answer; 0 if the row was no event
    code            TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    message         TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB;
