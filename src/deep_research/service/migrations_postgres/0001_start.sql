-- What a server keeps beside the runs. Times are ISO-8601 text in UTC; columns marked JSON hold JSON text.
-- Secrets (passwords, tokens, sign-ins) are kept as digests only.
-- Files from before the first release have these tables, but no number of a schema.

CREATE TABLE users (
    id            TEXT COLLATE "C" PRIMARY KEY,
    name          TEXT COLLATE "C" NOT NULL,
    password      TEXT COLLATE "C" NOT NULL,
    created_at    TEXT COLLATE "C" NOT NULL,
    is_admin      INTEGER NOT NULL DEFAULT 0,
    runs_at_once  INTEGER,
    runs_a_day    INTEGER,
    usd_a_month   DOUBLE PRECISION,
    queries_a_day INTEGER
);
-- Ann and ann are one.
CREATE UNIQUE INDEX users_by_name ON users (lower(name));

CREATE TABLE tokens (
    id           TEXT COLLATE "C" PRIMARY KEY, -- stands in the token itself, so that people find it in a list
    "user"         TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name         TEXT COLLATE "C" NOT NULL,
    digest       TEXT COLLATE "C" NOT NULL UNIQUE,
    scopes       TEXT COLLATE "C" NOT NULL, -- parted by spaces
    created_at   TEXT COLLATE "C" NOT NULL,
    expires_at   TEXT COLLATE "C",
    last_used_at TEXT COLLATE "C"
);

CREATE TABLE sign_ins (
    digest     TEXT COLLATE "C" PRIMARY KEY,
    "user"       TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at TEXT COLLATE "C" NOT NULL,
    expires_at TEXT COLLATE "C" NOT NULL
);

-- A try counts as failed until it has succeeded, so that many at once are no way around the throttle.
CREATE TABLE failed_sign_ins (
    attempt TEXT COLLATE "C" NOT NULL,
    who     TEXT COLLATE "C" NOT NULL, -- an address, or the digest of a name: people type passwords there
    at      TEXT COLLATE "C" NOT NULL
);
CREATE INDEX failed_sign_ins_by_who ON failed_sign_ins (who, at);

-- What runs of accounts have reserved or spent, one row for each time that a run began or was taken up again.
CREATE TABLE usage (
    id             TEXT COLLATE "C" PRIMARY KEY,
    "user"           TEXT COLLATE "C" NOT NULL,
    run            TEXT COLLATE "C" NOT NULL, -- '' until it is written down
    at             TEXT COLLATE "C" NOT NULL,
    usd_before     DOUBLE PRECISION NOT NULL, -- what the run had spent by then
    queries_before INTEGER NOT NULL,
    usd            DOUBLE PRECISION NOT NULL, -- the most that it may spend; once it is over, what it spent
    queries        INTEGER NOT NULL,
    seen_at        TEXT COLLATE "C" NOT NULL, -- when the run had last changed by then
    is_open        INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX usage_by_user ON usage ("user", at);
CREATE INDEX usage_by_run ON usage (run);

CREATE TABLE audit (
    number  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      TEXT COLLATE "C" NOT NULL,
    "user"    TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    action  TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    detail  TEXT COLLATE "C" NOT NULL -- JSON
);

CREATE INDEX audit_by_user ON audit ("user", action, address, at);

CREATE TABLE collections (
    id         TEXT COLLATE "C" PRIMARY KEY,
    "user"       TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL
);

CREATE TABLE files (
    id         TEXT COLLATE "C" PRIMARY KEY,
    collection TEXT COLLATE "C" NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    name       TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    bytes      BIGINT NOT NULL,
    digest     TEXT COLLATE "C" NOT NULL,
    added_at   TEXT COLLATE "C" NOT NULL,
    UNIQUE (collection, name)
);

CREATE TABLE idempotency (
    "user"       TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    request    TEXT COLLATE "C" NOT NULL, -- digest of what was asked
    run        TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY ("user", key)
);

CREATE TABLE schedules (
    id         TEXT COLLATE "C" PRIMARY KEY,
    "user"       TEXT COLLATE "C" NOT NULL,
    request    TEXT COLLATE "C" NOT NULL, -- JSON
    every_s    INTEGER NOT NULL,
    mode       TEXT COLLATE "C" NOT NULL,
    notify     TEXT COLLATE "C" NOT NULL,
    webhook    TEXT COLLATE "C" NOT NULL,
    email      TEXT COLLATE "C" NOT NULL,
    next_at    TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    is_paused  INTEGER NOT NULL DEFAULT 0,
    last_run   TEXT COLLATE "C" NOT NULL DEFAULT '',
    done_run   TEXT COLLATE "C" NOT NULL DEFAULT '', -- the last of its runs that has a report
    is_settled INTEGER NOT NULL DEFAULT 1, -- whether the end of the last run was looked at
    note       TEXT COLLATE "C" NOT NULL DEFAULT '' -- what became of the last time it was due
);

CREATE TABLE notifications (
    id       TEXT COLLATE "C" PRIMARY KEY,
    schedule TEXT COLLATE "C" NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    run      TEXT COLLATE "C" NOT NULL,
    target   TEXT COLLATE "C" NOT NULL,
    body     TEXT COLLATE "C" NOT NULL, -- JSON
    created_at TEXT COLLATE "C" NOT NULL,
    tries    INTEGER NOT NULL DEFAULT 0,
    next_at  TEXT COLLATE "C", -- not set where nobody tries any longer
    error    TEXT COLLATE "C" NOT NULL DEFAULT '',
    sent_at  TEXT COLLATE "C"
);
