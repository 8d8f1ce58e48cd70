-- The files themselves, so that a host that does not have them on its disk reads and quotes them: uploaded ones, and
-- copies of what a folder on some host held when it was indexed.
CREATE TABLE corpus_originals (
    path     TEXT COLLATE "C" NOT NULL,
    address  TEXT COLLATE "C" NOT NULL,
    size     BIGINT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    data     BYTEA NOT NULL
);
-- Most formats are compressed already.
ALTER TABLE corpus_originals ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX corpus_originals_by_address ON corpus_originals (digest_of(path), digest_of(address));
