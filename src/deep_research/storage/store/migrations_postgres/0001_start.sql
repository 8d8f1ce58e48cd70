-- The tables of SQLite (schema 4) in PostgreSQL's words, with other types and indexes, and without their seals, because
-- PostgreSQL keeps sums itself. JSON is kept as the text that was written: jsonb refuses \u0000. Texts are ordered by
-- their bytes, as SQLite orders them.
\ir ../migrations/0001_start.sql
\ir ../migrations/0002_table_rows.sql

ALTER TABLE runs
    ALTER epoch TYPE BIGINT, ALTER attempt TYPE BIGINT, ALTER cancel_requested TYPE BOOLEAN USING cancel_requested <> 0,
    ADD "user" TEXT COLLATE "C" NOT NULL DEFAULT '', ADD tags TEXT COLLATE "C" NOT NULL DEFAULT '[]', -- JSON
    ADD rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE;
DROP INDEX runs_by_age;
CREATE INDEX runs_by_age ON runs (created_at, id);
CREATE INDEX runs_by_user ON runs ("user", created_at, id);

ALTER TABLE journal
    ALTER number TYPE BIGINT, ALTER attempt TYPE BIGINT, ALTER is_superseded TYPE BOOLEAN USING is_superseded <> 0;
ALTER TABLE events ALTER seq TYPE BIGINT;
ALTER TABLE passages ALTER start TYPE BIGINT, ALTER "end" TYPE BIGINT;
-- What is compressed already is not tried again.
ALTER TABLE blobs ALTER size TYPE BIGINT, ALTER packed SET STORAGE EXTERNAL;

-- An address may be longer than what fits into an index. The same for every text, because the encoding is always UTF-8.
CREATE OR REPLACE FUNCTION digest_of(content TEXT) RETURNS BYTEA IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
    RETURN sha256(convert_to(content, 'UTF8'));
ALTER TABLE run_documents DROP CONSTRAINT run_documents_pkey;
CREATE UNIQUE INDEX run_documents_by_address ON run_documents (run, digest_of(address));
