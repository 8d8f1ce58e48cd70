-- The first schema. Times are ISO-8601 text in UTC, columns marked JSON hold JSON text.

CREATE TABLE runs (
    id               TEXT PRIMARY KEY,
    created_at       TEXT NOT NULL,
    updated_at       TEXT NOT NULL,
    status           TEXT NOT NULL,
    request          TEXT NOT NULL, -- JSON
    wiring           TEXT NOT NULL,
    folder           TEXT NOT NULL,
    code_version     TEXT NOT NULL,
    epoch            INTEGER NOT NULL,
    attempt          INTEGER NOT NULL,
    owner            TEXT, -- JSON
    claimed_at       TEXT,
    cancel_requested INTEGER NOT NULL,
    active_s         REAL NOT NULL,
    pending          TEXT, -- JSON
    result           TEXT, -- JSON
    error            TEXT -- JSON
);
CREATE INDEX runs_by_age ON runs (created_at);
CREATE INDEX runs_by_status ON runs (status);

CREATE TABLE answers (
    run    TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    scope  TEXT NOT NULL,
    answer TEXT NOT NULL, -- JSON
    PRIMARY KEY (run, scope)
);

CREATE TABLE journal (
    run           TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key           TEXT NOT NULL,
    number        INTEGER NOT NULL, -- the order in which the calls were first started
    kind          TEXT NOT NULL,
    scope         TEXT NOT NULL,
    attempt       INTEGER NOT NULL,
    state         TEXT NOT NULL,
    answer        TEXT NOT NULL, -- JSON
    error         TEXT, -- JSON
    estimate      TEXT NOT NULL, -- JSON
    spend         TEXT NOT NULL, -- JSON
    orphaned      TEXT NOT NULL, -- JSON
    started_at    TEXT NOT NULL,
    ended_at      TEXT,
    after         TEXT NOT NULL, -- JSON
    code_version  TEXT NOT NULL,
    is_superseded INTEGER NOT NULL,
    PRIMARY KEY (run, key),
    UNIQUE (run, number)
);

CREATE TABLE events (
    run  TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    seq  INTEGER NOT NULL,
    at   TEXT NOT NULL,
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    data TEXT NOT NULL, -- JSON
    PRIMARY KEY (run, seq),
    UNIQUE (run, key)
);

CREATE TABLE blobs (
    id     TEXT PRIMARY KEY, -- SHA-256 of the bytes before compression
    size   INTEGER NOT NULL,
    packed BLOB NOT NULL -- zlib
);

-- Which runs need a blob; it goes with the last of them.
CREATE TABLE run_blobs (
    run  TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    blob TEXT NOT NULL REFERENCES blobs (id) ON DELETE CASCADE,
    PRIMARY KEY (run, blob)
);
CREATE INDEX run_blobs_by_blob ON run_blobs (blob);

CREATE TABLE documents (
    id       TEXT PRIMARY KEY,
    snapshot TEXT NOT NULL, -- the blob of the raw bytes, where they were kept
    text     TEXT NOT NULL REFERENCES blobs (id),
    about    TEXT NOT NULL -- JSON: everything else
);
CREATE INDEX documents_by_text ON documents (text);

CREATE TABLE run_documents (
    run      TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    address  TEXT NOT NULL,
    document TEXT NOT NULL REFERENCES documents (id),
    PRIMARY KEY (run, address)
);
CREATE INDEX run_documents_by_document ON run_documents (document);

CREATE TABLE passages (
    id       TEXT PRIMARY KEY,
    document TEXT NOT NULL REFERENCES documents (id),
    start    INTEGER NOT NULL,
    "end"    INTEGER NOT NULL
);
CREATE INDEX passages_by_document ON passages (document);

CREATE TABLE evidence (
    run     TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    passage TEXT NOT NULL REFERENCES passages (id),
    section TEXT NOT NULL,
    finding TEXT NOT NULL, -- JSON
    score   REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (run, passage, section)
);
CREATE INDEX evidence_by_passage ON evidence (passage);

PRAGMA user_version = 1;
