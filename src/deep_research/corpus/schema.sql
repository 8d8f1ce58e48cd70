-- The index of all folders. It holds nothing that cannot be read again from them, so it is never migrated: when the
-- code that makes it changes, it is built anew.

CREATE TABLE maker (code TEXT NOT NULL);

CREATE TABLE folders (
    id       INTEGER PRIMARY KEY,
    path     TEXT NOT NULL UNIQUE,
    passages INTEGER NOT NULL DEFAULT 0
);

-- Every file that was looked into. `content` is a hash of its bytes with the ending that says how to read them;
-- `reason` says why it cannot be used.
CREATE TABLE files (
    folder   INTEGER NOT NULL,
    address  TEXT NOT NULL,
    size     INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    content  TEXT NOT NULL,
    reason   TEXT NOT NULL,
    remarks  TEXT NOT NULL,
    PRIMARY KEY (folder, address)
) WITHOUT ROWID;

-- What the files hold: one row for the same content, under the first address that has it.
CREATE TABLE documents (
    id        INTEGER PRIMARY KEY,
    folder    INTEGER NOT NULL,
    content   TEXT NOT NULL,
    address   TEXT NOT NULL,
    title     TEXT NOT NULL,
    language  TEXT NOT NULL,
    published TEXT NOT NULL,
    UNIQUE (folder, content)
);
CREATE INDEX documents_by_address ON documents (folder, address);

-- A document's text in blocks of equal length, compressed, so that a passage of a long document is read quickly.
CREATE TABLE texts (
    document INTEGER NOT NULL,
    block    INTEGER NOT NULL,
    data     BLOB NOT NULL,
    PRIMARY KEY (document, block)
);

CREATE TABLE passages (
    id       INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    start    INTEGER NOT NULL,
    "end"    INTEGER NOT NULL
);
CREATE INDEX passages_by_document ON passages (document);
