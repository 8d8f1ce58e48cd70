-- What a server keeps beside the runs. Times are ISO-8601 text in UTC; columns marked JSON hold JSON text.
-- Secrets (passwords, tokens, sign-ins) are kept as digests only.
-- Files from before the first release have these tables, but no number of a schema.

CREATE TABLE IF NOT EXISTS users (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE COLLATE NOCASE,
    password      TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    is_admin      INTEGER NOT NULL DEFAULT 0,
    runs_at_once  INTEGER,
    runs_a_day    INTEGER,
    usd_a_month   REAL,
    queries_a_day INTEGER
);

CREATE TABLE IF NOT EXISTS tokens (
    id           TEXT PRIMARY KEY, -- stands in the token itself, so that people find it in a list
    user         TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    digest       TEXT NOT NULL UNIQUE,
    scopes       TEXT NOT NULL, -- parted by spaces
    created_at   TEXT NOT NULL,
    expires_at   TEXT,
    last_used_at TEXT
);

CREATE TABLE IF NOT EXISTS sign_ins (
    digest     TEXT PRIMARY KEY,
    user       TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
);

-- A try counts as failed until it has succeeded, so that many at once are no way around the throttle.
CREATE TABLE IF NOT EXISTS failed_sign_ins (
    attempt TEXT NOT NULL,
    who     TEXT NOT NULL, -- an address, or the digest of a name: people type passwords there
    at      TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS failed_sign_ins_by_who ON failed_sign_ins (who, at);

-- What runs of accounts have reserved or spent, one row for each time that a run began or was taken up again.
CREATE TABLE IF NOT EXISTS usage (
    id             TEXT PRIMARY KEY,
    user           TEXT NOT NULL,
    run            TEXT NOT NULL, -- '' until it is written down
    at             TEXT NOT NULL,
    usd_before     REAL NOT NULL, -- what the run had spent by then
    queries_before INTEGER NOT NULL,
    usd            REAL NOT NULL, -- the most that it may spend; once it is over, what it spent
    queries        INTEGER NOT NULL,
    seen_at        TEXT NOT NULL, -- when the run had last changed by then
    is_open        INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX IF NOT EXISTS usage_by_user ON usage (user, at);
CREATE INDEX IF NOT EXISTS usage_by_run ON usage (run);

CREATE TABLE IF NOT EXISTS audit (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    at      TEXT NOT NULL,
    user    TEXT NOT NULL,
    address TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail  TEXT NOT NULL -- JSON
);

CREATE INDEX IF NOT EXISTS audit_by_user ON audit (user, action, address, at);

CREATE TABLE IF NOT EXISTS collections (
    id         TEXT PRIMARY KEY,
    user       TEXT NOT NULL,
    name       TEXT NOT NULL,
    created_at TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS files (
    id         TEXT PRIMARY KEY,
    collection TEXT NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    bytes      INTEGER NOT NULL,
    digest     TEXT NOT NULL,
    added_at   TEXT NOT NULL,
    UNIQUE (collection, name)
);

CREATE TABLE IF NOT EXISTS idempotency (
    user       TEXT NOT NULL,
    key        TEXT NOT NULL,
    request    TEXT NOT NULL, -- digest of what was asked
    run        TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (user, key)
);

CREATE TABLE IF NOT EXISTS schedules (
    id         TEXT PRIMARY KEY,
    user       TEXT NOT NULL,
    request    TEXT NOT NULL, -- JSON
    every_s    INTEGER NOT NULL,
    mode       TEXT NOT NULL,
    notify     TEXT NOT NULL,
    webhook    TEXT NOT NULL,
    email      TEXT NOT NULL,
    next_at    TEXT NOT NULL,
    created_at TEXT NOT NULL,
    is_paused  INTEGER NOT NULL DEFAULT 0,
    last_run   TEXT NOT NULL DEFAULT '',
    done_run   TEXT NOT NULL DEFAULT '', -- the last of its runs that has a report
    is_settled INTEGER NOT NULL DEFAULT 1, -- whether the end of the last run was looked at
    note       TEXT NOT NULL DEFAULT '' -- what became of the last time it was due
);

CREATE TABLE IF NOT EXISTS notifications (
    id       TEXT PRIMARY KEY,
    schedule TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    run      TEXT NOT NULL,
    target   TEXT NOT NULL,
    body     TEXT NOT NULL, -- JSON
    created_at TEXT NOT NULL,
    tries    INTEGER NOT NULL DEFAULT 0,
    next_at  TEXT, -- not set where nobody tries any longer
    error    TEXT NOT NULL DEFAULT '',
    sent_at  TEXT
);

PRAGMA user_version = 1;
