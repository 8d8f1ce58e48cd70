-- What searches, pages and plans gave, for all hosts. Not logged: nothing waits for the disk, and a crash of the database
-- empties it.

CREATE UNLOGGED TABLE kept (
    kind       TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL, -- seconds since 1970
    used_at    DOUBLE PRECISION NOT NULL,
    bytes      BIGINT NOT NULL, -- what the row costs
    value      BYTEA NOT NULL,
    PRIMARY KEY (kind, key)
);
-- Values come compressed.
ALTER TABLE kept ALTER COLUMN value SET STORAGE EXTERNAL;
-- Sums read only this.
CREATE INDEX kept_by_use ON kept (used_at, bytes);
CREATE INDEX kept_by_end ON kept (expires_at);
