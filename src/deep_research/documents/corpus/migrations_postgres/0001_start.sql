-- The index of documents that several hosts share. It holds nothing that cannot be read again from the documents.
-- A folder that another version indexed is a folder of its own, so that hosts of two versions work beside each other.

-- An address may be longer than what fits into an index. The same for every text, because the encoding is always UTF-8.
CREATE OR REPLACE FUNCTION digest_of(content TEXT) RETURNS BYTEA IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
    RETURN sha256(convert_to(content, 'UTF8'));

-- `claimed_by` refreshes the folder, unless it has given no sign of life until `claimed_until`.
CREATE TABLE corpus_folders (
    id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    path          TEXT COLLATE "C" NOT NULL,
    maker         TEXT COLLATE "C" NOT NULL,
    passages      BIGINT NOT NULL DEFAULT 0,
    terms         BIGINT NOT NULL DEFAULT 0,
    is_settled    BOOLEAN NOT NULL DEFAULT TRUE,
    refreshed     TEXT COLLATE "C" NOT NULL DEFAULT '',
    claimed_by    TEXT COLLATE "C" NOT NULL DEFAULT '',
    claimed_until TIMESTAMPTZ NOT NULL DEFAULT '-infinity'
);
CREATE UNIQUE INDEX corpus_folders_by_path ON corpus_folders (digest_of(path), digest_of(maker));

CREATE TABLE corpus_files (
    folder   BIGINT NOT NULL REFERENCES corpus_folders (id) ON DELETE CASCADE,
    address  TEXT COLLATE "C" NOT NULL,
    size     BIGINT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    content  TEXT COLLATE "C" NOT NULL,
    reason   TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX corpus_files_by_address ON corpus_files (folder, digest_of(address));
CREATE INDEX corpus_files_by_content ON corpus_files (folder, content);

CREATE TABLE corpus_documents (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    folder      BIGINT NOT NULL REFERENCES corpus_folders (id) ON DELETE CASCADE,
    content     TEXT COLLATE "C" NOT NULL,
    address     TEXT COLLATE "C" NOT NULL,
    title       TEXT COLLATE "C" NOT NULL,
    is_named    BOOLEAN NOT NULL,
    author      TEXT COLLATE "C" NOT NULL,
    language    TEXT COLLATE "C" NOT NULL,
    published   TEXT COLLATE "C" NOT NULL,
    remarks     TEXT COLLATE "C" NOT NULL,
    chars       BIGINT NOT NULL,
    words       BIGINT NOT NULL,
    pages       BIGINT NOT NULL,
    title_terms TEXT COLLATE "C" NOT NULL,
    name_terms  TEXT COLLATE "C" NOT NULL,
    name_key    TEXT COLLATE "C" NOT NULL,
    bands       TEXT COLLATE "C" NOT NULL,
    twin_of     BIGINT,
    UNIQUE (folder, content)
);
CREATE INDEX corpus_documents_by_name ON corpus_documents (folder, digest_of(name_key));

CREATE TABLE corpus_texts (
    document BIGINT NOT NULL REFERENCES corpus_documents (id) ON DELETE CASCADE,
    block    BIGINT NOT NULL,
    data     BYTEA NOT NULL,
    PRIMARY KEY (document, block)
);
-- They are compressed already.
ALTER TABLE corpus_texts ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE corpus_passages (
    id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document BIGINT NOT NULL REFERENCES corpus_documents (id) ON DELETE CASCADE,
    start    BIGINT NOT NULL,
    "end"    BIGINT NOT NULL,
    terms    BYTEA NOT NULL
);
ALTER TABLE corpus_passages ALTER COLUMN terms SET STORAGE EXTERNAL;
CREATE INDEX corpus_passages_by_document ON corpus_passages (document);

-- What can be searched. A lexeme is the number of the folder and a term of our analyzer, so that no folder makes another
-- slow. `repeated` says how often a term counts, where that is more than once; `length` counts all terms. The lexemes
-- are kept apart from the rest, because only the GIN index needs them and rows are scored by the thousand.
CREATE TABLE corpus_terms (
    passage  BIGINT PRIMARY KEY REFERENCES corpus_passages (id) ON DELETE CASCADE,
    length   BIGINT NOT NULL,
    repeated JSONB NOT NULL,
    lexemes  TSVECTOR NOT NULL
) WITH (toast_tuple_target = 128);
CREATE INDEX corpus_terms_by_lexeme ON corpus_terms USING gin (lexemes);

-- How many passages of a folder hold a term.
CREATE TABLE corpus_vocabulary (
    folder   BIGINT NOT NULL REFERENCES corpus_folders (id) ON DELETE CASCADE,
    term     TEXT COLLATE "C" NOT NULL,
    passages BIGINT NOT NULL,
    PRIMARY KEY (folder, term)
) WITH (fillfactor = 70);
