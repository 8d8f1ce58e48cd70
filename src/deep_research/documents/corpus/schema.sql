-- The index of all folders. It holds nothing that cannot be read again from them, so it is never migrated: when a
-- version of what makes it changes, it is built anew.

CREATE TABLE maker (code TEXT NOT NULL);

-- `passages` and `terms` count what can be searched. `is_settled` says that near-duplicates have been looked for since
-- the documents last changed.
CREATE TABLE corpus_folders (
    id         INTEGER PRIMARY KEY,
    path       TEXT NOT NULL UNIQUE,
    passages   INTEGER NOT NULL DEFAULT 0,
    terms      INTEGER NOT NULL DEFAULT 0,
    is_settled INTEGER NOT NULL DEFAULT 1,
    refreshed  TEXT NOT NULL DEFAULT ''
);

-- Every file that was looked into. `content` is a hash of its bytes with the ending that says how to read them;
-- `reason` says why it cannot be used.
CREATE TABLE corpus_files (
    folder   INTEGER NOT NULL,
    address  TEXT NOT NULL,
    size     INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    content  TEXT NOT NULL,
    reason   TEXT NOT NULL,
    PRIMARY KEY (folder, address)
) WITHOUT ROWID;
CREATE INDEX files_by_content ON corpus_files (folder, content);

-- What the files hold: one row for the same content, under the first address that has it. `is_named` says that the
-- title is the name of the file. `name_terms` are the terms of the title without what comes after a comma, a colon or
-- a bracket, `name_key` the first of them. Documents that are nearly the same share one of their `bands`. `twin_of` is
-- the document that is searched in place of this one. `pages` is 0 where a format has none.
CREATE TABLE corpus_documents (
    id          INTEGER PRIMARY KEY,
    folder      INTEGER NOT NULL,
    content     TEXT NOT NULL,
    address     TEXT NOT NULL,
    title       TEXT NOT NULL,
    is_named    INTEGER NOT NULL,
    author      TEXT NOT NULL,
    language    TEXT NOT NULL,
    published   TEXT NOT NULL,
    remarks     TEXT NOT NULL,
    chars       INTEGER NOT NULL,
    words       INTEGER NOT NULL,
    pages       INTEGER NOT NULL,
    title_terms TEXT NOT NULL,
    name_terms  TEXT NOT NULL,
    name_key    TEXT NOT NULL,
    bands       TEXT NOT NULL,
    twin_of     INTEGER,
    UNIQUE (folder, content)
);
CREATE INDEX documents_by_name ON corpus_documents (folder, name_key);

-- A document's text in blocks of equal length, compressed, so that a passage of a long document is read quickly.
CREATE TABLE corpus_texts (
    document INTEGER NOT NULL,
    block    INTEGER NOT NULL,
    data     BLOB NOT NULL,
    PRIMARY KEY (document, block)
);

-- `terms` are those of the passage, compressed, two spaces apart: the term table of a folder does not keep them.
CREATE TABLE corpus_passages (
    id       INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    start    INTEGER NOT NULL,
    "end"    INTEGER NOT NULL,
    terms    BLOB NOT NULL
);
CREATE INDEX passages_by_document ON corpus_passages (document);
