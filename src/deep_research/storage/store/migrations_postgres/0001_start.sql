-- The first schema: the tables of migrations/ (schema 4) without their seals, because PostgreSQL keeps sums itself.
-- Times are ISO-8601 text in UTC. JSON is kept as the text that was written: jsonb refuses \u0000. Texts are ordered by
-- their bytes, as SQLite orders them.

CREATE TABLE runs (
    rowid            BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE,
    id               TEXT COLLATE "C" PRIMARY KEY,
    created_at       TEXT COLLATE "C" NOT NULL,
    updated_at       TEXT COLLATE "C" NOT NULL,
    status           TEXT COLLATE "C" NOT NULL,
    request          TEXT COLLATE "C" NOT NULL, -- JSON
    wiring           TEXT COLLATE "C" NOT NULL,
    folder           TEXT COLLATE "C" NOT NULL,
    code_version     TEXT COLLATE "C" NOT NULL,
    epoch            BIGINT NOT NULL,
    attempt          BIGINT NOT NULL,
    owner            TEXT COLLATE "C", -- JSON
    claimed_at       TEXT COLLATE "C",
    cancel_requested BOOLEAN NOT NULL,
    active_s         DOUBLE PRECISION NOT NULL,
    pending          TEXT COLLATE "C", -- JSON
    result           TEXT COLLATE "C", -- JSON
    error            TEXT COLLATE "C", -- JSON
    "user"           TEXT COLLATE "C" NOT NULL DEFAULT '',
    tags             TEXT COLLATE "C" NOT NULL DEFAULT '[]' -- JSON
);
CREATE INDEX runs_by_age ON runs (created_at, id);
CREATE INDEX runs_by_status ON runs (status);
CREATE INDEX runs_by_user ON runs ("user", created_at, id);

CREATE TABLE answers (
    run    TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    scope  TEXT COLLATE "C" NOT NULL,
    answer TEXT COLLATE "C" NOT NULL, -- JSON
    PRIMARY KEY (run, scope)
);

CREATE TABLE journal (
    run           TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key           TEXT COLLATE "C" NOT NULL,
    number        BIGINT NOT NULL, -- the order in which the calls were first started
    kind          TEXT COLLATE "C" NOT NULL,
    scope         TEXT COLLATE "C" NOT NULL,
    attempt       BIGINT NOT NULL,
    state         TEXT COLLATE "C" NOT NULL,
    answer        TEXT COLLATE "C" NOT NULL, -- JSON
    error         TEXT COLLATE "C", -- JSON
    estimate      TEXT COLLATE "C" NOT NULL, -- JSON
    spend         TEXT COLLATE "C" NOT NULL, -- JSON
    orphaned      TEXT COLLATE "C" NOT NULL, -- JSON
    started_at    TEXT COLLATE "C" NOT NULL,
    ended_at      TEXT COLLATE "C",
    after         TEXT COLLATE "C" NOT NULL, -- JSON
    code_version  TEXT COLLATE "C" NOT NULL,
    is_superseded BOOLEAN NOT NULL,
    PRIMARY KEY (run, key),
    UNIQUE (run, number)
);

CREATE TABLE events (
    run  TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    seq  BIGINT NOT NULL,
    at   TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    key  TEXT COLLATE "C" NOT NULL,
    data TEXT COLLATE "C" NOT NULL, -- JSON
    PRIMARY KEY (run, seq),
    UNIQUE (run, key)
);

CREATE TABLE blobs (
    id     TEXT COLLATE "C" PRIMARY KEY, -- SHA-256 of the bytes before compression
    size   BIGINT NOT NULL,
    packed BYTEA NOT NULL -- zlib
);
-- What is compressed already is not tried again.
ALTER TABLE blobs ALTER COLUMN packed SET STORAGE EXTERNAL;

-- Which runs need a blob; it goes with the last of them.
CREATE TABLE run_blobs (
    run  TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    blob TEXT COLLATE "C" NOT NULL REFERENCES blobs (id) ON DELETE CASCADE,
    PRIMARY KEY (run, blob)
);
CREATE INDEX run_blobs_by_blob ON run_blobs (blob);

CREATE TABLE documents (
    id       TEXT COLLATE "C" PRIMARY KEY,
    snapshot TEXT COLLATE "C" NOT NULL, -- the blob of the raw bytes, where they were kept
    text     TEXT COLLATE "C" NOT NULL REFERENCES blobs (id),
    about    TEXT COLLATE "C" NOT NULL -- JSON: everything else
);
CREATE INDEX documents_by_text ON documents (text);

CREATE TABLE run_documents (
    run      TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    address  TEXT COLLATE "C" NOT NULL,
    document TEXT COLLATE "C" NOT NULL REFERENCES documents (id)
);
-- An address may be longer than what fits into an index. The same for every text, because the encoding is always UTF-8.
CREATE OR REPLACE FUNCTION digest_of(content TEXT) RETURNS BYTEA IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
    RETURN sha256(convert_to(content, 'UTF8'));
CREATE UNIQUE INDEX run_documents_by_address ON run_documents (run, digest_of(address));
CREATE INDEX run_documents_by_document ON run_documents (document);

CREATE TABLE passages (
    id       TEXT COLLATE "C" PRIMARY KEY,
    document TEXT COLLATE "C" NOT NULL REFERENCES documents (id),
    start    BIGINT NOT NULL,
    "end"    BIGINT NOT NULL
);
CREATE INDEX passages_by_document ON passages (document);

CREATE TABLE evidence (
    run     TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    passage TEXT COLLATE "C" NOT NULL REFERENCES passages (id),
    section TEXT COLLATE "C" NOT NULL,
    finding TEXT COLLATE "C" NOT NULL, -- JSON
    score   DOUBLE PRECISION NOT NULL DEFAULT 0,
    header  TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (run, passage, section)
);
CREATE INDEX evidence_by_passage ON evidence (passage);
