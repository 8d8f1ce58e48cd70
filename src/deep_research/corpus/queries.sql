-- The statements of the index, by name. `{folder}` is the number of a folder: each has a term table of its own, so
-- that scores and frequencies are those of the folder, whatever else is indexed.

-- name: create_terms
CREATE VIRTUAL TABLE terms_{folder} USING fts5(
    title, body, content='', tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co M*' tokenchars '.'"
)

-- name: create_vocabulary
CREATE VIRTUAL TABLE vocabulary_{folder} USING fts5vocab('terms_{folder}', 'row')

-- name: drop_vocabulary_table
DROP TABLE IF EXISTS vocabulary_{folder}

-- name: drop_terms_table
DROP TABLE IF EXISTS terms_{folder}

-- name: maker
SELECT code FROM maker

-- name: sign
INSERT INTO maker (code) VALUES (:code)

-- name: tables
SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'

-- name: folder
SELECT id FROM folders WHERE path = :path

-- name: add_folder
INSERT INTO folders (path) VALUES (:path)

-- name: folders
SELECT path, passages, refreshed,
    (SELECT count(*) FROM files WHERE folder = folders.id) AS files,
    (SELECT count(*) FROM files WHERE folder = folders.id AND reason != '') AS skipped,
    (SELECT count(*) FROM documents WHERE folder = folders.id) AS documents
FROM folders ORDER BY path

-- name: drop_folder
DELETE FROM folders WHERE id = :folder

-- name: drop_folder_files
DELETE FROM files WHERE folder = :folder

-- name: drop_folder_documents
DELETE FROM documents WHERE folder = :folder

-- name: drop_folder_passages
DELETE FROM passages WHERE document IN (SELECT id FROM documents WHERE folder = :folder)

-- name: drop_folder_texts
DELETE FROM texts WHERE document IN (SELECT id FROM documents WHERE folder = :folder)

-- name: catalogue
SELECT documents.address, documents.title, author, documents.language, documents.published, documents.remarks,
    words, pages,
    (SELECT count(*) FROM passages WHERE document = documents.id) AS passages,
    (SELECT address FROM documents AS shown WHERE shown.id = documents.twin_of) AS original
FROM documents WHERE folder = :folder ORDER BY documents.address

-- name: create_known
CREATE TEMP TABLE IF NOT EXISTS known (address TEXT PRIMARY KEY) WITHOUT ROWID

-- name: create_seen
CREATE TEMP TABLE IF NOT EXISTS seen (
    address TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL
) WITHOUT ROWID

-- name: create_changed
CREATE TEMP TABLE IF NOT EXISTS changed (address TEXT PRIMARY KEY) WITHOUT ROWID

-- name: note_known
INSERT INTO temp.known (address) SELECT address FROM files WHERE folder = :folder

-- name: note_seen
INSERT OR REPLACE INTO temp.seen (address, size, mtime_ns) VALUES (:address, :size, :mtime_ns)

-- name: note_changed
INSERT INTO temp.changed (address) SELECT seen.address FROM temp.seen
LEFT JOIN files ON files.folder = :folder AND files.address = seen.address
WHERE files.address IS NULL OR files.size != seen.size OR files.mtime_ns != seen.mtime_ns OR files.reason = ''
    AND NOT EXISTS (SELECT 1 FROM documents WHERE folder = :folder AND documents.content = files.content)

-- name: count_noted
SELECT (SELECT count(*) FROM temp.seen) AS seen, (SELECT count(*) FROM temp.changed) AS changed

-- name: next_changed
SELECT address, size, mtime_ns FROM temp.changed JOIN temp.seen USING (address)
WHERE address > :after ORDER BY address LIMIT 1

-- name: next_gone
SELECT address FROM temp.known WHERE address > :after AND address NOT IN (SELECT address FROM temp.seen)
ORDER BY address LIMIT 1

-- name: file
SELECT size, mtime_ns, content, reason FROM files WHERE folder = :folder AND address = :address

-- name: put_file
INSERT OR REPLACE INTO files (folder, address, size, mtime_ns, content, reason)
VALUES (:folder, :address, :size, :mtime_ns, :content, :reason)

-- name: drop_file
DELETE FROM files WHERE folder = :folder AND address = :address

-- Without the hint SQLite walks through all addresses, because the least of them is asked for.
-- name: first_address
SELECT min(address) AS address FROM files INDEXED BY files_by_content WHERE folder = :folder AND content = :content AND reason = ''

-- name: survey
SELECT count(*) AS documents FROM documents WHERE folder = :folder AND twin_of IS NULL

-- name: unusable
SELECT address, reason FROM files WHERE folder = :folder AND reason != '' ORDER BY address

-- name: remarks
SELECT files.address, remarks, (SELECT address FROM documents AS shown WHERE shown.id = documents.twin_of) AS original
FROM documents JOIN files USING (folder, content)
WHERE documents.folder = :folder AND (remarks != '[]' OR twin_of IS NOT NULL) ORDER BY files.address

-- name: set_refreshed
UPDATE folders SET refreshed = strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE id = :folder

-- name: document
SELECT id, address, title, is_named, title_terms, twin_of AS duplicate_of FROM documents
WHERE folder = :folder AND content = :content

-- name: document_of_address
SELECT documents.id AS document, title, author, language, published
FROM files JOIN documents USING (folder, content) WHERE files.folder = :folder AND files.address = :address

-- name: put_document
INSERT INTO documents (
    folder, content, address, title, is_named, author, language, published, remarks, chars, words, pages,
    title_terms, name_terms, name_key, bands
) VALUES (
    :folder, :content, :address, :title, :is_named, :author, :language, :published, :remarks, :chars, :words, :pages,
    :title_terms, :name_terms, :name_key, :bands
)

-- name: move_document
UPDATE documents SET address = :address, title = :title, title_terms = :title_terms, name_terms = :name_terms,
    name_key = :name_key WHERE id = :document

-- name: drop_document
DELETE FROM documents WHERE id = :document

-- name: put_text
INSERT INTO texts (document, block, data) VALUES (:document, :block, :data)

-- name: text_blocks
SELECT data FROM texts WHERE document = :document AND block BETWEEN :first AND :last ORDER BY block

-- name: drop_text
DELETE FROM texts WHERE document = :document

-- name: put_passage
INSERT INTO passages (document, start, "end", terms) VALUES (:document, :start, :end, :terms)

-- name: passages_of
SELECT id, start, "end" FROM passages WHERE document = :document ORDER BY id

-- name: terms_of
SELECT id, terms FROM passages WHERE document = :document ORDER BY id

-- name: drop_passages
DELETE FROM passages WHERE document = :document

-- name: put_terms
INSERT INTO terms_{folder} (rowid, title, body) VALUES (:id, :title, :body)

-- name: drop_terms
INSERT INTO terms_{folder} (terms_{folder}, rowid, title, body) VALUES ('delete', :id, :title, :body)

-- name: change_size
UPDATE folders SET passages = passages + :passages, terms = terms + :terms WHERE id = :folder

-- name: folder_state
SELECT passages, terms, is_settled FROM folders WHERE id = :folder

-- name: set_settled
UPDATE folders SET is_settled = :is_settled WHERE id = :folder

-- name: shared_bands
WITH each AS MATERIALIZED (
    SELECT documents.id AS document, value AS band FROM documents, json_each(bands) WHERE folder = :folder
)
SELECT document, group_concat(band) AS bands FROM each
WHERE band IN (SELECT band FROM each GROUP BY band HAVING count(*) > 1) GROUP BY document

-- name: duplicates
SELECT id FROM documents WHERE folder = :folder AND twin_of IS NOT NULL

-- name: document_row
SELECT id, address, published, chars, title_terms, CASE WHEN is_named THEN '' ELSE name_terms END AS name, twin_of AS duplicate_of
FROM documents WHERE id = :document

-- name: set_duplicate
UPDATE documents SET twin_of = :duplicate_of WHERE id = :document

-- name: duplicates_of
SELECT id, title_terms FROM documents WHERE twin_of = :document

-- name: frequency
SELECT doc FROM vocabulary_{folder} WHERE term = :term

-- name: terms_like
SELECT term FROM vocabulary_{folder} WHERE term >= :first AND term < :next AND length(term) BETWEEN :least AND :most

-- name: count_up_to
SELECT count(*) AS passages FROM (SELECT 1 FROM terms_{folder} WHERE terms_{folder} MATCH :match LIMIT :limit)

-- name: best
SELECT rowid AS id, bm25(terms_{folder}, 3.0, 1.0) AS cost FROM terms_{folder} WHERE terms_{folder} MATCH :match
ORDER BY cost, rowid

-- name: candidates
SELECT passages.id, document, address, title, author, language, published, start, "end", terms, title_terms
FROM passages JOIN documents ON documents.id = document
WHERE passages.id IN (SELECT value FROM json_each(:ids))

-- name: first_passages
SELECT min(passages.id) AS id, document, address, title, author, language, published, start, "end", terms, title_terms
FROM passages JOIN documents ON documents.id = document
WHERE document IN (SELECT value FROM json_each(:ids)) GROUP BY document

-- name: documents_by_name
SELECT id, name_terms FROM documents WHERE folder = :folder AND twin_of IS NULL
    AND name_key IN (SELECT value FROM json_each(:keys))
ORDER BY name_terms, address LIMIT 500
