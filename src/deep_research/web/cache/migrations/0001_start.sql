-- The table of the cache; `bytes` is what a row costs, and stands before the value so that it is read without it.
CREATE TABLE kept (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    expires_at REAL NOT NULL,
    used_at REAL NOT NULL,
    bytes INTEGER NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (kind, key)
);
-- Sums and evictions read only this.
CREATE INDEX kept_by_use ON kept (used_at, bytes);
CREATE INDEX kept_by_end ON kept (expires_at);

PRAGMA user_version = 1;
